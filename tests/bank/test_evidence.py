"""A reply is stored with what was recalled for it, and forgotten lines are removed from that record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everthread.bank.evidence import build_metadata
from everthread.common.keys import META_RECALLED
from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.recall_records import count_memories, get_answer, get_record, list_hits, list_seqs
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Context, FoundUnit, Hit, JSONValue, Line, NewLine, NewUnit

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
NAMES = count()
SAID = ("Joost is my coach.", "Since when?", "Since May.", "My cat is Tom.", "Who is my coach?")


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Return a bank whose sixth line is a reply: it was given two lines and a summary, and one line was kept."""
    database = "" if request.param == "sqlite" else request.getfixturevalue("database")
    store = PostgresStore(database) if database else SQLiteStore(tmp_path)
    memory = Memory(f"evidence-{next(NAMES)}", store, HashEmbedder(), Default())
    lines = memory.observe_many([NewLine(text, "Nora", said_at=NOON, session="a") for text in SAID])
    unit = memory.add_unit(NewUnit("summary", "They spoke of a coach.", 1, 3, NOON, metadata={"session": "a"}))
    hits = (
        Hit(lines[0], 2.123456, 0.71239, {"cosine": 0.5}, tuple(lines[:3])),
        Hit(FoundUnit(unit, "a", "summary"), 1.0, 0.4, {"cosine": 0.3}),
        Hit(lines[2], 1.0, 0.2, {}, tuple(lines[:3])),
    )
    context = Context("…", 42, tuple(lines[:4]), hits, (), 0.87654)
    memory.observe("It is Joost.", role="assistant", session="a", metadata=build_metadata(context))
    yield memory
    store.close()


def hit_seqs(memory: Memory) -> list[int]:
    return [hit.seq for hit in memory.evidence(6).hits]


def record_of(memory: Memory) -> str:
    line = memory.get(6)
    assert line is not None
    return str(line.metadata[META_RECALLED])


def test_the_evidence_of_a_reply_has_its_memories_as_they_were(memory: Memory) -> None:
    evidence = memory.evidence(6)
    assert (evidence.seq, evidence.relevance, evidence.tokens) == (6, 0.8765, 42)
    assert [hit.source.text for hit in evidence.hits] == [SAID[0], "They spoke of a coach.", SAID[2]]
    assert [(hit.score, hit.relevance, dict(hit.signals)) for hit in evidence.hits[:1]] == [
        (2.1235, 0.7124, {"cosine": 0.5})
    ]
    assert [line.text for line in evidence.hits[0].passage] == list(SAID[:3])
    assert [line.seq for line in evidence.kept] == [4]
    assert (evidence.forgotten, evidence.corrections) == (0, {})
    assert count_memories(memory.get(6).metadata) == 2  # type: ignore[union-attr]
    assert not any(text in record_of(memory) for text in (*SAID, "Nora", "They spoke"))


def test_a_corrected_line_keeps_its_text_in_the_evidence_and_names_its_correction(memory: Memory) -> None:
    corrected = memory.correct(1, "Jasper is my coach.")
    memory.retract(3)
    evidence = memory.evidence(6)
    first, summary, third = evidence.hits
    assert first.line.text == SAID[0]
    assert [line.retracted_at is None for line in first.passage] == [False, True, False]
    assert evidence.corrections == {1: corrected}
    assert third.line.retracted_at is not None
    assert summary.unit.retracted_at is not None


