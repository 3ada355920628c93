from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadInput, ConfigError, ModelError
from everthread.memory import Memory
from everthread.recall.rerank import names
from everthread.recall.rerank.base import KeywordOverlap, RecencyImportance, Reranker
from everthread.recall.rerank.models import MMR, CrossEncoder, EmbedderMatch, LLMVerdict
from everthread.recall.rerank.names import RerankerOpener
from everthread.recipes.default import Default
from everthread.recipes.dispatch import CANDIDATES_PER_HIT
from everthread.recipes.options import check_remote
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Hit, NewLine

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Backwards:
    """A reranker that reverses the order, and records how many hits it was given."""

    name = "backwards"

    def __init__(self) -> None:
        self.given: list[int] = []

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        self.given.append(len(hits))
        return [replace(hit, signals={**hit.signals, self.name: float(at)}) for at, hit in enumerate(hits)][::-1]


class Down(Backwards):
    """A reranker that fails like a model that is down."""

    name = "down"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        raise ModelError("the model is down; start it")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512), recipe="default") as memory:
        memory.observe_many(NewLine(f"The ferry {'sails ' * n}at noon.", said_at=NOON) for n in range(8))
        yield memory


def open_reranker(spec: Any) -> Reranker | None:
    return RerankerOpener(HashEmbedder()).open(spec)


def seqs(hits: Sequence[Hit]) -> list[int]:
    return [hit.line.seq for hit in hits]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("keywords", KeywordOverlap),
        ("mmr", MMR),
        ("recency_importance", RecencyImportance),
        ("verdict", LLMVerdict),
        ("em:minilm", EmbedderMatch),
        ("st:cross-encoder/ms-marco-MiniLM-L6-v2", CrossEncoder),
    ],
)
def test_each_reranker_can_be_opened_by_name(name: str, kind: type) -> None:
    assert isinstance(open_reranker(name), kind)


def test_a_model_is_opened_once() -> None:
    assert open_reranker("em:minilm") is open_reranker("em:minilm")


def test_a_reranker_object_is_returned_and_an_empty_name_means_none() -> None:
    given = Backwards()
    assert open_reranker(given) is given
    assert (open_reranker("none"), open_reranker("")) == (None, None)


def test_an_unknown_reranker_is_rejected_with_the_known_ones(memory: Memory) -> None:
    known = "expected one of none, keywords, mmr, recency_importance, verdict, em:EMBEDDER, st:NAME"
    for call in (memory.recall, memory.context):
        with pytest.raises(ConfigError, match=f"unknown reranker 'best'; {known}"):
            call("ferry", rerank="best")


@pytest.mark.parametrize("given", [5, object()])
def test_an_object_that_can_not_rerank_is_rejected(given: Any) -> None:
    with pytest.raises(BadInput, match=r"it has no rerank\(query, hits\)"):
        open_reranker(given)


def test_an_object_without_a_name_is_rejected() -> None:
    nameless = type("Nameless", (), {"rerank": lambda self, query, hits: hits})
    with pytest.raises(BadInput, match="invalid reranker Nameless: it has no name; give it one, a str"):
        open_reranker(nameless())


def test_the_reranker_chooses_from_more_hits_than_requested(memory: Memory) -> None:
    plain = memory.recall("When does the ferry sail?", 8)
    backwards = Backwards()
    found = memory.recall("When does the ferry sail?", 2, rerank=backwards)
    assert backwards.given == [2 * CANDIDATES_PER_HIT] == [len(plain)]
    assert seqs(found) == seqs(plain)[::-1][:2]
    assert [hit.signals["backwards"] for hit in found] == [7.0, 6.0]
    assert [(hit.score, hit.relevance) for hit in found] == [(hit.score, hit.relevance) for hit in plain[::-1][:2]]


def test_a_context_is_filled_in_the_order_of_the_reranker(memory: Memory) -> None:
    best = seqs(memory.context("ferry", 40, gate=False, min_relevance=0.0).hits)
    other = memory.context("ferry", 40, gate=False, min_relevance=0.0, rerank=Backwards())
    assert seqs(other.hits) != best
    assert seqs(other.hits)[0] == seqs(memory.recall("ferry", 50))[-1]
    longer = memory.context("ferry", 80, gate=False, min_relevance=0.0, rerank=Backwards())
    assert seqs(longer.hits)[:3] == seqs(memory.recall("ferry", 50))[::-1][:3]


