"""Replies of a chat without a language model: they quote the memory that answers best.

A memory that may not be relevant is quoted with a doubt. Replies are not saved, because recall would find
them again; the user's line has the record of what was recalled for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from everthread.chat.reply import Reply
from everthread.chat.static_reply import build_static_reply
from everthread.languages.wording import Wording
from everthread.stores.evidence import SURE_RELEVANCE
from everthread.types import Context, FoundUnit, Hit, Line

BUDGET_TOKENS = 150  # of recalled lines: about six, as many as a person reads at a glance
MIN_RELEVANCE = 0.02  # of a recalled line; a less relevant one is not worth reading
STATED_RELEVANCE = 0.7  # of a message that asks nothing; one that is on a known subject mostly has more
MAX_NEAR_MISSES = 3
QUESTION_MARKS = ("?", "？", "؟")


def build_reply(
    context: Context,
    heard: Line | None,
    names: Collection[str],
    incognito: bool,
    words: Wording,
    near: Sequence[Hit] = (),
) -> Reply:
    """Build the reply to a line of the user from the memories recalled for it, or from near misses."""
    return build_static_reply(render(context, heard, names, incognito, words, near), context)


def render(
    context: Context,
    heard: Line | None,
    names: Collection[str],
    incognito: bool,
    words: Wording,
    near: Sequence[Hit] = (),
) -> str:
    """Quote the memory that answers a line, in doubt if it may not; without one, answer by a fixed text.

    Args:
        context: the memories recalled for the line.
        heard: the line; None: nothing was said yet.
        names: the names under which the lines of the user are stored.
        incognito: the line is not stored.
        words: the language of the reply.
        near: the closest lines, which are listed if there is no memory.
    """
    today = heard.said_at.date() if heard else None
    if (answer := find_answer(context)) is not None:
        quote = _quote(answer, names, words, today)
        return quote if is_sure(context, answer) else words("chat.unsure", memory=quote)
    if not incognito and not (heard and is_question(heard.text)):
        return words("chat.will_remember")
    lines = [_quote(hit.source, names, words, today) for hit in near]
    return "\n".join([words("chat.closest"), *lines]) if lines else words("chat.nothing_found")


def drop_unrelated(context: Context, heard: str) -> Context:
    """Return the memories that may be quoted to a line: none to one that asks nothing and hardly concerns them."""
    contexts = (context, *context.others)
    if is_question(heard) or any(each.relevance >= STATED_RELEVANCE for each in contexts):
        return context
    return Context("", 0, (), (), (), context.relevance, context.bank, (), context.complete)


def is_sure(context: Context, answer: Line | FoundUnit) -> bool:
    """Return whether the hit that holds an answer is relevant enough to be stated as a memory."""
    hits = (hit for each in (context, *context.others) for hit in each.hits)
    return any(hit.relevance >= SURE_RELEVANCE for hit in hits if answer == hit.source or answer in hit.passage)


def choose_near_misses(hits: Sequence[Hit], newest: Line) -> list[Hit]:
    """Choose the closest lines that neither are the newest one nor ask something."""
    near = [hit for hit in hits if hit.seq != newest.seq and not is_question(hit.source.text)]
    return near[:MAX_NEAR_MISSES]


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


def _quote(source: Line | FoundUnit, names: Collection[str], words: Wording, today: date | None) -> str:
    speech = f"chat.{_name_speech(source, names)}"
    if source.is_undated:
        return words(f"{speech}_once", speaker=source.speaker, text=source.text)
    if source.said_at.date() == today:
        return words(f"{speech}_today", speaker=source.speaker, text=source.text)
    return words(speech, date=words.date(source.said_at), speaker=source.speaker, text=source.text)


def _name_speech(source: Line | FoundUnit, names: Collection[str]) -> str:
    """Return the name of the text that says who said a memory."""
    if isinstance(source, FoundUnit):
        return "i_noted"
    if source.role == "assistant":
        return "i_said"
    if source.speaker in names:
        return "you_asked" if is_question(source.text) else "you_said"
    return "other_said"
