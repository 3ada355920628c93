"""Open incognito chats of a channel."""

from datetime import datetime, timedelta

import pytest

from everthread.chat.chat import Chat
from everthread.memory import Memory
from everthread.server.messaging import private_chats
from everthread.server.messaging.private_chats import PrivateChats
from everthread.types import now


def talk(memory: Memory) -> Chat:
    chat = Chat(memory, incognito=True)
    chat.add_line("Hush.", "Ann")
    return chat


def test_a_chat_is_current_for_an_hour_after_its_last_line(memory: Memory) -> None:
    chats, chat = PrivateChats(), talk(memory)
    chats.add(chat)
    said_at: datetime = chat.lines[-1].said_at
    assert chats.get_current(memory.bank, said_at + timedelta(minutes=59)) is chat
    assert chats.get_current(memory.bank, said_at + timedelta(minutes=61)) is None


def test_a_dropped_chat_is_gone(memory: Memory) -> None:
    chats = PrivateChats()
    chats.add(talk(memory))
    chats.drop(memory.bank)
    assert chats.get_current(memory.bank, now()) is None


def test_the_oldest_chat_makes_room_for_a_new_one(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_chats, "MAX_PRIVATE_CHATS", 1)
    chats, other = PrivateChats(), Memory("other", memory.store, memory.embedder, memory.recipe)
    chats.add(talk(memory))
    chats.add(talk(other))
    at = now()
    assert chats.get_current(memory.bank, at) is None
    assert chats.get_current("other", at) is not None
