"""Measures whether a fact that was replaced is found for its own time, and the new one for the present.

`facts/updates.toml` has conversations in which a line states a fact, and a later one, after some thirty turns of small
talk, another value of it. Each is stored in a bank of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from everthread import factory
from everthread.bench.fact_sets import PARTS, Part
from everthread.bench.facts import Reader, normalize_value
from everthread.bench.report import to_percent
from everthread.facts.types import Fact
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import NewLine

BEFORE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Update:
    """A conversation in which a fact is replaced.

    Attributes:
        id: its name.
        language: the code of its language.
        part: the part to which it belongs.
        lines: all lines, in order.
        subject: the person or thing that the fact is about.
        attribute: one of `everthread.facts.attributes`.
        old: the wordings of the first value.
        new: the wordings of the second one.
        replaced_at: the time from which the second one holds.
    """

    id: str
    language: str
    part: Part
    lines: tuple[NewLine, ...]
    subject: str
    attribute: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    replaced_at: datetime


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """Whether the first fact for the present is the new one, and that for the moment before it the old one."""

    update: Update
    is_new_now: bool
    was_old_before: bool


def measure_updates(
    updates: Sequence[Update], reader: Reader, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[UpdateResult]:
    """Store each conversation in a bank of a temporary folder, and ask for its fact.

    Args:
        updates: the conversations.
        reader: reads the facts.
        progress: called with the number of conversations measured, and of all.
    """
    results = []
    with (
        tempfile.TemporaryDirectory(prefix="everthread-facts-") as folder,
        closing(factory.open_store(folder)) as store,
    ):
        embedder = HashEmbedder()  # facts are read from words alone
        for done, update in enumerate(updates, 1):
            memory = Memory(f"update-{done}", store, embedder, factory.open_recipe("default"))
            memory.statement_reader = reader
            memory.observe_many(update.lines)
            results.append(_ask(memory, update))
            progress(done, len(updates))
    return results


def _ask(memory: Memory, update: Update) -> UpdateResult:
    now = memory.facts(update.subject, update.attribute)
    before = memory.facts(update.subject, update.attribute, as_of=update.replaced_at - BEFORE)
    return UpdateResult(update, _is_first(now, update.new), _is_first(before, update.old))


def _is_first(facts: Sequence[Fact], values: Sequence[str]) -> bool:
    return bool(facts) and normalize_value(facts[0].value) in map(normalize_value, values)


def _group(results: Sequence[UpdateResult]) -> Iterator[tuple[Part, str, list[UpdateResult]]]:
    """Yield the results of each part and language, and of all languages of a part."""
    for part in PARTS:
        of_part = [result for result in results if result.update.part == part]
        languages = dict.fromkeys(result.update.language for result in of_part)
        for language in languages:
            yield part, language, [result for result in of_part if result.update.language == language]
        if len(languages) > 1:
            yield part, "all", of_part


def as_json(results: Sequence[UpdateResult]) -> list[dict[str, Any]]:
    """Return the shares in percent."""
    return [
        {
            "part": part,
            "language": language,
            "updates": len(group),
            "new_now": to_percent(sum(result.is_new_now for result in group) / len(group)),
            "old_before": to_percent(sum(result.was_old_before for result in group) / len(group)),
        }
        for part, language, group in _group(results)
    ]


def table(results: Sequence[UpdateResult]) -> str:
    """Return the shares in percent as text."""
    rows = [
        f"{row['part']:<10}{row['language']:<10}{row['updates']:>8}{row['new_now']:>10.1f}{row['old_before']:>12.1f}"
        for row in as_json(results)
    ]
    return "\n".join([f"{'part':<10}{'language':<10}{'updates':>8}{'new now':>10}{'old before':>12}", *rows])
