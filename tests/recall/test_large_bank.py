"""A bank too large to be scored whole: what is allowed, retracted or known must not depend on who else speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.errors import EmbedderUnavailable
from everthread.memory import Memory
from everthread.recall.candidates import MAX_EXHAUSTIVE_LINES
from everthread.recall.relevance import mentions_unknown_name
from everthread.recall.types import Query
from everthread.testing import HashEmbedder
from everthread.types import Filter, NewLine, Vector, Vectors


class Deaf(HashEmbedder):
    """An embedder that keeps lines, and is down when a question comes."""

    def embed_query(self, text: str) -> Vector:
        raise EmbedderUnavailable("down")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Ann says the word again and again; Bob says it once."""
    folder: Path = tmp_path_factory.mktemp("crowded")
    with Memory.open("crowd", store=folder, embedder=Deaf()) as memory:
        lines = [
            NewLine(f"Pizza number {n} in Lisbon.", "Ann", session=f"s{n}") for n in range(MAX_EXHAUSTIVE_LINES + 300)
        ]
        lines[700] = NewLine("A pizza with capers, once, when the oven was new and we all came.", "Bob", session="bob")
        memory.observe_many(lines)
        yield memory


def test_the_only_allowed_line_with_the_word_is_found_by_the_word_alone(crowded: Memory) -> None:
    assert [hit.line.seq for hit in crowded.recall("pizza", where=Filter(speaker="Bob"))] == [701]


def test_a_name_that_stands_everywhere_is_no_stranger_in_a_long_question(crowded: Memory) -> None:
    rare = " ".join(f"number {n} of" for n in range(40))
    found, _ = crowded.reader.find_candidates(Query(f"tell me of {rare} the pizza that I had in Lisbon"))
    assert not mentions_unknown_name(found)
    assert mentions_unknown_name(crowded.reader.find_candidates(Query("tell me of the pizza in Reykjavik"))[0])


def test_a_bank_that_was_small_then_is_scored_whole_as_it_was_then(tmp_path: Path) -> None:
    begun = datetime(2024, 1, 1, tzinfo=UTC)
    lines = [
        NewLine(f"kite {n % 7} word{n} other{n % 90} thing", said_at=begun + timedelta(minutes=n))
        for n in range(MAX_EXHAUSTIVE_LINES + 300)
    ]
    with (
        Memory.open("b", store=tmp_path / "then", embedder=HashEmbedder(64)) as then,
        Memory.open("b", store=tmp_path / "now", embedder=HashEmbedder(64)) as now,
    ):
        then.observe_many(lines[:1000])
        now.observe_many(lines)
        for query in ("kite 3 other17", "word999 thing", "the other kite"):
            found = now.recall(query, 20, as_of=lines[999].said_at)
            wanted = then.recall(query, 20)
            assert [hit.line.seq for hit in found] == [hit.line.seq for hit in wanted]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted], abs=1e-4)


def test_as_many_come_as_are_asked_for(crowded: Memory) -> None:
    assert len(crowded.recall("pizza", MAX_EXHAUSTIVE_LINES + 200)) == MAX_EXHAUSTIVE_LINES + 200


def test_what_is_retracted_makes_room_for_what_is_not(tmp_path: Path) -> None:
    with Memory.open("b", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        lines = [NewLine("kite festival on the beach", session=f"k{n}") for n in range(450)]
        lines += [NewLine(f"kite {n} word{n} other{n} thing{n}", session=f"w{n}") for n in range(MAX_EXHAUSTIVE_LINES)]
        memory.observe_many(lines)
        assert memory.recall("kite festival on the beach", k=1)[0].line.seq <= 450
        for seq in range(1, 451):
            memory.retract(seq)
        assert memory.recall("kite festival on the beach", k=5)


class Exhausted(HashEmbedder):
    """Fails as torch does."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError("CUDA out of memory")


def test_a_line_is_kept_however_the_embedder_fails(tmp_path: Path) -> None:
    with Memory.open("b", store=tmp_path, embedder=Exhausted()) as memory:
        memory.observe("The kettle is on the third shelf.")
        assert memory.stats().pending == 1
        assert memory.recall("kettle")[0].line.text == "The kettle is on the third shelf."
