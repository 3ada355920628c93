"""What a question asks for: its words, whom and which dates it names, whether it wants a time. Pure.

The dense query is the question without names and question words: the names of the two speakers are near to every line
alike, and are better used as a signal of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from everthread.observe.units import small_talk
from everthread.stores.text import UNSPACED, fold, terms

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
# Words that only ask; left in, they pull the vector towards other questions.
_ASKING = frozenset(
    """
    what when where which who whom whose why how did do does is are was were has have had would will can could should
    """.split()
)
_WANTS_TIME = re.compile(r"\b(when|how long|what (date|year|month|day|time))\b")
_MONTH = "|".join(MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b(?:,?\s+(\d{{4}})\b)?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+(\d{{4}})\b)?")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_CJK_DATE = re.compile(r"(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号])?")
_WHOLE_MONTH = re.compile(rf"\b({_MONTH})\b(?:,?\s+(?:of\s+)?(\d{{4}})\b)?")
# These are verbs more often than months; they are months behind such a word, or before a year.
_VERBS = ("may", "march")
_NOT_VERB = re.compile(
    r"\b(?:in|of|during|since|by|until|before|after|mid|early|late|around|last|this|next)[ -](?:may|march)\b"
    r"|\b(?:may|march),?\s+(?:of\s+)?\d{4}\b"
)
_SPACED = rf"[^\W{UNSPACED}]"  # a letter of a script with spaces
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")  # a capital that does not begin the sentence

LONGEST = 20_000  # characters of a question that are read; a longer one is a document, and its rest changes nothing


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it was named."""

    month: int
    year: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A question, understood. named are the bank's speakers whom it names; names is every name in it, as its terms."""

    text: str
    dense: str
    terms: tuple[str, ...]
    named: frozenset[str]
    dates: tuple[Date, ...]
    wants_time: bool
    names: tuple[tuple[str, ...], ...]
    speaker_terms: frozenset[str]
    small_talk: bool  # it calls for nothing


def rewrite(text: str, speakers: Sequence[str]) -> Query:
    """Understand a question put to a bank with these speakers."""
    text = text[:LONGEST]
    folded = fold(text)
    return Query(
        text=text,
        dense=strip(text, speakers),
        terms=tuple(dict.fromkeys(terms(text))),
        named=named(folded, speakers),
        dates=dates(folded),
        wants_time=_WANTS_TIME.search(folded) is not None,
        names=tuple(found for name in _NAME.findall(text) if (found := tuple(terms(name)))),
        speaker_terms=frozenset(term for name in speakers for term in terms(name)),
        small_talk=small_talk(text),
    )


def strip(text: str, speakers: Sequence[str]) -> str:
    """The question without the speakers' names and the words that only ask; all of it where nothing else is left."""
    names = {part for name in speakers for part in fold(name).split()}
    kept = [word for word in re.findall(r"[^\s?]+", text) if _bare(word) not in names and _bare(word) not in _ASKING]
    return " ".join(kept) or text


def _bare(word: str) -> str:
    return re.sub(r"[.,!;:]+$", "", fold(word)).removesuffix("'s")


def named(folded: str, speakers: Sequence[str]) -> frozenset[str]:
    """The speakers whose first or whole name stands in the question as a word of its own."""
    return frozenset(name for name in speakers if (parts := fold(name).split()) and _stands(parts[0], folded))


def _stands(name: str, folded: str) -> bool:
    """Whether the name stands there as a word; scripts without spaces have no words to keep apart."""
    return name in folded and re.search(rf"(?<!{_SPACED}){re.escape(name)}(?!{_SPACED})", folded) is not None


def dates(folded: str) -> tuple[Date, ...]:
    """The days named in a question ("8 May", "May 8th, 2023", "2023-05-08", "5月8日"), or else the months."""
    days = [Date(_number(m[2]), _int(m[3]), int(m[1])) for m in _DAY_FIRST.finditer(folded)]
    days += [Date(_number(m[1]), _int(m[3]), int(m[2])) for m in _MONTH_FIRST.finditer(folded)]
    days += [Date(int(m[2]), int(m[1]), int(m[3])) for m in _ISO.finditer(folded)]
    days += [Date(int(m[2]), _int(m[1]), _int(m[3])) for m in _CJK_DATE.finditer(folded)]
    if days:
        return tuple(days)
    surely = _NOT_VERB.search(folded) is not None
    months = [m for m in _WHOLE_MONTH.finditer(folded) if m[1] not in _VERBS or surely]
    return tuple(Date(_number(m[1]), _int(m[2])) for m in months)


def _number(month: str) -> int:
    return MONTHS.index(month) + 1


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None
