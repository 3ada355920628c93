"""Replies of a chat without a language model: the words that quote a memory, list facts, or say that nothing is known.

Replies are not saved, because recall would find them again; the user's line has the record of what was recalled for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

from everthread.chat.known_facts import KnownFacts
from everthread.chat.offline_answer import OfflineAnswer, name_speech
from everthread.languages.wording import Wording
from everthread.text.questions import is_question_only
from everthread.text.sentences import shorten
from everthread.types import FoundUnit, Hit, Line

BUDGET_TOKENS = 150  # of recalled lines: about six, as many as a person reads at a glance
MIN_RELEVANCE = 0.02  # of a recalled line; a less relevant one is not worth reading
MAX_NEAR_MISSES = 3
MAX_QUOTE_TOKENS = 30  # of the line of a fact
_TEXTS = {
    "remembered": "chat.will_remember",
    "unsaved": "chat.will_not_remember",
    "listening": "chat.listening",
    "command": "chat.deletion_hint",
}


def render(
    answer: OfflineAnswer, names: Collection[str], words: Wording, today: date | None = None, near: Sequence[Hit] = ()
) -> str:
    """Put an answer into words.

    Args:
        answer: the answer.
        names: the names under which the lines of the user are stored.
        words: the language of the reply.
        today: the date on which it is given; a memory of the same day is quoted without its date.
        near: the closest lines, which are listed if nothing is remembered.
    """
    quote = "" if answer.source is None else _quote_answer(answer, answer.source, names, words, today)
    if answer.kind == "quote":
        return quote or words("chat.no_longer_remembered")
    if answer.kind in ("known", "changed"):
        return _list_facts(answer.known, names, words, today)
    if answer.kind == "nothing":
        lines = [_quote(hit.source, names, words, today) for hit in near]
        return "\n".join([words("chat.closest"), *lines]) if lines else words("chat.nothing_found")
    return words.paragraph(words(_TEXTS[answer.kind]), quote)


def _list_facts(known: KnownFacts, names: Collection[str], words: Wording, today: date | None) -> str:
    """List facts, each with its line."""
    if not known.facts:
        return words("chat.no_longer_remembered")
    title = words("chat.known") if known.since is None else words("chat.changed", date=words.date(known.since))
    texts = [shorten(" ".join(fact.line.text.split()), MAX_QUOTE_TOKENS) for fact in known.facts]
    quotes = [
        _quote(replace(fact.line, text=text), names, words, today)
        for fact, text in zip(known.facts, texts, strict=True)
    ]
    rows = [
        f"- {fact.text} {quote}" if fact.text else f"- {quote}" for fact, quote in zip(known.facts, quotes, strict=True)
    ]
    return "\n".join([title, *rows, *([words("chat.known_more")] if known.has_more else [])])


def choose_near_misses(hits: Sequence[Hit], newest: Line) -> list[Hit]:
    """Choose the closest lines that neither are the newest one nor only ask something."""
    near = [hit for hit in hits if hit.seq != newest.seq and not is_question_only(hit.source.text)]
    return near[:MAX_NEAR_MISSES]


def _quote_answer(
    answer: OfflineAnswer, source: Line | FoundUnit, names: Collection[str], words: Wording, today: date | None
) -> str:
    """Quote the memory of an answer, with what of it is no longer true, and in doubt if it may not be relevant."""
    quote = _quote(source, names, words, today)
    quote += f" [{answer.outdated}]" if answer.outdated else ""
    return quote if answer.is_sure else words("chat.unsure", memory=quote)


def _quote(source: Line | FoundUnit, names: Collection[str], words: Wording, today: date | None) -> str:
    speech = f"chat.{name_speech(source, names)}"
    if source.is_undated:
        return words(f"{speech}_once", speaker=source.speaker, text=source.text)
    if source.said_at.date() == today:
        return words(f"{speech}_today", speaker=source.speaker, text=source.text)
    return words(speech, date=words.date(source.said_at), speaker=source.speaker, text=source.text)
