"""The chunks of a bank always equal those cut from its active lines from scratch."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hardship.embedders import Moody
from hypothesis import given
from hypothesis import strategies as st

from everthread import Memory, NewLine, NewUnit
from everthread.common.keys import META_CHUNK, META_ECHO, SETTING_CHUNKS
from everthread.errors import NotFound
from everthread.recipes.default import Default
from everthread.recipes.goodai import chunk_index
from everthread.recipes.goodai.chunk_queue import ChunkQueue
from everthread.recipes.goodai.cutting import BOUNDARIES, LINE, NONE
from everthread.recipes.goodai.recipe import GoodAI
from everthread.recipes.goodai.token_stream import CHUNK
from everthread.recipes.goodai.tokenizers import words
from everthread.stores.base import CorpusStats
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Seqs, Unit, Vectors

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
Cut = set[tuple[str, tuple[int, ...]]]
WORDS = "fern, kite over the old pier again? yes".split()


class Counting(HashEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return super().embed(texts)


def goodai(tokens: int = 6, overlap: float = 0.5, boundary: str = NONE, **options: Any) -> GoodAI:
    return GoodAI(chunk_capacity=tokens, chunk_overlap=overlap, boundary=boundary, tokenizer=words, **options)


def opened(folder: Path | str, recipe: GoodAI | str | None = None, **options: Any) -> Memory:
    return Memory.open("bank", store=folder, recipe=recipe or goodai(), **{"embedder": HashEmbedder(32), **options})


def chunks(memory: Memory) -> list[Unit]:
    return [unit for unit in memory.units(CHUNK) if META_CHUNK in unit.metadata]


def asked(memory: Memory) -> list[Unit]:
    """Return the chunks after a query that needs all of them."""
    memory.recall("fern")
    return chunks(memory)


def held(memory: Memory, units: Sequence[Unit]) -> list[tuple[str, int, int, str]]:
    return sorted((unit.text, unit.first_seq, unit.last_seq, str(unit.metadata["session"])) for unit in units)


def from_nothing(memory: Memory, recipe: GoodAI) -> list[tuple[str, int, int, str]]:
    """Cut the active lines from scratch, by the queue of goodai-ltm's library."""
    queue, seqs = ChunkQueue(recipe.chunk_capacity, recipe.chunk_overlap, 10**6, recipe.boundary), {}
    lines = sorted(memory.lines(), key=lambda line: line.session)
    for before, line in zip([None, *lines], lines, strict=False):
        if before is None or before.session != line.session:
            queue.separate()
        text = f"{line.speaker}: {line.text}\n"
        key, _ = queue.add(text, words(text))
        seqs[key] = line
    cut = [queue.chunk(id) for id in queue.ids()]
    return sorted((each.text, seqs[each.keys[0]].seq, seqs[each.keys[-1]].seq, seqs[each.main].session) for each in cut)


@st.composite
def lines(draw: st.DrawFn) -> NewLine:
    text = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9)))
    session, gone = draw(st.sampled_from("aaab")), draw(st.sampled_from([None, None, None, NOON]))
    return NewLine(text, draw(st.sampled_from(["Ann", "Bob"])), session=session, said_at=NOON, retracted_at=gone)


STEPS = st.one_of(
    st.tuples(st.just("observe"), st.lists(lines(), min_size=1, max_size=9)),
    st.tuples(st.just("observe"), st.lists(lines(), min_size=1, max_size=2)),
    st.tuples(st.just("retract"), st.integers(1, 14)),
    st.tuples(st.just("replace"), st.tuples(st.sets(st.integers(1, 14), max_size=3), st.lists(lines(), max_size=2))),
    st.tuples(
        st.just("forget"), st.sampled_from([{"session": "a"}, {"speaker": "Bob"}, *({"seq": n} for n in range(1, 9))])
    ),
    st.tuples(st.just("reserve"), st.integers(1, 20)),
    st.tuples(st.just("recall"), st.just("kite")),
    st.tuples(st.just("elsewhere"), st.lists(lines(), min_size=1, max_size=3)),
)


