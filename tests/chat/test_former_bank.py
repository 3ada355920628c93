"""A conversation goes on while its bank is forgotten by another process, and created again with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from everthread import Chat, Memory, NewLine
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Receipt, now

ZELDA = "My sister Zelda keeps ferrets."
QUOTE = "Zelda keeps ferrets, you said."
NEW_TEXTS = ["My brother keeps tortoises.", "He feeds them at noon.", "They like clover.", "They sleep all winter."]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Memory]:
    """Return the bank as another process opens it."""
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as opened:
        yield opened


def create_again(other: Memory, session: str) -> None:
    """Forget the bank, and give the numbers of its first lines to others of the same session."""
    other.forget(everything=True)
    other.observe_many([NewLine(text, session=session) for text in NEW_TEXTS])


def list_texts(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


@pytest.mark.parametrize("is_regenerated", [False, True])
def test_a_reply_to_a_line_of_a_former_bank_is_not_saved_and_replaces_no_line(
    memory: Memory, other: Memory, is_regenerated: bool
) -> None:
    with Chat(memory, None, ScriptedLLM([QUOTE] * 2), session="talk") as chat:
        list(chat.reply(ZELDA))
        reply = chat.regenerate() if is_regenerated else chat.reply("What does she keep?")
        next(reply)
        create_again(other, "talk")
        assert "ferrets" in next(reply) + "".join(reply)
        assert reply.line is None
    assert list_texts(other) == NEW_TEXTS


def test_a_reply_to_a_forgotten_line_is_not_saved(memory: Memory, other: Memory) -> None:
    with Chat(memory, None, ScriptedLLM([QUOTE]), session="talk") as chat:
        reply = chat.reply(ZELDA)
        next(reply)
        other.forget(session="talk")
        list(reply)
        assert reply.line is None
    assert not list_texts(other)


def test_a_reply_does_not_create_a_forgotten_bank_again(memory: Memory, other: Memory) -> None:
    with Chat(memory, None, ScriptedLLM([QUOTE]), session="talk") as chat:
        reply = chat.reply(ZELDA)
        next(reply)
        other.forget(everything=True)
        list(reply)
    assert not other.store.exists("alice")


@pytest.mark.parametrize("scope", [{"seq": 1}, {"session": "talk"}, {"everything": True}])
def test_the_last_reply_is_unknown_once_another_process_has_forgotten_something(
    memory: Memory, other: Memory, scope: dict[str, Any]
) -> None:
    memory.observe(ZELDA, session="earlier")
    with Chat(memory, None, ScriptedLLM([QUOTE]), session="talk") as chat:
        list(chat.reply("What does Zelda keep?"))
        assert chat.last_reply is not None
        other.forget(**scope)
        assert chat.last_reply is None


def test_the_last_reply_is_unknown_if_a_line_was_forgotten_while_its_prompt_was_built(
    memory: Memory, other: Memory
) -> None:
    memory.observe(ZELDA, session="earlier")
    forgotten = list[Receipt]()

    def count_and_forget(text: str) -> int:
        if "ferrets" in text and not forgotten:
            forgotten.append(other.forget(seq=1))
        return len(text) // 4

    with Chat(memory, None, ScriptedLLM([QUOTE]), session="talk", count=count_and_forget) as chat:
        list(chat.reply("What does Zelda keep?"))
        assert forgotten
        assert chat.last_reply is None


def test_an_event_with_the_number_of_one_that_a_former_bank_was_asked_about_is_brought_up(
    memory: Memory, other: Memory
) -> None:
    yesterday = now() - timedelta(hours=25)
    memory.observe("I have a dentist appointment tomorrow.", session="earlier", said_at=yesterday)
    with Chat(memory, None, ScriptedLLM(["Good luck."] * 9), session="talk") as chat:
        reply = chat.reply("Hello.")
        list(reply)
        assert "dentist" in reply.reminder
        other.forget(everything=True)
        other.observe("I have a driving test tomorrow.", session="earlier", said_at=yesterday)
        reply = chat.reply("Hello.")
        list(reply)
        assert "driving test" in reply.reminder
