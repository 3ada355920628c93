"""Parses a query: its terms, the speakers and times that it names, and whether it asks for a time. Pure.

The phrases around a question, such as "Hey, do you remember …?", are neither terms nor embedded. The text that is
embedded leaves out speakers' names and question words as well: in a conversation of two, both names are about equally
near to every line, and serve better as a separate signal. It also leaves out relative times ("last week"), which are a
signal too: lines that contain these words may be about another week.

A query may also be a dialogue, each message as "Name: text", to find the memories that match it. Its terms and its
embedding text are those of all messages without the names before them; only the last message is read as a question.

The English lists of words are in `query_words.toml`, those of the other languages in their lexicons.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from everthread.recall.nicknames import find_nicknames
from everthread.recall.occasion import Occasion, find_occasion
from everthread.recall.overview_question import asks_for_everything
from everthread.recall.standing_facts import Request, find_request
from everthread.text import lexicon_times
from everthread.text.analyzer import STOP_WORDS, UNSPACED, analyze, detect_language, fold, normalize, split_words, terms
from everthread.text.arithmetic import is_sum
from everthread.text.bot_questions import BotQuestion, find_bot_question
from everthread.text.english_words import is_listed_name, is_mainly_english
from everthread.text.lexicon import ENGLISH, LEXICONS
from everthread.text.line_features import SMALL_TALK, is_small_talk
from everthread.text.questions import is_question
from everthread.text.time_expressions import Time, find_absolute_times, find_relative_times, find_seasons, is_about_past

QUESTION_TERMS, MESSAGE_TERMS = 6, 20  # distinct terms up to which a query is a question, and from which a message
MAX_FRAMED_WORDS = 20  # a longer question is a message, of which a greeting is a small part, and may open a session
MAX_LOWER_CASE_CHARS = 400  # of a text whose names are looked for in lower case
MAX_QUERY_CHARS = 20_000  # a longer query is a document; the rest of it is ignored

_WORDS = tomllib.loads(Path(__file__).with_name("query_words.toml").read_text(encoding="utf-8"))["en"]
_QUESTION_WORDS = frozenset(_WORDS["question_words"])
_ASKS_FOR_TIME = re.compile(rf"\b(?:{'|'.join(_WORDS['time_questions'])})\b")
_PAST_VERB = re.compile(rf"\b(?:{'|'.join(_WORDS['past_verbs'])})\b")
_BROAD = re.compile(rf"\b(?:{'|'.join(_WORDS['broad_questions'])})\b")
_INTERJECTION = rf"(?:{'|'.join(_WORDS['interjections'])})(?= ?[,.!:])"
_OPENING = re.compile(
    rf"\A\s*+(?:(?:{'|'.join(_WORDS['openings'])}|{_INTERJECTION})(?: again)?(?:[\s,.:;!?–—]+|$))+", re.IGNORECASE
)
_INTERJECTIONS = re.compile(rf"\A\s*+(?:{_INTERJECTION}[\s,.:;!?–—]+)+", re.IGNORECASE)
_ENDING = re.compile(rf"[,.;?–—-]\s*(?:{'|'.join(_WORDS['endings'])})[\s?.!]*$", re.IGNORECASE)
_SPEECH_VERBS = "|".join(_WORDS["speech_verbs"])
_VERBS = "|".join(_WORDS["speech_verbs"] + _WORDS["doing_verbs"])
_OVERVIEW_WORDS = frozenset(_WORDS["speech_verbs"] + _WORDS["doing_verbs"] + _WORDS["conversation_words"])
_TOPICLESS_WORDS = (
    (_OVERVIEW_WORDS | STOP_WORDS | SMALL_TALK).union(_WORDS["filler_words"]).difference(_WORDS["modal_verbs"])
)
# By language: the words of which one makes a question an overview question, and those that give it no topic.
_TOPICLESS = {
    name: (frozenset(map(fold, each.overview)), frozenset(map(fold, each.overview | each.stop | each.small_talk)))
    for name, each in LEXICONS.items()
} | {ENGLISH: (_OVERVIEW_WORDS, _TOPICLESS_WORDS)}
# The same for a script without spaces, in which such words are parts of a run of characters: the longest first.
_TOPICLESS_PARTS = {
    name: re.compile("|".join(sorted(map(re.escape, _TOPICLESS[name][1]), key=len, reverse=True)))
    for name, each in LEXICONS.items()
    if each.overview and not each.stemmer
}
_NOT_AFTER_TOPIC_PREPOSITION = "".join(rf"(?<!\b{words} )" for words in _WORDS["topic_prepositions"])
_SPACED_LETTER = rf"[^\W{UNSPACED}]"  # a letter of a script that puts spaces between words
_MESSAGE = re.compile(r"^[ \t]*(?P<name>[^\s:：][^\n:：]{0,39}?)[ \t]*[:：][ \t]*(?=\S)", re.MULTILINE)
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")  # a capitalised word inside a sentence
_MENTION = r"(?:<@[!&]?\w++>|(?<![\w.])@(?P<name>\w[\w.-]*+))"  # as in groups; often by a number
_ADDRESS = re.compile(rf"\A\s*+{_MENTION}[\s,:]*+")
_ADDRESS_AT_END = re.compile(rf"(?<=[,.!?])\s*+{_MENTION}\s*+([.!?]*)\s*+\Z")
_MENTION_ANYWHERE = re.compile(_MENTION)
_LOWER_CASE_WORD = re.compile(r"\b[a-z]{3,}\b")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query.

    Attributes:
        text: the query, at most `MAX_QUERY_CHARS` of it.
        embedding_text: the text that is embedded: without speakers' names, question words and relative times.
        language: the code of its language.
        terms: the distinct terms, in order.
        english_terms: for terms of another language the English ones that differ (`analyzer.analyze`).
        mentioned_speakers: the bank's speakers whose names the question contains, also in another form.
        times: the dates and relative times that it contains.
        asks_for_time: whether it asks when, or how long.
        asks_what_happened: whether it has an auxiliary verb of the past or the perfect.
        name_terms: the terms of each capitalised name in the query, of speakers or not.
        speaker_terms: the terms of all names of the bank's speakers, and of their other forms in the query.
        is_small_talk: whether it is only small talk, a sum or a question for the time, so that no line is relevant.
        asks_for_overview: whether it asks what was said, at the times that it names or at all, and has no other topic.
        quoted_speakers: the mentioned speakers whose own words it asks for ("What did Nora tell me?").
        request: whether it requests advice, and about what.
        is_broad: whether its answer is probably in lines of several sessions ("What books has she read?").
        occasion: whether it asks for the first or the last of several occasions ("When did I last see Anna?").
    """

    text: str
    embedding_text: str
    language: str
    terms: tuple[str, ...]
    english_terms: Mapping[str, str]
    mentioned_speakers: frozenset[str]
    times: tuple[Time, ...]
    asks_for_time: bool
    asks_what_happened: bool
    name_terms: tuple[tuple[str, ...], ...]
    speaker_terms: frozenset[str]
    is_small_talk: bool
    asks_for_overview: bool
    quoted_speakers: frozenset[str]
    request: Request
    is_broad: bool
    occasion: Occasion | None

    @property
    def asked_speakers(self) -> frozenset[str]:
        """The mentioned speakers if all have the same first name, so that the question may be about any; else none."""
        return self.mentioned_speakers if len(set(map(_first_name, self.mentioned_speakers))) == 1 else frozenset()

    @property
    def message_share(self) -> float:
        """The share, from 0 to 1, to which the query is weighed as a message rather than as a question."""
        return message_share(len(self.terms))


