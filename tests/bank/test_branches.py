"""Restoring a branch, in both stores."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import BadQuery, Filter, Line, Memory, NewLine, NotFound
from everthread.bank.corrections import sort_by_position
from everthread.common.keys import META_CORRECTS, META_REPEATS
from everthread.stores.base import Store
from everthread.testing import HashEmbedder

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAMES = count()


@pytest.fixture
def bank(any_store: Store) -> Memory:
    return open_bank(any_store)


def open_bank(store: Store) -> Memory:
    return Memory.open(f"alice-{next(NAMES)}", store=store, embedder=HashEmbedder(64))


def say(bank: Memory, *texts: str, replacing: int | None = None) -> list[Line]:
    """Store lines, each as an answer to the one before, after retracting the current lines from a position on."""
    stored = []
    for text in texts:
        lines = talk(bank)
        discarded = [] if replacing is None else lines[replacing:]
        kept = lines[: len(lines) - len(discarded)]
        parent = kept[-1].seq if kept else None
        at = NOON + timedelta(minutes=bank.store.corpus_stats(bank.bank).last_seq)
        new = NewLine(text, "Nora", said_at=at, session="s", parent=parent)
        stored += bank.replace_lines([line.seq for line in discarded], [new])
        replacing = None
    return stored


def import_lines(bank: Memory, lines: int) -> None:
    """Store lines that have no parents."""
    bank.observe_many(
        NewLine(f"line {n}", "Nora", said_at=NOON + timedelta(minutes=n), session="s", key=f"k{n}")
        for n in range(1, lines + 1)
    )


def talk(bank: Memory) -> list[Line]:
    return sort_by_position(list(bank.lines(Filter(session="s"))))


def texts(bank: Memory) -> list[str]:
    return [line.text for line in talk(bank)]


def test_a_restored_line_is_current_again_with_the_lines_that_led_to_it(bank: Memory) -> None:
    say(bank, "one", "two", "three", "four")
    say(bank, "other", "and so on", replacing=1)
    restored = bank.restore(3)
    assert texts(bank) == ["one", "two", "three"]
    assert [(line.seq, line.parent, line.metadata) for line in restored] == [
        (7, 1, {META_REPEATS: 2}),
        (8, 7, {META_REPEATS: 3}),
    ]
    assert [line.text for line in bank.restore(6)] == ["other", "and so on"]
    assert texts(bank) == ["one", "other", "and so on"]
    assert bank.store.check(bank.bank) == []


def test_lines_after_a_current_line_are_retracted(bank: Memory) -> None:
    say(bank, "one", "two", "three")
    assert bank.restore(2) == []
    assert texts(bank) == ["one", "two"]
    assert bank.restore(2) == []
    assert bank.stats().retracted == 1


def test_a_line_that_was_restored_already_is_not_copied_again(bank: Memory) -> None:
    say(bank, "one", "two", "three")
    bank.restore(1)
    (copy,) = bank.restore(2)
    assert [line.parent for line in bank.restore(3)] == [copy.seq]
    assert bank.restore(2) == []
    assert [line.seq for line in talk(bank)] == [1, copy.seq]


def test_a_correction_of_an_earlier_line_stays(bank: Memory) -> None:
    say(bank, "one", "two", "three", "four")
    bank.restore(2)
    bank.correct(bank.correct(1, "uno").seq, "un")
    bank.restore(4)
    assert texts(bank) == ["un", "two", "three", "four"]


def test_a_corrected_line_of_an_import_does_not_hide_the_lines_before_another(bank: Memory) -> None:
    import_lines(bank, 5)
    bank.restore(3)
    for seq in (1, 2):
        bank.correct(seq, f"line {seq}, corrected")
    bank.restore(5)
    assert texts(bank) == ["line 1, corrected", "line 2, corrected", "line 3", "line 4", "line 5"]


def test_the_old_text_of_a_corrected_line_can_be_restored(bank: Memory) -> None:
    import_lines(bank, 3)
    bank.correct(2, "corrected")
    (copy,) = bank.restore(2)
    assert texts(bank) == ["line 1", "line 2"]
    assert bank.get(key="k2") == copy
    bank.correct(1, "corrected")
    bank.restore(1)
    assert texts(bank) == ["line 1"]


def test_a_restored_line_takes_its_key_unless_a_current_line_has_it(bank: Memory) -> None:
    import_lines(bank, 3)
    bank.restore(1)
    bank.observe("line 3 of another session", key="k3", session="elsewhere")
    assert [line.key for line in bank.restore(3)] == ["k2", None]
    assert texts(bank) == ["line 1", "line 2", "line 3"]
    assert [line.key for line in bank.lines()] == ["k1", "k3", "k2", None]


def test_a_restored_undated_line_stays_undated(bank: Memory) -> None:
    bank.observe_many(NewLine(text, session="s", undated=True) for text in ("one", "two"))
    bank.restore(1)
    assert [line.is_undated for line in bank.restore(2)] == [True]


def test_a_line_after_a_forgotten_one_is_not_restored(bank: Memory) -> None:
    say(bank, "one", "two", "three")
    bank.restore(1)
    bank.forget(seq=2)
    with pytest.raises(BadQuery, match="line 3 can't be restored: line 2, which led to it, is forgotten"):
        bank.restore(3)
    assert texts(bank) == ["one"]


def test_an_unknown_or_invalid_number_is_rejected(bank: Memory) -> None:
    say(bank, "one", "two")
    for seq in (0, 3, 2**70):
        with pytest.raises(NotFound, match=f"no line {seq}"):
            bank.restore(seq)
    with pytest.raises(BadQuery, match="seq must be a whole number, got '1'"):
        bank.restore("1")  # type: ignore[arg-type]
    assert texts(bank) == ["one", "two"]


def test_imported_numbers_of_another_bank_are_no_branch(bank: Memory) -> None:
    say(bank, "one", "two", "three")
    bank.restore(2)
    for name in (META_CORRECTS, META_REPEATS):
        bank.observe(f"with {name}", speaker="Nora", session="s", said_at=NOON, metadata={name: 2})
    bank.retract(2)
    bank.restore(3)
    assert texts(bank) == ["one", "two", "three"]


def test_readers_see_the_lines_before_or_after_restoring_only(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as bank:
        say(bank, "one", "two", "three")
        say(bank, "other", replacing=1)
        seen: set[tuple[str, ...]] = set()
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.add(tuple(line.text for line in bank.lines()))

        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(15):
            bank.restore(3)
            bank.restore(4)
        done.set()
        reader.join()
    assert seen <= {("one", "two", "three"), ("one", "other")}


ACTS = st.lists(st.tuples(st.sampled_from(["say", "undo", "restore"]), st.integers(0, 9)), max_size=14)


@examples(20)
@given(ACTS)
def test_any_line_ever_said_can_be_restored_with_the_lines_before_it(
    any_store: Store, acts: list[tuple[str, int]]
) -> None:
    bank = open_bank(any_store)
    paths: dict[int, list[str]] = {}  # the texts up to each line, when it was stored
    for act, number in acts:
        lines = talk(bank)
        if act == "say":
            (line,) = say(bank, f"text {len(paths)}", replacing=len(lines) - number % 3)
            paths[line.seq] = texts(bank)
        elif act == "undo" and lines:
            bank.restore(lines[number % len(lines)].seq)
        elif act == "restore" and paths:
            seq = sorted(paths)[number % len(paths)]
            for line in bank.restore(seq):
                paths[line.seq] = texts(bank)[: texts(bank).index(line.text) + 1]
            assert texts(bank) == paths[seq]
        lines = talk(bank)
        assert [line.parent for line in lines] == [None, *(line.seq for line in lines)][: len(lines)]
