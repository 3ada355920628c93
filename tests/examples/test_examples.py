"""The examples run offline with the documented output; the example store returns what the shipped one returns."""

from __future__ import annotations

import json
import os
import re
import runpy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from effort import examples
from hardship.llm import Reply, llm_server
from hardship.python import run_python
from hypothesis import given
from hypothesis import strategies as st

from everthread import Filter, Hit, Memory, NewLine
from everthread.errors import NotFound
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

EXAMPLES = Path(__file__).parents[2] / "examples"
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
WORDS = "fern kite pier lamp storm walnut ferry".split()


def run(name: str, **environment: str) -> str:
    process = run_python(EXAMPLES / name, env={**os.environ, **environment})
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def test_the_dump_shows_the_chunks_before_and_after_a_deletion() -> None:
    before, after = run("dump_memory.py").split("After the note was replaced")
    assert before.count('{"kind": "talk"}') == 3  # one a line
    assert "Bruno guards the mill from nine to noon." in before
    assert "teaming up with me and Lena Fox?\nWe could come up with a plan" in before
    assert '{"kind": "talk"}' not in after
    assert "Bruno guards the mill all day now." in after


def test_each_question_about_the_articles_is_answered_by_all_three_methods() -> None:
    output = run("wiki_retrieval.py")
    answers = "more than thirty kilometres", "keep mould away for days", "the Earth crosses it, shooting stars"
    assert [output.count(answer) for answer in answers] == [3, 3, 3]
    assert output.count("% sure)") == 3


def test_rewriting_works_without_a_model_and_finds_more_with_the_query_rewritten() -> None:
    output = run("rewriting.py")
    assert "Rewritten by extractive." in output
    assert "Ash said: That would be great." in output
    without, rewritten = [row for row in output.splitlines() if row.startswith("Found with")]
    assert "ice cream" not in without
    assert "ice cream" in rewritten


def test_rewriting_asks_the_model_that_is_configured() -> None:
    texts = "Ash thinks it would be great to team up with Jo Marsh.", "Does John like ice cream?"
    with llm_server(*(Reply(json.dumps({"text": text})) for text in texts)) as server:
        output = run("rewriting.py", EVERTHREAD_LLM_URL=server.url, EVERTHREAD_LLM_MODEL="scripted")
    assert f"Kept:  {texts[0]}" in output
    assert "Found with rewriting the query:  John eats" in output


# ------------------------------------------------------------------------------------------------ own_index.py


@pytest.fixture(scope="module")
def example() -> Any:
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / "own_index.py")))


def test_the_example_of_an_index_runs_and_is_short() -> None:
    output = run("own_index.py")
    assert "My sister Mia moved to Lisbon in May." in output
    assert "2 vectors in the index" in output  # the third line was retracted
    assert len((EXAMPLES / "own_index.py").read_text().splitlines()) <= 150


def test_the_docs_name_the_methods_that_the_example_of_an_index_overrides(example: Any) -> None:
    paragraphs = (EXAMPLES.parent / "docs" / "recipes.md").read_text(encoding="utf-8").split("\n\n")
    (why_not,) = [text for text in paragraphs if "no FAISS index" in text and "Pinecone" in text]
    named = set(re.findall(r"`(\w+)`", why_not)) - {"SQLiteStore"}
    overridden = {
        name for name in vars(example.IndexedStore) if not name.startswith("_") and hasattr(SQLiteStore, name)
    }
    assert named == overridden


LINE = st.builds(
    lambda words, session: NewLine(" ".join(words), "Ann", said_at=NOON, session=session),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from("ab"),
)
STEPS = st.one_of(
    st.tuples(st.just("observe"), st.lists(LINE, min_size=1, max_size=6)),
    st.tuples(st.just("retract"), st.integers(1, 10)),
    st.tuples(st.just("replace"), st.tuples(st.sets(st.integers(1, 10), max_size=3), st.lists(LINE, max_size=2))),
    st.tuples(st.just("forget"), st.sampled_from([{"seq": 2}, {"session": "a"}, {"everything": True}])),
)


@pytest.mark.slow
@examples(40)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=6),
    query=st.sampled_from(WORDS),
    where=st.sampled_from([None, Filter(session="a"), Filter(until=NOON - timedelta(days=1))]),
)
def test_the_store_with_its_own_index_returns_the_same_results(
    tmp_path_factory: pytest.TempPathFactory,
    example: Any,
    steps: list[tuple[str, Any]],
    query: str,
    where: Filter | None,
) -> None:
    index = example.RemoteIndex()
    stores = SQLiteStore(tmp_path_factory.mktemp("plain")), example.IndexedStore(tmp_path_factory.mktemp("own"), index)
    plain, indexed = (Memory.open("bank", store=store, embedder=HashEmbedder(64)) for store in stores)
    for name, value in steps:
        for memory in (plain, indexed):
            apply_step(memory, name, value)
    assert to_comparable(indexed.recall(query, 20, where=where)) == to_comparable(plain.recall(query, 20, where=where))
    lines = {line.seq for line in indexed.lines()}
    assert {int(id.split("/")[-2]) for id in index.spaces.get("bank", ())} == lines
    for store in stores:
        store.close()


def apply_step(memory: Memory, name: str, value: Any) -> None:
    steps: dict[str, Callable[[], object]] = {
        "observe": lambda: memory.observe_many(value),
        "retract": lambda: memory.retract(value),
        "replace": lambda: memory.replace_lines(*value),
        "forget": lambda: memory.forget(**value),
    }
    try:
        steps[name]()
    except NotFound:
        return


def to_comparable(hits: list[Hit]) -> list[tuple[int, str, object]]:
    return [(hit.line.seq, hit.line.text, pytest.approx(hit.score, abs=1e-4)) for hit in hits]


def test_vectors_of_a_forgotten_bank_do_not_create_it_again(tmp_path: Path, example: Any) -> None:
    store = example.IndexedStore(tmp_path, example.RemoteIndex())
    with Memory.open("bank", store=store, embedder=HashEmbedder(64)) as memory:
        line = memory.observe("The kite is red.")
        memory.forget(everything=True)
        store.put_vectors("bank", "hash-64", {line.seq: HashEmbedder(64).embed([line.text])}, [line])
        assert not store.exists("bank")
    store.close()


def test_reindex_fills_the_index_for_another_model(tmp_path: Path, example: Any) -> None:
    index = example.RemoteIndex()
    store = example.IndexedStore(tmp_path, index)
    with Memory.open("bank", store=store, embedder=HashEmbedder(64)) as memory:
        memory.observe("The kite is red.")
    with Memory.open("bank", store=store, embedder=HashEmbedder(32)) as memory:
        memory.reindex()
        assert [id.split("/")[0] for id in index.spaces["bank"]] == ["hash-32"]
        assert memory.recall("kite")[0].line.seq == 1
        assert store.nearest_seqs("bank", "hash-32", np.ones(32, np.float32), 3, None).tolist() == [1]
    store.close()
