from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from everthread import Memory
from everthread.bench.replay import WINDOW_BUDGET_TOKENS, CachedEmbedder, CountingScribe, Replay
from everthread.chat.conversation import is_open
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadLine, ScribeFailed
from everthread.recall.reader import BankReader
from everthread.recall.types import Query, SearchResult
from everthread.recipes.base import Recipe
from everthread.scribes.base import NOTES_TOKENS
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder
from everthread.types import FoundUnit, Line, NewLine, Vectors

BEGUN = datetime(2024, 5, 1, tzinfo=UTC)
TEXTS = {
    "may": [
        "I planted a walnut tree behind the house.",
        "My parrot Otto speaks Danish.",
        "We sold the old tractor to my uncle.",
        "The roof of the barn leaks again.",
        "My sister Mia moved to Lisbon.",
    ],
    "june": ["I broke my left arm in the orchard.", "My boss gave me the week off."],
}
LINES = [
    NewLine(text, "Ida", said_at=BEGUN + timedelta(days=30 * at, minutes=n), session=session)
    for at, (session, texts) in enumerate(TEXTS.items())
    for n, text in enumerate(texts)
]


@dataclass(frozen=True, kw_only=True)
class Units(Recipe):
    """Recalls units of its kinds by meaning and words."""

    name = "units"
    description = "units that a scribe wrote"

    def recall(self, reader: BankReader, asked: Query, k: int) -> SearchResult:
        return reader.search_units(asked, self.kinds, k)


@dataclass(frozen=True, kw_only=True)
class Summaries(Units):
    kinds = ("summary",)
    notes = False


@dataclass(frozen=True, kw_only=True)
class Notes(Units):
    """Evicts the three oldest of four lines, of which one stays in view."""

    kinds = ("note",)
    summaries = False
    overlap: int = 1

    def count_evicted_lines(self, costs: Sequence[int], room: int) -> int:
        assert room == WINDOW_BUDGET_TOKENS
        return 3 if len(costs) >= 4 else 0


class Writer(ExtractiveScribe):
    """Records the lines that it was given; fails on demand."""

    name = "writer"

    def __init__(self, failing: int = 0) -> None:
        self.leaving: list[list[str]] = []
        self._failing = failing

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        if self._failing:
            self._failing -= 1
            raise ScribeFailed("it can't")
        self.leaving.append([line.text for line in leaving])
        return f"{old}\n{len(self.leaving)}".strip()


Open = Callable[[Recipe], Memory]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Open]:
    opened: list[Memory] = []

    def open_(recipe: Recipe) -> Memory:
        opened.append(Memory.open("b", store=tmp_path, embedder=HashEmbedder(512), recipe=recipe))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def test_a_session_is_summarised_after_its_last_line(bank: Open) -> None:
    memory = bank(Summaries())
    replay = Replay(memory, LINES, ExtractiveScribe())
    replay.advance(4)
    assert (memory.units(), memory.jobs()) == ([], [])
    replay.advance(5)
    assert [(unit.first_seq, unit.last_seq) for unit in memory.units("summary")] == [(1, 5)]
    assert not is_open(memory.sessions()[0])
    replay.advance(7)
    assert [(unit.first_seq, unit.last_seq) for unit in memory.units("summary")] == [(1, 5), (6, 7)]
    assert [line.text for line in replay.lines] == [line.text for line in LINES]


def test_lines_that_leave_the_window_are_noted_and_the_rest_at_the_end_of_the_session(bank: Open) -> None:
    memory, writer = bank(Notes()), Writer()
    Replay(memory, LINES, writer).advance(len(LINES))
    may, june = TEXTS.values()
    assert writer.leaving == [may[:3], may[3:], june]
    assert [unit.last_seq for unit in memory.units("note")] == [3, 5, 7]


def test_lines_that_stay_in_view_are_noted_again_with_what_follows_them(bank: Open) -> None:
    lines = [NewLine(f"Line number {n}.", "Ida", said_at=BEGUN, session="s") for n in range(7)]
    writer = Writer()
    Replay(bank(Notes()), lines, writer).advance(6)
    texts = [line.text for line in lines]
    assert writer.leaving == [texts[:3], texts[2:5]]


def test_a_recipe_with_a_window_lets_go_of_no_line_outside_it(bank: Open) -> None:
    Replay(bank(Notes(window=3)), LINES, writer := Writer()).advance(4)
    assert writer.leaving == []


