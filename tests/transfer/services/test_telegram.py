from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from everthread.transfer.importing import check_file
from everthread.types import NewLine
from transfer.services.messenger_exports import (
    JSON,
    read_files,
    said_at,
    save_files,
    telegram_export,
    telegram_message,
    text,
    to_json,
)


def read_chat(folder: Path, *messages: JSON, **fields: object) -> tuple[list[NewLine], dict[str, int]]:
    return read_files(folder, {"result.json": to_json(telegram_export(messages, **fields))})


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "See example.org, now!"},
        {"text": ["See ", {"type": "link", "text": "example.org"}, ", now!"]},
        {"text": "", "text_entities": [{"text": "See example.org"}, {"type": "bold", "text": ", now!"}]},
    ],
)
def test_a_text_is_joined_from_its_parts(tmp_path: Path, fields: JSON) -> None:
    (line,), _ = read_chat(tmp_path, telegram_message(1, **fields))
    assert line.text == "See example.org, now!"


def test_the_time_is_the_instant_and_else_the_local_time(tmp_path: Path) -> None:
    local = {"date": "2024-05-01T14:01:00"}
    old = {name: value for name, value in telegram_message(2, **local).items() if name != "date_unixtime"}
    files = {"result.json": to_json(telegram_export([telegram_message(1, **local), old]))}
    lines, _ = read_files(tmp_path, files, tz=ZoneInfo("Europe/Berlin"))
    assert [line.said_at for line in lines] == [said_at(1), datetime(2024, 5, 1, 12, 1, tzinfo=UTC)]


def test_people_without_a_name_have_deleted_their_account(tmp_path: Path) -> None:
    lines, _ = read_chat(tmp_path, telegram_message(1, **{"from": None}))
    assert [(line.speaker, line.metadata["sender_id"]) for line in lines] == [("Deleted Account", "user1")]


def test_a_forwarded_message_is_its_authors(tmp_path: Path) -> None:
    forwarded = [telegram_message(1, forwarded_from="City News"), telegram_message(2, forwarded_from=None)]
    lines, _ = read_chat(tmp_path, *forwarded, telegram_message(3))
    assert [line.speaker for line in lines] == ["City News", "Deleted Account", "Ann"]
    assert [line.metadata.get("forwarded_by") for line in lines] == ["Ann", "Bob", None]


def test_what_is_not_said_is_counted(tmp_path: Path) -> None:
    notice = telegram_message(2, type="service", action="pin_message", text="")
    call = telegram_message(3, type="service", action="phone_call", text="")
    sticker = telegram_message(4, text="", media_type="sticker", file="stickers/a.webp")
    lines, skipped = read_chat(tmp_path, telegram_message(1), notice, call, sticker)
    assert [line.text for line in lines] == [text(1)]
    assert skipped == {"notices": 1, "calls": 1, "messages without words": 1}


def test_files_answers_edits_and_hidden_links_are_noted(tmp_path: Path) -> None:
    missing = "(File not included. Change data exporting settings to download.)"
    first = telegram_message(
        1, file=missing, file_name="offer.pdf", reply_to_message_id=7, edited_unixtime="1714568400"
    )
    lines, _ = read_chat(
        tmp_path, first, telegram_message(2, photo=missing), telegram_message(3, photo="photos/fern.jpg")
    )
    assert lines[0].metadata == {
        "sender_id": "user1",
        "attachments": ["offer.pdf"],
        "reply_to": "7",
        "edited_at": "2024-05-01T13:00:00+00:00",
    }
    assert [line.metadata.get("attachments") for line in lines[1:]] == [None, ["fern.jpg"]]
    link = {"type": "text_link", "text": "this", "href": "https://fern.example/"}
    lines, _ = read_chat(tmp_path, telegram_message(4, text=["See ", link, " and ", {"type": "link", "text": "x.org"}]))
    assert (lines[0].text, lines[0].metadata["links"]) == ("See this and x.org", ["https://fern.example/"])


def test_a_bots_messages_are_the_assistants_in_its_own_chat_only(tmp_path: Path) -> None:
    messages = [telegram_message(1), telegram_message(2, from_id="user8")]
    for kind, roles in (("bot_chat", ["user", "assistant"]), ("personal_chat", ["user", "user"])):
        lines, _ = read_chat(tmp_path, *messages, type=kind)
        assert [line.role for line in lines] == roles


def test_an_account_may_have_left_no_chats(tmp_path: Path) -> None:
    lines, _ = read_files(
        tmp_path, {"result.json": to_json({"chats": {"list": [telegram_export([telegram_message(1)])]}})}
    )
    assert [line.text for line in lines] == [text(1)]


def test_all_chats_of_an_account_are_read(tmp_path: Path) -> None:
    saved = telegram_export([telegram_message(2)], id=9, type="saved_messages")
    del saved["name"]
    gone = telegram_export([telegram_message(3)], id=10, name=None)
    account = {"about": "…", "contacts": {"list": [{}, {}]}, "chats": {"list": [telegram_export([]), saved]}}
    person = {"user_id": 0, "first_name": "Bob", "last_name": ""}
    export = {**account, "personal_information": person, "left_chats": {"list": [gone]}}
    source = check_file(save_files(tmp_path / "export.zip", {"result.json": to_json(export)}), me="Robert")
    assert [(line.session, line.speaker, line.text) for line in source.read()] == [
        ("telegram:9", "Robert", text(2)),
        ("telegram:10", "Ann", text(3)),
    ]
    assert [label.title for label in source.sessions.values()] == ["Saved Messages", "Deleted Account 10"]


def test_an_edited_text_is_corrected_by_a_later_export(tmp_path: Path) -> None:
    keys = [read_chat(tmp_path, telegram_message(1, text=words))[0][0].key for words in ("Hi", "Hello")]
    assert keys == ["telegram:8:1"] * 2


def test_a_message_that_a_bank_cannot_store_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    messages = [telegram_message(1), telegram_message(2, text="x" * 4_000_001), telegram_message(3)]
    path = save_files(tmp_path / "export.zip", {"result.json": to_json(telegram_export(messages))})
    source = check_file(path)
    assert [line.text for line in source.read()] == [text(1), text(3)]
    assert list(source.contents.broken) == ["Bob, message 2"]


def test_members_after_the_messages_of_a_chat_and_other_values_among_chats_are_passed_over(tmp_path: Path) -> None:
    chat = {"name": "Bob", "type": "personal_chat", "id": 9, "messages": [telegram_message(1)], "draft": [1]}
    files = {"result.json": to_json({"chats": {"list": [chat, 7, {**chat, "id": 10, "messages": None}], "x": 1}})}
    lines, _ = read_files(tmp_path, files)
    assert [(line.session, line.text) for line in lines] == [("telegram:9", text(1))]
