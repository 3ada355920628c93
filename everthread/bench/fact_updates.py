"""Measures whether a fact that was replaced is found for its own time, and the new one for the present.

`facts/updates.toml` has small talk and 175 updates: a line that states a fact, a later line that replaces or ends it,
and the days of both. Each is stored in a bank of its own, with thirty lines of small talk between the two. The past is
asked about at half the time between them, as some later lines say since when the new value holds.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from everthread import factory
from everthread.bench.fact_sets import FIRST_HOUR, FOLDER, PARTS, WORDINGS, Part
from everthread.bench.facts import Reader, normalize_value
from everthread.bench.report import to_percent
from everthread.errors import BadFile
from everthread.facts.attributes import FAVOURITE, POSSESSIVE, is_known
from everthread.facts.types import Fact
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer.files import shorten
from everthread.types import NewLine

FILE = FOLDER.joinpath("updates.toml")
LANGUAGE = "en"  # of all updates
TURNS_BETWEEN = 30
BOT = "Bot"
TEXTS = ("speaker", "first", "later", "first_date", "later_date", "subject", "attribute", "old", "new")


@dataclass(frozen=True, slots=True)
class Update:
    """A conversation in which a fact is replaced or ends.

    Attributes:
        part: the part to which it belongs.
        between: a moment at which the first value holds, and not yet the second one.
        lines: its lines, in order; the first states the fact, the last replaces or ends it.
        subject: the person or thing that the fact is about.
        attribute: one of `everthread.facts.attributes`.
        old: the wordings of the first value.
        new: the wordings of the second one; empty if the fact ends.
        question: asks the fact's attribute, in the words of the speaker.
    """

    part: Part
    between: datetime
    lines: tuple[NewLine, ...]
    subject: str
    attribute: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    question: str


def load_updates(parts: Sequence[Part] = PARTS, languages: Sequence[str] = ()) -> list[Update]:
    """Return the updates of these parts and languages; of all languages if none is given.

    Raises:
        BadFile: the file is invalid.
    """
    if languages and LANGUAGE not in languages:
        return []
    return [update for update in read_updates(FILE.read_text("utf-8")) if update.part in parts]


def read_updates(text: str) -> list[Update]:
    """Read the content of a file of updates.

    Raises:
        BadFile: it is invalid; the error names the update.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _build_error("", str(error), "write it as TOML 1.0") from None
    small_talk = content.get("small_talk", [])
    if len(small_talk) < TURNS_BETWEEN or len(small_talk) % 2:
        raise _build_error(
            "small_talk", f"{len(small_talk)} lines", f"write pairs of lines, at least {TURNS_BETWEEN} lines"
        )
    questions = content.get("questions", {})
    return [_read(row, number, small_talk, questions) for number, row in enumerate(content.get("updates", []), 1)]


def _read(
    row: Mapping[str, Any], number: int, small_talk: Sequence[str], questions: Mapping[str, Sequence[str]]
) -> Update:
    where = f"update {number}"
    if wrong := [name for name in TEXTS if not isinstance(row.get(name), str) or not (row[name] or name == "new")]:
        raise _build_error(where, f"{wrong[0]} is {shorten(row.get(wrong[0]))}", "write a text")
    if not is_known(row["attribute"]):
        raise _build_error(
            where, f"there is no attribute {row['attribute']!r}", "choose from everthread.facts.attributes"
        )
    first, later = (_read_day(row[name], where) for name in ("first_date", "later_date"))
    if later <= first:
        raise _build_error(
            where, f"{row['later_date']} is not after {row['first_date']}", "write the earlier line first"
        )
    old, new = (tuple(filter(None, row[name].split(WORDINGS))) for name in ("old", "new"))
    part: Part = "held-out" if row.get("held_out") else "open"
    lines = tuple(_build_lines(row, first, later, _rotate(small_talk, number * TURNS_BETWEEN)))
    question = _build_question(row["attribute"], row["subject"], row["speaker"], questions)
    if not question:
        raise _build_error(where, f"there is no question for {row['attribute']!r}", "add one under [questions]")
    return Update(part, first + (later - first) / 2, lines, row["subject"], row["attribute"], old, new, question)