def test_a_recipe_that_finds_only_lines_calls_no_scribe(bank: Open) -> None:
    memory = bank(Units())
    counting = CountingScribe(ExtractiveScribe())
    Replay(memory, LINES, counting).advance(len(LINES))
    assert (memory.units(), memory.jobs(), counting.calls.total()) == ([], [], 0)


def test_failed_scribe_jobs_stay_queued_and_no_line_is_lost(bank: Open) -> None:
    memory, writer = bank(Notes()), Writer(failing=1)
    replay = Replay(memory, LINES, writer)
    replay.advance(4)
    assert [(job.first_seq, job.last_seq, job.tries) for job in memory.jobs()] == [(1, 3, 1)]
    replay.advance(5)
    assert [(job.first_seq, job.last_seq) for job in memory.jobs()] == [(1, 5)]
    assert memory.stats().lines == 5


def test_alternating_sessions_each_end_after_their_own_last_line(bank: Open) -> None:
    lines = [NewLine(f"Line {n} of a story.", "Ida", said_at=BEGUN, session="ab"[n % 2]) for n in range(4)]
    memory = bank(Summaries())
    replay = Replay(memory, lines, ExtractiveScribe())
    replay.advance(3)
    assert [unit.last_seq for unit in memory.units("summary")] == [3]
    replay.advance(4)
    assert [unit.last_seq for unit in memory.units("summary")] == [3, 4]


def test_a_line_without_a_session_is_refused(bank: Open) -> None:
    with pytest.raises(BadLine, match="a line to replay must have a session"):
        Replay(bank(Units()), [NewLine("Hello.")], ExtractiveScribe())


def test_every_call_of_a_scribe_is_counted_and_answered_by_it() -> None:
    real, counting = ExtractiveScribe(), CountingScribe(ExtractiveScribe())
    lines = [Line(1, "s", "user", "Ida", TEXTS["may"][0], BEGUN)]
    text = "Ida moved to Lisbon."
    assert counting.name == real.name
    assert counting.summarize(lines, "Ida", 50) == real.summarize(lines, "Ida", 50) != ""
    assert counting.update_notes("", [], lines, 40) == real.update_notes("", [], lines, 40) != ""
    assert counting.categorize(text) == real.categorize(text)
    assert counting.redact(text) == real.redact(text)
    assert counting.is_relevant(text, text) is real.is_relevant(text, text) is True
    assert counting.rate_importance(text) == real.rate_importance(text)
    assert counting.rewrite_query("And there?", lines) == real.rewrite_query("And there?", lines)
    assert counting.rewrite_memory(text, lines) == real.rewrite_memory(text, lines)
    assert set(counting.calls.values()) == {1}
    assert counting.calls.total() == 8


class RecordingEmbedder(HashEmbedder):
    """Records the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__(64)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed(texts)


def test_each_text_is_embedded_once_and_each_question_every_time() -> None:
    recorder = RecordingEmbedder()
    cached = CachedEmbedder(recorder)
    first = cached.embed(["a kite", "a tree", "a kite"])
    again = cached.embed(["a tree", "a boat"])
    assert recorder.texts == ["a kite", "a tree", "a boat"]
    assert np.array_equal(first, HashEmbedder(64).embed(["a kite", "a tree", "a kite"]))
    assert np.array_equal(again[0], first[1])
    assert cached.embed([]).shape == (0, 64)
    assert (cached.name, cached.multilingual) == (recorder.name, recorder.multilingual)
    for _ in range(2):
        assert np.array_equal(cached.embed_query("a kite"), first[0])
    assert recorder.texts[3:] == ["a kite", "a kite"]


def test_hits_are_those_of_the_embedder_that_is_cached(tmp_path: Path) -> None:
    """Codes of words, too, also of lines that another recipe has embedded."""
    real = OnnxEmbedder()
    cached = CachedEmbedder(real)
    cached.embed(TEXTS["may"])
    found = []
    for name, embedder in (("real", real), ("cached", cached)):
        with Memory.open(name, store=tmp_path, embedder=embedder, recipe="default") as memory:
            memory.observe_many([NewLine(text, "Ann") for text in TEXTS["may"]])
            found.append([(hit.text, hit.signals) for hit in memory.recall("Do you have a pet?")])
    assert found[0] == found[1]
    assert any("token_match" in signals for _, signals in found[1])


def test_queries_are_embedded_once_on_demand() -> None:
    recorder = RecordingEmbedder()
    cached = CachedEmbedder(recorder, cache_queries=True)
    assert np.array_equal(cached.embed_query("a kite"), cached.embed_query("a kite"))
    assert recorder.texts == ["a kite"]