def do(memory: Memory, what: str, value: Any) -> None:
    if what == "observe":
        memory.observe_many(value)
    elif what == "replace":
        memory.replace_lines(*value)
    elif what == "forget":
        memory.forget(**value)
    elif what == "reserve":
        memory.store.reserve_seqs(memory.bank, value)
    elif what == "recall":
        memory.recall(value)
    elif what == "retract":
        memory.retract(value)
    else:  # by a recipe without chunks
        Memory(memory.bank, memory.store, memory.embedder, Default()).observe_many(value)


@pytest.mark.slow
@examples(120)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=8),
    overlap=st.sampled_from([0.5, 0.25, 0.0]),
    boundary=st.sampled_from(BOUNDARIES),
)
def test_chunks_always_equal_those_cut_from_the_active_lines(
    steps: list[tuple[str, Any]], overlap: float, boundary: str
) -> None:
    recipe = goodai(overlap=overlap, boundary=boundary)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_index, "PAGE_LINES", 4)
        with opened(folder, recipe) as memory:
            for what, value in steps:
                with suppress(NotFound):
                    do(memory, what, value)
            found = asked(memory)
            assert held(memory, found) == from_nothing(memory, recipe)
            ids = [unit.id for unit in found]
            assert len(set(ids)) == len(ids)
            assert memory.store.check("bank") == []
            assert len(memory.store.units("bank", include_retracted=True)) == len(found)
            before = chunks(memory)
            memory.recall("kite")
            memory.recipe.update(memory.reader)
            assert chunks(memory) == before  # and nothing is left to do


