"""Rewriting of questions and chunks in the recipe goodai, with models that answer and models that fail."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hardship import llm as servers
from hypothesis import given
from hypothesis import strategies as st

from everthread import Memory, NewLine
from everthread.bank.embedding_backlog import embedding_text
from everthread.common.keys import META_REWRITTEN
from everthread.common.retry import doubling_delays
from everthread.errors import NotFound
from everthread.llms import openai_compatible
from everthread.recipes.goodai import chunk_index
from everthread.recipes.goodai.query_rewriting import CONTEXT_LINES
from everthread.recipes.goodai.recipe import GoodAI
from everthread.recipes.goodai.tokenizers import words
from everthread.scribes.extractive import ExtractiveScribe
from everthread.scribes.llm import LLMScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Line, Vectors
from recipes.goodai.test_chunk_index import STEPS, asked, chunks, do, from_nothing, held
from recipes.pronouns import TALKS, lines, resolved


class Upper(ExtractiveScribe):
    """Rewrites to capitals, and records its input."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, tuple[int, ...]]] = []

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        self.shown.append((query, tuple(line.seq for line in lines)))
        return query.upper()

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        self.shown.append((text, tuple(line.seq for line in lines)))
        return text.upper()


def rewriting(scribe: Any, tokens: int = 6, **options: Any) -> GoodAI:
    return GoodAI(chunk_capacity=tokens, tokenizer=words, rewrite=True, scribe=scribe, **options)


def found_at(memory: Memory, k: int) -> int:
    """Count the talks' questions that one of the first k passages answers."""
    return sum(any(gold in hit.text for hit in memory.recall(question, k)) for *_, question, gold in TALKS)


@pytest.mark.slow
def test_a_rewritten_chunk_is_found_by_the_name_that_a_pronoun_stood_for(tmp_path: Path) -> None:
    scribe = LLMScribe(ScriptedLLM(itertools.repeat(resolved)))
    found = []
    for recipe in (GoodAI(), GoodAI(rewrite=True, scribe=scribe)):
        with Memory.open("bank", store=tmp_path / str(recipe.rewrite), recipe=recipe) as memory:
            memory.observe_many(lines())
            found.append([found_at(memory, k) for k in (1, 3, 5)])
    assert found == [[0, 4, 10], [8, 10, 12]]  # of twelve; docs/recipes.md has these figures


def test_hits_contain_the_original_text(tmp_path: Path) -> None:
    scribe = LLMScribe(ScriptedLLM(itertools.repeat(resolved)))
    with Memory.open("bank", store=tmp_path, recipe=GoodAI(rewrite=True, scribe=scribe)) as memory:
        memory.observe_many(lines()[:4])
        (best,) = memory.recall("Who bakes bread?", 1)
        assert "Ben: He bakes bread in a shop by the river now." in best.text
        assert "Tom bakes bread" in "".join(embedding_text(unit) for unit in memory.units("chunk"))


def test_a_question_is_rewritten_with_the_lines_in_the_prompt(tmp_path: Path) -> None:
    scribe = Upper()
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(64), recipe=rewriting(scribe)) as memory:
        for text in ("one two three", "four five", "six seven", "eight nine", "What of her?"):
            memory.observe(text, session="a")
        scribe.shown.clear()
        memory.recall("What of her?", exclude={2, 3, 4, 5})
        assert ("What of her?", (2, 3, 4)) in scribe.shown  # and not the question itself
        scribe.shown.clear()
        memory.recall("What of her?")
        assert "What of her?" not in [text for text, _ in scribe.shown]  # nothing was said before


def test_a_chunk_is_rewritten_with_three_earlier_lines_and_derives_from_them(tmp_path: Path) -> None:
    scribe = Upper()
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(64), recipe=rewriting(scribe)) as memory:
        memory.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(1, 7)])
        spans = {unit.text: (unit.first_seq, unit.last_seq) for unit in asked(memory)}
        assert spans["Ann: number 5 is here\n"] == (5 - CONTEXT_LINES, 5)
        assert ("Ann: number 5 is here", (2, 3, 4, 5)) in scribe.shown


def test_rewritten_texts_of_a_forgotten_line_are_erased(tmp_path: Path) -> None:
    scribe = LLMScribe(ScriptedLLM(itertools.repeat(resolved)))
    with Memory.open("bank", store=tmp_path, recipe=GoodAI(rewrite=True, scribe=scribe)) as memory:
        memory.observe_many(lines()[:4])
        memory.recall("Tom", 1)
        assert "Tom bakes" in "".join(embedding_text(unit) for unit in memory.units("chunk"))
        memory.forget(seq=1)  # which named him
        memory.recall("Tom", 1)
        assert "Tom" not in "".join(embedding_text(unit) for unit in memory.units("chunk"))
        assert "He bakes bread" in "".join(unit.text for unit in memory.units("chunk"))
    assert not [path.name for path in tmp_path.iterdir() if b"Tom" in path.read_bytes()]


