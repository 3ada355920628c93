"""The text analyzer that all stores share, so that a term means the same in every bank.

Scripts with spaces: NFKC, case folded, accents dropped, split at everything but letters and digits, common words
dropped, irregular forms made regular, Snowball's English stemmer. Scripts without spaces (Chinese, Japanese, Korean,
Thai …) are not segmented into words: each character except the commonest and each pair of neighbours is a term. On
Chinese dialogues, recall at 10 was 65%; with the words of a dictionary it was 61% (docs/log.md).
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import Stemmer

from everthread.common.keys import META_ECHO
from everthread.text.word_lists import alternation, load_word_lists
from everthread.types import Metadata

ANALYZER_VERSION = 2  # raised whenever the same text would give other terms; a bank's file records it
HEAD_CHARS = 220  # characters of a neighbouring line that count; more of a long one would outweigh the line itself
MAX_TERM_CHARS = 40  # characters of a term; longer runs (keys, base64) are cut: no query repeats them in full

# Scripts written without spaces: CJK, Kana, Hangul, Thai, Lao, Burmese, Khmer.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
# They belong to the word in which they occur.
_VOWEL_SIGNS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_LETTER = rf"(?:[^\W_{UNSPACED}]|[{_VOWEL_SIGNS}])"
_WORD = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)*")
_UNSPACED = re.compile(rf"[{UNSPACED}]")
_PUNCTUATION = re.compile("[\u3000-\u3004\u3007-\u3030]+")  # of CJK, inside the range above
_ACCENT = re.compile("[\u0300-\u036f]")
_IGNORED = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")  # invisible in print

_LISTS = load_word_lists(__file__)
STOP_WORDS: frozenset[str] = frozenset(_LISTS["en"]["stop"])
STOP_CHARACTERS: frozenset[str] = frozenset(_LISTS["zh"]["stop_characters"])
_REGULAR_FORMS: dict[str, str] = {form: word for word, forms in _LISTS["en"]["irregular"].items() for form in forms}
_CONTRACTION = re.compile(f"{alternation(_LISTS['en']['contractions'])}$")


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The terms of a line: how often each occurs in the line and in its head, and the lengths of both in terms."""

    terms: Mapping[str, tuple[int, int]]
    length: int
    head_length: int


class _Stemmers(threading.local):
    """A stemmer per thread: Snowball's stemmers are not thread-safe."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_stemmers = _Stemmers()


def normalize(text: str) -> str:
    """Fold a text for comparison: unify compatibility forms and case, drop invisible characters."""
    if text.isascii():
        return text.lower()
    return _PUNCTUATION.sub(" ", _IGNORED.sub("", unicodedata.normalize("NFKC", text))).replace("’", "'").casefold()


def _strip_accents(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))


def fold(text: str) -> str:
    """Fold a text for a search of its characters: as `normalize`, and without accents."""
    return _strip_accents(normalize(text))


def is_unspaced_script(text: str) -> bool:
    """Return whether most of a text is in a script without spaces, which the shipped English model can't read.

    A character of such a script counts as much as a word of another, so that a name or an emoticon does not decide.
    """
    characters = len(_UNSPACED.findall(text))
    return characters > 0 and 2 * characters > sum(
        len(word) if _UNSPACED.match(word) else 1 for word in _WORD.findall(text)
    )


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, folded, not stemmed; a CJK run yields its characters, then its bigrams."""
    words: list[str] = []
    for word in _WORD.findall(normalize(text)):
        if not word.isascii() and _UNSPACED.match(word):
            words += word
            words += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            bare = _CONTRACTION.sub("", word).replace("'", "") if "'" in word else word
            words.append(_strip_accents(bare)[:MAX_TERM_CHARS])
    return [word for word in words if word]


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: its words without stop words, irregular forms made regular, stemmed."""
    words = [
        _REGULAR_FORMS.get(word, word)
        for word in split_words(text)
        if word not in STOP_WORDS and word not in STOP_CHARACTERS
    ]
    return [str(stem) for stem in _stemmers.english.stemWords(words)]


def count_terms(text: str) -> TermCounts:
    """Count the terms of a line, and those of its head."""
    counts = Counter(terms(text))
    if len(text) <= HEAD_CHARS:
        return TermCounts({term: (n, n) for term, n in counts.items()}, counts.total(), counts.total())
    head = Counter(terms(text[:HEAD_CHARS]))
    return TermCounts({term: (n, head[term]) for term, n in counts.items()}, counts.total(), head.total())


def remove_quotes(text: str, metadata: Metadata) -> str:
    """Return a line's text without its quotes of recalled lines, so that these are not found in it a second time.

    Invalid spans, and those that are out of range or out of order, are ignored.
    """
    spans = metadata.get(META_ECHO)
    if not isinstance(spans, list | tuple):
        return text
    cuts = [0]
    for span in spans:
        if _is_span(span) and cuts[-1] <= span[0] < span[1] <= len(text):
            cuts += span
    cuts.append(len(text))
    return " ".join(text[start:end] for start, end in list(pairwise(cuts))[::2])


def _is_span(span: object) -> bool:
    return isinstance(span, list | tuple) and len(span) == 2 and all(type(at) is int for at in span)


def remove_quotes_json(text: str, metadata: str) -> str:
    """Remove the quotes as `remove_quotes` does, given the metadata as stored JSON."""
    return remove_quotes(text, json.loads(metadata)) if META_ECHO in metadata else text
