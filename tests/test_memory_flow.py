"""The drawing at the head of `everthread/memory.py` is true: its functions exist, and are called in its order."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType

import pytest

from everthread import memory as drawn
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

ROW = re.compile(r"^    ([a-z_.]+) +([A-Za-z_.]+) +\S")
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def drawing() -> dict[str, list[str]]:
    """The functions of each part of the drawing, as module.function, from top to bottom."""
    parts: dict[str, list[str]] = {}
    names: list[str] = []
    for row in inspect.cleandoc(drawn.__doc__ or "").splitlines()[1:]:
        if found := ROW.match(row):
            names.append(".".join(found.groups()))
        elif row:
            names = parts[row] = []
    return parts


def code(name: str) -> CodeType:
    """The code of a function of the drawing; of the store's protocol, that of the store in a folder."""
    parts = name.split(".")
    found: object = SQLiteStore
    if parts[:3] != ["stores", "base", "Store"]:
        found = import_module(".".join(["everthread", *parts[:2]]))
        found = getattr(found, parts[2])
    for part in parts[3:]:
        found = getattr(found, part)
    made: CodeType = found.__code__  # type: ignore[attr-defined]
    return made


@contextmanager
def traced() -> Iterator[list[CodeType]]:
    """The functions of Everthread's that are called meanwhile, each where it is called first."""
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


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(), recipe="default") as memory:
        memory.observe("The ferry to Naxos leaves at noon.", said_at=NOON)
        yield memory


def is_drawn(part: str, calls: Callable[[], object], apart: set[str]) -> bool:
    """Whether the calls go through one part of the drawing from top to bottom, except for these functions."""
    wanted = [name for name in drawing()[part] if name not in apart]
    codes = {code(name): name for name in drawing()[part]}
    with traced() as found:
        calls()
    assert [codes[each] for each in found if each in codes] == wanted
    return True


def test_every_function_of_the_drawing_exists() -> None:
    parts = drawing()
    assert list(parts) == ["A line comes in (observe)", "A question comes in (recall, context)"]
    assert [len(names) for names in parts.values()] == [6, 19]
    assert all(code(name).co_name == name.split(".")[-1] for names in parts.values() for name in names)


def test_a_line_goes_through_the_drawing_from_top_to_bottom(memory: Memory) -> None:
    assert is_drawn("A line comes in (observe)", lambda: memory.observe("We packed three suitcases."), set())


def test_a_question_goes_through_the_drawing_from_top_to_bottom(memory: Memory) -> None:
    part = "A question comes in (recall, context)"
    of_a_time = "recall.time_overview.find_lines_in_spans"
    of_context = {
        *("recipes.dispatch.build_context", "recipes.base.Recipe.lay_out"),
        *("recall.relevance_buffer.push_spans", "recall.context_packing.fill_context"),
    }
    assert is_drawn(part, lambda: memory.recall("When does the ferry leave?"), {of_a_time, *of_context})
    assert is_drawn(part, lambda: memory.context("When does the ferry leave?", session="s", gate=False), {of_a_time})
    asked = {"query": "What did we talk about yesterday?", "as_of": NOON + timedelta(days=1)}
    judged = {"recall.relevance.collect_evidence", "recall.relevance.estimate_relevance"}  # rules take their place
    assert is_drawn(part, lambda: memory.recall(**asked), judged | of_context)  # type: ignore[arg-type]


def test_nothing_below_the_memory_calls_it_while_a_question_is_answered(memory: Memory) -> None:
    with traced() as found:
        memory.context("When does the ferry leave?", session="s", gate=False)
    assert [each.co_name for each in found if each.co_filename == drawn.__file__] == ["context"]
