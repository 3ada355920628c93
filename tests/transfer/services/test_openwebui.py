from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.conversation import BrokenConversation, Conversation
from everthread.transfer.services.openwebui import build_chat
from transfer.services.companion_examples import OPENWEBUI, plain
from transfer.services.reading import hidden, read_entries, shown, times


def test_the_path_to_the_current_message_is_shown_and_another_model_is_a_branch() -> None:
    chat = build_chat(OPENWEBUI[0])
    assert shown(chat) == [
        ("user", "Which door?"),
        ("Model One", "The blue one."),
        ("user", 'See <details type="reasoning">x</details>'),
    ]
    assert hidden(chat) == {"The red one.": "Which door?"}
    assert times(chat)[0] == "2024-06-02T20:11:00+00:00"
    assert (chat.id, chat.title) == ("w1", "Doors")


def test_reasoning_and_calls_are_counted_in_contents_and_in_output_items() -> None:
    chat = build_chat(OPENWEBUI[0])
    assert chat.skipped == {"thoughts": 2, "calls of tools": 2}
    assert chat.messages[3].metadata == {"attachments": ["offer.txt"]}
    assert chat.messages[1].metadata == {"model": "m-1"}


def test_texts_of_attachments_are_kept_if_they_are_wanted() -> None:
    value: Any = copy.deepcopy(OPENWEBUI[1])
    file = {"type": "file", "name": "", "file": {"filename": "offer.txt", "data": {"content": "Ten ferns."}}}
    value["chat"]["messages"][0]["files"] = [file]
    (message,) = build_chat(value).messages
    assert message.metadata == {"attachments": ["offer.txt"]}
    (message,) = build_chat(value, attachments=True).messages
    assert message.metadata["attachment_texts"] == [{"name": "offer.txt", "text": "Ten ferns."}]


def test_an_old_chat_is_a_list_of_messages() -> None:
    assert shown(build_chat(OPENWEBUI[1])) == [("user", "Old.")]


def test_times_in_milliseconds_are_read_too() -> None:
    value: Any = copy.deepcopy(OPENWEBUI[0])
    for node in value["chat"]["history"]["messages"].values():
        node["timestamp"] *= 1000
    assert times(build_chat(value)) == times(build_chat(OPENWEBUI[0]))


def test_a_broken_chat_leaves_the_others(tmp_path: Path) -> None:
    values = [OPENWEBUI[0], {"id": "w3", "title": "Broken", "chat": {}}, OPENWEBUI[1]]
    first, broken, last = read_entries("openwebui", tmp_path, {"chats.json": plain(values)})
    assert isinstance(first, Conversation)
    assert isinstance(last, Conversation)
    assert broken == BrokenConversation("Broken", "the chat has no messages")
    with pytest.raises(BadFile, match="no 'chat'"):
        build_chat({"id": "x"})


def test_a_chat_may_be_exported_by_itself(tmp_path: Path) -> None:
    (chat,) = read_entries("openwebui", tmp_path, {"chat.json": plain(OPENWEBUI[0])})
    assert isinstance(chat, Conversation)
    assert chat.id == "w1"
