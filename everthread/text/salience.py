"""Rates how informative and how important a sentence is, and finds its subject. Pure.

The rules and the short lists of English and Chinese words (`salience.toml`) were set by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from everthread.text.analyzer import STOP_WORDS, UNSPACED, split_words, terms
from everthread.text.line_features import ENDS_WITH_QUESTION, HAS_TIME, SMALL_TALK, UNINFORMATIVE, line_flags
from everthread.text.time_words import MONTHS
from everthread.text.word_lists import alternation, load_word_lists

_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
UNINFORMATIVE_WORDS = STOP_WORDS | SMALL_TALK | frozenset(_EN["dull"])
_UNSPACED = re.compile(f"[{UNSPACED}]")
_UNINFORMATIVE_CHARACTER = re.compile(f"[{''.join(_ZH['dull'])}]")
_SMALL_TALK = re.compile(rf"(?:{alternation(_ZH['small_talk'])}|[\W_])+")
_FIRST_PERSON = re.compile(rf"\b{alternation(_EN['first_person'])}\b|[{_ZH['first_person']}]", re.I)
_NAME = re.compile(r"(?<=[^\W\d_])[,;:]? (?!I\b)[A-ZÀ-Þ][^\W\d_]+")  # a capital that does not begin the sentence
_NUMBER = re.compile(rf"\d|[{_ZH['numbers']}]+(?=[{UNSPACED}])")
_FIRST_CLAUSE = re.compile(
    rf"(?:{alternation(_EN['openers'])},? )?{alternation(_EN['clause_subjects'])}\b[^?？]*,"
    rf"|[{_ZH['clause_subjects']}][^?？]*[，,]",
    re.I,
)
_CHINESE_QUESTION = re.compile(f"[{_ZH['question_endings']}]$")

MIN_INFORMATIVE_WORDS = 4  # words that a sentence needs if it has no name, number, time or first person
MAX_COUNTED_WORDS = 8  # further words don't make a sentence more informative
DEFAULT_IMPORTANCE = 3  # of a text that contains no word of the lists


def informative_words(text: str) -> list[str]:
    """Return the informative words of a text: without stop words, small talk and dull words."""
    return [
        word
        for word in split_words(text)
        if word not in UNINFORMATIVE_WORDS and not _UNINFORMATIVE_CHARACTER.search(word)
    ]


def count_words(words: Sequence[str]) -> float:
    """Count words: in a script without spaces about one per two characters.

    `split_words` yields each character and each bigram of such a script, hence 0.25 for each.
    """
    return sum(0.25 if _UNSPACED.match(word) else 1.0 for word in words)


def is_question_only(sentence: str) -> bool:
    """Return whether a sentence only asks: "Isn't that nice?", but not "I have a dog, isn't that nice?"."""
    return _is_question_only(sentence, line_flags(sentence))


def _is_question_only(sentence: str, flags: int) -> bool:
    asks = flags & ENDS_WITH_QUESTION or _CHINESE_QUESTION.search(sentence.rstrip(" \t。.!！"))
    return bool(flags & UNINFORMATIVE or (asks and not _FIRST_CLAUSE.match(sentence)))


def is_small_talk(sentence: str) -> bool:
    """Return whether a sentence is nothing but greetings and thanks, in English or Chinese."""
    return not informative_words(sentence) or _SMALL_TALK.fullmatch(sentence) is not None


def informativeness(sentence: str) -> float:
    """Rate how informative a sentence is, from 0 (only small talk or a question) to about 4.

    The rating is a sum: it counts whether the sentence is about the speaker, whether it has a name, a number or a time,
    its importance, and its informative words.
    """
    word_count = count_words(informative_words(sentence))
    if not word_count or _SMALL_TALK.fullmatch(sentence) or _is_question_only(sentence, flags := line_flags(sentence)):
        return 0.0
    bonus = (
        1.0 * bool(_FIRST_PERSON.search(sentence))
        + 0.5 * bool(_NAME.search(sentence))
        + 0.5 * bool(_NUMBER.search(sentence))
        + 0.5 * bool(flags & HAS_TIME)
    )
    if not bonus and word_count < MIN_INFORMATIVE_WORDS:
        return 0.0
    return (
        bonus
        + 1.5 * (_importance_level(sentence) - DEFAULT_IMPORTANCE) / 7
        + 0.5 * min(word_count, MAX_COUNTED_WORDS) / MAX_COUNTED_WORDS
    )


_ENGLISH_CATEGORIES = {name: frozenset(terms(" ".join(words))) for name, words in _EN["categories"].items()}
_CHINESE_CATEGORIES = {name: tuple(words) for name, words in _ZH["categories"].items()}


def choose_category(text: str, names: Sequence[str] = tuple(_ENGLISH_CATEGORIES)) -> str:
    """Return the category with the most words in a text, the first in a tie; "other" if no category has one.

    A category without a list of words is recognised by its name.
    """
    text_terms = frozenset(terms(text))
    counts = {name: _count_category_words(text, text_terms, name) for name in names if name != "other"}
    best = max(counts, key=lambda name: counts[name], default="other")
    return best if counts.get(best) else "other"


def is_about(text: str, subject: str) -> bool:
    """Return whether a text shares an informative word with a subject, or has a word of a category that the subject
    names."""
    text_terms, subject_terms = frozenset(terms(text)), frozenset(terms(" ".join(informative_words(subject))))
    categories = [name for name in _ENGLISH_CATEGORIES if not subject_terms.isdisjoint(terms(name))]
    return not text_terms.isdisjoint(subject_terms) or any(
        _count_category_words(text, text_terms, name) for name in categories
    )


def _count_category_words(text: str, text_terms: frozenset[str], name: str) -> int:
    """Return how many words of a category a text has."""
    if name in _ENGLISH_CATEGORIES:
        return len(text_terms & _ENGLISH_CATEGORIES[name]) + sum(word in text for word in _CHINESE_CATEGORIES[name])
    return len(text_terms.intersection(terms(name)))


_IMPORTANT = {
    int(level): re.compile(rf"\b(?:{'|'.join(english)})\b|{'|'.join(_ZH['importance'][level])}", re.I)
    for level, english in _EN["importance"].items()
}
_MONTH = alternation(month[:3] for month in MONTHS)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\w*|\b{_MONTH}[a-z]* \d{{1,2}}\b|\b\d{{4}}-\d\d-\d\d\b"
    r"|\b(?:19|20)\d\d\b|\d{1,2}月\d{1,2}[日号]",
    re.I,
)


def rate_importance(text: str) -> int:
    """Rate the importance of a text, from 1 to 10.

    Small talk is 1, a question alone 2, births, deaths and weddings 9, illness 8, moving and jobs 7, promises and
    family 6, plans and likes 5; a date adds 1.
    """
    if is_small_talk(text):
        return 1
    if is_question_only(text):
        return 2
    return _importance_level(text)


def _importance_level(text: str) -> int:
    level = next((level for level, pattern in _IMPORTANT.items() if pattern.search(text)), DEFAULT_IMPORTANCE)
    return min(level + bool(_DATE.search(text)), 10)
