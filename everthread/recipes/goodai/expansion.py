"""Grows chunks to passages, and drops passages that repeat others. Pure.

The rule is that of goodai-ltm: a chunk grows on either side by at least `least` and at most `most` tokens, up to the
nearest limit: the end of a sentence, a line or a paragraph. Without a limit within `most` tokens, it grows by `most`. A
passage never crosses a separator. A sentence ends at its mark; a chunk that ends with a mark grows to the next one, as
in goodai-ltm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Protocol, TypeVar

from everthread.errors import BadInput
from everthread.recipes.goodai.chunk_queue import Chunk

REDUNDANCY = 0.75  # a passage is left out if better ones contain at least this share of it


@dataclass(frozen=True, slots=True)
class Expansion:
    """The rule by which a chunk grows to a passage."""

    limit: re.Pattern[str] | None  # the chunk grows to the nearest match; None: as far as possible
    least: int  # tokens on either side
    most: int  # tokens on either side

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise BadInput(f"invalid expansion by {self.least} to {self.most} tokens; expected 0 <= least <= most")


# Each limit includes the blanks after it, so it ends where the next token begins.
SENTENCE = Expansion(re.compile(r"[.?!。！？]+\s*"), 0, 24)
LINE = Expansion(re.compile(r"\n\s*"), 16, 64)
PARAGRAPH = Expansion(re.compile(r"\n[^\S\n]*\n\s*"), 0, 192)
SECTION = Expansion(None, 0, 1024)
NO_EXPANSION = Expansion(None, 0, 0)
EXPANSIONS = {"sentence": SENTENCE, "line": LINE, "paragraph": PARAGRAPH, "section": SECTION, "none": NO_EXPANSION}


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens of a run from start to end (excluded), and their text without blanks around it."""

    run: int
    start: int
    end: int
    text: str


class TokenRuns(Protocol):
    """Runs of tokens, such as those of a ChunkQueue."""

    def bounds(self, run: int) -> tuple[int, int]:
        """Return the start and end (excluded) of a run."""
        ...

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """Return the tokens of a run from start to end (excluded), both within its bounds."""
        ...


def expand(queue: TokenRuns, chunk: Chunk | Passage, expansion: Expansion) -> Passage:
    """Grow a chunk to a passage."""
    first, end = queue.bounds(chunk.run)
    inner = max(chunk.start - expansion.least, first), min(chunk.end + expansion.least, end)
    outer = max(chunk.start - expansion.most, first), min(chunk.end + expansion.most, end)
    before = queue.pieces(chunk.run, outer[0], inner[0])
    after = queue.pieces(chunk.run, inner[1], outer[1])
    start = outer[0] + _after_last(before, expansion.limit)
    stop = inner[1] + _upto_first(after, expansion.limit)
    return Passage(chunk.run, start, stop, "".join(queue.pieces(chunk.run, start, stop)).strip())


def _after_last(pieces: list[str], limit: re.Pattern[str] | None) -> int:
    """Count the tokens up to the end of the last limit; 0 without a limit."""
    ends = [match.end() for match in limit.finditer("".join(pieces))] if limit else []
    return sum(at <= ends[-1] for at in accumulate(map(len, pieces))) if ends else 0


def _upto_first(pieces: list[str], limit: re.Pattern[str] | None) -> int:
    """Count the tokens up to the end of the first limit; without a limit, all tokens."""
    match = limit.search("".join(pieces)) if limit else None
    if match is None:
        return len(pieces)
    return 1 + sum(at < match.end() for at in accumulate(map(len, pieces[:-1])))


Item = TypeVar("Item")


def collect_candidates(
    found: Iterable[tuple[Passage, Item]], count: int, redundancy: float
) -> list[tuple[Passage, Item]]:
    """Collect passages until `count` of them are not redundant, including the redundant ones between them.

    A reranker may prefer a redundant passage to the one that it repeats.

    Args:
        found: passages with any items, the best first.
        count: the number of passages that are not redundant.
        redundancy: as in `drop_redundant`.
    """
    pool: list[tuple[Passage, Item]] = []

    def collect() -> Iterator[tuple[Passage, Item]]:
        for candidate in found:
            pool.append(candidate)
            yield candidate

    for _ in islice(drop_redundant(collect(), redundancy), count):
        pass
    return pool


def drop_redundant(
    found: Iterable[tuple[Passage, Item]], redundancy: float = REDUNDANCY
) -> Iterator[tuple[Passage, Item]]:
    """Yield the passages of which the passages yielded before contain a share less than `redundancy`."""
    seen: dict[int, set[int]] = {}  # positions of tokens by run
    for passage, item in found:
        positions, seen_in_run = range(passage.start, passage.end), seen.setdefault(passage.run, set())
        if sum(position in seen_in_run for position in positions) < redundancy * len(positions):
            seen_in_run.update(positions)
            yield passage, item
