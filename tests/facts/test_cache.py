from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from everthread.facts.types import Statement
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import Line, NewLine
from facts.sample_reader import read_statements


@dataclass
class CountingReader:
    """Reads as `sample_reader` does, and keeps the numbers of the lines that it was given."""

    seqs: list[int] = field(default_factory=list)

    def __call__(self, lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
        self.seqs += [line.seq for line in lines]
        return read_statements(lines, known)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder()) as opened:
        opened.statement_reader = CountingReader()
        yield opened


def tell(memory: Memory, *texts: str) -> None:
    memory.observe_many(NewLine(text, "Nora") for text in texts)


def test_what_is_known_is_kept_while_no_statement_changes(memory: Memory) -> None:
    tell(memory, "I live in Leeds.", "I like jazz.")
    known = memory.read_known()
    assert memory.read_known() is known
    tell(memory, "What a day.")
    assert memory.read_known() is known


def test_a_change_by_another_process_is_seen(memory: Memory, tmp_path: Path) -> None:
    tell(memory, "I live in Leeds.", "I like jazz.")
    fact = memory.facts(attribute="home")[0]
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder()) as other:
        other.correct_fact(fact.id, "York")
        assert [fact.value for fact in memory.facts()] == ["York", "jazz"]
        other.forget(seq=1)
        assert [fact.value for fact in memory.facts()] == ["jazz"]
        assert "York" not in str(memory.read_known().entities.all())
        other.forget_fact(memory.facts()[0].id)
    assert memory.facts() == []


def test_forgetting_clears_what_is_kept(memory: Memory) -> None:
    tell(memory, "I live in Leeds.")
    assert memory.facts()
    memory.forget(seq=1)
    assert "Leeds" not in str(vars(memory.fact_cache))


def test_no_more_lines_are_read_for_a_prompt_than_the_limit(memory: Memory) -> None:
    tell(memory, *(f"I like number{number}." for number in range(10)))
    assert len(memory.read_known(limit=4).facts()) == 4
    assert len(memory.read_known(limit=4).facts()) == 8
    assert len(memory.read_known(limit=0).facts()) == 8
    assert len(memory.facts()) == 10


def test_lines_that_are_in_the_prompt_are_not_read_for_it(memory: Memory) -> None:
    tell(memory, "I like jazz.")
    assert memory.read_known(exclude=[1]).facts() == []
    tell(memory, "I like tea.")
    assert len(memory.read_known(exclude=[1]).facts()) == 2


def test_reading_in_advance_leaves_nothing_to_read(memory: Memory) -> None:
    tell(memory, "I like jazz.", "I like tea.")
    assert memory.fact_cache.count_unread() == 2
    done: list[int] = []
    memory.read_facts(done.append)
    assert (sum(done), memory.fact_cache.count_unread()) == (2, 0)


def test_a_forgotten_bank_is_not_created_again_to_look_for_lines(memory: Memory) -> None:
    tell(memory, "I like jazz.")
    memory.forget(everything=True)
    assert memory.fact_cache.count_unread() == 0
    assert not memory.store.exists(memory.bank)


def test_a_bank_that_never_remembers_has_nothing_to_read(memory: Memory) -> None:
    tell(memory, "I like jazz.")
    memory.set_setting("remember", "never")
    assert memory.fact_cache.count_unread() == 0
    assert memory.read_known().facts() == []
