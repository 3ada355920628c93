"""Recognises a goodbye, and decides the next step. Pure.

`goodbyes.toml` holds the phrases by language. A text is a goodbye if phrases cover all of it ("ok bye then!"), or if it
ends with a farewell in a clause of its own ("My bus is here, bye!"). "Goodbye was her favourite song" is not a goodbye.
A false positive costs a question; a missed goodbye loses nothing.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from everthread.chat.consent import APOSTROPHE, QUESTION_MARK, is_unclear, parse_consent, parse_yes_no
from everthread.common.once import once

MAX_GOODBYE_CHARS = 200  # a longer text is no goodbye
MAX_NAME_CHARS = 20  # of an unknown name in its own clause: "Bye, Jonas!"
PHRASES_FILE = Path(__file__).with_name("goodbyes.toml")

Question = Literal["", "remember", "forget"]  # the pending one: whether to remember the conversation, or to forget it
Step = Literal["ask", "ask again", "remember", "confirm", "forget", "keep", "part", "go on"]
_ANSWERS: dict[tuple[Question, bool], Step] = {
    ("remember", True): "remember",
    ("remember", False): "confirm",
    ("forget", True): "forget",
    ("forget", False): "keep",
}

_CLAUSE_MARKS = re.compile(r"[,;:.!…—–，。；：！、~～\n()]+")
_CLAUSE_MARKS_AND_HYPHENS = re.compile(rf"{_CLAUSE_MARKS.pattern}|\s-+\s")
_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # kana and Chinese characters
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:'[^\W_]+)*")
_DRAWN_OUT = re.compile(r"([^\W\d])\1{2,}")  # a letter that is repeated for emphasis
_QUOTE = re.compile(r"""["“”„«»‹›「」『』：]|:(?=[^\W\d]|\s)|(?<!\w)['‘’](?=\w)""")  # marks of quoted speech

Tokens = tuple[str, ...]


class Phrases(NamedTuple):
    """The phrases of all languages, in words."""

    farewells: frozenset[Tokens]
    goodbyes: frozenset[Tokens]  # the farewells among them
    fillers: frozenset[Tokens]


def next_step(
    text: str,
    *,
    name: str,
    pending: Question,
    has_spoken: bool,
    policy: bool | None,
    ends_conversation: bool = True,
) -> Step:
    """Decide the next step after a text that the user said.

    Args:
        text: what the user said.
        name: the name of the character, which may be part of a goodbye.
        pending: the question that is open: "remember" for "Shall I remember this conversation?", "forget" for the one
            that follows if the answer is "no".
        has_spoken: whether the user said something before in the conversation.
        policy: the bank's setting `remember`: True always, False never, None ask.
        ends_conversation: whether a goodbye ends the conversation; otherwise it is an ordinary line.

    Returns:
        "remember" for "yes"; "confirm" for "no", after which the person is asked whether to forget; "forget" if that
        is confirmed, else "keep". "ask" for a goodbye after which the question is asked, "part" for one after which
        the setting decides, "ask again" for an unclear answer, and "go on" for anything else.
    """
    if pending and (agreed := parse_answer(text, pending, name)) is not None:
        return _ANSWERS[pending, agreed]
    may_end = ends_conversation and (has_spoken or policy is False)
    if may_end and is_goodbye(text, name):
        return "ask" if policy is None else "part"
    if pending and is_unclear(text):
        return "ask again"
    if may_end and ends_with_farewell(text, name):
        return "ask" if policy is None else "part"
    return "go on"


def parse_answer(text: str, question: Question, name: str = "") -> bool | None:
    """Return the answer in a text that may also say goodbye: "Yes. See you tomorrow!" is a yes. None if it is unclear.

    Args:
        text: what the user said.
        question: the question.
        name: the name of the character, which may be part of a goodbye.
    """
    parse: Callable[[str], bool | None] = parse_yes_no if question == "forget" else parse_consent
    if len(text) > MAX_GOODBYE_CHARS or QUESTION_MARK.search(text) or parse(text) is not None:
        return parse(text)
    goodbyes = _load_phrases().goodbyes
    fillers = _load_neutral_phrases() | _name_phrases(name)
    rest = [clause for clause in _CLAUSE_MARKS.split(text) if not _has_goodbye(_tokenize(clause), goodbyes, fillers)]
    return parse(", ".join(rest))


