from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.importing import check_file
from everthread.transfer.services.conversation import BrokenConversation, Conversation
from everthread.transfer.services.risuai import build_chat
from transfer.services.companion_examples import RISUAI, plain
from transfer.services.reading import read_entries, shown, times

CHAT: Any = RISUAI["data"]


def test_a_chat_has_its_character_from_the_name_of_its_file(tmp_path: Path) -> None:
    (chat,) = read_entries("risuai", tmp_path, {"Aria of Ys_2024-06-02T203000000Z_chat.json": plain(RISUAI)})
    assert isinstance(chat, Conversation)
    assert shown(chat) == [("user", "Which door?"), ("Aria of Ys", "The blue one."), ("user", "Thank you.")]
    assert (chat.id, chat.title) == ("r1", "Aria of Ys")
    assert times(chat) == ["2024-06-02T20:11:00+00:00", None, "2024-06-02T20:12:00+00:00"]


def test_comments_and_thoughts_are_counted_and_disabled_messages_marked() -> None:
    chat = build_chat(CHAT)
    assert chat.skipped == {"comments": 1, "thoughts": 1}
    assert [message.metadata.get("hidden") for message in chat.messages] == [True, None, None]
    rows = [*CHAT["message"], {"role": "user", "data": "From here.", "disabled": "allBefore"}]
    assert all(message.metadata["hidden"] for message in build_chat({"message": rows}).messages)


def test_characters_of_a_group_have_their_own_names() -> None:
    rows = [
        {"role": "char", "data": "One.", "saying": "a", "name": "Aria"},
        {"role": "char", "data": "Two.", "saying": "b"},
        {"role": "char", "data": "Three.", "saying": "a"},
    ]
    assert shown(build_chat({"message": rows}, "Doors")) == [("Aria", "One."), ("b", "Two."), ("Aria", "Three.")]


def test_all_chats_of_a_character_are_in_one_file_and_a_broken_one_is_named(tmp_path: Path) -> None:
    other = {**copy.deepcopy(CHAT), "id": "r2", "name": "Chat 2"}
    value = {"type": "risuAllChats", "ver": 1, "data": [CHAT, {"name": "Chat 3"}, other], "folders": []}
    first, broken, second = read_entries(
        "risuai", tmp_path, {"Aria_all_chats_2024-06-02T203000000Z.json": plain(value)}
    )
    assert isinstance(first, Conversation)
    assert isinstance(second, Conversation)
    assert (first.id, second.id, second.title) == ("r1", "r2", "Aria")
    assert broken == BrokenConversation("Chat 3", "the chat has no list of messages (message)")


def test_without_any_time_the_chat_has_its_last_date() -> None:
    rows = [{"role": "user", "data": "Hi."}]
    assert build_chat({"message": rows, "lastDate": 1717359060000}).started_at == datetime(
        2024, 6, 2, 20, 11, tzinfo=UTC
    )
    assert build_chat({**CHAT, "lastDate": 1717359060000}).started_at is None


def test_a_chat_without_an_id_is_known_by_its_beginning() -> None:
    rows = CHAT["message"]
    assert build_chat({"name": "x", "message": rows[:2]}).id == build_chat({"name": "x", "message": rows}).id
    with pytest.raises(BadFile, match="no list of messages"):
        build_chat(None)


def test_the_user_gets_the_name_of_the_option_in_place_of_none_or_of_a_persona(tmp_path: Path) -> None:
    persona = {**RISUAI, "data": {**CHAT, "message": [{**row, "name": "Knight"} for row in CHAT["message"]]}}
    for value in (RISUAI, persona):
        (tmp_path / "chat.json").write_bytes(plain(value))
        lines = check_file(tmp_path / "chat.json", me="Ann").read()
        assert {line.speaker for line in lines if line.role == "user"} == {"Ann"}
