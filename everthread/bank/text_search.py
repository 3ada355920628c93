"""Finds lines by their text: those that contain all words of a search, also as parts of words.

It reads the texts of the bank, those said last first, until the caller has enough. Thousands are folded and searched as
one text, since a call for each would take longer than the search. `everthread.recall` finds what is similar in meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

import numpy as np

from everthread.bank.damage import raises_bank_damaged
from everthread.bank.validation import check_page
from everthread.errors import BadQuery
from everthread.stores.base import Store
from everthread.text.analyzer import fold
from everthread.types import ROLES, Filter, Line, Seqs

LINES_PER_READ = 1_000  # of the first read; each further one is twice as large
MAX_LINES_PER_READ = 16_000
SEPARATOR = "\0"  # of texts: no line contains it, and no character is folded with it
PUNCTUATION = ".,;:!?…\"'()[]«»„“”‘’¿¡。，、；：！？「」『』（）"  # around a word of a search


@raises_bank_damaged
class TextSearch:
    """The search over the text of a bank's lines."""

    bank: str
    store: Store

    def search(
        self, text: str, where: Filter | None = None, *, before: int | None = None, limit: int | None = None
    ) -> Iterator[Line]:
        """Iterate over all lines that contain the words of a text, those said last first.

        A word is also found as part of another, whatever its case and its accents: "skod" finds "Škoda". Unlike
        `recall`, this finds questions too, and every line that matches.

        Args:
            text: the words. A blank text finds every line that the filter allows.
            where: a filter.
            before: only lines that follow the one with this number in the result.
            limit: the maximum number of lines.

        Raises:
            BadQuery: an argument is invalid.
        """
        words = parse_search(text, before, limit)
        if where is None or where == Filter():
            where = Filter(role=ROLES)  # a store lists no numbers for a filter that allows everything by definition
        seqs = cast("Seqs", self.store.filter_seqs(self.bank, where, None))
        return islice(self._find(words, self._sort(seqs, before)), limit)

    def _sort(self, seqs: Seqs, before: int | None) -> Seqs:
        """Return lines in the order in which they were said: all, or those said before the line `before`.

        If that line is not among them, because it was removed in the meantime, its number decides instead.
        """
        lines = self.store.scoring_rows(self.bank, seqs).lines
        said_at = lines["said_at"] - lines["offset"] * np.int64(1_000_000)  # in UTC
        ordered: Seqs = lines["seq"][np.lexsort((lines["seq"], said_at))]
        if before is None:
            return ordered
        positions = np.flatnonzero(ordered == before)
        return ordered[: positions[0]] if len(positions) else ordered[ordered < before]

    def _find(self, words: list[str], seqs: Seqs) -> Iterator[Line]:
        """Yield the lines among these that contain all words, the last first."""
        size = LINES_PER_READ
        while len(seqs):
            seqs, chunk = seqs[:-size], seqs[-size:]
            found = find_texts(words, self.store.texts(self.bank, np.sort(chunk)))
            lines = {line.seq: line for line in self.store.get(self.bank, sorted(found))} if found else {}
            yield from (lines[seq] for seq in reversed(chunk.tolist()) if seq in lines)
            size = min(2 * size, MAX_LINES_PER_READ)


def find_texts(words: Sequence[str], texts: Iterable[tuple[int, str]]) -> set[int]:
    """Return the numbers of the texts that contain all of these folded words."""
    ascii_texts: list[tuple[int, str]] = []  # searched apart, because ASCII is folded much faster
    others: list[tuple[int, str]] = []
    for numbered in texts:
        (ascii_texts if numbered[1].isascii() else others).append(numbered)
    return {*_find_texts(words, ascii_texts), *_find_texts(words, others)}


def _find_texts(words: Sequence[str], texts: Sequence[tuple[int, str]]) -> Iterator[int]:
    folded = fold(SEPARATOR.join(text for _, text in texts))
    if texts and all(word in folded for word in words):
        for (number, _), text in zip(texts, folded.split(SEPARATOR), strict=True):
            if all(word in text for word in words):
                yield number


def parse_search(text: str, before: int | None, limit: int | None) -> list[str]:
    """Check the arguments of a search, and return its words, folded and without the punctuation around them.

    Raises:
        BadQuery: one is invalid.
    """
    check_page(0, limit)
    if before is not None and type(before) is not int:
        raise BadQuery(f"before must be a whole number, got {before!r}")
    if not isinstance(text, str):
        raise BadQuery(f"the text of a search must be a str, got {text!r}")
    folded = fold(text).split()
    return list(dict.fromkeys(word.strip(PUNCTUATION) or word for word in folded))
