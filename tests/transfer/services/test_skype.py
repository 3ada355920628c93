from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from transfer.services.chat_exports import SKYPE, skype_message


def test_messages_are_read_without_marks_and_quotes_from_the_first_to_the_last(tmp_path: Path) -> None:
    (path := tmp_path / "messages.json").write_bytes(SKYPE["messages.json"])
    source = check_file(path, me="Nora")
    assert [(line.session, line.speaker, line.text, str(line.said_at)[11:23]) for line in source.read()] == [
        ("skype:8:live:ann", "Ann", "Which door isn't red?", "18:05:00.123"),
        ("skype:8:live:ann", "Ann", "Hello? :)", "18:06:00.123"),
        ("skype:8:live:ann", "Nora", "The right one,\r\n3 < 4", "18:07:00.123"),
        ("skype:19:abc@thread.skype", "bot", "Hi all.", "18:10:00.123"),
    ]
    assert [line.metadata.get("reply_to") for line in source.read()] == [None, None, "1715005", None]
    assert source.skipped == {"messages without words": 1, "calls": 1, "notices": 1}
    assert (source.contents.services, source.contents.me) == (("Skype",), "Nora")
    assert [each.title for each in source.contents.conversations] == ["Ann", None]


def test_the_archive_of_skype_is_to_be_unpacked(tmp_path: Path) -> None:
    (file := tmp_path / "messages.json").write_bytes(SKYPE["messages.json"])
    with tarfile.open(path := tmp_path / "8_live_nora_export.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(file, "messages.json")
    with pytest.raises(BadFile, match="this is a tar archive, not text; unpack it and import the file inside"):
        check_file(path)


@pytest.mark.parametrize(
    "content",
    [
        '<quote messageid="1">Red?</quote>The right one.<quote messageid="2">Or blue?</quote> Not that.',
        '<quote messageid="1"><quote messageid="0">Which?</quote>Red?</quote>The right one. Not that.',
    ],
)
def test_the_words_of_no_quote_are_the_senders(tmp_path: Path, content: str) -> None:
    chat = {"id": "8:live:ann", "displayName": "Ann", "MessageList": [skype_message("05", "8:live:ann", content)]}
    export = {"userId": "8:live:nora", "exportDate": "2024-05-08T19:00", "conversations": [chat]}
    (path := tmp_path / "messages.json").write_text(json.dumps(export))
    (line,) = check_file(path).read()
    assert (line.text, line.metadata["reply_to"]) == ("The right one. Not that.", "1")
