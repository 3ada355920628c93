"""The stretch of a session's stream around a chunk, as far as its lines may be shown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from everthread.recipes.goodai.expansion import Passage
from everthread.recipes.goodai.token_stream import SESSION, TokenStream, get_position, tokenize_line
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.stores.base import Store
from everthread.types import Line, Seqs, Unit

LEAST = 3  # tokens that a line has: a name, a colon, a word


class ChunkContextReader:
    """Reads the lines around chunks, many chunks at a time, and each line once. most are the tokens on either side that
    are wanted; lines that aren't allowed, or are among `without`, end a stretch like the session's end."""

    def __init__(
        self,
        store: Store,
        bank: str,
        tokenizer: Tokenizer,
        most: int,
        allowed: Seqs | None,
        without: Collection[int],
    ) -> None:
        self._store, self._bank, self._tokenizer, self._most = store, bank, tokenizer, most
        self._allowed, self._without = allowed, without
        self._reach = most // LEAST + 1  # lines on either side that hold so many tokens
        self._known: set[int] = set()
        self._lines: dict[str, dict[int, Line]] = {}  # by session and seq
        self._tokens: dict[int, list[str]] = {}
        self._runs: dict[str, int] = {}

    def read(self, chunks: Sequence[Unit]) -> None:
        """Read the lines of these chunks, and those around them."""
        spans = [range(max(1, each.first_seq - self._reach), each.last_seq + self._reach + 1) for each in chunks]
        wanted = sorted(set().union(*spans) - self._known)
        self._known.update(wanted)
        for line in self._store.get(self._bank, wanted):
            self._lines.setdefault(line.session, {})[line.seq] = line

    def of(self, chunk: Unit) -> tuple[TokenStream, Passage] | None:
        """The stretch around a chunk that was read, and the chunk in it; None where a line of it may not be shown, or
        has changed since it was cut."""
        stands, session = get_position(chunk), str(chunk.metadata.get(SESSION))
        lines = self._lines.get(session, {})
        seqs = sorted(seq for seq in lines if chunk.first_seq - self._reach <= seq <= chunk.last_seq + self._reach)
        first, end = bisect_left(seqs, chunk.first_seq), bisect_right(seqs, chunk.last_seq)
        if stands is None or not all(map(self._may, seqs[first:end])):
            return None
        before = self._stretch(lines, reversed(seqs[:first]))[::-1]
        behind = self._stretch(lines, seqs[end:])
        told = [(lines[seq], self._told(lines[seq])) for seq in (*before, *seqs[first:end], *behind)]
        stream = TokenStream.from_lines(told, stands.at - stands.before - sum(len(self._tokens[seq]) for seq in before))
        if stream.end < stands.end or "".join(stream.pieces(0, stands.at, stands.end)) != chunk.text:
            return None
        return stream, Passage(self._runs.setdefault(session, len(self._runs)), stands.at, stands.end, chunk.text)

    def _stretch(self, lines: Mapping[int, Line], seqs: Iterable[int]) -> list[int]:
        """The first of these lines that may be shown and hold so many tokens as are wanted."""
        found: list[int] = []
        room = self._most
        for seq in seqs:
            if room <= 0 or not self._may(seq):
                break
            found.append(seq)
            room -= len(self._told(lines[seq]))
        return found

    def _told(self, line: Line) -> list[str]:
        if line.seq not in self._tokens:
            self._tokens[line.seq] = tokenize_line(line, self._tokenizer)
        return self._tokens[line.seq]

    def _may(self, seq: int) -> bool:
        if seq in self._without:
            return False
        if self._allowed is None:
            return True
        at = int(np.searchsorted(self._allowed, seq))
        return at < len(self._allowed) and self._allowed[at] == seq
