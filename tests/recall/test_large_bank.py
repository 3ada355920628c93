"""Banks too large to be scored exhaustively: filters, retractions and `as_of` work as in small ones."""

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


class NoQueryEmbedder(HashEmbedder):
    """An embedder that embeds lines, but fails on queries."""

    def embed_query(self, text: str) -> Vector:
        raise EmbedderUnavailable("down")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Open a large bank where Ann repeats a word in every line, and Bob says it once."""
    folder: Path = tmp_path_factory.mktemp("crowded")
    with Memory.open("crowd", store=folder, embedder=NoQueryEmbedder()) as memory:
        lines = [
            NewLine(f"Pizza number {n} in Lisbon.", "Ann", session=f"s{n}") for n in range(MAX_EXHAUSTIVE_LINES + 300)
        ]
        lines[700] = NewLine("A pizza with capers, once, when the oven was new and we all came.", "Bob", session="bob")
        memory.observe_many(lines)
        yield memory


def test_the_only_allowed_line_with_a_keyword_is_found_without_an_embedder(crowded: Memory) -> None:
    assert [hit.line.seq for hit in crowded.recall("pizza", where=Filter(speaker="Bob"))] == [701]


def test_a_frequent_name_is_not_unknown_in_a_long_query(crowded: Memory) -> None:
    rare = " ".join(f"number {n} of" for n in range(40))
    found, _ = crowded.reader.measure_candidates(Query(f"tell me of {rare} the pizza that I had in Lisbon"))
    assert not mentions_unknown_name(found)
    assert mentions_unknown_name(crowded.reader.measure_candidates(Query("tell me of the pizza in Reykjavik"))[0])


@pytest.mark.slow
def test_recall_as_of_an_earlier_time_scores_like_the_bank_at_that_time(tmp_path: Path) -> None:
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
            expected = then.recall(query, 20)
            assert [hit.line.seq for hit in found] == [hit.line.seq for hit in expected]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-4)


def test_recall_returns_as_many_hits_as_requested(crowded: Memory) -> None:
    assert len(crowded.recall("pizza", MAX_EXHAUSTIVE_LINES + 200)) == MAX_EXHAUSTIVE_LINES + 200


@pytest.mark.slow
def test_retracted_lines_do_not_displace_other_candidates(tmp_path: Path) -> None:
    with Memory.open("b", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        lines = [NewLine("kite festival on the beach", session=f"k{n}") for n in range(450)]
        lines += [NewLine(f"kite {n} word{n} other{n} thing{n}", session=f"w{n}") for n in range(MAX_EXHAUSTIVE_LINES)]
        memory.observe_many(lines)
        assert memory.recall("kite festival on the beach", k=1)[0].line.seq <= 450
        for seq in range(1, 451):
            memory.retract(seq)
        assert memory.recall("kite festival on the beach", k=5)


class Exhausted(HashEmbedder):
    """An embedder that raises an error of torch."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError("CUDA out of memory")


def test_a_line_is_stored_even_if_the_embedder_raises_a_foreign_error(tmp_path: Path) -> None:
    with Memory.open("b", store=tmp_path, embedder=Exhausted()) as memory:
        memory.observe("The kettle is on the third shelf.")
        assert memory.stats().pending == 1
        assert memory.recall("kettle")[0].line.text == "The kettle is on the third shelf."