def test_reindexing_uses_the_rewritten_texts(tmp_path: Path) -> None:
    class Seen(HashEmbedder):
        texts: list[str] = []  # noqa: RUF012  # of this test alone

        def embed(self, texts: Sequence[str]) -> Vectors:
            self.texts += texts
            return super().embed(texts)

    scribe = Upper()
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(32), recipe=rewriting(scribe)) as memory:
        memory.observe("one two three four five six", speaker="Ann")
        memory.recall("one")
        asked_for = len(scribe.shown)
    with Memory.open("bank", store=tmp_path, embedder=Seen(64), recipe=rewriting(scribe)) as memory:
        memory.reindex()
        assert "ANN: ONE TWO THREE FOUR" in Seen.texts
    assert len(scribe.shown) == asked_for


def test_a_failed_model_loses_nothing_and_is_not_asked_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with servers.closed_port() as port:
        monkeypatch.setenv("EVERTHREAD_LLM_URL", f"http://127.0.0.1:{port}/v1")
        monkeypatch.setenv("EVERTHREAD_LLM_MODEL", "absent")
        monkeypatch.setattr(openai_compatible, "doubling_delays", partial(doubling_delays, first_s=0.01))
        recipe = rewriting(None)
        with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(64), recipe=recipe) as memory:
            memory.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(1, 9)])
            assert [line.seq for line in memory.lines()] == list(range(1, 9))
            (best,) = memory.recall("number 5", 1, exclude={1, 2})
            assert "number 5" in best.text
            assert not any(META_REWRITTEN in unit.metadata for unit in chunks(memory))
    assert caplog.text.count("are not rewritten for") == 1


def test_switching_rewriting_cuts_a_bank_again(tmp_path: Path) -> None:
    plain = GoodAI(chunk_capacity=6, tokenizer=words)
    for recipe in (plain, rewriting(Upper()), plain):
        with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(64), recipe=recipe) as memory:
            memory.observe("one two three four five six", speaker="Ann", session="a")
            found = asked(memory)
            assert [text for text, *_ in held(memory, found)] == [text for text, *_ in from_nothing(memory, plain)]
            assert all((META_REWRITTEN in unit.metadata) == recipe.rewrite for unit in found)


def test_both_stores_hold_the_same_rewritten_chunks(tmp_path: Path, database: str) -> None:
    chunk_states = []
    for store in (str(tmp_path), database):
        with Memory.open("bank", store=store, embedder=HashEmbedder(64), recipe=rewriting(Upper())) as memory:
            memory.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(1, 7)])
            memory.recall("number")
            memory.retract(2)
            memory.forget(seq=4)
            memory.recall("number")
            chunk_states.append(
                [(unit.text, unit.first_seq, unit.last_seq, embedding_text(unit)) for unit in chunks(memory)]
            )
    assert chunk_states[0] == chunk_states[1]
    assert not any("4" in text for _, _, _, text in chunk_states[0])


def widened(memory: Memory, recipe: GoodAI) -> list[tuple[str, int, int, str]]:
    """Cut the active lines from scratch, each chunk with the earlier lines that its rewriting is shown."""
    sessions: dict[str, list[int]] = {}
    for line in memory.lines():
        sessions.setdefault(line.session, []).append(line.seq)

    def lead(session: str, first: int) -> int:
        return sessions[session][max(sessions[session].index(first) - CONTEXT_LINES, 0)]

    cut = from_nothing(memory, recipe)
    return sorted((text, lead(session, first), last, session) for text, first, last, session in cut)


@pytest.mark.slow
@examples(60)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_rewritten_chunks_always_equal_those_of_the_active_lines(steps: list[tuple[str, Any]]) -> None:
    recipe = rewriting(Upper())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_index, "PAGE_LINES", 4)
        with Memory.open("bank", store=folder, embedder=HashEmbedder(32), recipe=recipe) as memory:
            for what, value in steps:
                with suppress(NotFound):
                    do(memory, what, value)
            found = asked(memory)
            assert held(memory, found) == widened(memory, recipe)
            assert all(unit.metadata[META_REWRITTEN] == unit.text.strip().upper() for unit in found)
            assert memory.store.check("bank") == []
            memory.recall("kite")
            assert chunks(memory) == found  # and nothing is left to do
