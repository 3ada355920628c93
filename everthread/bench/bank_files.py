"""Reads banks written for this project: one file with the lines of a conversation and questions about it.

A file is TOML. `lines` is a text of rows "Name: text" below the date of their session, and `bot` the name of the
speaker who is a bot, if there is one. `questions` and `broad` are questions, each with a part or several parts of the
lines that answer it; `untold` are questions that no line answers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources.abc import Traversable
from typing import Any

from everthread.bench.questions import AnnotatedConversation, Question
from everthread.types import NewLine

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def list_banks(folder: Traversable) -> list[str]:
    """Return the names of the banks in a folder, in order."""
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_bank(folder: Traversable, name: str, category: str) -> AnnotatedConversation:
    """Read one bank. Its questions get this category; those under `broad` are "broad".

    Raises:
        ValueError: a part occurs in no line, or in several.
    """
    bank = tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8"))
    lines = tuple(_read_lines(name, bank["lines"], bank.get("bot", "")))
    questions = (
        *(_read_question(lines, question, category) for question in bank["questions"]),
        *(_read_question(lines, question, "broad") for question in bank.get("broad", ())),
    )
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


def _read_question(lines: tuple[NewLine, ...], question: Any, category: str) -> Question:
    text, parts = question
    wanted = [parts] if isinstance(parts, str) else parts
    gold = [[str(line.key) for line in lines if part in line.text] for part in wanted]
    if any(len(keys) != 1 for keys in gold):
        raise ValueError(f"{text}: {wanted} must each occur in one line")
    details = {keys[0]: part for keys, part in zip(gold, wanted, strict=True)}
    return Question(text, frozenset(details), category, details=details)
