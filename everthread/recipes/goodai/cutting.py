"""Cuts runs of tokens into chunks. Pure.

In goodai-ltm a chunk begins every `step` tokens, wherever that is. A chunk that never crosses the end of a line holds
no half of another thought, and needs fewer chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from everthread.errors import BadInput

NONE = "none"  # the boundary of goodai-ltm's own chunks
LINE = "line"
BOUNDARIES = (LINE, NONE)
SENTENCE_ENDS = (".", "!", "?", "…", ":", ";", "。", "！", "？", '"', "”", ")")

Span = tuple[int, int]  # positions of the first token and after the last one


@dataclass(frozen=True, slots=True)
class Cutting:
    """The rule by which tokens are cut into chunks."""

    capacity: int  # tokens of a chunk
    step: int  # tokens from the start of a chunk to that of the next
    boundary: str = NONE  # what no chunk crosses: the end of a LINE that is not wrapped, or NONE

    def __post_init__(self) -> None:
        if self.boundary not in BOUNDARIES:
            raise BadInput(f"invalid boundary {self.boundary!r}; expected one of {', '.join(BOUNDARIES)}")

    @property
    def keeps_lines(self) -> bool:
        """Return whether a chunk ends where its line does."""
        return self.boundary == LINE

    def spans(self, pieces: Sequence[str], at: int) -> list[Span]:
        """Cut tokens into chunks.

        Args:
            pieces: the tokens up to the end of their run; the first one begins a chunk.
            at: the position of the first one.
        """
        if not self.keeps_lines:
            return self.strided(at, at + len(pieces), at + len(pieces))
        ends = (0, *line_starts(pieces), len(pieces)) if pieces else ()
        return [span for begin, end in pairwise(ends) for span in self._cut_line(at + begin, at + end)]

    def _cut_line(self, begin: int, end: int) -> list[Span]:
        """Return the chunks of a line: unlike those without boundaries, none holds only tokens of another one."""
        starts = range(begin, max(begin + 1, end - self.capacity + self.step), self.step)
        return [(start, min(start + self.capacity, end)) for start in starts]

    def strided(self, begin: int, stop: int, end: int) -> list[Span]:
        """Return the chunks without boundaries that begin from one position to another, in a run with this end."""
        return [(start, min(start + self.capacity, end)) for start in range(begin, stop, self.step)]


def line_starts(pieces: Iterable[str]) -> Iterator[int]:
    """Yield the index of each token that begins a line after the first one; blank lines belong to the line before.

    A row that goes on in lower case, after one without the end of a sentence, is part of the same line: it was wrapped.
    """
    newlines, last = 0, ""
    for index, piece in enumerate(pieces):
        word = piece.strip()
        if newlines and word and (newlines > 1 or last.endswith(SENTENCE_ENDS) or not word[0].islower()):
            yield index
        newlines = piece.count("\n") + (0 if word else newlines)
        last = word or last
