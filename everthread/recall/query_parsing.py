"""What a question asks for: its words, whom and which times it names, whether it wants a time. Pure.

The dense query is the question without names and question words: the names of the two speakers are near to every line
alike, and are better used as a signal of their own. A time told from now ("last week") is a signal, too: its words are
taken out, as they stand in the lines that tell of another week.

A dialogue may stand in a question's place, each message as "Name: text", to find what it calls to mind. What it is
about is all of it, without the names before the messages; whatever is asked, is asked in its last message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everthread.text.analyzer import STOP_WORDS, UNSPACED, normalize, split_words, terms
from everthread.text.arithmetic import is_sum
from everthread.text.line_features import SMALL_TALK, is_small_talk
from everthread.text.time_expressions import Time, find_absolute_times, find_relative_times, is_about_past

# Words that only ask; left in, they pull the vector towards other questions.
_ASKING = frozenset(
    """
    what when where which who whom whose why how did do does is are was were has have had would will can could should
    """.split()
)
_WANTS_TIME = re.compile(r"\b(when|how long|what (date|year|month|day|time))\b")
# A question of a time and of nothing but such words ("What did we talk about yesterday?") has no other matter.
_TELL = """
    ask asked chat chatted chatting discuss discussed discussing do doing done mention mentioned said say saying speak
    speaking spoke spoken talk talked talking tell telling told write writing written wrote
    """.split()
_TELLING = "|".join(_TELL)
_MATTER = frozenset(_TELL) | frozenset(
    "conversation conversations discussion happen happened happening recap remember summarise summarize summary".split()
)
_BESIDES = """
    again all also any anything did early earlier else ever every everything exactly last late mid mostly most remind
    something stuff thing things topic topics
    """.split()
_OTHERWISE = "may might must sha shall should than will wo would".split()  # of what need not have been said at all
_IDLE = (_MATTER | STOP_WORDS | SMALL_TALK).union(_BESIDES).difference(_OTHERWISE)
_NOT_ABOUT = "".join(rf"(?<!\b{words} )" for words in ("about", "for", "of", "happen to", "happened to"))
_SPACED = rf"[^\W{UNSPACED}]"  # a letter of a script with spaces
_MESSAGE = re.compile(r"^[ \t]*(?P<name>[^\s:：][^\n:：]{0,39}?)[ \t]*[:：][ \t]*(?=\S)", re.MULTILINE)
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")  # a capital that does not begin the sentence

MAX_QUERY_CHARS = (
    20_000  # characters of a question that are read; a longer one is a document, and its rest changes nothing
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A question, understood. named are the bank's speakers whom it names; names is every name in it, as its terms."""

    text: str
    embedding_text: str
    terms: tuple[str, ...]
    mentioned_speakers: frozenset[str]
    times: tuple[Time, ...]
    asks_for_time: bool
    name_terms: tuple[tuple[str, ...], ...]
    speaker_terms: frozenset[str]
    is_small_talk: bool  # it calls for nothing; a sum calls for nothing that was said either
    asks_for_overview: bool  # it names a time and no other matter: it calls for what was said then
    quoted_speakers: frozenset[str]  # of those named, whoever is to have said it


def parse_query(text: str, speakers: Sequence[str], now: datetime) -> ParsedQuery:
    """Understand a question put to a bank with these speakers; now is the moment of asking, on the asker's clock."""
    text = text[:MAX_QUERY_CHARS]
    said = split_messages(text, speakers)
    folded = normalize(said[-1])
    about = find_mentioned_speakers(folded, speakers)
    times, rest = find_absolute_times(folded)
    last, past = said[-1], is_about_past(folded)
    if not times:
        times, rest = find_relative_times(folded, now)
        last, past = (rest if times else last), True
    whole, matter = "\n".join(said), "\n".join((*said[:-1], last))
    return ParsedQuery(
        text=text,
        embedding_text=build_embedding_text(matter, speakers),
        terms=tuple(dict.fromkeys(terms(matter))),
        mentioned_speakers=about,
        times=times,
        asks_for_time=_WANTS_TIME.search(folded) is not None,
        name_terms=tuple(found for name in _NAME.findall(whole) if (found := tuple(terms(name)))),
        speaker_terms=frozenset(term for name in speakers for term in terms(name)),
        is_small_talk=is_small_talk(whole) or is_sum(whole),
        asks_for_overview=bool(times) and past and is_time_only(rest, about),
        quoted_speakers=frozenset(name for name in about if is_quoted(name, rest)),
    )


def split_messages(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """What was said in each message of a dialogue, without who said it; of anything else, the text alone.

    A dialogue begins with a name and has another; one of the names is a speaker's. A line without a name goes on with
    the message before.
    """
    found = list(_MESSAGE.finditer(text))
    if len(found) < 2 or text[: found[0].start()].strip():
        return (text,)
    if not find_mentioned_speakers(normalize("\n".join(match["name"] for match in found)), speakers):
        return (text,)
    ends = [*(match.start() for match in found[1:]), len(text)]
    return tuple(text[match.end() : end].rstrip() for match, end in zip(found, ends, strict=True))


def build_embedding_text(text: str, speakers: Sequence[str]) -> str:
    """The question without the speakers' names and the words that only ask; all of it where nothing else is left.
    What asks nothing keeps its words, and so the vector that it was given when it was kept."""
    words = re.findall(r"[^\s?]+", text)
    out = {part for name in speakers for part in normalize(name).split()}
    if "?" in text or any(_bare(word) in _ASKING for word in words[:1]):
        out |= _ASKING
    kept = [word for word in words if _bare(word) not in out]
    return " ".join(kept) if 0 < len(kept) < len(words) else text


def _bare(word: str) -> str:
    return normalize(word).rstrip(".,!;:").removesuffix("'s")


def find_mentioned_speakers(folded: str, speakers: Sequence[str]) -> frozenset[str]:
    """The speakers whose first or whole name stands in the question as a word of its own."""
    return frozenset(name for name in speakers if (parts := normalize(name).split()) and _mentions(parts[0], folded))


def _mentions(name: str, folded: str) -> bool:
    """Whether the name stands there as a word; scripts without spaces have no words to keep apart."""
    return name in folded and re.search(rf"(?<!{_SPACED}){re.escape(name)}(?!{_SPACED})", folded) is not None


def is_time_only(rest: str, about: Iterable[str]) -> bool:
    """Whether a question, its times taken out of it, asks what was said, told or done, and for nothing in particular.

    Who says it or hears it may be named; about whom it is, is a matter of its own.
    """
    for name in about:
        rest = re.sub(rf"{_NOT_ABOUT}{_name_pattern(name)}(?!')", " ", rest)
    words = split_words(rest)
    return any(word in _MATTER for word in words) and all(word in _IDLE for word in words)


def is_quoted(name: str, rest: str) -> bool:
    """Whether it is this speaker who is to have said it: "What did Nora tell me?", not "What did I tell Nora?"."""
    return re.search(rf"(?<!\band ){_name_pattern(name)} (?:has |had |have )?(?:{_TELLING})\b", rest) is not None


def _name_pattern(name: str) -> str:
    """A speaker's first or whole name, as a pattern."""
    first, *more = map(re.escape, normalize(name).split())
    return rf"(?<!{_SPACED}){first}(?: {' '.join(more)})?(?!{_SPACED})"
