"""Consequences of removing lines and of concurrent writes, in both stores, each in one transaction.

Summaries of the remaining lines are queued, pins are moved, concurrent changes of a setting are all kept, and at most
one note is current.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

import pytest
from hardship import forked

from everthread import Memory, NewLine
from everthread.chat import pins
from everthread.common.keys import SETTING_PERSON_NAMES, SETTING_PINNED
from everthread.errors import BadQuery, NotFound
from everthread.memory import BATCH_LINES
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.testing import HashEmbedder
from everthread.types import JSONValue, NewUnit

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
NAMES = count()


@pytest.fixture
def memory(open_store: Callable[[], Store]) -> Memory:
    """Return a bank of five lines in two sessions, each with a summary; the second line is pinned."""
    return fill(Memory(f"followed-{next(NAMES)}", open_store(), HashEmbedder(), Default()))


def fill(memory: Memory) -> Memory:
    memory.observe_many([NewLine(f"Line {n}.", "Ann", said_at=NOON, session="ab"[n > 3]) for n in range(1, 6)])
    for session, first, last in (("a", 1, 3), ("b", 4, 5)):
        memory.add_unit(summary(session, first, last))
    pins.add(memory, 2)
    return memory


def summary(session: str, first: int, last: int) -> NewUnit:
    return NewUnit("summary", "They talked.", first, last, NOON, metadata={"session": session})


def note(text: str) -> NewUnit:
    return NewUnit("note", text, 1, 5, NOON)


def queue_and_pins(memory: Memory) -> tuple[list[tuple[str, int, int]], JSONValue]:
    """Return the queued summaries and the pinned lines."""
    queued = [(work.session, work.first_seq, work.last_seq) for work in memory.jobs()]
    return queued, memory.settings().get(SETTING_PINNED)


def test_retracting_a_line_queues_a_summary_of_the_rest_and_removes_its_pin(memory: Memory) -> None:
    memory.store.retract(memory.bank, 1, NOON)
    assert queue_and_pins(memory) == ([("a", 2, 3)], [2])
    memory.store.retract(memory.bank, 2, NOON)
    assert queue_and_pins(memory) == ([("a", 2, 3)], None)  # there was no summary any more


def test_forgetting_a_line_queues_a_summary_of_the_rest_and_removes_its_pin(memory: Memory) -> None:
    memory.store.forget(memory.bank, "line", [2], NOON)
    assert queue_and_pins(memory) == ([("a", 1, 3)], None)


def test_later_lines_do_not_create_a_bank_again_that_was_forgotten_after_the_first(memory: Memory) -> None:
    memory.replace_lines((), [NewLine("Line 6.")], after=5)
    memory.forget(seq=6)
    memory.replace_lines((), [NewLine("Line 7.")], after=6)  # lines alone were forgotten
    memory.forget(everything=True)
    with pytest.raises(NotFound, match="forgotten in the meantime"):
        memory.replace_lines((), [NewLine("Line 8.")], after=7)
    assert not memory.store.exists(memory.bank)
    memory.observe("Another bank of the same name.")
    with pytest.raises(NotFound, match="forgotten in the meantime"):
        memory.replace_lines((), [NewLine("Line 8.")], after=7)
    with pytest.raises(NotFound, match="forgotten in the meantime"):
        memory.observe_many([NewLine(f"Line {n}.") for n in range(2 * BATCH_LINES)], lambda _: forget_all(memory))
    assert not memory.store.exists(memory.bank)


def forget_all(memory: Memory) -> None:
    memory.forget(everything=True)


def test_the_persons_names_are_forgotten_with_the_last_line_that_has_them(memory: Memory) -> None:
    memory.observe("My name is Anna.", speaker="Anna")
    memory.observe("Hello, Anna.", speaker="Bot", role="assistant")
    memory.set_setting(SETTING_PERSON_NAMES, ["Ann", "Anna", "Bot"])
    memory.forget(seq=1)
    assert memory.settings()[SETTING_PERSON_NAMES] == ["Ann", "Anna"]
    memory.forget(speaker="Ann")
    assert memory.settings()[SETTING_PERSON_NAMES] == ["Anna"]
    memory.forget(seq=6)
    assert SETTING_PERSON_NAMES not in memory.settings()


def test_several_lines_are_forgotten_with_their_corrections_and_one_receipt(memory: Memory) -> None:
    correction = memory.correct(5, "Line five.")
    receipt = memory.forget(seq=[5, 2, 77])
    assert (receipt.seqs, receipt.lines) == (((2, 2), (5, correction.seq)), 3)
    assert [line.seq for line in memory.lines(include_retracted=True)] == [1, 3, 4]
    assert len(memory.store.receipts(memory.bank)) == 1
    with pytest.raises(NotFound, match=r"has no line \[2, 5\]; nothing was forgotten"):
        memory.forget(seq=[5, 2])
    with pytest.raises(BadQuery, match=r"seq must be the seqs of lines, got \{'a'\}"):
        memory.forget(seq={"a"})  # type: ignore[arg-type]


def test_no_summary_of_a_forgotten_session_is_queued(memory: Memory) -> None:
    memory.store.forget(memory.bank, "session", "a", NOON)
    assert queue_and_pins(memory) == ([], None)


def test_a_correction_inherits_the_pin_and_queues_a_summary(memory: Memory) -> None:
    memory.correct(2, "Line two.")
    assert queue_and_pins(memory) == ([("a", 1, 6)], [6])
    memory.correct(3, "Line three.")
    assert memory.settings()[SETTING_PINNED] == [6]


def test_a_retracted_line_cannot_be_corrected_and_nothing_is_written(memory: Memory) -> None:
    memory.store.retract(memory.bank, 1, NOON)
    with pytest.raises(NotFound, match=r"bank .* has no line 1 to correct"):
        memory.replace_lines([1], [NewLine("Line one.")], corrects=1)
    assert memory.stats().lines == 4


def test_concurrent_changes_of_one_setting_are_both_stored(open_store: Callable[[], Store], memory: Memory) -> None:
    other, begun = open_store(), threading.Event()

    def append_two() -> None:
        begun.set()
        other.update_setting(memory.bank, "list", lambda value: [*as_list(value), 2])

    def append_one(value: JSONValue | None) -> JSONValue:
        thread.start()
        assert begun.wait(forked.LIMIT)
        thread.join(0.2)  # it must wait until this function has returned
        return [*as_list(value), 1]

    thread = threading.Thread(target=append_two)
    assert memory.store.update_setting(memory.bank, "list", append_one) == [1]
    thread.join()
    assert memory.settings()["list"] == [1, 2]


def as_list(value: JSONValue | None) -> list[JSONValue]:
    return value if isinstance(value, list) else []


def test_a_failed_change_leaves_the_setting_unchanged(memory: Memory) -> None:
    def fail(value: JSONValue | None) -> JSONValue:
        raise NotFound("there is no such thing")

    with pytest.raises(NotFound, match="no such thing"):
        memory.store.update_setting(memory.bank, SETTING_PINNED, fail)
    assert memory.settings()[SETTING_PINNED] == [2]
    assert memory.store.update_setting(memory.bank, SETTING_PINNED, lambda value: None) is None
    assert SETTING_PINNED not in memory.settings()


def test_a_second_note_without_supersedes_is_rejected(memory: Memory) -> None:
    first = memory.add_unit(note("Ann likes ferns."))
    with pytest.raises(NotFound, match=f"already has a current note {first.id}"):
        memory.add_unit(note("Ann has a cat."))
    second = memory.add_unit(note("Ann has a cat."), supersedes=first.id)
    assert memory.units("note", only_current=True) == [second]
    memory.forget_unit("note", second.id)
    memory.add_unit(note("Ann is away."))
    assert current_notes(memory) == ["Ann is away."]


def test_a_session_has_one_current_summary_and_title_but_many_facts(memory: Memory) -> None:
    with pytest.raises(NotFound, match="already has a current summary 2"):
        memory.add_unit(summary("b", 4, 5))
    title = NewUnit("title", "Ferns", 4, 5, NOON, metadata={"session": "b"})
    memory.add_unit(title)
    with pytest.raises(NotFound, match="already has a current title 1"):
        memory.add_unit(title)
    for fact in ("Ann likes ferns.", "Ann has a cat."):
        memory.add_unit(NewUnit("fact", fact, 1, 1, NOON))
    assert len(memory.units("fact", only_current=True)) == 2


def current_notes(memory: Memory) -> list[str]:
    return [unit.text for unit in memory.units("note", only_current=True)]


# ---------------------------------------------------------------------- processes


def test_the_receipts_of_a_bank_are_read_in_their_order_even_after_it_is_gone(
    memory: Memory, open_store: Callable[[], Store]
) -> None:
    assert memory.store.receipts(memory.bank) == []
    given = [memory.forget(seq=5), memory.forget(session="a"), memory.forget(everything=True)]
    fill(Memory(f"other-{next(NAMES)}", open_store(), HashEmbedder(), Default())).forget(seq=1)
    assert open_store().receipts(memory.bank) == given
