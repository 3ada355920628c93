"""A chunk grown to a passage, and passages that say nothing new. Pure.

Goodai-ltm's rule: on either side at least `least` tokens are taken, then more, up to `most`, until the text between
reaches a limit: the nearest end of a sentence, a line or a paragraph. Where there is none within reach, all of the
reach is taken. A passage never crosses a separator. A sentence ends where its mark stands; a chunk that ends with one
grows to the next, as it does there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Protocol, TypeVar

from everthread.errors import BadInput
from everthread.recipes.goodai.chunk_queue import Chunk

REDUNDANCY = 0.75  # share of a passage in earlier ones from which it is left out


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far a chunk grows: between least and most tokens on either side, to the nearest match of limit, if any."""

    limit: re.Pattern[str] | None
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise BadInput(f"a chunk can't grow by {self.least} to {self.most} tokens; give 0 <= least <= most")


# Each limit takes the blanks behind it, so that it ends where the next token begins.
SENTENCE = Expansion(re.compile(r"[.?!。！？]+\s*"), 0, 24)
LINE = Expansion(re.compile(r"\n\s*"), 16, 64)
PARAGRAPH = Expansion(re.compile(r"\n[^\S\n]*\n\s*"), 0, 192)
SECTION = Expansion(None, 0, 1024)
NO_EXPANSION = Expansion(None, 0, 0)
EXPANSIONS = {"sentence": SENTENCE, "line": LINE, "paragraph": PARAGRAPH, "section": SECTION, "none": NO_EXPANSION}


@dataclass(frozen=True, slots=True)
class Passage:
    """TokenRuns of a run from start to end (excluded), and their text without blanks around it."""

    run: int
    start: int
    end: int
    text: str


class TokenRuns(Protocol):
    """Runs of tokens, such as a ChunkQueue has."""

    def bounds(self, run: int) -> tuple[int, int]:
        """The positions of a run's first token, and behind its last one."""
        ...

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """The tokens of a run from start to end (excluded), both within its bounds."""
        ...


def expand(queue: TokenRuns, chunk: Chunk | Passage, expansion: Expansion) -> Passage:
    """The passage that a chunk grows to."""
    first, end = queue.bounds(chunk.run)
    near = max(chunk.start - expansion.least, first), min(chunk.end + expansion.least, end)
    far = max(chunk.start - expansion.most, first), min(chunk.end + expansion.most, end)
    before = queue.pieces(chunk.run, far[0], near[0])
    behind = queue.pieces(chunk.run, near[1], far[1])
    start = far[0] + _after_last(before, expansion.limit)
    stop = near[1] + _upto_first(behind, expansion.limit)
    return Passage(chunk.run, start, stop, "".join(queue.pieces(chunk.run, start, stop)).strip())


def _after_last(pieces: list[str], limit: re.Pattern[str] | None) -> int:
    """How many tokens stand before the last limit's end; none where there is no limit."""
    ends = [match.end() for match in limit.finditer("".join(pieces))] if limit else []
    return sum(at <= ends[-1] for at in accumulate(map(len, pieces))) if ends else 0


def _upto_first(pieces: list[str], limit: re.Pattern[str] | None) -> int:
    """How many tokens hold all up to the first limit; all where there is no limit."""
    match = limit.search("".join(pieces)) if limit else None
    if match is None:
        return len(pieces)
    return 1 + sum(at < match.end() for at in accumulate(map(len, pieces[:-1])))


Item = TypeVar("Item")


def collect_candidates(
    found: Iterable[tuple[Passage, Item]], wanted: int, redundancy: float
) -> list[tuple[Passage, Item]]:
    """As many of the first as hold `wanted` that are not redundant, with the redundant ones between them: scored anew,
    one of these may turn out the better of two."""
    pool: list[tuple[Passage, Item]] = []

    def passed() -> Iterator[tuple[Passage, Item]]:
        for each in found:
            pool.append(each)
            yield each

    for _ in islice(drop_redundant(passed(), redundancy), wanted):
        pass
    return pool


def drop_redundant(
    found: Iterable[tuple[Passage, Item]], redundancy: float = REDUNDANCY
) -> Iterator[tuple[Passage, Item]]:
    """Those of which less than `redundancy` stands in the ones before them that were kept themselves."""
    seen: dict[int, set[int]] = {}
    for passage, each in found:
        own, known = range(passage.start, passage.end), seen.setdefault(passage.run, set())
        if sum(at in known for at in own) < redundancy * len(own):
            known.update(own)
            yield passage, each
