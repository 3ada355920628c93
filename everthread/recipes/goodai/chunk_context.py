"""Reads the part of a session's stream around a chunk, without lines that may not be shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from everthread.recipes.goodai.expansion import Passage
from everthread.recipes.goodai.token_stream import SESSION, TokenStream, get_position, tokenize_line
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.stores.base import Store
from everthread.types import Line, Seqs, Unit

MIN_LINE_TOKENS = 3  # a name, a colon, a word


class ChunkContextReader:
    """Reads the lines around chunks: for many chunks at a time, and each line once."""

    def __init__(
        self,
        store: Store,
        bank: str,
        tokenizer: Tokenizer,
        margin: int,
        allowed: Seqs | None,
        exclude: Collection[int],
    ) -> None:
        """Read from a bank.

        Args:
            store: the store.
            bank: the bank.
            tokenizer: the tokenizer of the chunks.
            margin: requested tokens on either side of a chunk.
            allowed: numbers of the lines that may be shown, ascending; None for all. Others end a context.
            exclude: numbers of further lines that end a context.
        """
        self._store, self._bank, self._tokenizer, self._margin = store, bank, tokenizer, margin
        self._allowed, self._exclude = allowed, exclude
        self._reach = margin // MIN_LINE_TOKENS + 1  # lines on either side that certainly have enough tokens
        self._known: set[int] = set()
        self._lines: dict[str, dict[int, Line]] = {}  # by session and seq
        self._tokens: dict[int, list[str]] = {}
        self._runs: dict[str, int] = {}

    def read(self, chunks: Sequence[Unit]) -> None:
        """Read the lines of these chunks and around them."""
        spans = [range(max(1, chunk.first_seq - self._reach), chunk.last_seq + self._reach + 1) for chunk in chunks]
        missing = sorted(set().union(*spans) - self._known)
        self._known.update(missing)
        for line in self._store.get(self._bank, missing):
            self._lines.setdefault(line.session, {})[line.seq] = line

    def find_context(self, chunk: Unit) -> tuple[TokenStream, Passage] | None:
        """Return the stream around a chunk that was read, and the chunk in it.

        Returns:
            None if a line of the chunk may not be shown, or has changed since the chunk was cut.
        """
        position, session = get_position(chunk), str(chunk.metadata.get(SESSION))
        lines = self._lines.get(session, {})
        seqs = sorted(seq for seq in lines if chunk.first_seq - self._reach <= seq <= chunk.last_seq + self._reach)
        first, end = bisect_left(seqs, chunk.first_seq), bisect_right(seqs, chunk.last_seq)
        if position is None or not all(map(self._is_visible, seqs[first:end])):
            return None
        before = self._nearest_seqs(lines, reversed(seqs[:first]))[::-1]
        after = self._nearest_seqs(lines, seqs[end:])
        tokenized = [(lines[seq], self._tokenize(lines[seq])) for seq in (*before, *seqs[first:end], *after)]
        stream = TokenStream.from_lines(
            tokenized, position.start - position.before - sum(len(self._tokens[seq]) for seq in before)
        )
        if stream.end < position.end or "".join(stream.pieces(0, position.start, position.end)) != chunk.text:
            return None
        return stream, Passage(
            self._runs.setdefault(session, len(self._runs)), position.start, position.end, chunk.text
        )

    def _nearest_seqs(self, lines: Mapping[int, Line], seqs: Iterable[int]) -> list[int]:
        """Return the numbers of the nearest lines that may be shown, up to the requested tokens."""
        nearest: list[int] = []
        room = self._margin
        for seq in seqs:
            if room <= 0 or not self._is_visible(seq):
                break
            nearest.append(seq)
            room -= len(self._tokenize(lines[seq]))
        return nearest

    def _tokenize(self, line: Line) -> list[str]:
        if line.seq not in self._tokens:
            self._tokens[line.seq] = tokenize_line(line, self._tokenizer)
        return self._tokens[line.seq]

    def _is_visible(self, seq: int) -> bool:
        if seq in self._exclude:
            return False
        if self._allowed is None:
            return True
        index = int(np.searchsorted(self._allowed, seq))
        return index < len(self._allowed) and self._allowed[index] == seq
