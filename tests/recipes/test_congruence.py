"""Under every recipe, both stores hold the same data after a conversation, and recall finds the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hardship.embedders import Several

from everthread import Memory
from everthread.common.keys import META_RECALLED
from everthread.recipes.base import Recipe
from everthread.testing import HashEmbedder
from everthread.types import FoundUnit, Hit, Line
from recipes.talking import EVERY, asked, talk, written_up

QUESTIONS = (
    "What did the vet say about Biscuit?",
    "Where did Olga move?",
    "When do I start at the library?",
    "Good morning!",
)
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
UNDOING: tuple[tuple[Callable[[Memory], object], list[str]], ...] = (  # with words of what is removed
    (lambda memory: memory.retract(13), ["hired"]),
    (lambda memory: memory.forget(seq=5), ["sister"]),
    (lambda memory: memory.forget(session="spring"), ["adopted", "otters", "green coat"]),
)
CLOSE = 1e-4  # of a score, or of 1: both stores keep vectors as halves, and the last bits of their cosines differ


def units(memory: Memory) -> list[tuple[Any, ...]]:
    """Return all units without times, and whether each is current."""
    return [
        (
            *(unit.kind, unit.id, unit.text, unit.first_seq, unit.last_seq, unit.said_at, unit.valid_to is None),
            *(unit.importance, unit.category, unit.metadata, unit.supersedes),
        )
        for unit in memory.units()
    ]


def undated(source: Line | FoundUnit) -> Line | FoundUnit:
    """Return a found line or unit without what two stores differ in: the times of a unit's writing, and the figures of
    what was recalled for a reply, whose last digit is rounded."""
    if isinstance(source, Line):
        return replace(source, metadata={**source.metadata, META_RECALLED: META_RECALLED in source.metadata})
    ended = None if source.unit.valid_to is None else BEGUN
    return replace(source, unit=replace(source.unit, valid_from=BEGUN, valid_to=ended))


def told(hit: Hit) -> tuple[Any, ...]:
    return hit.kind, undated(hit.source), [undated(line) for line in hit.passage], hit.score, hit.relevance


def same(one: list[Hit], other: list[Hit]) -> None:
    """Check that hits are equal and in the same order."""
    assert [told(hit)[:3] for hit in one] == [told(hit)[:3] for hit in other]
    for ours, theirs in zip(one, other, strict=True):
        assert told(ours)[3:] == pytest.approx(told(theirs)[3:], rel=CLOSE, abs=CLOSE)
        assert ours.signals.keys() == theirs.signals.keys()


def seen(memory: Memory) -> dict[str, Any]:
    """Return the statistics of a bank and its answers to queries."""
    contexts = [memory.context(query, 400) for query in QUESTIONS]
    return {
        "lines": [(line.seq, line.text, line.retracted_at is None) for line in memory.lines(include_retracted=True)],
        "units": units(memory),
        "hits": [memory.recall(query, 20) for query in QUESTIONS],
        "contexts": [(context.text, context.tokens) for context in contexts],
        "prompts": [asked(memory, query) for query in QUESTIONS[1:]],
        "queued": [(work.kind, work.session, work.first_seq, work.last_seq) for work in memory.jobs()],
    }


def texts(result: dict[str, Any]) -> list[str]:
    """Return every text that could still contain a removed line."""
    hits = [hit for found in result["hits"] for hit in found]
    return [
        *(text for _, _, text, *_ in result["units"]),
        *(line.text for hit in hits for line in (hit.source, *hit.passage)),
        *(text for text, _ in result["contexts"]),
        *result["prompts"],
    ]


@pytest.mark.parametrize("embedder", [HashEmbedder(512), Several(384)], ids=["a vector a text", "several vectors"])
@pytest.mark.parametrize("recipe", EVERY.values(), ids=EVERY)
def test_both_stores_hold_the_same_and_nothing_of_removed_lines(
    recipe: Recipe, embedder: HashEmbedder, tmp_path: Path, any_database: str
) -> None:
    names = [(str(tmp_path), "mara"), (any_database, f"mara by {embedder.name} with {recipe!r}"[:200])]
    one, other = (Memory.open(name, store=store, embedder=embedder, recipe=recipe) for store, name in names)
    with one, other:
        assert talk(one) == talk(other)
        assert any(one.recall(query) and one.context(query) for query in QUESTIONS)
        forgotten: list[str] = []
        compared(one, other, forgotten)
        for undo, words in UNDOING:
            forgotten += words
            for memory in (one, other):
                undo(memory)
            compared(one, other, forgotten)  # before a scribe has rewritten what went along
            for memory in (one, other):
                written_up(memory)
            compared(one, other, forgotten)


def compared(one: Memory, other: Memory, forgotten: list[str]) -> None:
    ours, theirs = seen(one), seen(other)
    assert not [(word, text) for text in (*texts(ours), *texts(theirs)) for word in forgotten if word in text]
    for found, wanted in zip(ours.pop("hits"), theirs.pop("hits"), strict=True):
        same(found, wanted)
    for what in ours:
        assert ours[what] == theirs[what], what
