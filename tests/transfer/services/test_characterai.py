from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.characterai import build_chat, build_history
from everthread.transfer.services.conversation import BrokenConversation, Conversation
from transfer.services.companion_examples import CHARACTERAI_HISTORIES, CHARACTERAI_TURNS, plain
from transfer.services.reading import hidden, read_entries, shown, times

TURNS: Any = CHARACTERAI_TURNS["turns"]


def test_turns_come_from_the_oldest_with_the_primary_candidate_of_each() -> None:
    chat = build_chat("chat-1", TURNS)
    assert shown(chat) == [("Aria", "I have a door."), ("Nora", "Which?"), ("Aria", "It is blue.")]
    assert [message.role for message in chat.messages if message.shown] == ["assistant", "user", "assistant"]
    assert hidden(chat) == {"No.": "Which?"}
    assert times(chat)[0] == "2024-06-02T20:11:00+00:00"
    assert (chat.title, chat.owner, chat.skipped) == ("Aria", "Nora", {"messages without text": 1})


def test_the_pages_of_a_chat_are_one_conversation(tmp_path: Path) -> None:
    pages = {f"page {number}.json": plain({"turns": [turn]}) for number, turn in enumerate(TURNS)}
    pages["all.json"] = plain([{"turns": TURNS[:1]}, {"turns": []}])
    pages["turns.json"] = plain(TURNS[1:])
    (chat,) = read_entries("characterai", tmp_path, pages)
    assert isinstance(chat, Conversation)
    assert chat.id == "chat-1"
    assert [text for _, text in dict.fromkeys(shown(chat))] == ["I have a door.", "Which?", "It is blue."]


def test_an_edited_candidate_hides_the_one_that_it_is_based_on() -> None:
    turns = copy.deepcopy(TURNS)
    edited = {"candidate_id": "k2b", "raw_content": "Which one?", "editor": {"name": "Nora"}, "base_candidate_id": "k2"}
    turns[1]["candidates"].append(edited)
    turns[1]["primary_candidate_id"] = "k2b"
    chat = build_chat("chat-1", turns)
    assert ("Nora", "Which one?") in shown(chat)
    assert hidden(chat)["Which?"] == "I have a door."


def test_without_a_primary_candidate_the_first_is_shown() -> None:
    turns = [{**turn, "primary_candidate_id": "missing"} for turn in TURNS]
    assert shown(build_chat("c", turns))[-1] == ("Aria", "No.")


def test_histories_of_cai_tools_come_from_the_oldest_in_either_order(tmp_path: Path) -> None:
    first, second = read_entries("characterai", tmp_path, {"Aria.json": plain(CHARACTERAI_HISTORIES)})
    assert isinstance(first, Conversation)
    assert isinstance(second, Conversation)
    assert shown(first) == [("Aria", "I have a door."), ("Nora", "Which?"), ("Aria", "The blue one.")]
    assert shown(second) == [("user", "Sooner."), ("Aria", "Later.")]
    assert (first.id, second.id) == ("h1", "h2")


def test_a_history_without_an_id_is_known_by_its_beginning() -> None:
    history: Any = {**CHARACTERAI_HISTORIES["histories"]["histories"][0]}
    del history["external_id"]
    grown = {"msgs": [*history["msgs"], {"src": {}, "text": "More.", "created": "2023-06-02T21:00:00Z"}]}
    assert build_history(history, "Aria").id == build_history(grown, "Aria").id


def test_deleted_messages_are_counted() -> None:
    history = build_history({"msgs": [{"src": {"is_human": True}, "text": "x", "deleted": True}, {"text": ""}, 1]})
    assert not history.messages
    assert history.skipped == {"deleted messages": 1, "messages without text": 1, "broken messages": 1}


def test_a_broken_chat_leaves_the_others(tmp_path: Path) -> None:
    value = copy.deepcopy(CHARACTERAI_HISTORIES)
    value["histories"]["histories"][1] = {"msgs": None}
    first, second = read_entries("characterai", tmp_path, {"Aria.json": plain(value)})
    assert isinstance(first, Conversation)
    assert second == BrokenConversation("Aria.json, chat 2", "the chat has no list of messages (msgs)")
    with pytest.raises(BadFile, match="no entry is a turn"):
        build_chat("c", [{}])