def test_chunks_at_the_end_of_a_session_are_written_at_the_first_query(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("one two three four five", speaker="Ann", session="a")
        assert [unit.text for unit in chunks(memory)] == ["Ann: one two three four "]
        assert [unit.text for unit in asked(memory)] == ["Ann: one two three four ", "two three four five\n", "five\n"]
        memory.observe("six", speaker="Bob", session="a")
        assert [unit.text for unit in chunks(memory)] == ["Ann: one two three four ", "two three four five\nBob: "]
        memory.observe("seven", speaker="Ann", session="b")
        texts = [unit.text for unit in chunks(memory)]
        assert texts == ["Ann: one two three four ", "two three four five\nBob: ", "five\nBob: six\n", "six\n"]


def test_chunks_of_lines_in_the_prompt_are_not_written_yet(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("one two three four five", speaker="Ann", session="a")
        memory.recall("five", exclude={1})
        assert len(chunks(memory)) == 1
        memory.recall("five", exclude={2})
        assert len(chunks(memory)) == 3


def test_no_id_is_reused(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        seen: dict[int, str] = {}
        for n in range(12):
            memory.observe(f"number {n} is here", speaker="Ann", session="a")
            for unit in asked(memory):
                assert seen.setdefault(unit.id, unit.text) == unit.text
            if n % 5 == 4:
                memory.forget(seq=n)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_each_chunk_is_embedded_once(tmp_path: Path, boundary: str) -> None:
    embedder = Counting(32)
    with opened(tmp_path, goodai(boundary=boundary), embedder=embedder) as memory:
        for n in range(40):
            memory.observe(f"number {n} is here", speaker="Ann", session="a")
        assert embedder.texts == len(chunks(memory))


def test_chunks_of_other_settings_are_cut_again_at_line_ends(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(boundary=NONE)) as memory:
        for text in ("one two", "three four five six seven"):
            memory.observe(text, speaker="Ann", session="a")
        assert any("two\nAnn" in unit.text for unit in asked(memory))
    recipe = goodai(boundary=LINE)
    with opened(tmp_path, recipe) as memory:
        texts = ["Ann: one two\n", "Ann: three four five six ", "four five six seven\n"]
        assert [unit.text for unit in asked(memory)] == texts
        memory.retract(1)
        assert held(memory, asked(memory)) == from_nothing(memory, recipe)


def test_retracting_a_line_rewrites_only_later_chunks_of_its_session(tmp_path: Path) -> None:
    embedder = Counting(32)
    with opened(tmp_path, embedder=embedder) as memory:
        memory.observe_many([NewLine(f"number {n} is here", "Ann", session=f"s{n // 10}") for n in range(50)])
        before = {unit.id: unit.text for unit in asked(memory)}
        embedder.texts = 0
        memory.retract(29)
        after = {unit.id: unit.text for unit in chunks(memory)}
        assert all("number 28" not in text for text in after.values())
        assert len(after.keys() - before.keys()) == embedder.texts <= 5
        assert {id: before[id] for id in before.keys() & after.keys()} == {
            id: after[id] for id in before.keys() & after.keys()
        }


def test_retracting_a_line_reads_only_chunks_of_its_session(tmp_path: Path) -> None:
    read: list[int] = []

    class Reading(SQLiteStore):
        def units(self, *args: Any, **options: Any) -> list[Unit]:
            found = super().units(*args, **options)
            read.append(len(found))
            return found

    store = Reading(tmp_path)
    memory = Memory("bank", store, HashEmbedder(32), goodai())
    memory.observe_many([NewLine(f"number {n} is here", "Ann", session=f"s{n // 10}") for n in range(100)])
    for seqs in ([100], [96, 97], [35]):
        before = held(memory, asked(memory))
        read.clear()
        memory.replace_lines(seqs, [NewLine(f"instead of {seqs[0]}", "Ann", session="s9")])
        assert sum(read) < len(before) / 2
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())
    store.close()


def test_forgetting_a_discarded_line_removes_no_chunk(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("the fern", speaker="Ann", session="a")
        memory.observe("discarded", speaker="Bob", session="a")
        memory.replace_lines([2], [NewLine("the kite flies", "Bob", session="a")])
        before = held(memory, asked(memory))
        assert any(first < 2 < last for _, first, last, _ in before)
        memory.forget(seq=2)
        assert held(memory, chunks(memory)) == before


def test_without_overlap_chunks_after_a_retracted_line_are_cut_again(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(overlap=0.0)) as memory:
        for text in ("one two three four", "gone", "stays"):  # 6 tokens, 3 and 3
            memory.observe(text, speaker="Ann", session="a")
        assert len(asked(memory)) == 2
        memory.retract(2)
        assert held(memory, asked(memory)) == from_nothing(memory, goodai(overlap=0.0))
        assert "stays" in chunks(memory)[-1].text


@pytest.mark.parametrize("recipe", [goodai(), "default"])
def test_the_name_of_a_forgotten_session_is_erased(tmp_path: Path, recipe: GoodAI | str) -> None:
    with opened(tmp_path) as memory:
        memory.observe("one two three four five", speaker="Ann", session="morning")
        memory.observe("six seven eight", speaker="Ann", session="at the doctor's")
        asked(memory)
    with opened(tmp_path, recipe) as memory:
        memory.forget(session="at the doctor's")
        assert not [path.name for path in tmp_path.iterdir() if b"the doctor" in path.read_bytes()]


def test_quoted_memories_are_in_no_chunk(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("You said the fern is green. I like owls.", session="a", metadata={META_ECHO: [[9, 27]]})
        memory.observe("The fern is green.", session="a", metadata={META_ECHO: [[0, 18]]})
        assert "fern" not in "".join(unit.text for unit in asked(memory))
        assert "owls" in "".join(unit.text for unit in chunks(memory))
        memory.retract(2)
        memory.observe("Good night.", session="a")
        assert {unit.last_seq for unit in asked(memory)} == {1, 3}


def test_after_an_embedder_failure_the_next_line_writes_the_chunks(tmp_path: Path) -> None:
    embedder = Moody(calls=1)  # the first line's chunks
    with opened(tmp_path, embedder=embedder) as memory:
        memory.observe("one two three four five", speaker="Ann", session="a")
        memory.observe("six seven eight", speaker="Bob", session="a")
        assert [line.seq for line in memory.lines()] == [1, 2]
        assert [unit.last_seq for unit in chunks(memory)] == [1]
        assert [hit.seq for hit in memory.recall("six")] == [2]  # by its words
    with opened(tmp_path, embedder=Moody()) as memory:
        memory.observe("nine", speaker="Ann", session="a")
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())


def test_chunks_of_a_killed_process_are_written_later(tmp_path: Path) -> None:
    class Ends(SQLiteStore):
        def replace_units(self, *args: Any) -> bool:
            raise KeyboardInterrupt

    ending = Memory("bank", Ends(tmp_path), HashEmbedder(32), goodai())
    with pytest.raises(KeyboardInterrupt):
        ending.observe("one two three four five")
    ending.store.close()
    with opened(tmp_path) as memory:
        assert [line.text for line in memory.lines()] == ["one two three four five"]
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())


def test_two_processes_write_each_chunk_once(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)

    class Slow(HashEmbedder):
        """An embedder during whose work a line is added."""

        said = 0

        def embed(self, texts: Sequence[str]) -> Vectors:
            if texts[0].startswith("Ann:") and self.said < 3:
                self.said += 1
                other.observe(f"meanwhile {self.said}", speaker="Bob", session="a")
            return super().embed(texts)

    one.reader.encoder.embedder = Slow(32)
    one.observe("one two three four five", speaker="Ann", session="a")
    assert held(one, asked(one)) == from_nothing(one, goodai())
    for each in (one, other):
        each.close()


@pytest.mark.parametrize("said", [1, 4, 9])
def test_lines_added_during_an_update_are_chunked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: int) -> None:
    monkeypatch.setattr(chunk_index, "PAGE_LINES", 4)
    more = [NewLine(f"meanwhile {n}", "Bob", session="a") for n in range(said)]

    class Busy(SQLiteStore):
        """A store that adds a line after a bank was counted."""

        def corpus_stats(self, bank: str, within: Seqs | None = None) -> CorpusStats:
            found = super().corpus_stats(bank, within)
            if found.lines and more:
                new, more[:] = list(more), []
                opened(tmp_path, "default").observe_many(new)
            return found

    one = Memory("bank", Busy(tmp_path), HashEmbedder(32), goodai())
    one.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(3)])
    assert held(one, asked(one)) == from_nothing(one, goodai())
    assert len(list(one.lines())) == 3 + said
    one.store.close()


