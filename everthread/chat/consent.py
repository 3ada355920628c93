"""Reads a yes or no, mainly as an answer to "Shall I remember this conversation?". Pure.

`consent_phrases.toml` holds the phrases by language. An answer is read phrase by phrase, the longest match first, and
counts only if it consists of phrases of one side: "not now" and "yes, but not the part about my job" are unclear, so
the question is asked again. An answer that is itself a question is unclear too. Within a clause, one command may occur,
and only at the end: "don't, forget it" is a no, "don't forget it" a yes, and "no forget it" could be either. A wrong
reading costs far more than a second question.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAX_ANSWER_CHARS = 200  # a longer text is no answer
MAX_UNCLEAR_WORDS = 8  # phrases of an unclear answer; a longer text is another subject
MAX_PHRASE_WORDS = 5  # words of a phrase in the file
MAX_SHORT_ANSWER_WORDS = 4  # a text this short that begins with a yes or a no is an unclear answer, whatever follows
PHRASES_FILE = Path(__file__).with_name("consent_phrases.toml")

APOSTROPHE = re.compile("[’ʼ`´]")
_EMOJI_VARIANTS = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")  # presentation selectors and skin tones
_UNSPACED_PHRASES = re.compile("(谢谢你?|请|[👍👌✅👎❌🚫])")  # may touch the next word without a space
QUESTION_MARK = re.compile("[?？¿؟]")
_CLAUSE_MARKS = re.compile(r"(?:[^\w\s'👍👌✅👎❌🚫]|_)+")


@dataclass(frozen=True, slots=True)
class _Phrase:
    answer: bool | None  # None: may accompany either answer
    commands: bool = False  # the rest of its clause would be part of the command
    flips_after_no: bool = False  # "no forget" may be meant as "don't forget"


_PHRASE_KINDS = {  # the kinds of phrases in the file; if two kinds share a phrase, the later one applies
    "yes": _Phrase(True),
    "no": _Phrase(False),
    "do": _Phrase(True, commands=True),
    "do_not": _Phrase(False, commands=True),
    "filler": _Phrase(None),
    "remember": _Phrase(True, commands=True),
    "do_not_remember": _Phrase(False, commands=True),
    "forget": _Phrase(False, commands=True, flips_after_no=True),
    "hesitation": _Phrase(None),
}
_ANY_QUESTION = ("yes", "no", "do", "do_not", "filler")
_REMEMBER_QUESTION = (*_ANY_QUESTION, "remember", "do_not_remember", "forget")
_UNCLEAR_ANSWER = (*_REMEMBER_QUESTION, "hesitation")


def parse_consent(answer: str) -> bool | None:
    """Read an answer to "Shall I remember this?": True for yes, False for no, None if it is unclear."""
    return _parse_answer(answer, _REMEMBER_QUESTION)


def parse_yes_no(answer: str) -> bool | None:
    """Read an answer to any other question. To "Shall I forget this?", neither "remember it" nor "forget it" is a
    yes."""
    return _parse_answer(answer, _ANY_QUESTION)


def is_unclear(answer: str) -> bool:
    """Return whether a text without a clear yes or no is still about the question "Shall I remember this?".

    It is if it only hesitates ("not now"), or if it begins with a yes or a no and is short or continues like an answer
    ("yes, but not my job"). "OK so today I met Anna" is about another subject.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        return False
    known = _load_phrases(_UNCLEAR_ANSWER)
    clauses = [clause for words in _split_clauses(answer) if (clause := list(_match_phrases(words, known)))]
    phrases = [phrase for clause in clauses for phrase in clause]
    if not phrases or len(phrases) > MAX_UNCLEAR_WORDS:
        return False
    if all(phrases):
        return True
    continues = len(phrases) <= MAX_SHORT_ANSWER_WORDS or len(clauses[0]) == 1 or phrases[1] is not None
    return phrases[0] is not None and phrases[0].answer is not None and continues


@cache
def _load_phrases(kinds: tuple[str, ...]) -> Mapping[str, _Phrase]:
    """Return the phrases of these kinds in all languages."""
    languages = tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8")).values()
    return {
        text.casefold(): _PHRASE_KINDS[kind]
        for kind in kinds
        for language in languages
        for text in language.get(kind, ())
    }


def _split_clauses(answer: str) -> Iterator[list[str]]:
    """Yield the words of each clause, between punctuation marks."""
    text = _EMOJI_VARIANTS.sub("", APOSTROPHE.sub("'", unicodedata.normalize("NFC", answer))).casefold()
    for clause in _CLAUSE_MARKS.split(text):
        yield _UNSPACED_PHRASES.sub(r" \1 ", clause).replace("dont", "don't").split()


def _parse_answer(answer: str, kinds: tuple[str, ...]) -> bool | None:
    if len(answer) > MAX_ANSWER_CHARS or QUESTION_MARK.search(answer):
        return None
    answers: set[bool | None] = set()
    for words in _split_clauses(answer):
        phrases = list(_match_phrases(words, _load_phrases(kinds)))
        if not _is_unambiguous(phrases):
            return None
        answers |= {phrase.answer for phrase in phrases if phrase}
    clear_answers = answers - {None}
    return clear_answers.pop() if len(clear_answers) == 1 else None


def _match_phrases(words: list[str], known: Mapping[str, _Phrase]) -> Iterator[_Phrase | None]:
    """Yield the phrases of a clause, the longest match first; None for a word that belongs to none."""
    while words:
        size = next((size for size in range(MAX_PHRASE_WORDS, 0, -1) if " ".join(words[:size]) in known), 1)
        yield known.get(" ".join(words[:size]))
        del words[:size]


def _is_unambiguous(phrases: list[_Phrase | None]) -> bool:
    """Return whether a clause can be read in one way only."""
    refused = commanded = False
    for phrase in phrases:
        if phrase is None or (commanded and phrase.answer is not None) or (phrase.flips_after_no and refused):
            return False
        commanded = commanded or phrase.commands
        refused = refused or phrase.answer is False
    return True
