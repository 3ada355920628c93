"""Finds the parts of a reply that only repeat text recalled for it.

A model that is shown "I moved to Lisbon in May" says it again. If that were stored as a new statement, the next recall
would find it twice, and so on. Repetitions are found by fingerprints: hashes of runs of words, without case and
punctuation. Pure: the module uses neither stores nor prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from everthread.common.keys import META_ECHO
from everthread.text.analyzer import STOP_WORDS, UNSPACED, normalize
from everthread.text.line_features import SMALL_TALK
from everthread.types import JSONValue

MIN_RUN_WORDS = 6  # consecutive words of one text; small talk repeats shorter runs by chance
MIN_QUOTE_WORDS = 4  # of a whole text in quotation marks
MIN_CONTENT_WORDS = 2  # of a quoted text, other than function words and small talk: "how are you doing" has none
MAX_TEXTS = 2_000  # indexed: the latest
MAX_RUNS = 200_000  # indexed, of all texts together; the latest text is always indexed

Spans = list[tuple[int, int]]  # [start, end) in characters

# A character of a script without spaces counts as half a word, as Chinese words have two of them on average.
_WORD = re.compile(rf"(?![\u3000-\u3004\u3007-\u3030])[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)*")
_UNSPACED_WORD = re.compile(f"[{UNSPACED}]")
_QUOTES = "\"'“”„‘’«»‹›「」『』"
_OPENING = "\"'“„‘«‹「『【〈《([{*_~¿¡"
_CLOSING = "\"'”’»›」』】〉》)]}*_~.,!?…;:。，！？；：、"
_MAX_MARKS = 8  # on either side of a span that are included in it at most


class QuoteIndex:
    """Indexes the texts that were recently recalled for a conversation, by their fingerprints."""

    def __init__(self) -> None:
        self._texts: dict[int, list[int]] = {}  # hash of a text -> hashes of its runs
        self._runs: dict[int, set[int]] = {}  # hash of a run -> the texts that contain it
        self._quotable: dict[int, int] = {}  # text too short for a run -> hash of its words
        self._words = 0

    def add(self, texts: Iterable[str]) -> None:
        """Index texts, and drop the oldest if there are too many."""
        for text in texts:
            key = hash(text)
            if key in self._texts:  # recalled again: now the latest
                self._texts[key] = self._texts.pop(key)
                continue
            words = [word for word, _ in split_words(text)]
            if count_words(words) < MIN_QUOTE_WORDS:
                continue
            self._texts[key] = runs = _hash_runs(words)
            self._words += len(runs)
            for run in runs:
                self._runs.setdefault(run, set()).add(key)
            if count_words(words) < MIN_RUN_WORDS and len(set(words) - STOP_WORDS - SMALL_TALK) >= MIN_CONTENT_WORDS:
                self._quotable[key] = hash(tuple(words))
            while len(self._texts) > MAX_TEXTS or (self._words > MAX_RUNS and len(self._texts) > 1):
                self._forget(next(iter(self._texts)))

    def metadata(self, reply: str) -> dict[str, JSONValue]:
        """Return line metadata with the spans of a reply that repeat recalled text; empty if none does."""
        spans = self.find_spans(reply)
        return {META_ECHO: [list(span) for span in spans]} if spans else {}

    def find_spans(self, reply: str) -> Spans:
        """Return the spans of a reply that repeat recalled text, ascending and disjoint.

        They are runs of at least MIN_RUN_WORDS words of one text, and whole shorter texts in quotation marks; adjacent
        punctuation and quotation marks are included.
        """
        split = list(split_words(reply))
        words, word_spans = [word for word, _ in split], [span for _, span in split]
        repeated = [*self._find_repeated_runs(words), *self._find_quotes(reply, words, word_spans)]
        spans: Spans = []
        for first, last in sorted(repeated):
            start, end = _extend_over_marks(reply, word_spans[first][0], word_spans[last][1])
            if spans and start < spans[-1][1]:
                spans[-1] = (min(spans[-1][0], start), max(spans[-1][1], end))
            else:
                spans.append((start, end))
        return spans

    def _find_repeated_runs(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the first and last word of each run that occurs in one text."""
        open_runs: dict[int, int] = {}  # text -> the first word of its run
        for position, run in enumerate([*_hash_runs(words), None]):
            texts = tuple(self._runs.get(run, ())) if run is not None else ()  # another thread may add to them
            for text in open_runs.keys() - texts:
                first, last = open_runs.pop(text), position + MIN_RUN_WORDS - 2
                if count_words(words[first : last + 1]) >= MIN_RUN_WORDS:
                    yield first, last
            for text in texts:
                open_runs.setdefault(text, position)

    def _find_quotes(self, reply: str, words: Sequence[str], word_spans: Spans) -> Iterator[tuple[int, int]]:
        """Yield the first and last word of each quoted short text."""
        quotable = set(self._quotable.values())
        if not quotable:
            return
        for first in range(len(words)):
            start, _ = _extend_over_marks(reply, *word_spans[first])
            if not any(char in _QUOTES for char in reply[start : word_spans[first][0]]):
                continue
            for last in range(first + MIN_QUOTE_WORDS - 1, min(first + 2 * MIN_RUN_WORDS, len(words))):
                end = _extend_over_marks(reply, *word_spans[last])[1]
                closed = any(char in _QUOTES for char in reply[word_spans[last][1] : end])
                if closed and hash(tuple(words[first : last + 1])) in quotable:
                    yield first, last

    def _forget(self, key: int) -> None:
        for run in (runs := self._texts.pop(key, [])):
            texts = self._runs.get(run, set())  # a run that occurs twice in the text was removed before
            texts.discard(key)
            if not texts:
                self._runs.pop(run, None)
        self._words -= len(runs)
        self._quotable.pop(key, None)


def split_words(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the normalised words of a text, and their spans."""
    for word in _WORD.finditer(text):
        yield normalize(word[0]), word.span()


def count_words(words: Sequence[str]) -> float:
    """Return the number of words; a character of a script without spaces counts as half a word."""
    return len(words) - sum(1 for word in words if _UNSPACED_WORD.match(word)) / 2


def _hash_runs(words: Sequence[str]) -> list[int]:
    """Return the hash of each run of MIN_RUN_WORDS words."""
    return [hash(run) for run in zip(*(words[start:] for start in range(MIN_RUN_WORDS)), strict=False)]


def _extend_over_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a span by the punctuation directly around it."""
    before, after = text[max(0, start - _MAX_MARKS) : start], text[end : end + _MAX_MARKS]
    return start - len(before) + len(before.rstrip(_OPENING)), end + len(after) - len(after.lstrip(_CLOSING))
