"""Builds lines, hits and banks for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from everthread.memory import Memory
from everthread.recall.rerank.base import Reranker
from everthread.testing import HashEmbedder
from everthread.types import Hit, Line, NewLine

BEGUN = datetime(2024, 5, 6, 18, tzinfo=UTC)
FIRST = datetime(2024, 1, 1, tzinfo=UTC)  # of the lines of `open_with_talk`


def line(seq: int, text: str = "Yes.", session: str = "s1", speaker: str = "Ann", hours: float | None = None) -> Line:
    """Build a line, `seq` minutes or else `hours` after BEGUN."""
    offset = timedelta(minutes=seq) if hours is None else timedelta(hours=hours)
    return Line(seq, session, "user", speaker, text, BEGUN + offset)


def hit(found: Line, passage: Sequence[Line] = ()) -> Hit:
    return Hit(found, 1.0, 0.5, {}, tuple(passage) or (found,))


def hits(*texts: str) -> list[Hit]:
    """Build hits of one line each, numbered from 1."""
    return [hit(line(seq, text)) for seq, text in enumerate(texts, 1)]


def seqs(found: Sequence[Hit]) -> list[int]:
    return [each.line.seq for each in found]


def rerank_scores(reranker: Reranker, found: Sequence[Hit]) -> list[float]:
    """Return the score that a reranker gave each hit."""
    return [each.signals[reranker.name] for each in found]


def assert_only_moved(reranker: Reranker, given: Sequence[Hit], ranked: Sequence[Hit]) -> None:
    """Assert that a reranker changed only the order of hits and its signal, and possibly left some out."""
    before = {each.line.seq: each for each in given}
    assert len(set(seqs(ranked))) == len(ranked)
    for each in ranked:
        old = before[each.line.seq]
        assert each.line is old.line
        assert each == replace(old, signals={**old.signals, reranker.name: each.signals[reranker.name]})


def open_filled(folder: Path | str, lines: Iterable[NewLine | str], embedder: HashEmbedder | None = None) -> Memory:
    """Open a bank filled with lines. Texts become lines of one session, a minute apart."""
    memory = Memory.open("bank", store=folder, embedder=embedder or HashEmbedder(), recipe="default")
    memory.observe_many(
        NewLine(given, "Ann", said_at=BEGUN + timedelta(minutes=number), session="s1")
        if isinstance(given, str)
        else given
        for number, given in enumerate(lines)
    )
    return memory


@contextmanager
def open_with_talk(folder: Path, talk: Iterable[str]) -> Iterator[Memory]:
    """Open a bank with lines of Nora's, twenty days apart, each in a session of its own."""
    with Memory.open("nora", store=folder) as memory:
        memory.observe_many(
            NewLine(text, "Nora", said_at=FIRST + timedelta(days=20 * number), session=str(number))
            for number, text in enumerate(talk)
        )
        yield memory
