"""Reading Telegram's updates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hardship.telegram import ANN, BEN, BOT, GROUP

from everthread.server.telegram.updates import Moved, Pressed, Said, read_update


def read(
    text: str = "", chat: int = GROUP, kind: str = "message", sender: dict[str, Any] = BEN, **more: Any
) -> Said | Pressed | Moved | None:
    where = {"id": chat, "type": "private" if chat > 0 else "supergroup"}
    message = {"message_id": 5, "chat": where, "from": sender, "date": 60, **({"text": text} if text else {}), **more}
    return read_update({"update_id": 1, kind: message}, "ever_bot")


def is_addressed(text: str, **more: Any) -> bool:
    said = read(text, **more)
    assert isinstance(said, Said)
    return said.is_addressed


def test_a_message_has_its_time_its_speaker_and_the_message_that_it_answers() -> None:
    said = read("@Ever_Bot hello", reply_to_message={"message_id": 3, "from": ANN})
    assert isinstance(said, Said)
    assert (said.id, said.text, said.speaker, said.language) == (f"{GROUP}:5", "hello", "Ben Lo", "de-AT")
    assert said.sent_at == datetime.fromtimestamp(60, UTC)
    assert said.metadata == {"reply_to": "3", "sender_id": "user8"}


def test_the_addresses_of_hidden_links_are_metadata_also_of_a_caption() -> None:
    entities = [{"type": "bold"}, {"type": "text_link", "offset": 4, "length": 4, "url": "https://mia.example/"}]
    for text, fields in ("text", "entities"), ("caption", "caption_entities"):
        more: dict[str, Any] = {text: "See this", fields: entities}
        said = read(photo=[{}], **more)
        assert isinstance(said, Said)
        assert said.metadata == {"links": ["https://mia.example/"], "sender_id": "user8"}


@pytest.mark.parametrize(("fields", "topic"), [({}, None), ({"is_topic_message": True}, 5)], ids=["thread", "topic"])
def test_a_message_or_a_press_is_in_a_topic_only_in_a_forum(fields: dict[str, Any], topic: int | None) -> None:
    said = read("Hello", message_thread_id=5, **fields)
    message = {"message_id": 5, "chat": {"id": GROUP, "type": "supergroup"}, "message_thread_id": 5, **fields}
    press = {"id": "1", "from": BEN, "message": message, "data": "keep:1"}
    pressed = read_update({"update_id": 1, "callback_query": press}, "ever_bot")
    assert isinstance(said, Said)
    assert isinstance(pressed, Pressed)
    assert said.topic == pressed.topic == topic


def test_in_a_chat_of_two_the_speaker_has_no_name_and_each_message_is_addressed() -> None:
    said = read("Hello", 7)
    assert isinstance(said, Said)
    assert (said.speaker, said.is_addressed, said.is_group) == ("", True, False)


def test_an_edited_message_has_the_time_of_the_edit() -> None:
    said = read("Hello", 7, "edited_message", edit_date=90)
    assert isinstance(said, Said)
    assert said.is_edited
    assert said.sent_at == datetime.fromtimestamp(90, UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello everyone", False),
        ("Hello @ever_bot", True),
        ("Hello @ever_bot_2", False),
        ("/help", True),
        ("/help@ever_bot", True),
        ("/help@other_bot", False),
        ("/start@ever_bot CODE", True),
    ],
)
def test_in_a_group_a_message_is_addressed_by_a_mention_or_a_command(text: str, expected: bool) -> None:
    assert is_addressed(text) is expected


def test_in_a_group_an_answer_to_the_bot_is_addressed_unless_it_is_a_command_of_another_bot() -> None:
    answered = {"message_id": 3, "from": BOT}
    assert is_addressed("Really?", reply_to_message=answered)
    assert not is_addressed("/forget@other_bot", reply_to_message=answered)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/start@ever_bot CODE", ("start", "CODE")),
        ("/Character  Captain Vey ", ("character", "Captain Vey")),
        ("/new_game", ("new_game", "")),
        ("/home/ann is my folder", ("", "")),
        ("and/or", ("", "")),
    ],
)
def test_a_command_has_a_name_and_an_argument(text: str, expected: tuple[str, str]) -> None:
    said = read(text)
    assert isinstance(said, Said)
    assert said.command == expected


def test_of_a_picture_the_caption_is_the_text() -> None:
    said = read(caption="Lisbon", photo=[{}])
    assert isinstance(said, Said)
    assert (said.text, said.has_media) == ("Lisbon", True)


def test_an_anonymous_administrator_speaks_under_the_name_of_the_group() -> None:
    sender = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    said = read("@ever_bot hello", sender=sender, sender_chat={"id": GROUP, "title": "Friends of Lisbon"})
    assert isinstance(said, Said)
    assert said.speaker == "Friends of Lisbon"


@pytest.mark.parametrize("chat", [7, GROUP], ids=["private", "group"])
@pytest.mark.parametrize(
    ("origin", "author"),
    [
        ({"type": "user", "sender_user": ANN}, "Ann"),
        ({"type": "user", "sender_user": {"id": 9, "first_name": ""}}, "Deleted Account"),
        ({"type": "hidden_user", "sender_user_name": "Зоя 🌸"}, "Зоя 🌸"),
        ({"type": "chat", "sender_chat": {"id": GROUP, "title": "Friends of Lisbon"}}, "Friends of Lisbon"),
        ({"type": "channel", "chat": {"id": -1002, "title": "Lisbon News"}, "message_id": 3}, "Lisbon News"),
    ],
    ids=["user", "deleted", "hidden", "group", "channel"],
)
def test_a_forwarded_message_is_of_its_author_and_no_command(chat: int, origin: dict[str, Any], author: str) -> None:
    said = read("/forget", chat, forward_origin=origin)
    assert isinstance(said, Said)
    known = {"sender_id": f"user{origin['sender_user']['id']}"} if chat == GROUP and "sender_user" in origin else {}
    assert (said.speaker, said.metadata, said.command) == (author, {**known, "forwarded_by": "Ben Lo"}, ("", ""))


@pytest.mark.parametrize(
    "origin", [{"type": "user", "sender_user": BEN}, {"type": "hidden_user", "sender_user_name": "Ben Lo"}]
)
def test_own_words_that_a_person_forwards_are_the_persons(origin: dict[str, Any]) -> None:
    said = read("I live in Graz.", 7, forward_origin=origin)
    assert isinstance(said, Said)
    assert (said.speaker, said.metadata) == ("", {})


def test_what_no_person_has_said_is_nothing() -> None:
    assert read(pinned_message={"message_id": 3}) is None
    assert read("Hello", sender=BOT) is None
    assert read_update({"update_id": 1, "channel_post": {}}, "ever_bot") is None


def test_a_group_that_becomes_a_supergroup_is_a_move_whichever_of_the_two_reports_it() -> None:
    assert read(chat=-5, migrate_to_chat_id=GROUP) == read(migrate_from_chat_id=-5) == Moved(-5, GROUP)


def test_a_press_has_the_data_of_its_button() -> None:
    message = {"message_id": 5, "date": 0, "chat": {"id": GROUP, "type": "supergroup"}}  # too old to have a text
    press = {"id": "1", "from": BEN, "message": message, "data": "again:3"}
    assert read_update({"update_id": 1, "callback_query": press}, "ever_bot") == Pressed(
        "1", GROUP, 5, "again:3", "Ben Lo", True
    )
