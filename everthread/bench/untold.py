"""Loads banks with questions about what was never said, on subjects that were talked about: written for this project.

Twelve talks of one to two dozen lines, between a person and a bot or among friends, of many ages and voices. Each has
questions that a line answers ("What is the boat called?"), and questions on the same subjects that none answers ("How
much did they pay for the boat?"). A gate that only finds the subject accepts both.

Each file of `untold/` has the name of the bot, if one takes part, the lines as "Name: text" below the date of their
session, the questions, each with a part of the lines that answer it, and the questions that can't be answered.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from everthread.bench.questions import AnnotatedConversation, Question
from everthread.types import NewLine

FOLDER = files("everthread.bench").joinpath("untold")
# The others were not looked at while the gate was developed.
DEVELOPMENT = ("allotment", "band", "mother", "moving")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def load_untold() -> list[AnnotatedConversation]:
    """Return the banks, by name."""
    names = sorted(entry.name.removesuffix(".toml") for entry in FOLDER.iterdir())
    return [_load(name) for name in names]


def _load(name: str) -> AnnotatedConversation:
    bank = tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text("utf-8"))
    lines = tuple(_read_lines(name, bank["lines"], bank.get("bot", "")))
    questions = tuple(_read_question(lines, text, parts) for text, parts in bank["questions"])
    ids = tuple(str(line.key) for line in lines)
    speakers = tuple(dict.fromkeys(line.speaker for line in lines))
    return AnnotatedConversation(name, lines, ids, questions, speakers, unrelated=tuple(bank["untold"]))


def _read_lines(name: str, text: str, bot: str) -> Iterator[NewLine]:
    said_at = datetime(1, 1, 1, tzinfo=UTC)
    for number, row in enumerate(filter(None, text.split("\n"))):
        if _DATE.fullmatch(row):
            said_at = datetime.fromisoformat(row).replace(hour=18, tzinfo=UTC)
            continue
        speaker, _, words = row.partition(": ")
        said_at += timedelta(minutes=1)
        session = f"{name}-{said_at:%Y-%m-%d}"
        yield NewLine(
            words, speaker, "assistant" if speaker == bot else "user", said_at, session, key=f"{name}:{number}"
        )


def _read_question(lines: tuple[NewLine, ...], text: str, parts: str | list[str]) -> Question:
    wanted = [parts] if isinstance(parts, str) else parts
    gold = [[str(line.key) for line in lines if part in line.text] for part in wanted]
    if any(len(keys) != 1 for keys in gold):
        raise ValueError(f"{text}: {wanted} must each occur in one line")
    return Question(text, frozenset(key for keys in gold for key in keys), "untold")
