"""Filters compared with a check of each line in plain Python."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import Filter, Line, Memory, NewLine
from everthread.errors import BadQuery
from everthread.stores.base import Store
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAMES, SESSIONS, ROLES = ("Ann", "Bob", "Cid"), ("monday", "friday", "sunday"), ("user", "assistant", "tool")
EAST = timezone(timedelta(hours=9))


def after(minutes: int, zone: timezone = UTC) -> datetime:
    return (NOON + timedelta(minutes=minutes)).astimezone(zone)


def some_lines(seed: int, count: int) -> list[NewLine]:
    random = np.random.default_rng(seed)
    return [
        NewLine(
            f"Line {n} of the log.",
            str(random.choice(NAMES)),
            str(random.choice(ROLES)),  # type: ignore[arg-type]
            after(int(random.integers(100)), EAST if n % 2 else UTC),
            str(random.choice(SESSIONS)),
            {"mood": int(random.integers(3))} if n % 3 else {},
        )
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Yield a bank of 300 lines, some of them retracted and some forgotten."""
    with Memory.open("alice", store=tmp_path_factory.mktemp("banks"), embedder=HashEmbedder()) as memory:
        memory.observe_many(some_lines(1, 300))
        for seq in range(5, 300, 17):
            memory.retract(seq)
        for seq in (1, 150, 300):
            memory.forget(seq=seq)
        yield memory


def fits(line: Line, where: Filter, as_of: datetime | None) -> bool:
    """Return whether a filter allows a line, by its definition."""

    def one_of(value: str, wanted: str | Sequence[str] | None) -> bool:
        return wanted is None or value in ((wanted,) if isinstance(wanted, str) else wanted)

    return (
        one_of(line.session, where.session)
        and one_of(line.speaker, where.speaker)
        and one_of(line.role, where.role)
        and one_of("line", where.kind)
        and (where.since is None or line.said_at >= where.since)
        and (where.until is None or line.said_at < where.until)
        and (as_of is None or line.said_at <= as_of)
        and all(key in line.metadata and line.metadata[key] == value for key, value in where.metadata.items())
    )


def any_of(names: tuple[str, ...], other: str = "unknown") -> st.SearchStrategy[Any]:
    known = st.sampled_from([*names, other])
    return st.none() | known | st.lists(known, max_size=3).map(tuple)


times = st.none() | st.builds(after, st.integers(-5, 105), st.sampled_from([UTC, EAST]))
wheres = st.builds(
    Filter,
    session=any_of(SESSIONS),
    speaker=any_of(NAMES),
    role=any_of(ROLES, "system"),
    kind=st.sampled_from([None, None, "line", "note", ("note", "line"), ()]),
    since=times,
    until=times,
    metadata=st.just({}) | st.builds(lambda mood: {"mood": mood}, st.integers(0, 3)),
)


@pytest.mark.slow
@examples(200)
@given(wheres, times)
def test_a_filter_allows_the_same_lines_as_plain_python(bank: Memory, where: Filter, as_of: datetime | None) -> None:
    fitting = [line.seq for line in bank.lines() if fits(line, where, as_of)]
    allowed = bank.store.filter_seqs("alice", where, as_of)
    if where == Filter() and as_of is None:
        assert allowed is None  # every line is allowed, also later ones
    else:
        assert allowed is not None
        assert allowed.tolist() == fitting
    if as_of is None:
        assert [line.seq for line in bank.lines(where)] == fitting


@examples(15)
@given(st.lists(st.tuples(st.sampled_from(["add", "retract", "forget"]), st.integers(1, 60)), max_size=8), wheres)
def test_a_filter_sees_every_write_of_another_store(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], where: Filter
) -> None:
    folder: Path = tmp_path_factory.mktemp("banks")
    where = replace(where, metadata={}, since=NOON)
    with closing(SQLiteStore(folder)) as one, closing(SQLiteStore(folder)) as other:
        mine, theirs = (Memory.open("alice", store=store, embedder=HashEmbedder()) for store in (one, other))
        mine.observe_many(some_lines(2, 60))
        for number, (step, value) in enumerate(steps):
            if step == "add":
                mine.observe_many(some_lines(number, value))
            elif any(line.seq == value for line in mine.lines()):
                mine.retract(value) if step == "retract" else mine.forget(seq=value)
            found = theirs.store.filter_seqs("alice", where, None)
            assert found is not None
            assert found.tolist() == [line.seq for line in mine.lines() if fits(line, where, None)]


def test_a_list_of_names_allows_any_of_them(any_store: Store) -> None:
    memory = Memory.open("names", store=any_store, embedder=HashEmbedder(64))
    memory.observe_many([NewLine("Hello.", speaker=name) for name in ("Ann", "Ben", "Cid")])
    assert [line.speaker for line in memory.lines(Filter(speaker=["Ann", "Cid"]))] == ["Ann", "Cid"]


def test_a_number_of_more_than_64_bits_in_the_metadata_of_a_filter_is_rejected(any_store: Store) -> None:
    memory = Memory.open("numbers", store=any_store, embedder=HashEmbedder(64))
    memory.observe("Hello.", metadata={"id": 2**64 + 1})
    with pytest.raises(BadQuery, match=r"a value of where.metadata must be within 64 bits, got one of 65 bits"):
        list(memory.lines(Filter(metadata={"id": 2**64 + 2})))
