"""All stores give the same lines, counts and hits after the same steps."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DATABASES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread import Comparison, Filter, Hit, Line, Memory, NewLine, factory
from everthread.bench import synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.common.keys import META_ECHO, META_UNDATED
from everthread.errors import BadLine, BadQuery, EverthreadError, NotFound
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.stores.unit_store import UnitReplacement
from everthread.testing import HashEmbedder
from everthread.text.analyzer import count_terms as analysed
from everthread.types import ROLES, NewUnit, Role, ScribeJob, Seqs, Vectors

BEGUN = datetime(2024, 5, 6, 20, tzinfo=timezone(timedelta(hours=2)))
WORDS = "fern garden the lighthouse ferry yesterday we 蕨类植物 May kite? running Ann's bread-knife".split()
NAMES = count()
SIGNAL_TOLERANCE = 5e-4
COSINES = ("cosine", "cosine_near", "cosine_window", "cosine_session")
SCORE_TOLERANCE = SIGNAL_TOLERANCE * sum(Default().friends.weights[name] for name in COSINES)


@pytest.fixture(scope="module", params=[*DATABASES, "placed"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    made = factory.open_store(request.getfixturevalue(DATABASES.get(request.param, "places")))
    yield made
    made.close()


@st.composite
def lines(draw: st.DrawFn) -> NewLine:
    wordless = draw(st.sampled_from([False, False, False, True]))
    return NewLine(
        text="" if wordless else " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))),
        speaker=draw(st.sampled_from(["Ann", "Bob"])),
        role=draw(st.sampled_from(["user", "assistant"])),
        said_at=BEGUN + timedelta(minutes=draw(st.integers(0, 300))),
        session=draw(st.sampled_from([None, None, "a", "b"])),
        metadata={"call": {"name": "look"}}
        if wordless
        else draw(st.sampled_from([{}, {META_UNDATED: True}, {"n": 1}, {"n": 1.0, "deep": {"b": [1], "a": "ü\\"}}])),
        parent=draw(st.sampled_from([None, None, None, 1, 2, "k1"])),
        key=draw(st.sampled_from([None, None, "k1", "k2", "k3"])),
        retracted_at=draw(st.sampled_from([None, None, None, BEGUN])),
    )


STEPS = st.one_of(
    st.tuples(st.just("observe"), st.lists(lines(), min_size=1, max_size=6)),
    st.tuples(st.just("retract"), st.integers(1, 12)),
    st.tuples(st.just("correct"), st.tuples(st.integers(1, 12), st.sampled_from(["the ferry", "a bread-knife"]))),
    st.tuples(st.just("replace"), st.tuples(st.sets(st.integers(1, 12), max_size=5), st.lists(lines(), max_size=2))),
    st.tuples(
        st.just("forget"),
        st.sampled_from([{"seq": 1}, {"seq": [2, 3, 5]}, {"session": "a"}, {"speaker": "Bob"}, {"everything": True}]),
    ),
    st.tuples(st.just("reserve"), st.integers(1, 20)),
)
WHERES = (
    None,
    Filter(speaker="Ann"),
    Filter(session=("a", "b"), role="user"),
    Filter(metadata={"n": 1}),
    Filter(metadata={"n": 1.0, "deep": {"a": "ü\\", "b": [1]}}),
    Filter(since=BEGUN + timedelta(minutes=60), until=BEGUN + timedelta(minutes=200)),
    Filter(since=BEGUN),
    Filter(until=BEGUN + timedelta(minutes=200), metadata={"n": 1}),
    Filter(condition=Comparison("said_at", ">=", BEGUN + timedelta(minutes=60))),
    Filter(condition=Comparison("said_at", "exists", False)),
    Filter(kind="summary"),
)


def apply_line_step(memory: Memory, what: str, value: Any) -> object:
    """Apply a step to the lines; return the lines or the receipt, or the type of the error."""
    try:
        if what == "observe":
            return [timeless(line) for line in memory.observe_many(value)]
        if what == "replace":
            return [timeless(line) for line in memory.replace_lines(*value)]
        if what == "correct":
            return timeless(memory.correct(*value))
        if what == "retract":
            return timeless(memory.retract(value))
        if what == "reserve":
            memory.store.reserve_seqs(memory.bank, value)
            return memory.store.corpus_stats(memory.bank).last_seq
        return replace(memory.forget(**value), forgotten_at=BEGUN)
    except (BadLine, NotFound) as error:
        return type(error)


def timeless(line: Line) -> Line:
    """Return the line with a fixed time of retraction, because the two banks are written one after the other."""
    return line if line.retracted_at is None else replace(line, retracted_at=BEGUN)


def read_all(memory: Memory) -> object:
    """Return lines, sessions and counts of a bank."""
    stats = replace(memory.stats(), bytes=0)
    every = [timeless(line) for line in memory.lines(include_retracted=True, include_wordless=True)]
    said = [line for line in memory.lines(include_wordless=True) if line.text]
    assert said == list(memory.lines()) == memory.store.get(memory.bank, range(1, 99))
    assert len(said) == stats.lines == sum(session.lines for session in memory.sessions())
    assert stats.retracted == sum(bool(line.text and line.retracted_at) for line in every)
    assert stats.pending == 0
    corpus = memory.store.corpus_stats(memory.bank)
    return stats, memory.sessions(), every, list(memory.lines()), corpus.last_seq, memory.store.check(memory.bank)


def shown(hits: list[Hit]) -> list[tuple[object, ...]]:
    """Return what both stores must agree in. They round vectors differently, and a score weighs three cosines."""
    return [
        (
            hit.line,
            hit.passage,
            pytest.approx(hit.score, abs=SCORE_TOLERANCE),
            *(pytest.approx(n, abs=SIGNAL_TOLERANCE) for n in (hit.relevance, *hit.signals.values())),
        )
        for hit in hits
    ]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=6),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    where=st.sampled_from(WHERES),
    as_of=st.sampled_from([None, BEGUN + timedelta(minutes=100)]),
)
def test_both_stores_give_the_same_results_after_any_steps(
    store: Store, steps: list[tuple[str, Any]], query: str, where: Filter | None, as_of: datetime | None
) -> None:
    bank, embedder = f"bank {next(NAMES)}", HashEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        file = SQLiteStore(folder)
        one, other = (Memory.open(bank, store=each, embedder=embedder, recipe="default") for each in (file, store))
        for what, value in steps:
            assert apply_line_step(one, what, value) == apply_line_step(other, what, value)
        assert read_all(one) == read_all(other)
        found, wanted = (memory.recall(query, 20, where=where, as_of=as_of) for memory in (other, one))
        ours = {hit.line.seq: hit for hit in found}
        assert shown([ours[hit.line.seq] for hit in wanted]) == shown(wanted)
        assert len(found) == len(wanted)
        texts = [memory.context(query, 60, where=where, as_of=as_of, session="a").tokens for memory in (one, other)]
        assert texts[0] == texts[1]
        file.close()


ALL_STEPS = st.one_of(
    STEPS,
    st.tuples(st.just("write"), st.tuples(st.sampled_from(["note", "fact"]), st.integers(1, 9), st.integers(1, 9))),
    st.tuples(st.just("supersede"), st.tuples(st.sampled_from(["note", "fact"]), st.integers(1, 9), st.integers(1, 4))),
    st.tuples(
        st.just("rewrite"),
        st.tuples(
            st.lists(st.integers(1, 4), max_size=3),
            st.lists(st.integers(1, 9), max_size=3),
            st.sampled_from([None, 3]),
            st.sets(st.integers(1, 4), max_size=2),
        ),
    ),
    st.tuples(st.just("end"), st.sampled_from(["a", "b"])),
    st.tuples(
        st.just("title"),
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from([None, "", "Ferns"]),
            st.sampled_from([None, {}, {"n": [1.0, {"ü": "\\"}]}]),
        ),
    ),
    st.tuples(st.sampled_from(["queue", "dequeue"]), st.tuples(st.sampled_from("ab"), st.integers(1, 3))),
    st.tuples(st.just("set"), st.tuples(st.sampled_from("xy"), st.sampled_from([None, 0, [1.0, {"ü": "\\"}]]))),
)


def apply_step(memory: Memory, what: str, value: Any) -> object:
    """Apply any step; return its result, or the message of the error."""
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: memory.add_unit(make_unit(*value)).id,
        "supersede": lambda: memory.add_unit(make_unit(value[0], value[1], value[1]), supersedes=value[2]).id,
        "rewrite": lambda: replace_facts(memory, *value),
        "end": lambda: memory.end(value),
        "title": lambda: replace(memory.set_session(value[0], title=value[1], metadata=value[2]), ended_at=None),
        "queue": lambda: memory.enqueue(ScribeJob("notes", value[0], value[1], 9, BEGUN, value[1])),
        "dequeue": lambda: memory.dequeue(ScribeJob("notes", value[0], value[1], 9, BEGUN)),
        "set": lambda: memory.set_setting(*value),
    }
    if what not in calls:
        return apply_line_step(memory, what, value)
    try:
        return calls[what]()
    except NotFound as error:
        return str(error)


def replace_facts(memory: Memory, gone: list[int], seqs: list[int], before: int | None, superseded: set[int]) -> bool:
    """Replace facts by others, of which the first supersede some; the expected setting is right only the first time."""
    units = [replace(make_unit("fact", seq, seq), sources=(seq,)) for seq in seqs]
    vectors = memory.reader.encoder.try_embed_vectors([unit.text for unit in units]) or []
    change = UnitReplacement("fact", gone, units, vectors, 2, "told", before, lambda first: first, sorted(superseded))
    return memory.store.replace_units(memory.bank, change, memory.embedder.name, BEGUN)


def make_unit(kind: str, first: int, last: int) -> NewUnit:
    first, last = sorted((first, last))
    text = f"The garden of {WORDS[first % 7]} and {WORDS[last % 7]}."
    return NewUnit(kind, text, first, last, BEGUN + timedelta(minutes=last), last / 7, sources=(first,))


def read_other_rows(memory: Memory) -> object:
    """Return units, sessions, settings and jobs of a bank, with fixed times."""
    units = [
        replace(
            unit,
            valid_from=BEGUN,
            valid_to=unit.valid_to and BEGUN,
            retracted_at=unit.retracted_at and BEGUN,
        )
        for unit in memory.store.units(memory.bank, include_retracted=True)
    ]
    sessions = [replace(session, ended_at=session.ended_at and BEGUN) for session in memory.sessions()]
    current = [(unit.kind, unit.id) for unit in memory.store.units(memory.bank, ("note",), only_current=True)]
    spans = memory.store.unit_spans(memory.bank, "fact").tolist()
    facts = memory.store.units(memory.bank, ("fact",), ids=[1, 3, 4])
    assert [[unit.id, unit.first_seq, unit.last_seq] for unit in facts] == [
        each for each in spans if each[0] in (1, 3, 4)
    ]
    gone = memory.store.unit_spans(memory.bank, "fact", retracted=True)[:, 0].tolist()
    assert sorted([*gone, *(each[0] for each in spans)]) == [
        unit.id for unit in memory.store.units(memory.bank, ("fact",), include_retracted=True)
    ]
    stats = memory.stats()
    assert stats.queued == len(memory.jobs())
    return (
        units,
        current,
        spans,
        sessions,
        memory.settings(),
        memory.jobs(),
        stats.units,
        memory.store.check(memory.bank),
    )


def _nearest(unit: tuple[str, int, float]) -> tuple[float, str, int]:
    kind, number, cosine = unit
    return -cosine, kind, number


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=st.lists(ALL_STEPS, min_size=1, max_size=12))
def test_units_settings_and_jobs_are_the_same_in_both_stores(store: Store, steps: list[tuple[str, Any]]) -> None:
    bank, embedder = f"beside {next(NAMES)}", HashEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        file = SQLiteStore(folder)
        one, other = (Memory.open(bank, store=each, embedder=embedder, recipe="default") for each in (file, store))
        for what, value in [("observe", [NewLine(f"Line {n}.", session="a", said_at=BEGUN) for n in range(4)]), *steps]:
            assert apply_step(one, what, value) == apply_step(other, what, value)
        assert read_other_rows(one) == read_other_rows(other)
        query = embedder.embed_query("fern garden")
        for kinds in ((), ("note",)):
            wanted, found = (each.store.unit_cosines(bank, embedder.name, query, kinds) for each in (one, other))
            assert [each[:2] for each in found] == [each[:2] for each in wanted]
            assert [each[2] for each in found] == pytest.approx([each[2] for each in wanted], abs=2e-3)
            nearest = [each.store.unit_cosines(bank, embedder.name, query, kinds, 2) for each in (one, other)]
            assert [each[:2] for each in nearest[1]] == [each[:2] for each in nearest[0]]
            assert nearest == [sorted(sorted(each, key=_nearest)[:2]) for each in (wanted, found)]
        hits = [memory.recall("fern garden", where=Filter(kind=("note", "fact"))) for memory in (one, other)]
        keys = [{hit.unit and (hit.unit.kind, hit.unit.id) for hit in each} for each in hits]
        assert keys[0] == keys[1]
        pending = [
            [(unit.kind, unit.id) for unit in each.store.units_without_vectors(bank, "another", 8)]
            for each in (one, other)
        ]
        assert pending[0] == pending[1] == [(unit.kind, unit.id) for unit in one.units()]
        file.close()


def test_an_echo_has_no_postings_and_no_vector_in_either_store(store: Store, tmp_path: Path) -> None:
    file, bank = SQLiteStore(tmp_path), f"echo {next(NAMES)}"
    text = "You said: 'The fern has a new leaf.' I like owls."
    found = []
    for each in (file, store):
        memory = Memory.open(bank, store=each, embedder=HashEmbedder(512), recipe="default")
        memory.observe("The fern has a new leaf.", session="a", said_at=BEGUN)
        memory.observe(text, session="b", said_at=BEGUN, metadata={META_ECHO: [[11, 35]]})
        found.append(shown(memory.recall("fern leaf owls")))
        assert memory.store.postings(bank, ["fern"], 9, 99)["fern"].records["seq"].tolist() == [1]
        assert memory.store.check(bank) == []
        memory.retract(2)
        assert memory.store.check(bank) == []
    assert found[0] == found[1]
    file.close()


@pytest.mark.parametrize("amount", [300, 1500])
def test_queries_of_a_time_span_give_the_same_results(store: Store, tmp_path: Path, amount: int) -> None:
    file, bank = SQLiteStore(tmp_path), f"time {next(NAMES)}"
    one, other = (
        Memory.open(bank, store=each, embedder=BulkEmbedder(HashEmbedder()), recipe="default") for each in (file, store)
    )
    said = list(synthetic.lines(amount))
    one.observe_many(said)
    other.observe_many(said)
    for question, days in (
        ("What did we talk about yesterday?", 2),
        ("What did Jonas say last week?", 7),
        ("What did we discuss in January?", 3),
        ("What happened last year?", 400),
    ):
        wanted, found = (
            memory.recall(question, 20, as_of=synthetic.FIRST_SAID_AT + timedelta(days=days)) for memory in (one, other)
        )
        assert wanted
        assert shown(found) == shown(wanted)
    file.close()


def test_hits_of_a_large_bank_are_nearly_the_same(any_database: str, tmp_path: Path) -> None:
    """SQLite selects candidates by one-bit codes, Postgres by the vectors. Their words are not compared."""
    store = PostgresStore(any_database)
    embedder, recipe = BulkEmbedder(HashEmbedder()), Default(late_interaction=False)
    file = SQLiteStore(tmp_path)
    one, other = (Memory("large", each, embedder, recipe) for each in (file, store))
    said = list(synthetic.lines(2000))
    one.observe_many(said)
    other.observe_many(said)
    shared = 0.0
    for query in synthetic.queries(25, 2000):
        wanted, found = ({hit.line.seq for hit in memory.recall(query, 10)} for memory in (one, other))
        shared += len(wanted & found) / 10
    assert shared / 25 > 0.95
    file.close()


@pytest.fixture
def words(store: Store, tmp_path: Path) -> Iterator[tuple[Memory, Memory]]:
    """Yield the same bank in a file and on Postgres, with terms of several blocks."""
    file = SQLiteStore(tmp_path)
    bank, embedder = f"bank {next(NAMES)}", BulkEmbedder(HashEmbedder())
    one, other = (Memory.open(bank, store=each, embedder=embedder, recipe="default") for each in (file, store))
    said = [
        NewLine(f"fern {WORDS[n % 7]} number{n // 100}", speaker="Ann" if n % 3 else "Bob", session=f"s{n // 90}")
        for n in range(900)
    ]
    for memory in (one, other):
        memory.observe_many(said)
    yield one, other
    file.close()


def assert_same_postings(one: Memory, other: Memory, among: Seqs | None = None, most: int = 10**6) -> None:
    """Check that both stores return the same postings of every term, and that both banks are sound."""
    terms = [*{term for word in WORDS for term in analysed(word).terms}, *(f"number{n}" for n in range(10))]
    wanted, found = (each.store.postings(each.bank, terms, 99, most, among) for each in (one, other))
    assert {term: posting.df for term, posting in found.items()} == {term: p.df for term, p in wanted.items()}
    for term, posting in wanted.items():
        assert posting.records.tolist() == found[term].records.tolist()
    assert one.store.check(one.bank) == other.store.check(other.bank) == []


@pytest.mark.parametrize(
    "steps",
    [
        [{"speaker": "Bob"}, {"session": "s9"}, {"session": "s8"}],
        [{"seq": 1}, {"seq": 192}, {"seq": 193}, {"seq": 900}],
        [{"session": f"s{n}"} for n in (0, 2, 5, 9, 4)],
        [{"speaker": "Ann"}, {"speaker": "Bob"}],
    ],
)
def test_terms_of_many_blocks_are_removed_in_the_same_way(
    words: tuple[Memory, Memory], steps: list[dict[str, Any]]
) -> None:
    one, other = words
    for scope in steps:
        for memory in words:
            memory.forget(**scope)
        assert_same_postings(one, other)
    for memory in words:
        memory.observe_many([NewLine(f"fern number{n}") for n in range(200)])
    assert_same_postings(one, other)


def test_a_common_term_is_counted_within_the_given_lines(words: tuple[Memory, Memory]) -> None:
    for among in (np.arange(1, 101), np.arange(1, 0), np.arange(1, 901)):
        assert_same_postings(*words, among, most=5)
    _, other = words
    assert other.store.postings(other.bank, ["fern"], 1, 5, np.arange(1, 101))["fern"].df == 100


def test_common_terms_beyond_the_largest_number_are_left_out(words: tuple[Memory, Memory]) -> None:
    for memory in words:
        found = memory.store.postings(memory.bank, ["fern", "number1", "zebra", "number2"], 2, 10**6)
        assert list(found) == ["zebra", "number1", "number2"]


def test_checking_whether_a_bank_exists_does_not_create_it(store: Store) -> None:
    assert not store.exists("missing")
    assert "missing" not in store.banks()
    Memory.open("new", store=store, embedder=HashEmbedder())
    assert store.exists("new")


def test_bank_ids_have_the_same_limits_as_in_sqlite(store: Store) -> None:
    for bank in ("", "x" * 300, "a\x00b"):
        with pytest.raises(EverthreadError, match="bank id"):
            Memory.open(bank, store=store, embedder=HashEmbedder())
    for bank in ("../../etc/x", "😀", "a'; DROP TABLE line; --"):
        memory = Memory.open(bank, store=store, embedder=HashEmbedder())
        assert memory.observe("Hello.", said_at=datetime(2024, 1, 1, tzinfo=UTC)).seq == 1
        assert bank in store.banks()


HUGE = 2**70
STRANGE: dict[str, Callable[[Memory], object]] = {
    "where, a speaker of NUL": lambda m: m.recall("ferns", where=Filter(speaker="a\0b")),
    "where, half a pair": lambda m: m.recall("ferns", where=Filter(session=("a", "\ud83e"))),
    "where, a key of NUL": lambda m: m.recall("ferns", where=Filter(metadata={"a\0": 1})),
    "where, a key that is a number": lambda m: m.recall("ferns", where=Filter(metadata={1: 1})),  # type: ignore[dict-item]
    "where, a value of NUL": lambda m: m.recall("ferns", where=Filter(metadata={"a": ["\0"]})),
    "where, a value of half a pair": lambda m: m.recall("ferns", where=Filter(metadata={"a": "\ud83e"})),
    "where, a backslash before u0000": lambda m: len(m.recall("ferns", where=Filter(metadata={"path": "\\u0000"}))),
    "where, a long session": lambda m: m.recall("ferns", where=Filter(session="s" * 5000)),
    "where, a number of thirty digits": lambda m: m.recall("ferns", where=Filter(metadata={"a": 10**30})),
    "lines where, NUL": lambda m: list(m.lines(Filter(speaker="\0"))),
    "lines after a huge number": lambda m: list(m.lines(after=HUGE)),
    "lines after a negative number": lambda m: len(list(m.lines(after=-HUGE))),
    "lines after no number": lambda m: list(m.lines(after="1")),  # type: ignore[arg-type]
    "lines up to a huge limit": lambda m: len(list(m.lines(limit=HUGE))),
    "forget a session of NUL": lambda m: m.forget(session="\0"),
    "forget half a pair": lambda m: m.forget(speaker="\ud83e"),
    "forget a session of another type": lambda m: m.forget(session=5),  # type: ignore[arg-type]
    "forget a long session": lambda m: m.forget(session="s" * 5000),
    "forget a huge number": lambda m: m.forget(seq=HUGE),
    "retract a huge number": lambda m: m.retract(HUGE),
    "retract a negative number": lambda m: m.retract(-1),
    "retract no number": lambda m: m.retract("1"),  # type: ignore[arg-type]
    "context, a session of NUL": lambda m: m.context("ferns", session="a\0"),
    "context, half a pair": lambda m: m.context("ferns", session="\ud83e"),
    "context, a long session": lambda m: m.context("ferns", session="".join(map(str, range(2000)))),
    "context, a session of another type": lambda m: m.context("ferns", session=5),  # type: ignore[arg-type]
    "context, a session as long as may be": lambda m: m.context("ferns", session="界" * 200, gate=False).tokens,
    "a query of NUL": lambda m: len(m.recall("a\0ferns \ud83e \x01")),
    "more lines than there are": lambda m: len(m.recall("ferns", 10**12)),
    "known, a key of NUL": lambda m: m.store.get_by_key(m.bank, ["a\0", "k"])["k"].text,
}


@pytest.mark.parametrize("what", STRANGE)
def test_unusual_input_gives_the_same_answer_or_error_in_both_stores(store: Store, tmp_path: Path, what: str) -> None:
    answers = []
    file, bank = SQLiteStore(tmp_path), f"strange {next(NAMES)}"
    for each in (file, store):
        memory = Memory.open(bank, store=each, embedder=HashEmbedder(), recipe="default")
        memory.observe("Hello ferns.", session="a", metadata={"path": "\\u0000"}, key="k", said_at=BEGUN)
        try:
            answers.append(repr(STRANGE[what](memory)))
        except (BadQuery, NotFound) as error:
            answers.append(f"{type(error).__name__}: {error}")
    assert answers[0] == answers[1]
    file.close()


class InterruptedEmbedder(HashEmbedder):
    """Calls a function before it returns vectors."""

    def __init__(self) -> None:
        super().__init__(64)
        self.meanwhile: Callable[[], object] = lambda: None

    def embed(self, texts: Sequence[str]) -> Vectors:
        interrupt, self.meanwhile = self.meanwhile, lambda: None
        interrupt()
        return super().embed(texts)


def open_with_pending_line(any_store: Store) -> Memory:
    """Return a bank with one line that is not embedded yet."""
    memory = Memory(f"late-{next(NAMES)}", any_store, InterruptedEmbedder(), Default())
    memory.replace_lines([], [NewLine("The code of the safe is 4711.", "Ann", said_at=BEGUN)], defer_embedding=True)
    return memory


def test_a_bank_forgotten_during_embedding_is_not_recreated(any_store: Store) -> None:
    memory = open_with_pending_line(any_store)
    memory.embedder.meanwhile = lambda: memory.forget(everything=True)  # type: ignore[attr-defined]
    memory.backlog.embed_pending()
    assert not any_store.exists(memory.bank)


def test_a_line_gets_no_vector_of_an_earlier_line_with_its_number(any_store: Store) -> None:
    memory = open_with_pending_line(any_store)

    def meanwhile() -> None:
        memory.forget(everything=True)
        Memory(memory.bank, any_store, HashEmbedder(64), Default()).replace_lines(
            [], [NewLine("I like ferns.")], defer_embedding=True
        )

    memory.embedder.meanwhile = meanwhile  # type: ignore[attr-defined]
    memory.backlog.embed_pending()
    assert [(line.seq, line.text) for line in memory.lines()] == [(1, "I like ferns.")]
    query = HashEmbedder(64).embed_query("I like ferns.")
    assert any_store.cosines(memory.bank, "hash-64", query, np.array([1]))[0] > 0.99


def test_a_line_forgotten_during_embedding_leaves_no_vector(any_store: Store) -> None:
    memory = open_with_pending_line(any_store)
    memory.observe("I like ferns.")
    memory.embedder.meanwhile = lambda: memory.forget(seq=1)  # type: ignore[attr-defined]
    memory.backlog.embed_pending()
    assert memory.stats().vectors == {"hash-64": 1}
    assert memory.stats().pending == 0


def test_the_newest_line_has_the_key_in_either_store(any_store: Store) -> None:
    memory = Memory.open("keys", store=any_store, embedder=HashEmbedder())
    memory.observe_many([NewLine("One.", key="a"), NewLine("Two.", key="b"), NewLine("Three.", key="c", parent="b")])
    corrected = memory.correct(1, "One, corrected.")
    memory.retract(2)
    offered = [NewLine("Two.", key="b"), NewLine("One.", key="a"), NewLine("Four.", key="d", parent="b")]
    again = memory.observe_many([*offered, NewLine("Two, twice.", key="b")])
    assert [(line.seq, line.text) for line in again] == [
        (5, "Two."),
        (4, "One, corrected."),
        (6, "Four."),
        (5, "Two."),
    ]
    assert (again[1], again[2].parent) == (corrected, 5)
    keys = {line.seq: line.key for line in memory.lines(include_retracted=True)}
    assert keys == {1: None, 2: None, 3: "c", 4: "a", 5: "b", 6: "d"}
    assert any_store.check("keys") == []
    memory.forget(everything=True)


def test_lines_without_vectors_are_found_by_role_in_either_store(any_store: Store) -> None:
    memory = Memory(f"roles-{next(NAMES)}", any_store, HashEmbedder(64), Default())
    roles: tuple[Role, ...] = ("user", "assistant", "tool", "assistant", "user", "assistant")
    memory.observe_many([NewLine(f"Line {n}.", "Ann", role) for n, role in enumerate(roles, 1)])
    memory.retract(6)
    memory.reindex()

    def pending(wanted: tuple[Role, ...], model: str = "other", after: int = 0) -> tuple[int, list[int]]:
        found = any_store.lines_without_vectors(memory.bank, model, 8 if model == "other" else 64, 99, after, wanted)
        return any_store.stats(memory.bank, model, wanted).pending, [line.seq for line in found]

    assert pending(("assistant",)) == (2, [2, 4])
    of = {seq: np.ones((2, 8), np.float32) for seq in (1, 2)}
    any_store.put_vectors(memory.bank, "other", of, any_store.get(memory.bank, [1, 2]))
    assert pending(("assistant",)) == (1, [4])
    assert pending(("user", "tool")) == (2, [3, 5])
    assert pending(("user", "tool"), after=3) == (2, [5])
    assert pending(("system",)) == pending(()) == (0, [])
    assert pending(ROLES) == (3, [3, 4, 5])
    assert pending(("assistant",), "hash-64") == (0, [])
    assert [
        line.seq for line in any_store.lines_without_vectors(memory.bank, "other", 8, 1, roles=("assistant", "user"))
    ] == [4]