def _first_name(name: str) -> str:
    return normalize(name).split()[0]


def message_share(terms: int) -> float:
    """Return how far a query of this many distinct terms is a message, rather than a question: from 0 to 1."""
    fewest, most = map(math.log1p, (QUESTION_TERMS, MESSAGE_TERMS))
    return min(1.0, max(0.0, (math.log1p(terms) - fewest) / (most - fewest)))


def parse_query(
    text: str, speakers: Sequence[str], now: datetime, learned: Mapping[str, str] = MappingProxyType({})
) -> ParsedQuery:
    """Parse a query.

    Args:
        text: the query.
        speakers: the names of the bank's speakers.
        now: the moment of asking, on the asker's clock.
        learned: speakers by other, folded names, which the query contains (`learned_names`).
    """
    text = text[:MAX_QUERY_CHARS]
    messages = split_messages(remove_mentions(text, speakers), speakers)
    question = messages[-1]
    folded = normalize(question)
    mentioned = find_mentioned_speakers(folded, speakers)
    language = detect_language("\n".join(messages))
    named = _find_times(folded, language, mentioned, now)
    question = named.timeless if named.is_relative else question
    no_times = set(split_words(named.timeless))  # May is not Maya
    nicknames = find_nicknames((word for word in find_names(question) if normalize(word) in no_times), speakers)
    nicknames |= {word: name for word, name in learned.items() if word in no_times}
    mentioned |= frozenset(nicknames.values())
    names = (*speakers, *nicknames)
    asked = strip_framing(question) if language == ENGLISH else question
    dialogue, topic = "\n".join(messages), "\n".join((*messages[:-1], asked))
    found, english_terms = analyze(topic)
    return ParsedQuery(
        text=text,
        embedding_text=build_embedding_text(topic, names),
        language=language,
        terms=tuple(dict.fromkeys(found)),
        english_terms=english_terms,
        mentioned_speakers=mentioned,
        times=named.times,
        asks_for_time=_asks_for_time(folded, language),
        asks_what_happened=_PAST_VERB.search(normalize(asked)) is not None,
        name_terms=tuple(filter(None, (tuple(terms(name)) for name in find_names(dialogue)))),
        speaker_terms=frozenset(term for name in names for term in terms(name)),
        is_small_talk=is_small_talk(dialogue) or is_sum(dialogue) or find_bot_question(question) is BotQuestion.CLOCK,
        asks_for_overview=_asks_for_overview(question, named, mentioned, language),
        quoted_speakers=frozenset(name for name in mentioned if is_quoted(name, named.timeless)),
        request=find_request(question, language),
        is_broad=language == ENGLISH and _BROAD.search(folded) is not None,
        occasion=find_occasion(named.timeless, language) if is_question(question) else None,
    )


