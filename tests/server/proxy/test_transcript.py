"""Histories are found in long sessions of messages that are all alike, in a time proportional to their length."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from time import process_time
from typing import Literal

import pytest

from everthread import Line, Memory
from everthread.common.keys import META_RECALLED
from everthread.server.proxy.message_text import ChatMessage
from everthread.server.proxy.transcript import Transcript
from everthread.types import Metadata

PAIRS = 4000
LIMIT_S = 1.0  # comparing every pair of messages takes several seconds
SAID_AT = datetime(2026, 1, 1, tzinfo=UTC)


def make_line(seq: int, text: str, parent: int | None) -> Line:
    role: Literal["user", "assistant"] = "user" if seq % 2 else "assistant"
    return Line(seq, "chat", role, role, text, SAID_AT, parent)


def make_history(count: int) -> list[ChatMessage]:
    return [message for _ in range(count) for message in (ChatMessage("user", "hi"), ChatMessage("assistant", "ok"))]


def make_lines(count: int) -> list[Line]:
    return [make_line(seq, "hi" if seq % 2 else "ok", seq - 1 or None) for seq in range(1, 2 * count + 1)]


def measure_s(call: Callable[[], object]) -> float:
    started = process_time()
    call()
    return process_time() - started


@pytest.mark.parametrize("trimmed", [0, 1, 1500, PAIRS - 10])
def test_a_session_of_equal_replies_is_aligned_at_its_end(trimmed: int) -> None:
    transcript = Transcript("chat", current=make_lines(PAIRS))
    history = make_history(PAIRS - trimmed)
    assert measure_s(lambda: transcript.align(history)) < LIMIT_S
    alignment = transcript.align(history)
    assert alignment is not None
    assert (alignment.offset, alignment.matches) == (2 * trimmed, PAIRS - trimmed)


@pytest.mark.parametrize("template", ["", "<context>A map.</context> "])
def test_equal_replies_are_aligned_by_the_messages_between_them(template: str) -> None:
    lines = make_lines(300)
    lines[300] = make_line(301, "Do you know Lisbon?", 300)
    history = make_history(100)
    history[60] = ChatMessage("user", f"{template}Do you know Lisbon?")
    alignment = Transcript("chat", current=lines).align(history)
    assert alignment is not None
    assert alignment.offset == 300 - 60


def test_removed_lines_that_a_client_leaves_out_are_looked_for_in_time() -> None:
    lines = make_lines(PAIRS // 2)
    removed = {seq: make_line(seq, "What?", seq - 1) for seq in range(3, 13, 2)}
    current = [line for line in lines if line.seq not in removed]
    history = [ChatMessage("user" if line.seq % 2 else "assistant", line.text) for line in current]
    transcript = Transcript("chat", current, removed)
    assert measure_s(lambda: transcript.skip_removed(history)) < LIMIT_S
    assert transcript.skip_removed(history) == history


def test_unknown_messages_are_looked_for_among_many_discarded_lines_in_time() -> None:
    discarded = {seq: make_line(seq, f"line {seq}", seq - 1 or None) for seq in range(1, 2 * PAIRS)}
    transcript = Transcript("chat", discarded=discarded)
    messages = [ChatMessage("assistant", f"reply {number}") for number in range(PAIRS)]
    assert measure_s(lambda: transcript.find_branch(messages)) < LIMIT_S


def test_a_discarded_line_is_found_by_its_text_and_place() -> None:
    lines = {2: (1, "Hello."), 4: (3, "Hello."), 6: (5, "Hello, Ann."), 8: (5, "Hm.")}
    transcript = Transcript("chat", discarded={seq: make_line(seq, text, at) for seq, (at, text) in lines.items()})

    def find(text: str, parent: int | None = None) -> int | None:
        line = transcript.find_discarded(ChatMessage("assistant", text), parent)
        return None if line is None else line.seq

    assert (find("Hello."), find("Hello.", 1), find("Hello.", 7)) == (4, 2, 4)
    assert (find("Oh! Hello, Ann.", 5), find("Oh! Hello, Ann.", 7), find("Hello, Ann.", 7)) == (6, None, 6)


def test_lines_are_held_without_the_records_of_their_memories(memory: Memory) -> None:
    metadata: Metadata = {"via": "proxy", META_RECALLED: {"memories": 0, "relevance": 0.0, "tokens": 0}}
    memory.observe("ok", role="assistant", session="chat", metadata=metadata)
    transcript = Transcript("chat")
    transcript.refresh(memory)
    assert [line.metadata for line in transcript.current] == [{"via": "proxy"}]