def test_forgetting_a_line_takes_it_out_of_the_evidence_with_its_units(memory: Memory, tmp_path: Path) -> None:
    memory.forget(seq=1)
    assert not any(b"2.1235" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert hit_seqs(memory) == [3]
    evidence = memory.evidence(6)
    assert [line.seq for line in evidence.hits[0].passage] == [2, 3]
    assert evidence.forgotten == 2  # the line and the summary of it
    memory.forget(seq=4)
    assert memory.evidence(6).kept == ()
    assert memory.evidence(6).forgotten == 3
    memory.forget(seq=3)
    assert record_of(memory) == "{'forgotten': 4, 'memories': 2, 'relevance': 0.8765, 'tokens': 42}"
    memory.forget(session="a")
    with pytest.raises(NotFound, match="has no line 6"):
        memory.evidence(6)


def test_forgetting_a_summary_takes_it_out_of_the_evidence(memory: Memory) -> None:
    memory.forget_unit("summary", 1)
    assert hit_seqs(memory) == [1, 3]
    assert memory.evidence(6).forgotten == 1
    memory.add_unit(NewUnit("summary", "Something else.", 1, 3, NOON, metadata={"session": "a"}))
    assert hit_seqs(memory) == [1, 3]  # even if the new one has the same id


def test_a_copy_of_a_reply_in_another_branch_has_the_same_evidence(memory: Memory) -> None:
    memory.retract(6)
    [copy] = memory.restore(6)
    assert memory.evidence(copy.seq).hits == memory.evidence(6).hits
    memory.forget(seq=3)
    assert [hit.seq for hit in memory.evidence(copy.seq).hits] == [1]


def test_a_line_without_a_record_has_no_evidence(memory: Memory) -> None:
    with pytest.raises(NotFound, match="no memories are recorded for line 1; expected the number of a reply"):
        memory.evidence(1)
    with pytest.raises(NotFound, match="has no line 99"):
        memory.evidence(99)
    with pytest.raises(BadQuery):
        memory.evidence("6")  # type: ignore[arg-type]


INVALID: list[object] = [
    None,
    [],
    {},
    {"hits": 3, "kept": {}, "others": [], "forgotten": "x", "relevance": "high", "tokens": None},
    {"hits": [None, {}, {"seq": -1}, {"seq": 10**30}, {"seq": True}, {"kind": 3, "id": 1}, {"kind": "x", "id": 2**80}]},
    {"hits": [{"seq": 1, "passage": ["a", 10**30], "signals": {"cosine": "x"}, "span": [1]}], "others": {"b": -1}},
]


@pytest.mark.parametrize("record", INVALID)
def test_an_invalid_record_in_imported_metadata_does_no_harm(memory: Memory, record: object) -> None:
    line = memory.observe("Imported.", metadata={META_RECALLED: record})  # type: ignore[dict-item]
    assert (count_memories(line.metadata) is None) == (not isinstance(record, dict))
    if isinstance(record, dict):
        evidence = memory.evidence(line.seq)
        assert [hit.seq for hit in evidence.hits] in ([], [1])
        assert not evidence.others
    memory.forget(seq=1)
    assert memory.get(line.seq) is not None


LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([-1, 0.5, 2**80, 10**400, "", "summary"])
VALUES = st.recursive(LEAVES, lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.just("a"), parts))
HITS = st.dictionaries(
    st.sampled_from(["seq", "passage", "span", "kind", "id", "written", "score", "relevance", "signals"]), VALUES
)
RECORDS = st.dictionaries(
    st.sampled_from(["answer", "kept", "forgotten", "memories", "relevance", "tokens", "others", "shared", "prompt"]),
    VALUES,
)


@example(record={"answer": [1]}, hits=[{"seq": 1, "passage": [1]}, {"seq": [1], "kind": "summary", "id": {}}])
@example(record={"relevance": 10**400, "tokens": 10**400, "forgotten": 10**400}, hits=[{"seq": 2, "score": 10**400}])
@given(record=RECORDS, hits=st.lists(HITS | VALUES, max_size=3) | VALUES)
def test_lines_and_units_are_forgotten_whatever_an_imported_record_contains(
    any_store: Store, record: dict[str, JSONValue], hits: JSONValue
) -> None:
    memory = Memory(f"imported-{next(NAMES)}", any_store, HashEmbedder(), Default())
    memory.observe_many([NewLine(text, "Nora", said_at=NOON, session="a") for text in SAID[:2]])
    unit = memory.add_unit(NewUnit("summary", "They spoke of a coach.", 2, 2, NOON, metadata={"session": "a"}))
    line = memory.observe("Imported.", metadata={META_RECALLED: {**record, "hits": hits}})
    memory.evidence(line.seq)
    memory.forget_unit("summary", unit.id)
    memory.forget(seq=1)
    left = memory.get(line.seq)
    assert left is not None
    named = [number for hit in list_hits(get_record(left.metadata) or {}) for number in list_seqs(hit, "passage")]
    assert 1 not in (get_answer(left.metadata), *(hit.seq for hit in memory.evidence(line.seq).hits), *named)


