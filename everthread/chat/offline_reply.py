"""Replies of a chat without a language model: they quote the memory that answers best.

They are not saved, because recall would find them again; the user's line has the record of what was recalled for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from everthread.chat.reply import Reply
from everthread.chat.static_reply import build_static_reply
from everthread.types import Context, FoundUnit, Hit, Line

BUDGET_TOKENS = 150  # of recalled lines: about six, as many as a person reads at a glance
MIN_RELEVANCE = 0.02  # of a recalled line; a less relevant one is not worth reading
NOTHING_FOUND = "I remember nothing about that yet."
NOTED = "I'll remember that."
QUESTION_MARKS = ("?", "？", "؟")


def build_reply(context: Context, heard: str, person: str, incognito: bool) -> Reply:
    """Build the reply to a line of the user, `person`, from the memories recalled for it."""
    return build_static_reply(render(context, heard, person, incognito), context)


def render(context: Context, heard: str, person: str, incognito: bool) -> str:
    """Quote the memory that answers a line; without one, answer by a fixed text."""
    if (answer := find_answer(context)) is not None:
        return _quote(answer, person)
    return NOTHING_FOUND if incognito or is_question(heard) else NOTED


def find_answer(context: Context) -> Line | FoundUnit | None:
    """Return the best hit that is not a question itself; of a question what was said next; else the question."""
    hits = [hit for each in (context, *context.others) for hit in each.hits]
    statements = (hit.source for hit in hits if not is_question(hit.source.text))
    return next(statements, None) or _find_response(hits) or (hits[0].source if hits else None)


def is_question(text: str) -> bool:
    """Return whether a text ends with a question."""
    return text.rstrip().endswith(QUESTION_MARKS)


def _find_response(hits: Sequence[Hit]) -> Line | None:
    """Return the first line after one of the hits, in its passage, that is not a question."""
    after = (line for hit in hits for line in hit.passage if line.position > hit.seq)
    return next((line for line in after if not is_question(line.text)), None)


def _quote(source: Line | FoundUnit, person: str) -> str:
    at = source.said_at
    when = "Once" if source.is_undated else f"On {at.day} {at:%B} {at.year}"
    return f"{when} {_who_said(source, person)}: “{source.text}”"


def _who_said(source: Line | FoundUnit, person: str) -> str:
    if isinstance(source, FoundUnit):
        return "I noted"
    if source.role == "assistant":
        return "I said"
    if source.speaker in (person, "user"):
        return "you asked me" if is_question(source.text) else "you told me"
    return f"{source.speaker} said"
