"""The facts of a bank equal those of a simple model of history after any steps, in both stores."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from effort import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from everthread import BadQuery, Memory, NewLine
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.facts.reading_state import ReadingState, read_setting
from everthread.facts.types import Fact
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.transfer.exporting import export
from everthread.transfer.importing import check_file, import_lines
from everthread.types import Line
from facts.sample_reader import read_statements

BEGUN = datetime(2024, 1, 1, 12, tzinfo=UTC)
PRESENT = datetime.max.replace(tzinfo=UTC)  # later than all lines, and when the person ends facts
NAMES = count()
CLAUSES = (
    *(f"I {verb} {city}." for verb in ("live in", "no longer live in") for city in ("Leeds", "York", "Porto")),
    *(f"I {verb} {taste}." for verb in ("like", "no longer like") for taste in ("jazz", "figs")),
    "Hello.",
)
TEXTS = st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=2, unique=True).map(" ".join)
PICKS = st.integers(0, 99)  # one of a list, modulo its length
HOURS = st.integers(0, 3)  # so that lines are often said at the same time
VALUES = {"home": ("Leeds", "York", "Rome"), "likes": ("jazz", "figs", "tea")}


@dataclass(frozen=True)
class Said:
    """A statement of a line; `at` is set if the person made it by hand."""

    attribute: str
    value: str
    ends: bool = False
    at: datetime | None = None

    @property
    def pair(self) -> tuple[str, str]:
        return self.attribute, self.value


@dataclass
class Model:
    """The statements of lines by their numbers, and the versions of lines that are never read again, or never were."""

    said: dict[int, list[Said]] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)  # retracted or replaced before they were read for facts
    first_version: dict[int, int] = field(default_factory=dict)
    excluded: set[int] = field(default_factory=set)  # first versions

    def tell(self, lines: Iterable[Line]) -> None:
        """Note what new lines state: what the line that one repeats states, else what its text does."""
        for line in lines:
            if line.seq in self.said:
                continue
            repeated, corrected = (line.metadata.get(name) for name in (META_REPEATS, META_CORRECTS))
            earlier = repeated or corrected
            first = self.first_version[earlier] if isinstance(earlier, int) else line.seq
            self.first_version[line.seq] = first
            if isinstance(repeated, int):
                self.said[line.seq] = list(self.said[repeated])
            elif first in self.excluded:
                self.said[line.seq] = []
            else:
                self.said[line.seq] = [Said(each.attribute, each.value, each.ends) for each in read_statements([line])]

    def restate(self, fact: Fact, value: str) -> None:
        """Give the statements of a fact another value."""
        pair = fact.attribute, fact.value
        for seq in fact.seqs:
            self.said[seq] = [
                replace(each, value=value) if each.pair == pair and not each.ends else each for each in self.said[seq]
            ]

    def end(self, fact: Fact) -> None:
        """Note in each line of a fact that it has ended."""
        for seq in fact.seqs:
            self.said[seq].append(Said(fact.attribute, fact.value, ends=True, at=PRESENT))

    def resume(self, fact: Fact) -> None:
        """Note in each line of a fact that ended and is true after all that it is said once more."""
        for seq in fact.seqs:
            self.said[seq].append(Said(fact.attribute, fact.value))

    def forget(self, fact: Fact, current: Iterable[Line]) -> None:
        """Remove a value from the lines that state it and from their versions, which are never read again."""
        pair = fact.attribute, fact.value
        firsts = {self.first_version[line.seq] for line in current if any(s.pair == pair for s in self.said[line.seq])}
        self.excluded |= firsts
        for seq, said in self.said.items():
            if self.first_version[seq] in firsts:
                self.said[seq] = [] if seq in self.unread else [each for each in said if each.pair != pair]

    def hold(self, current: Iterable[Line], moment: datetime) -> set[tuple[str, str]]:
        """Return the attributes and values that held at a moment: replay what the current lines state."""
        told = [(each.at or line.said_at, line.position, each) for line in current for each in self.said[line.seq]]
        held: set[tuple[str, str]] = set()
        known: set[tuple[str, str]] = set()
        only_ended: set[tuple[str, str]] = set()
        for at, _, each in sorted(told, key=lambda item: item[:2]):
            if each.ends and each.pair not in known and at > moment:
                only_ended.add(each.pair)
            known.add(each.pair)
            if at <= moment and each.ends:
                held.discard(each.pair)
            elif at <= moment:
                held = {pair for pair in held if pair[0] != "home" or each.attribute != "home"} | {each.pair}
        return held | only_ended


class FactMachine(RuleBasedStateMachine):
    """Changes a bank of a store and the model in the same steps, and compares what both know."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory.open(f"bank {next(NAMES)}", store=self.store, embedder=HashEmbedder(), recipe="default")
        self.memory.statement_reader = read_statements
        self.model = Model()

    def pick(self, number: int, *, retracted: bool = False) -> Line | None:
        lines = list(self.memory.lines(include_retracted=retracted))
        return lines[number % len(lines)] if lines else None

    def note_unread(self, line: Line) -> None:
        """Note a line that is retracted or replaced if it wasn't read."""
        state = ReadingState.parse(read_setting(self.memory.store, self.memory.bank))
        if line.seq > state.last_seq:
            self.model.unread.add(line.seq)

    def pick_fact(self, number: int) -> Fact | None:
        facts = self.memory.facts()
        return facts[number % len(facts)] if facts else None

    @initialize(said=st.lists(st.tuples(TEXTS, HOURS), min_size=2, max_size=4))
    def begin(self, said: list[tuple[str, int]]) -> None:
        self.tell(said)

    @rule(said=st.lists(st.tuples(TEXTS, HOURS), min_size=1, max_size=3))
    def tell(self, said: list[tuple[str, int]]) -> None:
        lines = [NewLine(text, "Nora", said_at=BEGUN + timedelta(hours=hour), session="s") for text, hour in said]
        self.model.tell(self.memory.observe_many(lines))

    @rule(number=PICKS, text=TEXTS)
    def correct(self, number: int, text: str) -> None:
        if line := self.pick(number):
            self.note_unread(line)
            self.model.tell([self.memory.correct(line.seq, text)])

    @rule(number=PICKS)
    def retract(self, number: int) -> None:
        if line := self.pick(number):
            self.note_unread(line)
            self.memory.retract(line.seq)

    @rule(number=PICKS, reading=st.booleans())
    def retract_and_restore(self, number: int, reading: bool) -> None:
        if line := self.pick(number):
            self.note_unread(line)
            self.memory.retract(line.seq)
            if reading:
                self.compare(number % 4)
            self.restore_line(line)

    @rule(number=PICKS)
    def restore(self, number: int) -> None:
        if line := self.pick(number, retracted=True):
            self.restore_line(line)

    def restore_line(self, line: Line) -> None:
        before = list(self.memory.lines())
        with suppress(BadQuery):  # a line that led to it was forgotten
            restored = self.memory.restore(line.seq)
            active = {each.seq for each in self.memory.lines()}
            for each in before:
                if each.seq not in active:  # a version that it replaced, or what followed
                    self.note_unread(each)
            self.model.tell(restored)

    @rule(number=PICKS)
    def forget(self, number: int) -> None:
        if line := self.pick(number, retracted=True):
            self.memory.forget(seq=line.seq)

    @rule(number=PICKS, value=PICKS)
    def correct_fact(self, number: int, value: int) -> None:
        if fact := self.pick_fact(number):
            values = VALUES[fact.attribute]
            self.memory.correct_fact(fact.id, values[value % len(values)])
            self.model.restate(fact, values[value % len(values)])

    @rule(number=PICKS)
    def confirm_fact(self, number: int) -> None:
        if fact := self.pick_fact(number):
            assert self.memory.confirm_fact(fact.id).is_confirmed

    @rule(number=PICKS)
    def end_fact(self, number: int) -> None:
        if fact := self.pick_fact(number):
            assert not self.memory.end_fact(fact.id).holds
            self.model.end(fact)

    @rule(number=PICKS)
    def end_fact_and_resume_it(self, number: int) -> None:
        if fact := self.pick_fact(number):
            self.memory.end_fact(fact.id)
            assert self.memory.end_fact(fact.id, "2024-01-01").until_stated == "2024-01-01"
            assert self.memory.resume_fact(fact.id).holds
            self.model.resume(fact)

    @rule(number=PICKS, with_lines=st.booleans())
    def forget_fact(self, number: int, with_lines: bool) -> None:
        if fact := self.pick_fact(number):
            self.model.forget(fact, self.memory.lines())
            gone = self.memory.forget_fact(fact.id, with_lines=with_lines)
            assert len(self.memory.store.get(self.memory.bank, gone)) == (0 if with_lines else len(gone))

    @rule()
    def import_its_export(self) -> None:
        lines = len(list(self.memory.lines()))
        if lines:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "bank.jsonl"
                file.write_text("".join(export(self.memory, retracted=True)), encoding="utf-8")
                import_lines(self.memory, check_file(file))
            assert len(list(self.memory.lines())) == lines

    @rule(hour=HOURS)
    def compare(self, hour: int) -> None:
        lines = list(self.memory.lines())
        assert {(fact.attribute, fact.value) for fact in self.memory.facts()} == self.model.hold(lines, PRESENT)
        moment = BEGUN + timedelta(hours=hour)
        held = [(fact.attribute, fact.value) for fact in self.memory.facts(as_of=moment)]
        assert set(held) == self.model.hold(lines, moment)
        seqs = {seq for fact in self.memory.facts(include_ended=True) for seq in fact.seqs}
        assert seqs <= {line.seq for line in lines}

    def teardown(self) -> None:
        self.compare(2)
        assert self.memory.store.check(self.memory.bank) == []


@pytest.mark.slow
def test_facts_equal_those_of_a_simple_model_after_any_steps(any_store: Store) -> None:
    machine = type("Machine", (FactMachine,), {"store": any_store})
    quick = settings(examples(50), stateful_step_count=30, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine, settings=quick)
