from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread import Memory, NewLine
from everthread.bank.line_versions import find_versions
from everthread.chat.conversation import Conversation
from everthread.common.keys import META_REPEATS
from everthread.errors import NotFound

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_line_that_was_gone_back_to_twice_is_one_line_under_three_numbers(memory: Memory) -> None:
    talk = Conversation(memory, "s")
    for text in ("one", "two"):
        talk.add(NewLine(text, "Nora", said_at=NOON))
    talk.branch(1)
    talk.branch(2)
    talk.branch(1)
    talk.branch(3)
    assert find_versions(memory.store, memory.bank, 2) == find_versions(memory.store, memory.bank, 4) == [2, 3, 4]
    assert find_versions(memory.store, memory.bank, 1) == [1]


def test_a_number_of_another_record_makes_no_two_lines_one(memory: Memory) -> None:
    memory.observe("one", session="s")
    memory.observe("two", session="s", metadata={META_REPEATS: 1})
    memory.observe("three", session="s", metadata={META_REPEATS: "1"})
    memory.observe("four", session="s", metadata={META_REPEATS: 99})
    assert [find_versions(memory.store, memory.bank, seq) for seq in range(1, 5)] == [[1], [2], [3], [4]]


def test_whoever_forgets_a_line_forgets_its_copies(memory: Memory, tmp_path: Path) -> None:
    talk = Conversation(memory, "s")
    for text in ("one", "My cat is called Zebulon."):
        talk.add(NewLine(text, "Nora", said_at=NOON))
    talk.branch(1)
    talk.branch(2)
    receipt = memory.forget(seq=3)
    assert (receipt.seqs, receipt.lines) == (((2, 2), (3, 3)), 2)
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_line_that_is_not_there_has_no_copies(memory: Memory) -> None:
    assert find_versions(memory.store, memory.bank, 9) == [9]
    with pytest.raises(NotFound, match="has no line 9; nothing was forgotten"):
        memory.forget(seq=9)