def is_goodbye(text: str, name: str = "") -> bool:
    """Return whether a text is a goodbye and nothing else. `name` is the name of the character."""
    if len(text) > MAX_GOODBYE_CHARS or QUESTION_MARK.search(text):
        return False
    goodbyes, fillers = _load_phrases().goodbyes, _load_phrases().fillers | _name_phrases(name)
    goodbye_found = False
    for clause in filter(str.strip, _CLAUSE_MARKS.split(text)):
        covered = _has_goodbye(_tokenize(clause), goodbyes, fillers)
        if covered is None and not _may_be_name(clause):
            return False
        goodbye_found = goodbye_found or bool(covered)
    return goodbye_found


def ends_with_farewell(text: str, name: str = "") -> bool:
    """Return whether a text ends with a farewell that isn't quoted. `name` is the name of the character."""
    if len(text) > MAX_GOODBYE_CHARS or QUESTION_MARK.search(text) or _QUOTE.search(text):
        return False
    phrases = _load_phrases()
    fillers = phrases.goodbyes | phrases.fillers | _name_phrases(name)
    for clause in filter(str.strip, reversed(_CLAUSE_MARKS_AND_HYPHENS.split(text))):
        covered = _has_goodbye(_tokenize(clause), phrases.farewells, fillers)
        if covered or (covered is None and not _may_be_name(clause)):
            return bool(covered)
    return False


def _has_goodbye(words: Tokens, goodbyes: frozenset[Tokens], fillers: frozenset[Tokens]) -> bool | None:
    """Return whether phrases that cover all of the words include a goodbye; None if nothing covers them."""
    reached: list[bool | None] = [False, *[None] * len(words)]  # by the number of words covered
    for start in range(len(words)):
        if (before := reached[start]) is None:
            continue
        for end in range(start + 1, min(start + _max_phrase_words(), len(words)) + 1):
            phrase = words[start:end]
            if phrase in goodbyes:
                reached[end] = True
            elif phrase in fillers:
                reached[end] = reached[end] or before
    return reached[-1]


def _may_be_name(clause: str) -> bool:
    return len(clause.split()) == 1 and len(clause.strip()) <= (
        MAX_NAME_CHARS if clause.isascii() else MAX_NAME_CHARS // 4
    )


def _name_phrases(name: str) -> frozenset[Tokens]:
    return frozenset((token,) for token in _tokenize(name))


def _tokenize(text: str) -> Tokens:
    """Split a text into lower-case words; Chinese and Japanese text into single characters. "Byeeee" is "bye"."""
    folded = APOSTROPHE.sub("'", unicodedata.normalize("NFKC", text)).casefold()
    return tuple(_TOKEN.findall(_DRAWN_OUT.sub(r"\1", folded)))


@once
def _load_phrases() -> Phrases:
    languages = tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8")).values()
    farewells, goodbyes, fillers = (
        frozenset(_tokenize(phrase) for language in languages for phrase in language[kind])
        for kind in ("farewell", "goodbye", "filler")
    )
    return Phrases(farewells, farewells | goodbyes, fillers)


@once
def _load_neutral_phrases() -> frozenset[Tokens]:
    """Return the phrases that may accompany a goodbye and are neither a yes nor a no."""
    return frozenset(phrase for phrase in _load_phrases().fillers if parse_consent(" ".join(phrase)) is None)


@once
def _max_phrase_words() -> int:
    """Return the number of words of the longest phrase."""
    return max(len(phrase) for phrases in _load_phrases() for phrase in phrases)
