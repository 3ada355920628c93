"""The functions in the diagram of `everthread/memory.py` exist, and are called in its order."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

import pytest

from everthread import memory as memory_module
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Hit

ROW = re.compile(r"^ {4,}([a-z_.]+) +([A-Za-z_.]+) +\S")
QUESTION = "A question comes in (recall, context); a function calls those that are indented below it"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def read_diagram() -> dict[str, list[str]]:
    """Return the functions of each part of the diagram, as module.function, from top to bottom."""
    parts: dict[str, list[str]] = {}
    names: list[str] = []
    for row in inspect.cleandoc(memory_module.__doc__ or "").splitlines()[1:]:
        if found := ROW.match(row):
            names.append(".".join(found.groups()))
        elif row:
            names = parts[row] = []
    return parts


def code_of(name: str) -> CodeType:
    """Return the code of a function in the diagram; for the store's protocol, that of SQLiteStore."""
    parts = name.split(".")
    target: object = SQLiteStore
    if parts[:3] != ["stores", "base", "Store"]:
        target = import_module(".".join(["everthread", *parts[:2]]))
        target = getattr(target, parts[2])
    for part in parts[3:]:
        target = getattr(target, part)
    code: CodeType = target.__code__  # type: ignore[attr-defined]
    return code


@contextmanager
def trace_calls() -> Iterator[list[CodeType]]:
    """Collect the functions that are called in the block, in the order of their first calls."""
    calls: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.setdefault(frame.f_code)

    found: list[CodeType] = []
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
    found += calls


class KeepOrder:
    """Reranks nothing."""

    name = "keep"

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        return list(hits)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("The ferry to Naxos leaves at noon.", said_at=NOON)
        memory.recall(
            "Naxos"
        )  # reads the speakers' names, by which a later question is embedded before the bank is read
        yield memory


def is_in_order(part: str, call: Callable[[], object], skipped: set[str]) -> bool:
    """Return whether a call runs the functions of one part of the diagram in order, except for those skipped."""
    expected = [name for name in read_diagram()[part] if name not in skipped]
    codes = {code_of(name): name for name in read_diagram()[part]}
    with trace_calls() as calls:
        call()
    assert [codes[code] for code in calls if code in codes] == expected
    return True


def test_every_function_in_the_diagram_exists() -> None:
    parts = read_diagram()
    assert list(parts) == ["A line comes in (observe)", QUESTION]
    assert [len(names) for names in parts.values()] == [6, 23]
    assert all(code_of(name).co_name == name.split(".")[-1] for names in parts.values() for name in names)


def test_observe_calls_the_functions_of_the_diagram_in_order(memory: Memory) -> None:
    assert is_in_order("A line comes in (observe)", lambda: memory.observe("We packed three suitcases."), set())


def test_recall_and_context_call_the_functions_of_the_diagram_in_order(memory: Memory) -> None:
    part = QUESTION
    of_a_time, of_recall = "recall.time_overview.find_lines", "recipes.dispatch.recall"
    of_context = {
        *("recipes.dispatch.build_context", "recipes.dispatch.apply_gate", "recipes.base.Recipe.lay_out"),
        *("recall.relevance_buffer.push_ranges", "recall.context_packing.fill_context"),
    }
    assert is_in_order(part, lambda: memory.recall("When does the ferry leave?"), {of_a_time, *of_context})
    reranked = {"query": "When does the ferry leave?", "session": "s", "gate": False, "rerank": KeepOrder()}
    assert is_in_order(part, lambda: memory.context(**reranked), {of_a_time, of_recall})  # type: ignore[arg-type]
    asked = {"query": "What did we talk about yesterday?", "as_of": NOON + timedelta(days=1)}
    judged = {  # rules take their place
        *("recall.candidate_reader.CandidateReader.measure_best", "recall.relevance.collect_query_features"),
        "recall.relevance.estimate_relevance",
    }
    assert is_in_order(part, lambda: memory.recall(**asked), judged | of_context)  # type: ignore[arg-type]


def test_no_lower_module_calls_memory_during_a_query(memory: Memory) -> None:
    with trace_calls() as calls:
        memory.context("When does the ferry leave?", session="s", gate=False)
    assert [code.co_name for code in calls if code.co_filename == memory_module.__file__] == ["context"]