def test_a_line_forgotten_during_embedding_is_in_no_chunk(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path, "default")

    class Forgetful(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if texts[0].startswith("Ann:"):
                with suppress(NotFound):
                    other.forget(seq=1)
            return super().embed(texts)

    one.reader.encoder.embedder = Forgetful(32)
    one.observe("a secret of five words", speaker="Ann", session="a")
    one.observe("good morning to all of you", speaker="Bob", session="a")
    assert held(one, asked(one)) == from_nothing(one, goodai())
    assert "secret" not in "".join(unit.text for unit in chunks(one))
    for each in (one, other):
        each.close()


@pytest.mark.parametrize("recipe", ["default", goodai(10), goodai(overlap=0.0)])
def test_a_bank_of_another_recipe_is_chunked_at_the_first_query(tmp_path: Path, recipe: GoodAI | str) -> None:
    said = [
        NewLine(f"number {n} is here", "Ann", session=f"s{n // 7}", said_at=NOON + n * timedelta(hours=1))
        for n in range(30)
    ]
    with opened(tmp_path, recipe) as memory:
        memory.observe_many(said)
        memory.recall("number 3")
    with opened(tmp_path) as memory:
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())


def test_a_chunk_unit_of_another_origin_stays(tmp_path: Path) -> None:
    with opened(tmp_path, "default") as memory:
        memory.observe("number 1 is here", session="a")
        mine = memory.add_unit(NewUnit(CHUNK, "Number one.", 1, 1, NOON))
    with opened(tmp_path) as memory:
        assert [hit.unit.id for hit in memory.recall("Number one.", 5)] == [unit.id for unit in asked(memory)][:1]
        assert mine in memory.units(CHUNK)