def remove_mentions(text: str, speakers: Sequence[str]) -> str:
    """Remove the mention of one who is asked, such as a bot, from the beginning or end of a query in a group.

    Of other mentions, and of those of speakers, the name alone remains. A query of mentions is returned unchanged.
    """
    if "@" not in text:
        return text
    rest = text
    while (match := _ADDRESS.match(rest)) is not None and not _names_speaker(match, speakers):
        rest = rest[match.end() :]
    if (match := _ADDRESS_AT_END.search(rest)) is not None and not _names_speaker(match, speakers):
        rest = rest[: match.start()].rstrip(",") + match[2]
    rest = _MENTION_ANYWHERE.sub(lambda match: match["name"] or " ", rest)
    return rest if split_words(rest) else text


def _names_speaker(mention: re.Match[str], speakers: Sequence[str]) -> bool:
    return bool(mention["name"]) and bool(find_mentioned_speakers(normalize(mention["name"]), speakers))


def strip_framing(question: str) -> str:
    """Remove the phrases around a short question to a bot ("Hey, do you remember …?"), unless nothing else is left.

    Before a statement, such as "Oh, I love hiking", interjections remain: it is rather an answer.
    """
    if len(split_words(question)) > MAX_FRAMED_WORDS:
        return question
    opening, interjections = (each.match(question) for each in (_OPENING, _INTERJECTIONS))
    asked = question if opening is None else question[opening.end() :]
    if opening and interjections and opening.end() == interjections.end() and not is_question(asked):
        return question
    if (ending := _ENDING.search(asked)) is not None:
        asked = asked[: ending.start()] + ("?" if "?" in ending[0] else "")
    return asked if split_words(asked) else question


def find_names(text: str) -> list[str]:
    """Return the capitalised words inside the sentences of a text, and listed names in lower case at its beginning."""
    beginning = text[:MAX_LOWER_CASE_CHARS]
    small = list(filter(is_listed_name, _LOWER_CASE_WORD.findall(beginning)))
    return _NAME.findall(text) + (small if small and is_mainly_english(beginning) else [])


class _NamedTimes(NamedTuple):
    """The times that a question names.

    Attributes:
        times: the times.
        timeless: the folded question without them.
        about_past: whether the question asks about the past; relative times are only looked for there.
        is_relative: whether they are relative, such as "last week".
    """

    times: tuple[Time, ...]
    timeless: str
    about_past: bool
    is_relative: bool = False


def _find_times(folded: str, language: str, mentioned: Iterable[str], now: datetime) -> _NamedTimes:
    """Return the dates in a folded question; without any, its relative times; if it has no topic, its seasons."""
    times, timeless = find_absolute_times(folded)
    if not times and language != ENGLISH:
        times, timeless = lexicon_times.find_months(folded, language)
    if times:
        return _NamedTimes(times, timeless, language != ENGLISH or is_about_past(folded))
    times, timeless = _find_past_times(folded, language, now)
    if not times and language == ENGLISH:
        seasons, seasonless = find_seasons(folded, now)
        if seasons and is_topicless(seasonless, mentioned, language):
            times, timeless = seasons, seasonless
    return _NamedTimes(times, timeless, about_past=True, is_relative=bool(times))


def _find_past_times(folded: str, language: str, now: datetime) -> tuple[tuple[Time, ...], str]:
    if language == ENGLISH:
        return find_relative_times(folded, now)
    return lexicon_times.find_past_times(folded, language, now)


