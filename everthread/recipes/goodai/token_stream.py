"""Concatenates the lines of a session to one stream of tokens, and cuts it into chunks. Pure.

A line is "Speaker: text" and a line break, as in goodai-ltm's own examples, so a chunk names the speaker. A token
extends to the beginning of the next one, so the tokens are the whole stream. A position is the number of tokens before
it in the session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from everthread.common.keys import META_CHUNK
from everthread.recipes.goodai.cutting import Cutting
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.text.analyzer import remove_quotes
from everthread.text.tokenized_text import MAX_IMPORTANCE
from everthread.types import JSONValue, Line, NewUnit, Unit

CHUNK = "chunk"  # the kind of unit
# Keys of metadata.
SESSION = "session"  # the session of a chunk
LINES = "lines"  # the first and the last line of a passage
SPEAKER = "speaker"  # the speaker of the first line of a passage


@dataclass(frozen=True, slots=True)
class ChunkPosition:
    """The position of a chunk in its stream."""

    start: int  # position of the first token
    tokens: int
    before: int  # tokens of the first line before the chunk
    after: int  # tokens of the last line after the chunk

    @property
    def end(self) -> int:
        return self.start + self.tokens


def get_position(unit: Unit | NewUnit) -> ChunkPosition | None:
    """Return the position of a chunk; None for a unit that this recipe did not write."""
    numbers = unit.metadata.get(META_CHUNK)
    is_valid = isinstance(numbers, list) and len(numbers) == 4 and all(type(number) is int for number in numbers)
    return ChunkPosition(*numbers) if is_valid else None  # type: ignore[misc]


def tokenize_line(line: Line, tokenizer: Tokenizer) -> list[str]:
    """Return the tokens of a line; an empty list if it only quotes memories (see `text.analyzer.remove_quotes`)."""
    said = remove_quotes(line.text, line.metadata).strip()
    if not said:
        return []
    text = f"{line.speaker}: {said}"
    starts = [0, *(start for start in tokenizer(text) if start)]
    return [f"{text}\n"[start:end] for start, end in pairwise((*starts, len(text) + 1))]


@dataclass(frozen=True, slots=True)
class TokenStream:
    """A part of a session's stream."""

    lines: tuple[Line, ...]  # the lines that have tokens
    tokens: tuple[str, ...]
    begins: tuple[int, ...]  # position of each line's first token
    end: int  # position after the last token

    @classmethod
    def from_lines(cls, lines: Iterable[tuple[Line, Sequence[str]]], at: int) -> TokenStream:
        """Build a stream that begins at a position from lines of one session, in order, each with its tokens."""
        tokenized = [(line, pieces) for line, pieces in lines if pieces]
        *begins, end = accumulate((len(pieces) for _, pieces in tokenized), initial=at)
        return cls(
            tuple(line for line, _ in tokenized),
            tuple(piece for _, pieces in tokenized for piece in pieces),
            (*begins,),
            end,
        )

    def bounds(self, run: int) -> tuple[int, int]:
        """Return the positions of the first token and after the last one."""
        return self.end - len(self.tokens), self.end

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """Return the tokens from a position to another (excluded), both within the bounds."""
        first = self.end - len(self.tokens)
        return list(self.tokens[start - first : end - first])

    def lines_between(self, start: int, end: int) -> tuple[Line, ...]:
        """Return the lines with tokens between two positions."""
        return self.lines[bisect_right(self.begins, start) - 1 : bisect_left(self.begins, end)]

    def cut(self, begin: int, cutting: Cutting, context: int = 0) -> list[NewUnit]:
        """Cut chunks; without a boundary, one every `step` tokens, and the last ones are shorter.

        Args:
            begin: position of the first chunk.
            cutting: the rule.
            context: lines before a chunk from which it also derives, if the stream has them.
        """
        spans = cutting.spans(self.pieces(0, begin, self.end), begin) if begin < self.end else []
        return [self._build_chunk(start, end, context) for start, end in spans]

    def _build_chunk(self, start: int, end: int, context: int) -> NewUnit:
        first = max(bisect_right(self.begins, start) - 1 - context, 0)
        lines = self.lines[first : bisect_left(self.begins, end)]
        before = start - self.begins[first]
        next_line = bisect_left(self.begins, end)
        after = (self.begins[next_line] if next_line < len(self.begins) else self.end) - end
        metadata: dict[str, JSONValue] = {SESSION: lines[0].session, META_CHUNK: [start, end - start, before, after]}
        return NewUnit(
            *(CHUNK, "".join(self.pieces(0, start, end)), lines[0].seq, lines[-1].seq, lines[-1].said_at),
            importance=_find_importance(self.lines_between(start, end)),
            metadata=metadata,
            sources=tuple(line.seq for line in lines),
        )


def _find_importance(lines: Iterable[Line]) -> int | None:
    """Return the greatest importance of lines: a whole number from 1 to 10 in their metadata."""
    ratings = (line.metadata.get("importance") for line in lines)
    return max((rating for rating in ratings if type(rating) is int and 1 <= rating <= MAX_IMPORTANCE), default=None)