def test_a_quoted_line_that_no_hit_has_is_forgotten(memory: Memory) -> None:
    line = memory.observe("Who is my coach?", metadata={META_RECALLED: {"memories": 1, "answer": 1}})
    memory.forget(seq=1)
    assert memory.get(line.seq).metadata[META_RECALLED] == {  # type: ignore[union-attr]
        "memories": 1,
        "answer": None,
        "forgotten": 0,
    }


def test_a_record_is_added_to_a_line_that_was_stored_before(memory: Memory) -> None:
    line = memory.observe("Who is my coach?", metadata={"via": "page"})
    gone = memory.observe("Never mind.")
    memory.retract(gone.seq)
    for seq in (line.seq, gone.seq, 99):
        memory.store.set_records(memory.bank, {seq: {"relevance": 0.5, "hits": [{"seq": 1, "passage": [1]}]}})
    assert [hit.line.text for hit in memory.evidence(line.seq).hits] == [SAID[0]]
    assert memory.get(line.seq).metadata["via"] == "page"  # type: ignore[union-attr]
    assert (
        META_RECALLED not in next(old for old in memory.lines(include_retracted=True) if old.seq == gone.seq).metadata
    )


def test_forgetting_looks_only_at_later_replies(memory: Memory) -> None:
    before = record_of(memory)
    memory.observe("Nothing of this was recalled.")
    memory.forget(seq=7)
    assert record_of(memory) == before


def test_a_shared_bank_that_cannot_be_read_hides_only_its_own_lines(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        cook = Memory.open("cook", store=store, embedder=HashEmbedder(64))
        context = Context("", 3, (line := cook.observe("Salt."),), (Hit(line, 1, 1, {}),), (), 0.5, bank="cook")
        nora = Memory.open("nora", store=store, embedder=HashEmbedder(64))
        nora.set_setting("recall_from", ["cook"])
        nora.observe("Salt.", metadata=build_metadata(Context("", 0, (), (), (), 0, others=(context,))))
        assert nora.evidence(1).shared == {"cook": (line,)}
    (tmp_path / "cook.bank").write_bytes(b"no database" * 1000)
    with closing(SQLiteStore(tmp_path)) as store:
        evidence = Memory.open("nora", store=store, embedder=HashEmbedder(64)).evidence(1)
        assert (evidence.shared, evidence.others) == ({}, {"cook": 1})


def test_a_shared_bank_that_was_created_again_shows_none_of_its_new_lines(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        cook = Memory.open("cook", store=store, embedder=HashEmbedder(64))
        context = Context("", 3, (line := cook.observe("Salt."),), (Hit(line, 1, 1, {}),), (), 0.5, bank="cook")
        nora = Memory.open("nora", store=store, embedder=HashEmbedder(64))
        nora.observe("Salt.", metadata=build_metadata(Context("", 0, (), (), (), 0, others=(context,))))
        cook.forget(everything=True)
        Memory.open("cook", store=store, embedder=HashEmbedder(64)).observe("Pepper.")
        nora.set_setting("recall_from", ["cook"])
        assert nora.evidence(1).shared == {"cook": ()}


def test_hits_of_other_banks_are_counted_and_general_knowledge_is_left_out() -> None:
    line = Line(0, "", "system", "wiki", "Paris is in France.", NOON)
    other = Context("", 3, (), (Hit(line, 1, 1, {}),), (), 0.5, bank="team")
    metadata = build_metadata(Context("", 3, (), (), (), 0.5, others=(other,)))
    assert metadata == {META_RECALLED: {"memories": 1, "relevance": 0.5, "tokens": 3, "others": {"team": 1}}}
    known = build_metadata(Context("", 3, (line,), (Hit(line, 1, 1, {}),), (), 0.5))
    assert known == {META_RECALLED: {"memories": 1, "relevance": 0.5, "tokens": 3}}
    assert count_memories(known) == 1