def test_a_chunk_unit_of_another_origin_with_a_session_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("number 1 is here", speaker="Ann", session="a")
        mine = memory.add_unit(NewUnit(CHUNK, "Number one.", 1, 1, NOON, metadata={"session": "a"}))
        memory.observe("number 2 is here", speaker="Ann", session="b")
        memory.observe("number 3 is here", speaker="Ann", session="a")
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())
        assert mine in memory.units(CHUNK)


def test_the_oldest_chunks_beyond_the_capacity_are_evicted_but_no_line(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(capacity=10)) as memory:
        for n in range(30):
            memory.observe(f"number {n} is here", speaker="Ann", session=f"s{n // 8}")
            assert len(chunks(memory)) <= 10
        every = from_nothing(memory, goodai())
        remaining = held(memory, asked(memory))
        assert len(remaining) == 10
        assert set(remaining) <= set(every)
        assert min(first for _, first, _, _ in remaining) > 20
        assert len(list(memory.lines())) == 30
        memory.retract(29)
        assert set(held(memory, asked(memory))) <= set(from_nothing(memory, goodai()))
        assert 8 <= len(chunks(memory)) <= 10


def test_units_of_another_origin_are_not_evicted(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(capacity=10)) as memory:
        memory.observe("number 0 is here", speaker="Ann", session="a")
        mine = memory.add_unit(NewUnit(CHUNK, "Number nought.", 1, 1, NOON))
        for n in range(1, 30):
            memory.observe(f"number {n} is here", speaker="Ann", session="a")
            assert len(chunks(memory)) <= 10
        assert mine in memory.units(CHUNK)
        assert set(held(memory, asked(memory))) <= set(from_nothing(memory, goodai()))
        assert len(chunks(memory)) >= 8


def test_one_line_may_be_more_than_the_capacity(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(capacity=5)) as memory:
        memory.observe(" ".join(f"w{n}" for n in range(100)), session="a")
        assert len(asked(memory)) <= 5
        assert chunks(memory)[-1].text.endswith("w99\n")


def test_adding_many_chunks_at_once_evicts_only_the_oldest(tmp_path: Path) -> None:
    with opened(tmp_path, goodai(capacity=500)) as memory:
        memory.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(300)])
        memory.observe_many([NewLine(f"number {n} is here", "Ann", session="a") for n in range(300, 400)])
        left, every = held(memory, asked(memory)), from_nothing(memory, goodai())
        begun = min(first for _, first, _, _ in left)
        assert 490 <= len(left) <= 500
        assert {each for each in every if each[1] > begun} <= set(left) <= set(every)


def test_lines_of_a_bank_that_is_forgotten_and_created_again_during_embedding_are_in_no_chunk(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path, "default")

    class Forgetful(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if texts[0].startswith("Ann:") and not forgotten:
                forgotten.append(True)
                state = one.store.settings("bank")[SETTING_CHUNKS]
                other.forget(everything=True)
                other.observe("good morning to all of you", speaker="Bob", session="a")
                one.store.set_setting(
                    "bank", SETTING_CHUNKS, state
                )  # as another process that begins with the new lines
            return super().embed(texts)

    forgotten: list[bool] = []
    one.reader.encoder.embedder = Forgetful(32)
    other.observe("a secret of five words", speaker="Ann", session="a")
    assert "secret" not in "".join(unit.text for unit in asked(one))
    assert forgotten
    assert "secret" not in "".join(unit.text for unit in chunks(one))
    for each in (one, other):
        each.close()


def test_a_forgotten_bank_is_not_created_again(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("one two three four five")
        memory.forget(everything=True)
        assert not memory.store.exists("bank")


def test_progress_is_saved_in_the_bank(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.observe("one two three four five", session="a")
        kept = memory.settings()[SETTING_CHUNKS]
        assert isinstance(kept, dict)
        assert (kept["last"], kept["lines"], kept["retracted"]) == (1, 1, 0)
        memory.set_setting(SETTING_CHUNKS, {"damaged": True})
        assert held(memory, asked(memory)) == from_nothing(memory, goodai())
