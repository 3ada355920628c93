"""Finds words of an English text that may be misspelt, and candidates for their correction.

A word may be misspelt if it is not in the list of English words and names (`english_words`). Four of five misspelt
words have a single error (Damerau 1964): a letter too many, too few or another one, or two neighbours that changed
places. So candidates are all listed words at this edit distance of 1 (Norvig 2007, "How to Write a Spelling
Corrector"), except for names, which may be those of others, and errors that typing rarely causes, such as "r" for "o".
So are words with other double letters ("proffesion", "tommorow"). Of capitalised words only those for a month or a
weekday are meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations, groupby, islice
from string import ascii_lowercase

from everthread.text.analyzer import STOP_WORDS
from everthread.text.english_words import is_listed_name, is_mainly_english, is_word, select_words
from everthread.text.time_words import MONTHS, WEEKDAYS

MIN_LETTERS, MAX_LETTERS = 4, 20
MIN_EDITED_LETTERS = 6  # a shorter word is near many others, so that only two letters may be swapped, or one doubled
MAX_DOUBLE_LETTERS = 2
MAX_CHARS = 400  # a longer text has enough other words
MAX_CHARS_BEFORE = 10  # of a capitalised word in which it is looked for what comes before a date
MAX_WORDS = 4  # of a text that are corrected, the first ones
VOWELS = "aeiou"
KEYS = "qwertyuiop", "asdfghjkl", "zxcvbnm"  # the rows of a keyboard

CALENDAR = frozenset(word for word in (*MONTHS, *WEEKDAYS) if len(word) > MIN_LETTERS)

# A capitalised word may be a name, and one with other signs an address or a path.
_WORD = re.compile(
    rf"(?<![\w'’@#$./\\:-])[A-Za-z][a-z]{{{MIN_LETTERS - 1},{MAX_LETTERS - 1}}}"
    r"(?=['’]s?(?!\w)|[^\w'’@/\\-]|$)(?![.:][\w/])"
)
_BEFORE_DATE = re.compile(
    r"(?:\b(?:after|before|by|during|early|every|in|last|late|mid|next|of|on|since|this|until|till)"
    r"|\d(?:st|nd|rd|th)?) $",
    re.IGNORECASE,
)
_CODE = re.compile(r"[{}<>=`]|\w\(")


def find_unknown_words(text: str) -> list[str]:
    """Return the words of a text that may be misspelt, in order: the first MAX_WORDS.

    Long texts, code, and texts that are not mainly English are not searched.
    """
    if len(text) > MAX_CHARS or _CODE.search(text):
        return []
    words = dict.fromkeys(match[0] for match in _WORD.finditer(text) if _may_be_misspelt(text, match))
    unknown = list(islice(filter(_is_unknown, words), MAX_WORDS + 1))
    return unknown[:MAX_WORDS] if unknown and is_mainly_english(text) else []


def _may_be_misspelt(text: str, word: re.Match[str]) -> bool:
    """Return whether a word has no capital, or is where a date may be: "What was in Agust?", not "Who is Agust?"."""
    before = text[max(word.start() - MAX_CHARS_BEFORE, 0) : word.start()]
    return word[0].islower() or _BEFORE_DATE.search(before) is not None


def _is_unknown(word: str) -> bool:
    folded = word.lower()
    return not (is_word(folded) or is_listed_name(folded)) and (word == folded or bool(list_candidates(word)))


def list_candidates(word: str) -> list[str]:
    """Return the listed words that may be meant by a misspelt one, in alphabetical order.

    By a capitalised word only months and weekdays are meant. If a function word is among the others ("their" for
    "thier"), it is taken to be meant: nothing is returned.
    """
    folded = word.lower()
    edited = _list_swaps(folded) | _list_double_letters(folded)
    other = _list_other_errors(folded)
    # An error at the end is rather another word, such as Frida, unless letters are swapped.
    ends = folded[-1], folded[-1] + folded[-2]
    dates = {date for date in CALENDAR.intersection(edited | other) if date.endswith(ends)}
    if word != folded:
        return sorted(map(str.capitalize, dates))
    if len(word) >= MIN_EDITED_LETTERS:
        edited |= other
    return sorted(dates | select_words(edited)) if STOP_WORDS.isdisjoint(edited) else []


def is_sure_correction(word: str, candidate: str) -> bool:
    """Return whether a candidate is meant even if a bank lacks it.

    It is if it is a month or a weekday, or if letters of a longer word are swapped or doubled: "dimond" may be a name.
    """
    is_date = candidate.lower() in CALENDAR
    return is_date or (len(word) >= MIN_EDITED_LETTERS and candidate in _list_swaps(word) | _list_double_letters(word))


def _list_swaps(word: str) -> set[str]:
    """Return a word with each two neighbouring letters swapped, except for the first letter."""
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1)} - {word}


def _list_double_letters(word: str) -> set[str]:
    """Return a word with each other choice of up to MAX_DOUBLE_LETTERS double letters."""
    single = [letter for letter, _ in groupby(word)]
    return {
        "".join(letter * (1 + (at in doubled)) for at, letter in enumerate(single))
        for count in range(MAX_DOUBLE_LETTERS + 1)
        for doubled in combinations(range(1, len(single)), count)
    } - {word}


def _list_other_errors(word: str) -> set[str]:
    """Return a word with a letter after the first one added, left out or replaced by one that is typed in its place."""
    splits = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    edits = {head + tail[1:] for head, tail in splits}
    edits |= {head + letter + tail for head, tail in splits for letter in ascii_lowercase}
    edits |= {head + letter + tail[1:] for head, tail in splits if tail for letter in _list_confused(tail[0])}
    return edits - {word}


def _list_confused(letter: str) -> str:
    """Return the letters that are typed in place of another: those on the keys beside it, and vowels for vowels."""
    beside = "".join(row[max(at - 1, 0) : at + 2] for row in KEYS if (at := row.find(letter)) >= 0)
    return beside + VOWELS if letter in VOWELS else beside


def replace_words(text: str, replacements: Mapping[str, str]) -> str:
    """Replace words of a text that `find_unknown_words` can find."""
    return _WORD.sub(lambda match: replacements.get(match[0], match[0]), text)
