"""Conditions in both stores, compared with a check of each line in plain Python."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread import AllOf, AnyOf, BadQuery, Comparison, Filter, Line, Memory, NewLine, NewUnit, Not
from everthread.common.keys import META_UNDATED
from everthread.stores.base import Store
from everthread.stores.conditions import condition_to_json, parse_condition
from everthread.testing import HashEmbedder
from everthread.types import Condition

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -2,
    1.0,
    2.5,
    0.1 + 0.2,
    1 / 3,
    10**18 + 1,
    "",
    "a",
    "B",
    "1",
    "true",
    "é",
    "a\\b",
    "50% of it",
    [],
    [1, "a"],
    ["é", None, [1]],
    {},
    {"a": 1},
    {"é": "B", "a": [1, {"b": 2.5}]},
)
NAMES = ("n", "é", 'a"b', "0", "$")


@pytest.fixture(scope="module")
def bank(any_store: Store) -> Memory:
    """Return a bank whose lines have every value of VALUES under several names."""
    memory = Memory.open("alice", store=any_store, embedder=HashEmbedder())
    metadata: list[dict[str, Any]] = [{}, {"n": {"0": {"$": "deep"}}}, *({"n": value} for value in VALUES)]
    metadata += [{name: {"é": value}} for name in NAMES[1:] for value in VALUES[::3]]
    memory.observe_many(
        NewLine(
            f"Line {n}.",
            speaker=("Ann", "Bob", "Éva")[n % 3],
            role=("user", "assistant")[n % 2],
            said_at=NOON + timedelta(minutes=n % 7),
            session=("monday", "sunday")[n % 2],
            metadata=each,
            key=f"k{n}" if n % 4 else None,
        )
        for n, each in enumerate(metadata)
    )
    memory.retract(4)
    return memory


def value_of(line: Line, field: str) -> tuple[Any, ...]:
    """Return the value of a field, or nothing."""
    if not field.startswith("metadata."):
        value = getattr(line, field)
        return () if value is None else (value,)
    value = line.metadata
    for name in field.split(".")[1:]:
        if not isinstance(value, dict) or name not in value:
            return ()
        value = value[name]
    return (value,)


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal: numbers by value, lists and objects by type as well."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, list | dict):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return bool(one == other)


def is_comparable(one: Any, other: Any) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other)]
    return all(numbers) or (type(one) is type(other) and isinstance(one, str | datetime))


def fits(line: Line, condition: Condition) -> bool:
    """Return whether a condition is true of a line, by its definition."""
    if isinstance(condition, AllOf):
        return all(fits(line, each) for each in condition.conditions)
    if isinstance(condition, AnyOf):
        return any(fits(line, each) for each in condition.conditions)
    if isinstance(condition, Not):
        return not fits(line, condition.condition)
    here, other = value_of(line, condition.field), condition.value
    match condition.op:
        case "exists":
            return bool(here) is other
        case "==" | "!=":
            return any(is_equal(value, other) for value in here) is (condition.op == "==")
        case "in" | "not in":
            return any(is_equal(value, each) for value in here for each in other) is (condition.op == "in")  # type: ignore[union-attr]
        case "contains":
            texts = [value for value in here if isinstance(value, str)]
            lists = [value for value in here if isinstance(value, list)]
            in_texts = (isinstance(other, str) and other in text for text in texts)
            return any(in_texts) or any(is_equal(each, other) for elements in lists for each in elements)
    return any(
        is_comparable(value, other)
        and {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}[condition.op]
        for value in here
        if is_comparable(value, other)
    )


metadata_fields = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(
    lambda names: ".".join(["metadata", *names])
)
values = st.sampled_from(VALUES)
ordered_values = st.sampled_from([value for value in VALUES if is_comparable(value, value)])
texts = st.sampled_from(["", "Ann", "Bob", "Éva", "monday", "k1", "k", "user"])
times = st.integers(-1, 8).map(lambda minutes: NOON + timedelta(minutes=minutes))
orders: Any = st.sampled_from(["<", "<=", ">", ">="])


def comparisons(fields: Any, any_value: Any, ordered: Any, contained: Any) -> Any:
    """Build comparisons with values that suit their operators."""
    return st.one_of(
        st.builds(Comparison, fields, st.sampled_from(["==", "!="]), any_value),
        st.builds(Comparison, fields, orders, ordered),
        st.builds(Comparison, fields, st.sampled_from(["in", "not in"]), st.lists(any_value, max_size=4)),
        st.builds(Comparison, fields, st.just("exists"), st.booleans()),
        *([] if contained is None else [st.builds(Comparison, fields, st.just("contains"), contained)]),
    )


conditions: Any = st.recursive(
    st.one_of(
        comparisons(metadata_fields, values, ordered_values, values),
        comparisons(st.sampled_from(["session", "speaker", "key"]), texts, texts, texts),
        comparisons(st.just("said_at"), times, times, None),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@examples(300)
@given(conditions)
def test_a_condition_allows_the_lines_that_it_is_true_of(bank: Memory, condition: Condition) -> None:
    allowed = {line.seq for line in bank.lines() if fits(line, condition)}
    where = Filter(condition=condition)
    assert {line.seq for line in bank.lines(where)} == allowed
    seqs = bank.store.filter_seqs("alice", where, None)
    assert seqs is not None
    assert set(seqs.tolist()) == allowed


@examples(100)
@given(conditions)
def test_a_condition_survives_json(condition: Condition) -> None:
    parsed = parse_condition(condition_to_json(condition))
    assert condition_to_json(parsed) == condition_to_json(condition)


def test_a_recall_finds_only_lines_of_its_condition(bank: Memory) -> None:
    where = Filter(condition=Comparison("speaker", "==", "Bob"))
    hits = bank.recall("Which line?", k=50, where=where)
    assert hits
    assert {hit.line.speaker for hit in hits} == {"Bob"}


def test_retracted_lines_are_filtered_as_well(bank: Memory) -> None:
    where = Filter(condition=Comparison("metadata.n", "==", True))
    assert [line.seq for line in bank.lines(where)] == []
    assert [line.seq for line in bank.lines(where, include_retracted=True)] == [4]


@pytest.mark.parametrize("prefix", ["k", "k1", "k2", "nothing", "\U0010ffff", "k\ud7ff", "é"])
def test_a_key_prefix_allows_the_lines_whose_key_begins_with_it(bank: Memory, prefix: str) -> None:
    wanted = [line.seq for line in bank.lines() if line.key is not None and line.key.startswith(prefix)]
    assert [line.seq for line in bank.lines(Filter(key_prefix=prefix))] == wanted
    seqs = bank.store.filter_seqs("alice", Filter(key_prefix=prefix), None)
    assert seqs is not None
    assert seqs.tolist() == wanted


def test_units_are_filtered_by_conditions_on_time_and_metadata(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("The garden is green.")
        for year in (2020, 2024):
            metadata = {"year": year, "tags": ["garden"]}
            memory.add_unit(
                NewUnit("fact", f"The garden of {year}.", 1, 1, datetime(year, 1, 1, tzinfo=UTC), metadata=metadata)
            )

        def find(condition: Condition) -> list[int]:
            hits = memory.recall("garden", where=Filter(kind="fact", condition=condition))
            return sorted(hit.unit.id for hit in hits)

        assert find(Comparison("metadata.year", ">", 2020)) == [2]
        assert find(Comparison("metadata.tags", "contains", "garden")) == [1, 2]
        assert find(Not(Comparison("metadata.year", "in", [2024]))) == [1]
        assert find(Comparison("said_at", "<", datetime(2023, 1, 1, tzinfo=UTC))) == [1]
        assert find(Comparison("metadata.none", "exists", False)) == [1, 2]
        with pytest.raises(BadQuery, match=r"where.condition.speaker applies to lines only, not to a fact"):
            find(AnyOf((Comparison("speaker", "==", "Ann"),)))
        with pytest.raises(BadQuery, match=r"where.key_prefix applies to lines only"):
            memory.recall("garden", where=Filter(kind="fact", key_prefix="k"))


def test_a_unit_has_the_time_of_a_condition_in_the_hour_that_is_repeated_in_autumn(tmp_path: Path) -> None:
    at = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("Mia moved to Lisbon.", said_at=at)
        memory.add_unit(NewUnit("fact", "Mia lives in Lisbon.", 1, 1, at))
        for op, found in (("==", 1), ("!=", 0), ("in", 1)):
            condition = Comparison("said_at", op, (at,) if op == "in" else at)  # type: ignore[arg-type]
            for where in (Filter(kind="fact", condition=condition), Filter(condition=condition)):
                assert len(memory.recall("Where does Mia live?", where=where)) == found, where


def test_exists_needs_no_value() -> None:
    condition = Comparison("metadata.a", "exists")
    assert condition == Comparison("metadata.a", "exists", True)
    assert parse_condition({"field": "metadata.a", "op": "exists"}) == condition
    assert parse_condition(condition_to_json(condition)) == condition


def nested(depth: int) -> Any:
    condition: Condition = Comparison("speaker", "==", "Ann")
    for _ in range(depth):
        condition = Not(condition)
    return condition


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("speaker == Ann", "invalid condition: got 'speaker == Ann', expected a Comparison, AllOf, AnyOf or Not"),
        (Comparison("mood", "==", 1), "invalid field of a condition: got 'mood', expected session, speaker, role, key"),
        (Comparison("metadata.", "==", 1), "invalid field of a condition: got 'metadata.'"),
        (Comparison("metadata.a..b", "==", 1), "invalid field of a condition"),
        (Comparison(".".join(["metadata", *"a" * 30]), "==", 1), "has more than 20 names"),
        (Comparison("metadata.a", "=", 1), "invalid op of a condition: got '=', expected one of ==, !="),  # type: ignore[arg-type]
        (
            Comparison("metadata.a", "in", "abc"),
            "the value of metadata.a in must be a tuple or list of values, got 'abc'",
        ),
        (Comparison("metadata.a", "exists", 1), "the value of metadata.a exists must be True or False, got 1"),
        (Comparison("metadata.a", "<", None), "the value of metadata.a < must be a number or a str"),
        (Comparison("metadata.a", "<", True), "must be a number or a str, which have an order, got True"),
        (Comparison("metadata.a", "==", float("nan")), "must be JSON-serialisable, got nan"),
        (Comparison("metadata.a", "==", 2**63), "must be within 64 bits, got one of 64 bits"),
        (Comparison("metadata.a", "==", 10**5000), "must be within 64 bits, got one of 16,610 bits"),
        (Comparison("metadata.a", "==", "\0"), "contains NUL or half a surrogate pair"),
        (Comparison("speaker", "==", 5), "the value of speaker == must be a str, got 5"),
        (Comparison("speaker", "=="), "the value of speaker == must be a str, got True"),
        (
            Comparison("role", "==", "bot"),
            "the value of role == must be one of user, assistant, system, tool, got 'bot'",
        ),
        (Comparison("said_at", ">", "2024"), "the value of said_at > must be a datetime, got '2024'"),
        (Comparison("said_at", ">", datetime(2024, 1, 1)), "has no time zone"),
        (Comparison("said_at", "contains", NOON), "said_at contains nothing"),
        (AllOf(Comparison("key", "exists")), "the conditions of AllOf must be a tuple, got Comparison("),  # type: ignore[arg-type]
        (AnyOf(Comparison("key", "exists")), "write AnyOf((first, second))"),  # type: ignore[arg-type]
        (nested(30), "nested more than 20 deep"),
        (Comparison("metadata.a", "in", list(range(600))), "more than 500 values"),
        (AnyOf(tuple(AllOf(()) for _ in range(600))), "more than 100 comparisons and names in paths"),
        (AnyOf(tuple(Comparison("metadata.a.b", "exists", True) for _ in range(34))), "more than 100 comparisons"),
    ],
)
def test_an_invalid_condition_is_rejected(memory: Memory, condition: Any, message: str) -> None:
    with pytest.raises(BadQuery) as error:
        list(memory.lines(Filter(condition=condition)))
    assert message in str(error.value)


@pytest.mark.parametrize("prefix", ["", 5])
def test_an_invalid_key_prefix_is_rejected(memory: Memory, prefix: Any) -> None:
    with pytest.raises(BadQuery, match=r"invalid where.key_prefix: got .*, expected a str of at least one character"):
        list(memory.lines(Filter(key_prefix=prefix)))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "invalid condition: got [], expected"),
        ({"field": "speaker", "op": "=="}, "invalid condition"),
        ({"field": "speaker", "op": "exists", "values": True}, "invalid condition"),
        ({"all": [], "any": []}, "invalid condition"),
        ({"field": "said_at", "op": ">", "value": "yesterday"}, "invalid time in a condition: got 'yesterday'"),
        ({"field": "said_at", "op": "in", "value": [5]}, "invalid time in a condition: got 5"),
    ],
)
def test_invalid_json_of_a_condition_is_rejected(value: Any, message: str) -> None:
    with pytest.raises(BadQuery) as error:
        parse_condition(value)
    assert message in str(error.value)


def test_deeply_nested_json_of_a_condition_is_rejected() -> None:
    value: Any = {"all": []}
    for _ in range(3000):
        value = {"not": value}
    with pytest.raises(BadQuery, match="nested more than 20 deep"):
        parse_condition(value)


@pytest.mark.parametrize("largest", [True, False])
def test_the_largest_condition_is_evaluated(bank: Memory, largest: bool) -> None:
    many = AnyOf(tuple(Comparison("metadata.n", "==", n + 0.5 if largest else str(n)) for n in range(49)))
    assert [line.seq for line in bank.lines(Filter(condition=many))] == [
        line.seq for line in bank.lines() if fits(line, many)
    ]


def test_a_name_that_everthread_reserves_is_one_name_with_its_dot(any_store: Store) -> None:
    memory = Memory.open("reserved", store=any_store, embedder=HashEmbedder())
    memory.observe_many([NewLine("Dated."), NewLine("Undated.", undated=True)])
    condition = Comparison(f"metadata.{META_UNDATED}", "==", True)
    assert [line.text for line in memory.lines(Filter(condition=condition))] == ["Undated."]