def _build_question(attribute: str, subject: str, speaker: str, questions: Mapping[str, Sequence[str]]) -> str:
    """Return the speaker's question for an attribute of a subject; empty without words for it."""
    forms = questions.get(attribute, ())
    if attribute.startswith(FAVOURITE):
        forms = [f"What is my {attribute}?", f"What is {{}}'s {attribute}?"]
    if not forms:
        return ""
    own = f"{speaker}{POSSESSIVE}"
    return forms[0] if subject == speaker else forms[1].format(subject.replace(own, "my ", 1))


def _rotate(small_talk: Sequence[str], start: int) -> list[str]:
    """Return a stretch of small talk; after its last line comes its first one."""
    return [small_talk[(start + turn) % len(small_talk)] for turn in range(TURNS_BETWEEN)]


def _build_lines(
    row: Mapping[str, Any], first: datetime, later: datetime, small_talk: Sequence[str]
) -> Iterator[NewLine]:
    """Yield the lines, evenly spread over the time between the two that count."""
    person = row["speaker"]
    texts = [row["first"], *small_talk, row["later"]]
    for turn, text in enumerate(texts):
        said_at = first + (later - first) * turn / (len(texts) - 1)
        by_bot = 0 < turn < len(texts) - 1 and turn % 2 == 0  # small talk begins with the person
        yield NewLine(
            text, BOT if by_bot else person, "assistant" if by_bot else "user", said_at, f"{said_at:%Y-%m-%d}"
        )


def _read_day(text: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(hour=FIRST_HOUR, tzinfo=UTC)
    except ValueError:
        raise _build_error(where, f"{shorten(text)} is not a date", "write it as 2024-03-03") from None


def _build_error(where: str, problem: str, remedy: str) -> BadFile:
    return BadFile(problem, path="everthread/bench/facts/updates.toml", where=where, remedy=remedy)


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """Records whether the present and the past of an update were found.

    Attributes:
        update: the conversation.
        is_new_now: whether the first fact for the present is the new one. If the fact ended: whether the old one is
            known, and known to have ended.
        was_old_before: whether the first fact for a moment between the two lines is the old one.
    """

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
    before = memory.facts(update.subject, update.attribute, as_of=update.between)
    if update.new:
        is_new_now = _agrees(now[:1], update.new)
    else:
        known = memory.facts(update.subject, update.attribute, include_ended=True)
        is_new_now = _agrees(known, update.old) and not _agrees(now, update.old)
    return UpdateResult(update, is_new_now, _agrees(before[:1], update.old))


def _agrees(facts: Sequence[Fact], values: Sequence[str]) -> bool:
    """Return whether one of the facts has one of the values."""
    return not {normalize_value(fact.value) for fact in facts}.isdisjoint(map(normalize_value, values))


def as_json(results: Sequence[UpdateResult]) -> list[dict[str, Any]]:
    """Return the shares of each part in percent."""
    groups = {part: [result for result in results if result.update.part == part] for part in PARTS}
    return [
        {
            "part": part,
            "updates": len(group),
            "new_now": to_percent(sum(result.is_new_now for result in group) / len(group)),
            "old_before": to_percent(sum(result.was_old_before for result in group) / len(group)),
        }
        for part, group in groups.items()
        if group
    ]


def table(results: Sequence[UpdateResult]) -> str:
    """Return the shares in percent as text."""
    rows = [
        f"{row['part']:<10}{row['updates']:>8}{row['new_now']:>10.1f}{row['old_before']:>12.1f}"
        for row in as_json(results)
    ]
    return "\n".join([f"{'part':<10}{'updates':>8}{'new now':>10}{'old before':>12}", *rows])


def list_errors(results: Sequence[UpdateResult]) -> list[str]:
    """Return the updates of the open part of which the present or the past was not found, with their two lines."""
    rows = []
    for result in results:
        wrong = [*["now"] * (not result.is_new_now), *["before"] * (not result.was_old_before)]
        if wrong and result.update.part == "open":
            update = result.update
            fields = (update.subject, update.attribute, WORDINGS.join(update.old), WORDINGS.join(update.new) or "ended")
            rows += [f"{' | '.join(fields)}: not found {' and '.join(wrong)}"]
            rows += [f"    {line.speaker}: {line.text}" for line in (update.lines[0], update.lines[-1])]
    return rows