def test_a_query_can_override_the_reranker_of_the_recipe(memory: Memory) -> None:
    plain = memory.recall("When does the ferry sail?", 8)
    memory.recipe = Default(rerank=Backwards())
    assert seqs(memory.recall("When does the ferry sail?", 8)) == seqs(plain)[::-1]
    by_keywords = memory.recall("When does the ferry sail?", 8, rerank="keywords")
    assert all("keywords" in hit.signals and "backwards" not in hit.signals for hit in by_keywords)


@pytest.mark.parametrize("nothing", ["none", ""])
def test_a_query_can_turn_off_the_reranker_of_the_recipe(memory: Memory, nothing: str) -> None:
    plain = memory.recall("When does the ferry sail?", 8)
    memory.recipe = Default(rerank=Backwards())
    assert memory.recall("When does the ferry sail?", 8, rerank=nothing) == plain
    assert all("backwards" not in hit.signals for hit in memory.context("ferry", gate=False, rerank=nothing).hits)


@pytest.mark.parametrize("nothing", ["none", ""])
def test_a_recipe_can_be_set_to_no_reranking(memory: Memory, nothing: str) -> None:
    plain = memory.recall("ferry", 8)
    memory.recipe = Default(rerank=nothing)
    assert memory.recall("ferry", 8) == plain


def test_the_language_model_of_verdict_is_opened_once_and_dropped_when_the_memory_closes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[weakref.ref[ScriptedLLM]] = []

    def open_llm() -> ScriptedLLM:
        llm = ScriptedLLM(['{"relevant": true}'] * 99)
        opened.append(weakref.ref(llm))
        return llm

    monkeypatch.setattr(names, "open_llm", open_llm)
    for _ in range(3):
        found = memory.recall("ferry", 2, rerank="verdict")
        assert [value for hit in found for name, value in hit.signals.items() if "verdict" in name] == [1.0, 1.0]
    memory.context("ferry", gate=False, rerank="verdict")
    assert len(opened) == 1
    memory.close()
    assert opened[0]() is None
    memory.recall("ferry", 2, rerank="verdict")
    assert len(opened) == 2


def test_the_hits_of_several_banks_are_reranked_together(memory: Memory) -> None:
    Memory("bob", memory.store, memory.embedder, memory.recipe).observe("The ferry was late.")
    plain = memory.recall("ferry", 9, banks=["alice", "bob"])
    found = memory.recall("ferry", 9, banks=["alice", "bob"], rerank=Backwards())
    assert [(hit.bank, hit.line.seq) for hit in found] == [(hit.bank, hit.line.seq) for hit in plain[::-1]]


def test_hits_keep_their_order_while_the_reranker_fails(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert memory.recall("ferry", 3, rerank=Down()) == memory.recall("ferry", 3)
    assert "hits keep their order, because down failed: the model is down" in caplog.text


class Returning:
    """A reranker of the caller's own that returns a given value, or raises a given error."""

    name = "own"

    def __init__(self, value: Any) -> None:
        self.value = value

    def rerank(self, query: str, hits: Sequence[Hit]) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (KeyError("results"), "own failed: rerank failed: KeyError: 'results'"),
        (None, "own failed: rerank returned NoneType; expected a list of the hits that it was given"),
        ([("a hit", 0.5)], "own failed: rerank returned tuple; expected"),
    ],
)
def test_hits_keep_their_order_whatever_a_reranker_raises_or_returns(
    memory: Memory, caplog: pytest.LogCaptureFixture, value: Any, reason: str
) -> None:
    with caplog.at_level(logging.WARNING):
        assert memory.recall("ferry", 3, rerank=Returning(value)) == memory.recall("ferry", 3)
    assert reason in caplog.text


def test_a_reranker_may_return_any_iterable_of_its_hits(memory: Memory) -> None:
    hits = memory.recall("ferry", 3)
    assert memory.recall("ferry", 3, rerank=Returning(iter(hits[::-1]))) == hits[::-1]


def test_a_request_may_name_only_rerankers_that_load_no_model_of_its_choice() -> None:
    for name in ("", "none", "keywords", "mmr", "recency_importance", "em:minilm"):
        check_remote(Default(), {"rerank": name})
    for name in ("st:some/model", "em:http://elsewhere/v1#model", "verdict"):
        with pytest.raises(BadInput, match="invalid rerank"):
            check_remote(Default(), {"rerank": name})
