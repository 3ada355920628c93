from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread import Line, Memory, NewLine
from everthread.bank.line_keys import find_by_keys
from everthread.bank.line_versions import find_versions, read_recorded
from everthread.chat.conversation import Conversation
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.errors import NotFound
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_the_copies_of_a_line_in_three_branches_are_its_versions(memory: Memory) -> None:
    conversation = Conversation(memory, "s")
    for text in ("one", "two"):
        conversation.add(NewLine(text, "Nora", said_at=NOON))
    conversation.branch(1)
    conversation.branch(2)
    conversation.branch(1)
    conversation.branch(3)
    assert find_versions(memory.store, memory.bank, [2]) == find_versions(memory.store, memory.bank, [4]) == [2, 3, 4]
    assert find_versions(memory.store, memory.bank, [1]) == [1]


def test_a_repeats_number_of_another_bank_links_no_lines(memory: Memory) -> None:
    memory.observe("one", session="s")
    memory.observe("two", session="s", metadata={META_REPEATS: 1})
    memory.observe("three", session="s", metadata={META_REPEATS: "1"})
    memory.observe("four", session="s", metadata={META_REPEATS: 99})
    assert [find_versions(memory.store, memory.bank, [seq]) for seq in range(1, 5)] == [[1], [2], [3], [4]]


@pytest.mark.parametrize("number", [1, 2, 99])  # forgotten, of another line, and of another bank
def test_corrections_of_a_line_that_the_bank_lacks_are_versions_of_each_other(memory: Memory, number: int) -> None:
    for speaker, text in (("Ann", "one"), ("Ben", "other"), ("Ann", "two")):
        metadata = {META_CORRECTS: number} if text == "two" else {}
        memory.observe(text, speaker=speaker, said_at=NOON, session="t" if text == "one" else "s", metadata=metadata)
    memory.forget(seq=1)
    third = memory.correct(3, "three")
    memory.observe("three", speaker="Ann", said_at=NOON, session="t", metadata={META_CORRECTS: number})
    assert (
        find_versions(memory.store, memory.bank, [3]) == find_versions(memory.store, memory.bank, [third.seq]) == [3, 4]
    )
    assert memory.forget(seq=third.seq).seqs == ((3, 4),)
    assert [line.text for line in memory.lines(include_retracted=True)] == ["other", "three"]


def test_forgetting_a_line_forgets_its_copies(memory: Memory, tmp_path: Path) -> None:
    conversation = Conversation(memory, "s")
    for text in ("one", "My cat is called Zebulon."):
        conversation.add(NewLine(text, "Nora", said_at=NOON))
    conversation.branch(1)
    conversation.branch(2)
    receipt = memory.forget(seq=3)
    assert (receipt.seqs, receipt.lines) == (((2, 3),), 2)
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_missing_line_has_no_versions_and_can_not_be_forgotten(memory: Memory) -> None:
    assert find_versions(memory.store, memory.bank, [9]) == [9]
    with pytest.raises(NotFound, match="has no line 9; nothing was forgotten"):
        memory.forget(seq=9)


def test_recorded_lines_are_read_whether_retracted_or_without_words(memory: Memory) -> None:
    texts = ("one", "two", "", "", "five", "six")
    wordless = {"mood": "calm"}
    lines = memory.observe_many([NewLine(text, session="s", metadata={} if text else wordless) for text in texts])
    for seq in (1, 4, 5):
        memory.retract(seq)
    memory.forget(seq=2)
    recorded = {line.seq: line.text for line in read_recorded(memory.store, memory.bank, range(1, 100))}
    assert recorded == {line.seq: line.text for line in lines if line.seq != 2}
    assert [line.seq for line in read_recorded(memory.store, memory.bank, [6, 4, 2, 1, 4])] == [1, 4, 6]
    assert [line.seq for line in read_recorded(memory.store, memory.bank, [5])] == [5]
    assert read_recorded(memory.store, memory.bank, []) == []


class ScanCounter(SQLiteStore):
    """Counts how many times lines are read, and how many times they are searched for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reads = self.scans = 0

    def lines(self, *args: Any, **options: Any) -> Iterator[Line]:
        self.reads += 1
        self.scans += options.get("limit") is None
        return super().lines(*args, **options)


def test_many_numbers_in_a_row_without_lines_are_read_at_once(tmp_path: Path) -> None:
    store = ScanCounter(tmp_path)
    with Memory.open("alice", store=store, embedder=HashEmbedder(8)) as memory:
        memory.observe_many([NewLine(f"line {number}") for number in range(10)])
        store.reads = 0
        assert len(read_recorded(store, memory.bank, range(1, 100_000))) == 10
        assert store.reads == 1
    store.close()


def test_the_versions_of_many_lines_are_found_in_as_few_scans_as_those_of_one(tmp_path: Path) -> None:
    store = ScanCounter(tmp_path)
    with Memory.open("alice", store=store, embedder=HashEmbedder(8)) as memory:
        lines = memory.observe_many([NewLine(f"line {number}", session="s") for number in range(40)])
        corrections = [memory.correct(line.seq, f"{line.text}!") for line in lines[::10]]
        store.scans = 0
        seqs = [line.seq for line in lines]
        assert find_versions(store, memory.bank, seqs) == [*seqs, *(line.seq for line in corrections)]
        assert store.scans == 2  # the second finds that the corrections have no other versions
    store.close()


def test_retracted_lines_are_found_by_their_keys_in_as_few_scans_as_one(tmp_path: Path) -> None:
    store = ScanCounter(tmp_path)
    with Memory.open("alice", store=store, embedder=HashEmbedder(8)) as memory:
        lines = memory.observe_many([NewLine(f"line {n}", session="s", said_at=NOON, key=f"k{n}") for n in range(20)])
        correct_as_version_0_1_0(memory, lines[3])
        memory.replace_lines([line.seq for line in lines])
        store.scans = 0
        found = find_by_keys(store, memory.bank, [f"k{number}" for number in range(20)])
        assert {key: line.text for key, line in found.items()} == {"k3": "line 3!"}
        assert store.scans == 2
        store.scans = 0
        again = memory.observe_many([NewLine(f"line {n}", session="s", key=f"k{n}") for n in range(20)])
        assert [line.seq for line in again] == [22, 23, 24, 21, *range(25, 41)]
        assert store.scans == 2
    store.close()


def correct_as_version_0_1_0(memory: Memory, line: Line) -> None:
    """Store a correction without the key of the line that it corrects."""
    metadata = {META_CORRECTS: line.seq}
    memory.observe(f"{line.text}!", speaker=line.speaker, said_at=line.said_at, session=line.session, metadata=metadata)
