"""Reading lines again by later rules, in both stores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from everthread import Memory, NewLine
from everthread.common.keys import SETTING_FACTS, SETTING_REMEMBER
from everthread.facts import rules
from everthread.facts.reading_state import RULES_VERSION, ReadingState, read_setting
from everthread.facts.reread_lines import reread_lines
from everthread.facts.types import Statement
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.types import Line

BEGUN = datetime(2024, 1, 1, 12, tzinfo=UTC)


def read_by_earlier_rules(lines: Sequence[Line], known: Sequence[Statement] = ()) -> list[Statement]:
    """Return what lines state by rules that knew nothing of children."""
    return [each for each in rules.read_statements(lines, known) if each.attribute != "child"]


@pytest.fixture
def memory(any_store: Store, request: pytest.FixtureRequest) -> Memory:
    """Return a bank that was read by earlier rules."""
    memory = Memory.open(request.node.name, store=any_store, embedder=HashEmbedder(), recipe="default")
    texts = ("My kids are Tom and Ella.", "I live in Leeds.", "We moved to York!", "I have a cat called Miso.")
    memory.observe_many(
        [NewLine(text, "Nora", said_at=BEGUN + timedelta(days=day), session="s") for day, text in enumerate(texts)]
    )
    memory.statement_reader = read_by_earlier_rules
    memory.facts()
    state = memory.settings()[SETTING_FACTS]
    assert isinstance(state, dict)
    memory.set_setting(SETTING_FACTS, {name: value for name, value in state.items() if name != "rules"})
    memory.statement_reader = rules.read_statements
    return memory


def list_facts(memory: Memory) -> set[tuple[str, str]]:
    return {(fact.attribute, fact.value) for fact in memory.facts("Nora")}


def test_lines_that_earlier_rules_read_are_read_again_by_reindex(memory: Memory) -> None:
    before = list_facts(memory)
    assert before == {("home", "York"), ("pet", "Miso")}
    memory.reindex()
    assert list_facts(memory) == before | {("child", "Tom"), ("child", "Ella")}
    (home,) = memory.facts("Nora", "home")
    assert (home.replaces, home.seqs) == ("Leeds", (3,))


def test_lines_are_read_again_once(memory: Memory) -> None:
    assert reread_lines(memory.store, memory.bank, rules.read_statements) == 2
    assert reread_lines(memory.store, memory.bank, rules.read_statements) == 0
    assert ReadingState.parse(read_setting(memory.store, memory.bank)).rules == RULES_VERSION
    ids = [unit.id for unit in memory.units("fact")]
    memory.reindex()
    assert [unit.id for unit in memory.units("fact")] == ids


def test_what_the_person_said_of_facts_stays_when_their_lines_are_read_again(memory: Memory) -> None:
    (home,), (cat,) = memory.facts("Nora", "home"), memory.facts("Nora", "pet")
    memory.correct_fact(home.id, "New York")
    memory.end_fact(cat.id)
    memory.confirm_fact(memory.facts("Miso", "kind")[0].id)
    before = memory.facts(include_ended=True)
    memory.reindex()
    after = memory.facts(include_ended=True)
    assert [fact for fact in after if fact.attribute != "child"] == before


def test_lines_of_facts_that_were_forgotten_are_not_read_again(memory: Memory) -> None:
    memory.forget_fact(memory.facts("Nora", "pet")[0].id)
    memory.reindex()
    assert not memory.facts("Nora", "pet")


def test_an_interrupted_reading_is_continued(memory: Memory) -> None:
    state = memory.settings()[SETTING_FACTS]
    assert isinstance(state, dict)
    memory.set_setting(SETTING_FACTS, {**state, "again": 1})
    assert reread_lines(memory.store, memory.bank, rules.read_statements) == 0  # the children are in the first line


def test_a_bank_that_never_remembers_is_not_read_again(memory: Memory) -> None:
    memory.set_setting(SETTING_REMEMBER, "never")
    assert reread_lines(memory.store, memory.bank, rules.read_statements) == 0
    assert not memory.facts()


def test_rules_that_read_again_know_only_what_was_said_before(memory: Memory) -> None:
    known: list[set[int]] = []

    def record(lines: Sequence[Line], so_far: Sequence[Statement]) -> list[Statement]:
        known.append({seq for each in so_far for seq in each.seqs})
        return []

    reread_lines(memory.store, memory.bank, record)
    assert known == [set()]
