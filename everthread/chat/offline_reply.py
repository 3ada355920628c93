"""Replies of a chat without a language model: the words that quote a memory, or say that nothing is remembered.

Replies are not saved, because recall would find them again; the user's line has the record of what was recalled for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from everthread.chat.offline_answer import OfflineAnswer, name_speech
from everthread.languages.wording import Wording
from everthread.text.questions import is_question_only
from everthread.types import FoundUnit, Hit, Line

BUDGET_TOKENS = 150  # of recalled lines: about six, as many as a person reads at a glance
MIN_RELEVANCE = 0.02  # of a recalled line; a less relevant one is not worth reading
MAX_NEAR_MISSES = 3
_TEXTS = {"remembered": "chat.will_remember", "unsaved": "chat.will_not_remember", "listening": "chat.listening"}


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
    if answer.kind == "quote":
        if answer.source is None:
            return words("chat.no_longer_remembered")
        quote = _quote(answer.source, names, words, today)
        return quote if answer.is_sure else words("chat.unsure", memory=quote)
    if answer.kind == "nothing":
        lines = [_quote(hit.source, names, words, today) for hit in near]
        return "\n".join([words("chat.closest"), *lines]) if lines else words("chat.nothing_found")
    return words(_TEXTS[answer.kind])


def choose_near_misses(hits: Sequence[Hit], newest: Line) -> list[Hit]:
    """Choose the closest lines that neither are the newest one nor only ask something."""
    near = [hit for hit in hits if hit.seq != newest.seq and not is_question_only(hit.source.text)]
    return near[:MAX_NEAR_MISSES]


def _quote(source: Line | FoundUnit, names: Collection[str], words: Wording, today: date | None) -> str:
    speech = f"chat.{name_speech(source, names)}"
    if source.is_undated:
        return words(f"{speech}_once", speaker=source.speaker, text=source.text)
    if source.said_at.date() == today:
        return words(f"{speech}_today", speaker=source.speaker, text=source.text)
    return words(speech, date=words.date(source.said_at), speaker=source.speaker, text=source.text)