def _asks_for_overview(question: str, named: _NamedTimes, mentioned: Iterable[str], language: str) -> bool:
    if not named.times:
        return asks_for_everything(question, language)
    return named.about_past and is_topicless(named.timeless, mentioned, language)


def _asks_for_time(folded: str, language: str) -> bool:
    if language == ENGLISH:
        return _ASKS_FOR_TIME.search(folded) is not None
    return lexicon_times.asks_for_time(folded, language)


def split_messages(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Split a dialogue into the texts of its messages, without the names before them.

    A dialogue begins with a name and contains another one, and one of the names is a speaker's. A row without a name
    continues the message before it.

    Returns:
        The texts; of a text that is no dialogue, the text alone.
    """
    matches = list(_MESSAGE.finditer(text))
    if len(matches) < 2 or text[: matches[0].start()].strip():
        return (text,)
    if not find_mentioned_speakers(normalize("\n".join(match["name"] for match in matches)), speakers):
        return (text,)
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return tuple(text[match.end() : end].rstrip() for match, end in zip(matches, ends, strict=True))


def build_embedding_text(text: str, speakers: Sequence[str]) -> str:
    """Remove the speakers' names from a text, and the question words from a question.

    If no word is left, the text is returned unchanged. A text that is not a question keeps its question words, so that
    a stored line has the same vector as a query with the same text.
    """
    words = re.findall(r"[^\s?]+", text)
    removed = {part for name in speakers for part in normalize(name).split()}
    if "?" in text or any(_fold_word(word) in _QUESTION_WORDS for word in words[:1]):
        removed |= _QUESTION_WORDS
    remaining = [word for word in words if _fold_word(word) not in removed]
    return " ".join(remaining) if 0 < len(remaining) < len(words) else text


def _fold_word(word: str) -> str:
    return normalize(word).rstrip(".,!;:").removesuffix("'s")


def find_mentioned_speakers(folded: str, speakers: Sequence[str]) -> frozenset[str]:
    """Return the speakers whose first or whole name a folded text contains as words.

    Of several with the same first name, those whose whole name it contains are meant, if it contains one.
    """
    parts = {name: normalize(name).split() for name in speakers}
    called = {name: words[0] for name, words in parts.items() if words and _has_word(words[0], folded)}
    whole = {name for name in called if len(parts[name]) > 1 and _has_word(" ".join(parts[name]).rstrip("."), folded)}
    named_in_full = {called[name] for name in whole}
    return frozenset(name for name, first in called.items() if name in whole or first not in named_in_full)


def _has_word(name: str, folded: str) -> bool:
    """Return whether a text contains a name as a word; in a script without spaces, at any place."""
    return (
        name in folded and re.search(rf"(?<!{_SPACED_LETTER}){re.escape(name)}(?!{_SPACED_LETTER})", folded) is not None
    )


def is_topicless(timeless: str, mentioned: Iterable[str], language: str = ENGLISH) -> bool:
    """Return whether a question asks what was said or done, without a topic.

    Names of who said or heard it are no topic ("What did Nora tell me?"); names after "about" and the like are.

    Args:
        timeless: the folded question without its times.
        mentioned: the speakers that it mentions.
        language: the code of its language.
    """
    for name in mentioned:
        timeless = re.sub(rf"{_NOT_AFTER_TOPIC_PREPOSITION}{_name_pattern(name)}(?!')", " ", timeless)
    overview, topicless = _TOPICLESS[language]
    if language in _TOPICLESS_PARTS:
        remaining = _TOPICLESS_PARTS[language].sub("", timeless)
        return any(word in timeless for word in overview) and not split_words(remaining)
    words = split_words(timeless)
    return not overview.isdisjoint(words) and topicless.issuperset(words)


def find_quoted_speakers(question: str, speakers: Sequence[str]) -> frozenset[str]:
    """Return the speakers whose own words a question asks for ("What did Nora say about the trip?")."""
    folded = normalize(remove_mentions(question, speakers))
    mentioned = find_mentioned_speakers(folded, speakers)
    return frozenset(name for name in mentioned if is_quoted(name, folded, _SPEECH_VERBS))


def is_quoted(name: str, timeless: str, verbs: str = _VERBS) -> bool:
    """Return whether a question asks what this speaker said: "What did Nora tell me?", not "What did I tell Nora?"."""
    speaks = rf"(?<!\band ){_name_pattern(name)} (?:has |had |have )?(?:{verbs})\b"
    return re.search(speaks, timeless) is not None


def _name_pattern(name: str) -> str:
    """Return a pattern for a speaker's first or whole name."""
    first, *more = map(re.escape, normalize(name).split())
    return rf"(?<!{_SPACED_LETTER}){first}(?: {' '.join(more)})?(?!{_SPACED_LETTER})"
