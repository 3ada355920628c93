from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from everthread.transfer.importing import check_file
from everthread.types import NewLine
from transfer.services.messenger_exports import (
    JSON,
    SIGNAL_FRAMES,
    millis,
    read_files,
    said_at,
    save_files,
    signal_item,
    signal_row,
    text,
    to_rows,
)


def read_backup(folder: Path, *rows: JSON, **options: object) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, {"main.jsonl": to_rows([*SIGNAL_FRAMES, *rows]), "metadata.json": b"{}"}, **options)


def said(words: str) -> JSON:
    return {"text": {"body": words}}


def test_numbers_are_texts_and_the_owner_is_known(tmp_path: Path) -> None:
    lines, _ = read_backup(tmp_path, signal_item(1), signal_item(2), me="Nora")
    assert [(line.speaker, line.said_at) for line in lines] == [("Nora", said_at(1)), ("Bob", said_at(2))]
    assert [line.key for line in lines] == [f"signal:Ym9i:{millis(1)}:self", f"signal:Ym9i:{millis(2)}:Ym9i"]
    again = {**signal_item(1)["chatItem"], "chatId": 5, "authorId": 1, "dateSent": millis(1)}
    assert read_backup(tmp_path, {"chatItem": again})[0][0].key == lines[0].key


def test_an_edited_message_has_its_last_words_and_its_first_time(tmp_path: Path) -> None:
    before = signal_item(1)["chatItem"]
    edited = signal_item(1, dateSent=str(millis(4)), standardMessage=said("Last."), revisions=[before])
    (line,), _ = read_backup(tmp_path, edited)
    assert (line.text, line.said_at) == ("Last.", said_at(1))
    assert line.metadata == {"edited_at": "2024-05-01T12:04:00+00:00"}
    assert line.key == read_backup(tmp_path, signal_item(1))[0][0].key


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    others: list[JSON] = [
        {"updateMessage": {"individualCall": {}}},
        {"updateMessage": {"simpleUpdate": {}}},
        {"remoteDeletedMessage": {}},
        {"expiresInMs": "3600000"},
        {"standardMessage": {"attachments": [{"pointer": {"fileName": "fern.jpg"}}]}},
        {"standardMessage": {}, "stickerMessage": {}},
    ]
    rows = [signal_item(number, **fields) for number, fields in enumerate(others, 2)]
    lines, skipped = read_backup(tmp_path, signal_item(1, expiresInMs="0"), *rows)
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {
        "calls": 1,
        "notices": 1,
        "deleted messages": 1,
        "disappearing messages": 1,
        "messages without words": 2,
    }
    disappearing = signal_item(2, expiresInMs="3600000")
    lines, skipped = read_backup(tmp_path, signal_item(1), disappearing, disappearing=True)
    assert ([line.text for line in lines], skipped) == ([text(1), text(2)], {})


def test_answers_files_and_mentions_are_read(tmp_path: Path) -> None:
    message = {
        "quote": {"targetSentTimestamp": str(millis(1)), "authorId": "1"},
        "text": {"body": "\ufffc, look!", "bodyRanges": [{"start": 0, "length": 1, "mentionAci": "Ym9i"}]},
        "attachments": [{"pointer": {"fileName": "fern.jpg"}}, {"pointer": {}}],
    }
    (line,), _ = read_backup(tmp_path, signal_item(2, standardMessage=message))
    assert line.text == "@Bob, look!"
    assert line.metadata == {"attachments": ["fern.jpg"], "reply_to": f"{millis(1)}:self"}


def test_people_have_the_names_that_the_app_shows_and_groups_their_titles(tmp_path: Path) -> None:
    names: list[JSON] = [
        {"nickname": {"given": "Bobby"}, "systemGivenName": "Robert", "profileGivenName": "Bob"},
        {"systemGivenName": "Robert", "systemFamilyName": "Stone", "profileGivenName": "Bob"},
        {"username": "bob.01"},
        {"e164": "491701234567"},
    ]
    frames = [{"recipient": {"id": str(number), "contact": name}} for number, name in enumerate(names, 10)]
    frames += [{"recipient": {"id": "14", "contact": {}}}, {"recipient": {"id": "15", "releaseNotes": {}}}]
    group = {"masterKey": "Zw==", "snapshot": {"title": {"title": "Garden"}}}
    chat = [{"recipient": {"id": "20", "group": group}}, {"chat": {"id": "6", "recipientId": "20"}}]
    rows = [signal_item(number, chatId="6", authorId=str(number), outgoing=None) for number in range(10, 16)]
    for row in rows:
        row["chatItem"].pop("outgoing")
    path = save_files(tmp_path / "export.zip", {"main.jsonl": to_rows([*SIGNAL_FRAMES, *frames, *chat, *rows])})
    source = check_file(path)
    assert [line.speaker for line in source.read()] == [
        "Bobby",
        "Robert Stone",
        "bob.01",
        "+491701234567",
        "Unknown",
        "Signal",
    ]
    assert [(id, label.title) for id, label in source.sessions.items()] == [("signal:Zw==", "Garden")]


def test_a_folder_of_signal_export_is_a_chat(tmp_path: Path) -> None:
    others = [signal_row(3, deleted=True), signal_row(4, call=True), signal_row(5, body="  ")]
    rows = [signal_row(1), signal_row(2, attachments=[{"name": "fern.jpg", "path": "media/fern.jpg"}]), *others]
    zone = ZoneInfo("Europe/Berlin")
    files = {"Bob/data.json": to_rows(rows)}
    lines, skipped = read_files(tmp_path, files, me="Nora", tz=zone)
    assert [(line.speaker, line.text, line.session) for line in lines] == [
        ("Nora", text(1), "signal:Bob"),
        ("Bob", text(2), "signal:Bob"),
    ]
    assert lines[0].said_at == datetime(2024, 5, 1, 12, 1, tzinfo=zone)
    assert lines[1].metadata == {"attachments": ["fern.jpg"]}
    assert skipped == {"deleted messages": 1, "calls": 1, "messages without words": 1}


@pytest.mark.parametrize("name", ["Bob/data.json", "data.json"])
def test_a_chat_is_named_by_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / "Bob" / "data.json"
    path.parent.mkdir()
    path.write_bytes(to_rows([signal_row(1)]))
    given = tmp_path if "/" in name else path
    assert [line.session for line in check_file(given).read()] == ["signal:Bob"]
