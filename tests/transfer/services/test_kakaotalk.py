from __future__ import annotations

from pathlib import Path

import pytest

from everthread.transfer.dates import parse_zone
from everthread.transfer.importing import check_file
from transfer.services.chat_exports import (
    KAKAOTALK_ANDROID,
    KAKAOTALK_ENGLISH,
    KAKAOTALK_ENGLISH_PC,
    KAKAOTALK_IPHONE,
    KAKAOTALK_PC,
)


@pytest.mark.parametrize("content", [KAKAOTALK_PC, KAKAOTALK_ANDROID, KAKAOTALK_IPHONE])
def test_messages_from_pcs_and_phones_are_read_with_their_lines(tmp_path: Path, content: bytes) -> None:
    (path := tmp_path / "Ann.txt").write_bytes(content)
    source = check_file(path, tz=parse_zone("Asia/Seoul"))
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("Ann", "어느 문이 빨간색이야?", "2024-05-06 18:05:00+09:00"),
        ("회원님", "오른쪽 문.\n\n[맞지?]", "2024-05-06 18:06:00+09:00"),
        ("Ann", "고마워!", "2024-05-07 00:30:00+09:00"),
    ]
    assert {**source.skipped, "notices": 1} == {"messages without words": 1, "notices": 1, "deleted messages": 1}
    assert (source.contents.services, source.contents.me) == (("KakaoTalk",), "회원님")
    assert [each.title for each in source.contents.conversations] == ["Ann"]


@pytest.mark.parametrize("content", [KAKAOTALK_ENGLISH, KAKAOTALK_ENGLISH_PC])
def test_messages_are_read_in_english(tmp_path: Path, content: bytes) -> None:
    (path := tmp_path / "chat.txt").write_bytes(content)
    source = check_file(path, me="Nora")
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("Ann", "Which door is red?", "2024-05-06 18:05:00+00:00"),
        ("Nora", "The right one.", "2024-05-06 18:06:00+00:00"),
    ]
    assert source.skipped["messages without words"] == 1
    assert [each.title for each in source.contents.conversations] == ["Ann"]


def test_a_transcript_with_the_date_of_its_export_is_not_from_kakaotalk(tmp_path: Path) -> None:
    (path := tmp_path / "chat.txt").write_text("Date Saved: 2024-05-08\nAnn: Hi!\n", encoding="utf-8")
    assert check_file(path).contents.services == ()


def test_a_table_from_a_mac_is_read(tmp_path: Path) -> None:
    path = tmp_path / "KakaoTalk_Chat_Ann_2024-05-08-19-00-00.csv"
    path.write_text('Date,User,Message\n2024-05-06 18:05:00,"Ann","Which door is red?"\n', encoding="utf-8")
    (line,) = check_file(path).read()
    assert (line.speaker, line.text, str(line.said_at)) == ("Ann", "Which door is red?", "2024-05-06 18:05:00+00:00")
