"""What follows from taking lines out, or from writing beside others, is in the same transaction, in either store:
summaries of what is left are queued, pins are moved, settings changed by several lose nothing, one note is current."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hardship import forked, steps

from everthread import Memory, NewLine
from everthread.chat import pins
from everthread.common.keys import SETTING_PINNED
from everthread.errors import NotFound
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import JSONValue, NewUnit

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
NAMES = count()


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the same store, each time as another process would."""
    made: list[Store] = []

    def opening() -> Store:
        made.append(SQLiteStore(tmp_path) if request.param == "sqlite" else PostgresStore(database))
        return made[-1]

    database = "" if request.param == "sqlite" else request.getfixturevalue("database")
    yield opening
    for each in made:
        each.close()


@pytest.fixture
def memory(opened: Callable[[], Store]) -> Memory:
    """A bank of four lines in two sessions, of which each has a summary; the second line is pinned."""
    return summarised(Memory(f"followed-{next(NAMES)}", opened(), HashEmbedder(), Default()))


def summarised(memory: Memory) -> Memory:
    memory.observe_many([NewLine(f"Line {n}.", "Ann", said_at=NOON, session="ab"[n > 3]) for n in range(1, 6)])
    for session, first, last in (("a", 1, 3), ("b", 4, 5)):
        memory.add_unit(summary(session, first, last))
    pins.add(memory, 2)
    return memory


def summary(session: str, first: int, last: int) -> NewUnit:
    return NewUnit("summary", "They talked.", first, last, NOON, metadata={"session": session})


def note(text: str) -> NewUnit:
    return NewUnit("note", text, 1, 5, NOON)


def follows(memory: Memory) -> tuple[list[tuple[str, int, int]], JSONValue]:
    """What is queued, and what is pinned."""
    queued = [(work.session, work.first_seq, work.last_seq) for work in memory.jobs()]
    return queued, memory.settings().get(SETTING_PINNED)


def test_a_store_that_retracts_a_line_queues_a_summary_of_the_rest_and_takes_its_pin_off(memory: Memory) -> None:
    memory.store.retract(memory.bank, 1, NOON)
    assert follows(memory) == ([("a", 2, 3)], [2])
    memory.store.retract(memory.bank, 2, NOON)
    assert follows(memory) == ([("a", 2, 3)], None)  # there was no summary any more


def test_a_store_that_forgets_lines_does_the_same(memory: Memory) -> None:
    memory.store.forget(memory.bank, "line", 2, NOON)
    assert follows(memory) == ([("a", 1, 3)], None)


def test_of_a_session_that_is_gone_no_summary_is_queued(memory: Memory) -> None:
    memory.store.forget(memory.bank, "session", "a", NOON)
    assert follows(memory) == ([], None)


def test_a_corrected_line_is_pinned_like_the_one_before_and_its_summary_queued(memory: Memory) -> None:
    memory.correct(2, "Line two.")
    assert follows(memory) == ([("a", 1, 6)], [6])
    memory.correct(3, "Line three.")
    assert memory.settings()[SETTING_PINNED] == [6]


def test_a_line_that_is_gone_can_not_be_corrected_and_nothing_is_written(memory: Memory) -> None:
    memory.store.retract(memory.bank, 1, NOON)
    with pytest.raises(NotFound, match=r"no line 1 in bank .* that could be corrected"):
        memory.replace_lines([1], [NewLine("Line one.")], corrects=1)
    assert memory.stats().lines == 4


def test_what_two_write_into_one_setting_is_both_there(opened: Callable[[], Store], memory: Memory) -> None:
    other, begun = opened(), threading.Event()

    def second() -> None:
        begun.set()
        other.update_setting(memory.bank, "list", lambda value: [*listed(value), 2])

    def first(value: JSONValue | None) -> JSONValue:
        thread.start()
        assert begun.wait(forked.LIMIT)
        thread.join(0.2)  # it has to wait, for as long as this takes
        return [*listed(value), 1]

    thread = threading.Thread(target=second)
    assert memory.store.update_setting(memory.bank, "list", first) == [1]
    thread.join()
    assert memory.settings()["list"] == [1, 2]


def listed(value: JSONValue | None) -> list[JSONValue]:
    return value if isinstance(value, list) else []


def test_a_change_that_fails_leaves_the_setting_as_it_was(memory: Memory) -> None:
    def fails(value: JSONValue | None) -> JSONValue:
        raise NotFound("there is no such thing")

    with pytest.raises(NotFound, match="no such thing"):
        memory.store.update_setting(memory.bank, SETTING_PINNED, fails)
    assert memory.settings()[SETTING_PINNED] == [2]
    assert memory.store.update_setting(memory.bank, SETTING_PINNED, lambda value: None) is None
    assert SETTING_PINNED not in memory.settings()


def test_a_note_that_was_to_be_the_first_is_not_kept_beside_another(memory: Memory) -> None:
    first = memory.add_unit(note("Ann likes ferns."))
    with pytest.raises(NotFound, match=f"has a current note {first.id} already"):
        memory.add_unit(note("Ann has a cat."))
    second = memory.add_unit(note("Ann has a cat."), supersedes=first.id)
    assert memory.units("note", current=True) == [second]
    memory.forget_unit("note", second.id)
    memory.add_unit(note("Ann is away."))
    assert current(memory) == ["Ann is away."]


def test_a_session_has_one_current_summary_and_of_facts_there_are_many(memory: Memory) -> None:
    with pytest.raises(NotFound, match="has a current summary 2 already"):
        memory.add_unit(summary("b", 4, 5))
    for fact in ("Ann likes ferns.", "Ann has a cat."):
        memory.add_unit(NewUnit("fact", fact, 1, 1, NOON))
    assert len(memory.units("fact", current=True)) == 2


def current(memory: Memory) -> list[str]:
    return [unit.text for unit in memory.units("note", current=True)]


# ---------------------------------------------------------------------- processes


CHANGES: dict[str, Callable[[Memory], object]] = {
    "retract": lambda memory: memory.retract(2),
    "forget": lambda memory: memory.forget(seq=2),
    "correct": lambda memory: memory.correct(2, "Line two."),
}


@pytest.mark.skipif(sys.platform != "linux", reason="steps are watched in a forked process, by /proc")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("what", CHANGES)
def test_a_process_killed_at_any_step_has_done_all_that_follows_or_nothing(tmp_path: Path, what: str) -> None:
    def outcome(folder: Path, last: int | None = None) -> tuple[list[str], object]:
        def work() -> None:
            with Memory.open("alice", store=folder, embedder=HashEmbedder(), recipe="default") as memory:
                CHANGES[what](memory)

        with Memory.open("alice", store=folder, embedder=HashEmbedder(), recipe="default") as memory:
            summarised(memory)
        found = steps.taken(work, folder.with_suffix(".steps"), last)
        with Memory.open("alice", store=folder, embedder=HashEmbedder(), recipe="default") as memory:
            assert memory.store.check("alice") == []
            return found, ([line.seq for line in memory.lines()], follows(memory))

    before: tuple[list[int], object] = ([1, 2, 3, 4, 5], ([], [2]))
    found, after = outcome(tmp_path / "whole")
    begin = next(place for place, step in enumerate(found) if "UPDATE bank SET stamp" in step)
    outcomes = [outcome(tmp_path / str(last), last)[1] for last in range(begin, len(found), 3)]
    undone = outcomes.count(before)
    assert outcomes == [before] * undone + [after] * (len(outcomes) - undone)
