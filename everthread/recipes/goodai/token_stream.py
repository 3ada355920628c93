"""The lines of a session laid end to end as one stream of tokens, and the chunks cut of it. Pure.

A line is "Speaker: text" and a line break, as goodai-ltm's own examples write a dialogue, so that a chunk tells who
speaks. A token reaches to the beginning of the next one, so that the tokens are the whole stream. Where a place counts
tokens, it counts them from the session's first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from everthread.common.keys import META_CHUNK
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.text.analyzer import remove_quotes
from everthread.text.tokenized_text import MAX_IMPORTANCE
from everthread.types import JSONValue, Line, NewUnit, Unit

CHUNK = "chunk"  # the kind of unit
SESSION = "session"  # in a chunk's metadata: where it was said
LINES = "lines"  # in the metadata of a passage: its first and its last line
SPEAKER = "speaker"  # in the metadata of a passage: who speaks where it begins


@dataclass(frozen=True, slots=True)
class ChunkPosition:
    """Where a chunk stands: its first token in the stream, how many it holds, and how many of its first line stand
    before it and of its last line behind it."""

    at: int
    tokens: int
    before: int
    behind: int

    @property
    def end(self) -> int:
        return self.at + self.tokens


def get_position(unit: Unit | NewUnit) -> ChunkPosition | None:
    """Where a chunk stands; None for a unit that no recipe of ours has cut."""
    kept = unit.metadata.get(META_CHUNK)
    whole = isinstance(kept, list) and len(kept) == 4 and all(type(each) is int for each in kept)
    return ChunkPosition(*kept) if whole else None  # type: ignore[misc]


def tokenize_line(line: Line, tokenizer: Tokenizer) -> list[str]:
    """A line as tokens; none where it says nothing of its own (see `text.analyzer.remove_quotes`)."""
    said = remove_quotes(line.text, line.metadata).strip()
    if not said:
        return []
    text = f"{line.speaker}: {said}"
    starts = [0, *(start for start in tokenizer(text) if start)]
    return [f"{text}\n"[start:end] for start, end in pairwise((*starts, len(text) + 1))]


@dataclass(frozen=True, slots=True)
class TokenStream:
    """A stretch of a session's stream: the lines that have tokens, all of these, the place of each line's first, and
    the place behind the last."""

    lines: tuple[Line, ...]
    tokens: tuple[str, ...]
    begins: tuple[int, ...]
    end: int

    @classmethod
    def from_lines(cls, lines: Iterable[tuple[Line, Sequence[str]]], at: int) -> TokenStream:
        """The stream of these lines of one session, in order, each with its tokens, from a place on."""
        told = [(line, pieces) for line, pieces in lines if pieces]
        *begins, end = accumulate((len(pieces) for _, pieces in told), initial=at)
        return cls(tuple(line for line, _ in told), tuple(each for _, some in told for each in some), (*begins,), end)

    def bounds(self, run: int) -> tuple[int, int]:
        """The places of its first token, and behind its last one."""
        return self.end - len(self.tokens), self.end

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """The tokens from one place to another (excluded), both within the bounds."""
        first = self.end - len(self.tokens)
        return list(self.tokens[start - first : end - first])

    def lines_between(self, start: int, end: int) -> tuple[Line, ...]:
        """The lines of which some tokens stand between two places."""
        return self.lines[bisect_right(self.begins, start) - 1 : bisect_left(self.begins, end)]

    def cut(self, begin: int, capacity: int, step: int, context: int = 0) -> list[NewUnit]:
        """The chunks from a place on: one each `step` tokens, of `capacity` of them; the last ones are of what is
        left. Each also derives from the `context` lines before it, as far as the stream has them."""
        starts = range(begin, self.end, step)
        return [self._chunk(start, min(start + capacity, self.end), context) for start in starts]

    def _chunk(self, start: int, end: int, context: int) -> NewUnit:
        first = max(bisect_right(self.begins, start) - 1 - context, 0)
        lines = self.lines[first : bisect_left(self.begins, end)]
        before = start - self.begins[first]
        after = bisect_left(self.begins, end)
        behind = (self.begins[after] if after < len(self.begins) else self.end) - end
        metadata: dict[str, JSONValue] = {SESSION: lines[0].session, META_CHUNK: [start, end - start, before, behind]}
        return NewUnit(
            *(CHUNK, "".join(self.pieces(0, start, end)), lines[0].seq, lines[-1].seq, lines[-1].said_at),
            importance=_importance(self.lines_between(start, end)),
            metadata=metadata,
            sources=tuple(line.seq for line in lines),
        )


def _importance(lines: Iterable[Line]) -> int | None:
    """The greatest that is told of a line: a whole number from 1 to 10 in its metadata."""
    told = (line.metadata.get("importance") for line in lines)
    return max((each for each in told if type(each) is int and 1 <= each <= MAX_IMPORTANCE), default=None)
