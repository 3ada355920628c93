"""Contexts with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hardship import PATIENCE
from hardship.embedders import Stuck

from everthread import BadQuery, ConfigError, Memory, NewLine
from everthread.recipes.packabby import Packabby
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import Hit, NewUnit

QUESTION = "Where does my sister Mia live?"
LINES = ("My sister Mia lives in Lisbon.", "I bake rye bread on Sundays.", "Mia has a dog called Rex.")
SHORT_S = 0.05  # too short for an embedder that does not answer


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[Memory]:
    """Open a bank whose embedder does not embed questions before the test ends."""
    embedder = Stuck()
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory:
        memory.observe_many(NewLine(text) for text in LINES)
        yield memory
        embedder.released.set()


class StuckReranker:
    """Reverses hits, but only after `released` is set."""

    name = "stuck"

    def __init__(self) -> None:
        self.released = threading.Event()

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        self.released.wait(PATIENCE)
        return list(reversed(hits))


def embedder_of(memory: Memory) -> Stuck:
    assert isinstance(memory.embedder, Stuck)
    return memory.embedder


def test_a_context_in_time_equals_one_without_a_deadline(memory: Memory) -> None:
    memory.observe_many(NewLine(text) for text in LINES)
    expected = memory.context(QUESTION, gate=False)
    assert memory.context(QUESTION, gate=False, deadline_s=PATIENCE) == expected
    assert expected.complete
    assert expected.text


def test_if_the_embedder_is_late_lines_are_found_by_their_words(stuck: Memory) -> None:
    context = stuck.context(QUESTION, gate=False, deadline_s=SHORT_S)
    assert not embedder_of(stuck).released.is_set()
    assert not context.complete
    assert context.hits[0].line.text == LINES[0]
    embedder_of(stuck).released.set()
    assert stuck.context(QUESTION, gate=False, deadline_s=PATIENCE) == stuck.context(QUESTION, gate=False)


def test_with_a_deadline_of_zero_no_model_is_called(stuck: Memory) -> None:
    reranker = StuckReranker()
    context = stuck.context(QUESTION, gate=False, rerank=reranker, deadline_s=0)
    assert (context.complete, embedder_of(stuck).questions) == (False, 0)
    assert LINES[0] in context.text


def test_if_the_reranker_is_late_hits_keep_their_order(memory: Memory) -> None:
    memory.observe_many(NewLine(text) for text in LINES)
    expected = memory.context(QUESTION, gate=False)
    reranker = StuckReranker()
    late = memory.context(QUESTION, gate=False, rerank=reranker, deadline_s=1.0)
    reranker.released.set()
    assert not late.complete
    assert [hit.line for hit in late.hits] == [hit.line for hit in expected.hits]
    in_time = memory.context(QUESTION, gate=False, rerank=reranker, deadline_s=PATIENCE)
    assert in_time.complete
    assert [hit.line for hit in in_time.hits] == [hit.line for hit in reversed(expected.hits)]


def test_pending_lines_are_found_by_their_words_and_stay_pending(memory: Memory) -> None:
    (line,) = memory.replace_lines([], [NewLine(LINES[0])], defer_embedding=True)
    context = memory.context(QUESTION, gate=False, deadline_s=PATIENCE)
    assert (context.lines, context.complete) == ((line,), False)
    assert (bool(memory.backlog), memory.stats().pending) == (True, 1)
    assert memory.context(QUESTION, gate=False, exclude=[line.seq], deadline_s=PATIENCE).complete
    assert memory.context(QUESTION, gate=False).complete
    assert not memory.backlog


def test_of_several_banks_all_are_searched_by_words(stuck: Memory) -> None:
    other = Memory("bob", stuck.store, HashEmbedder(64), stuck.recipe)
    other.observe("Mia lives in Porto, says Bob.")
    context = stuck.context(QUESTION, gate=False, banks=["alice", "bob"], deadline_s=SHORT_S)
    assert not context.complete
    assert "Lisbon" in context.text
    assert "Porto" in context.text
    assert embedder_of(stuck).questions == 1


@pytest.mark.parametrize("recipe", ["default", "emi", "goodai", "membot", "packabby", "character"])
@pytest.mark.parametrize("deadline_s", [0, SHORT_S])
def test_every_recipe_keeps_a_deadline(tmp_path: Path, recipe: str, deadline_s: float) -> None:
    embedder = Stuck()
    with Memory.open("alice", store=tmp_path, embedder=embedder, recipe=recipe) as memory:
        memory.observe_many(NewLine(text) for text in LINES)
        context = memory.context(QUESTION, gate=False, deadline_s=deadline_s)
        assert not embedder.released.is_set()
        embedder.released.set()
    assert not context.complete
    assert (LINES[0] in context.text) == (
        recipe in ("default", "emi", "goodai")
    )  # the others search by meaning or units


def test_a_judge_that_is_late_drops_no_summary(tmp_path: Path) -> None:
    class StuckJudge(ExtractiveScribe):
        def is_relevant(self, query: str, text: str) -> bool:
            released.wait(PATIENCE)
            return False

    released = threading.Event()
    recipe = Packabby(scribe=StuckJudge())
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64), recipe=recipe) as memory:
        line = memory.observe(LINES[0])
        memory.add_unit(NewUnit("summary", LINES[0], 1, 1, line.said_at))
        late = memory.context(QUESTION, deadline_s=1.0)
        released.set()
        judged = memory.context(QUESTION, deadline_s=PATIENCE)
    assert ([unit.text for unit in late.units], late.complete) == ([LINES[0]], False)
    assert (judged.units, judged.complete) == ((), True)


def test_the_text_has_whole_lines_only(stuck: Memory) -> None:
    for budget in range(1, 80):
        context = stuck.context(QUESTION, budget, gate=False, deadline_s=0)
        assert context.tokens <= budget
        assert {row.split(": ", 1)[1] for row in context.text.splitlines() if ": " in row} <= set(LINES)


def test_an_unknown_reranker_is_rejected(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="unknown reranker 'elephant'"):
        memory.context(QUESTION, rerank="elephant", deadline_s=PATIENCE)


@pytest.mark.parametrize("deadline_s", [-1, float("nan"), float("inf"), True, "1"])
def test_an_invalid_deadline_is_rejected(memory: Memory, deadline_s: object) -> None:
    with pytest.raises(BadQuery, match="deadline_s must be a number of seconds from 0, got "):
        memory.context(QUESTION, deadline_s=deadline_s)  # type: ignore[arg-type]
