"""Measures whether a chat without a model answers a question with the line of the present value, not of an earlier one.

Each update of `fact_updates` is stored in a bank of its own, and its speaker asks for its attribute: "Where do I live?"
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from everthread import factory
from everthread.bench.fact_sets import PARTS
from everthread.bench.fact_updates import Update
from everthread.bench.quotes import recall_for_quote
from everthread.bench.report import to_percent
from everthread.chat.offline_answer import find_source, is_source_sure
from everthread.embedders.base import Embedder
from everthread.facts.cache import FactIndex
from everthread.memory import Memory
from everthread.types import Line


@dataclass(frozen=True, slots=True)
class UpdateQuote:
    """The line that is stated for an update's question, by facts and without them.

    Attributes:
        update: the conversation.
        with_facts: the number of the line, if what is known is used; 0 without one, or if it is quoted in doubt.
        without: the same, by recall alone.
    """

    update: Update
    with_facts: int
    without: int


def measure_update_quotes(
    updates: Sequence[Update],
    embedder: Embedder | str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[UpdateQuote]:
    """Ask the question of each update."""
    quotes, model = [], factory.open_embedder(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="everthread-updates-") as folder,
        closing(factory.open_store(folder)) as store,
    ):
        for done, update in enumerate(updates, 1):
            memory = Memory(f"update-{done}", store, model, factory.open_recipe("default"))
            memory.observe_many(update.lines)
            known = memory.read_known(limit=None)
            quotes.append(UpdateQuote(update, _ask(memory, update, known), _ask(memory, update, FactIndex({}))))
            progress(done, len(updates))
    return quotes


def _ask(memory: Memory, update: Update, known: FactIndex) -> int:
    context = recall_for_quote(memory, update.question, known, update.lines[0].speaker)
    source = find_source(context)
    return source.seq if isinstance(source, Line) and is_source_sure(context, source) else 0


def as_json(quotes: Sequence[UpdateQuote]) -> list[dict[str, Any]]:
    """Return the shares of each part in percent: the later line is stated, and the first one."""
    groups = {part: [quote for quote in quotes if quote.update.part == part] for part in PARTS}
    return [
        {
            "part": part,
            "facts": with_facts,
            "updates": len(group),
            "later": _share(stated, [len(quote.update.lines) for quote in group]),
            "first": _share(stated, [1] * len(group)),
        }
        for part, group in groups.items()
        for with_facts in (False, True)
        if (stated := [quote.with_facts if with_facts else quote.without for quote in group])
    ]


def _share(stated: Sequence[int], seqs: Sequence[int]) -> float:
    return to_percent(sum(map(int.__eq__, stated, seqs)) / len(stated))


def table(quotes: Sequence[UpdateQuote]) -> str:
    """Return the shares as text."""
    head = f"{'part':<10}{'facts':>8}{'updates':>8}{'later line':>12}{'first line':>12}"
    rows = [
        f"{row['part']:<10}{'used' if row['facts'] else '-':>8}{row['updates']:>8}"
        f"{row['later']:>12.1f}{row['first']:>12.1f}"
        for row in as_json(quotes)
    ]
    return "\n".join([head, *rows])
