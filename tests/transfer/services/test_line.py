from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.dates import parse_zone
from everthread.transfer.importing import check_file
from transfer.services.companion_examples import LINE_CHAT


def test_messages_are_read_with_their_lines_and_the_other_rows_are_counted(tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_bytes(LINE_CHAT)
    source = check_file(tmp_path / "chat.txt", tz=parse_zone("Asia/Tokyo"))
    assert source.contents.services == ("LINE",)
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("Ann", "Which door is red?", "2024-05-06 18:05:00+09:00"),
        ("Nora", 'The right one,\n2024/05/05(Sun)\nsays "Luna".', "2024-05-06 18:06:00+09:00"),
        ("Ann", "Thank you!\nBye.", "2024-05-07 09:00:00+09:00"),
    ]
    assert source.skipped == {"messages without words": 1, "calls": 1, "notices": 2}
    assert [each.title for each in source.contents.conversations] == ["Ann"]


@pytest.mark.parametrize(
    ("heading", "day", "time"),
    [
        ("Annとのトーク履歴", "2024/05/06(月)", "午後6:05"),
        ("與Ann的聊天記錄", "2024/05/06（一）", "下午06:05"),
        ("Chat history in Ann", "2024.05.06 Monday", "18:05"),
    ],
)
def test_headings_dates_and_times_are_read_in_other_languages(
    tmp_path: Path, heading: str, day: str, time: str
) -> None:
    (tmp_path / "chat.txt").write_text(f"[LINE] {heading}\n2024/05/07\n\n{day}\n{time}\tAnn\thi\n", encoding="utf-8")
    source = check_file(tmp_path)
    assert [(line.speaker, line.text, str(line.said_at)) for line in source.read()] == [
        ("Ann", "hi", "2024-05-06 18:05:00+00:00")
    ]
    assert [each.title for each in source.contents.conversations] == ["Ann"]


@pytest.mark.parametrize("heading", ["", "[LINE] Annのトーク履歴\n保存日時：2024/05/07 10:00\n\n"])
def test_a_chat_from_line_for_pc_is_refused_with_the_export_that_can_be_read(tmp_path: Path, heading: str) -> None:
    (path := tmp_path / "chat.txt").write_text(
        f"{heading}2024.05.06 月曜日\r\n18:05 Ann Baker hi\r\n", encoding="utf-8"
    )
    with pytest.raises(BadFile, match="does not show where a name ends; export the chat with LINE on the phone"):
        check_file(path)
    path.write_text("2024.05.06 Monday\n18:05 Ann Baker: hi\n")
    with pytest.raises(BadFile, match="'18:05 Ann Baker: hi' has no speaker"):
        check_file(path)


def test_rows_with_impossible_times_are_undated(tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text(
        "[LINE] Ann\n25:00\tAnn\thi\n2024/02/31(Sat)\n18:05\tAnn\tbye\n", encoding="utf-8"
    )
    assert [(line.text, line.undated) for line in check_file(tmp_path).read()] == [
        ("hi\n2024/02/31(Sat)", True),
        ("bye", True),
    ]
