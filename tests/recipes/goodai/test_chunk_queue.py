from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput, NotFound
from everthread.recipes.goodai.chunk_queue import Changes, ChunkQueue
from everthread.recipes.goodai.cutting import BOUNDARIES, LINE, Cutting
from everthread.recipes.goodai.tokenizers import words

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


def numbered(count: int, name: str = "w") -> str:
    """Return a number of different tokens."""
    return "".join(f"{name}{n} " for n in range(count))


def put(queue: ChunkQueue, text: str, **more: Any) -> int:
    return queue.add(text, words(text), **more)[0]


def exchange(queue: ChunkQueue, key: int, text: str) -> Changes:
    return queue.replace(key, text, words(text), {}, None, None)


def layout(queue: ChunkQueue) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in map(queue.chunk, queue.ids())]


def texts(queue: ChunkQueue) -> list[str]:
    return [queue.chunk(id).text for id in queue.ids()]


def test_chunks_begin_every_twelve_tokens_and_the_last_ones_are_shorter() -> None:
    queue = ChunkQueue()
    put(queue, numbered(59))
    assert layout(queue) == [(0, 24), (12, 36), (24, 48), (36, 59), (48, 59)]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, [(0, 1)]),
        (12, [(0, 12)]),
        (13, [(0, 13), (12, 13)]),
        (24, [(0, 24), (12, 24)]),
        (25, [(0, 24), (12, 25), (24, 25)]),
    ],
)
def test_a_chunk_begins_wherever_a_step_is_inside_the_text(tokens: int, expected: list[tuple[int, int]]) -> None:
    queue = ChunkQueue()
    put(queue, numbered(tokens))
    assert layout(queue) == expected


def test_chunks_without_overlap_are_adjacent() -> None:
    queue = ChunkQueue(capacity=5, overlap=0)
    put(queue, numbered(12))
    assert layout(queue) == [(0, 5), (5, 10), (10, 12)]


def test_a_chunk_can_hold_parts_of_two_texts() -> None:
    queue = ChunkQueue(capacity=4)
    first, second = put(queue, "a b c "), put(queue, "d e ")
    assert texts(queue) == ["a b c d ", "c d e ", "e "]
    chunk = queue.chunk(queue.ids()[0])
    assert (chunk.keys, chunk.main) == ((first, second), first)


def test_no_chunk_crosses_a_separator() -> None:
    queue = ChunkQueue(capacity=4)
    put(queue, "a b c ")
    queue.separate()
    queue.separate()
    put(queue, "d e ")
    assert texts(queue) == ["a b c ", "c ", "d e "]


def test_no_chunk_crosses_the_end_of_a_line() -> None:
    queue = ChunkQueue(4, 0.5, boundary=LINE)
    put(queue, "a b\n\nc d e f g h\nI")
    assert texts(queue) == ["a b\n\n", "c d e f ", "e f g h\n", "I"]
    before = queue.ids()
    key, changes = queue.add(" j\nK", words(" j\nK"))
    assert texts(queue)[3:] == ["I j\n", "K"]
    assert (changes.changed, queue.ids()[:4], len(changes.appeared)) == ((before[3],), before, 1)
    queue.delete(key)
    assert texts(queue)[3:] == ["I"]


def test_a_wrapped_line_is_cut_as_one() -> None:
    queue = ChunkQueue(6, 0.5, boundary=LINE)
    put(queue, "A b\nc d. \ne f")
    assert texts(queue) == ["A b\nc d. \n", "e f"]


def test_blanks_around_tokens_belong_to_the_text() -> None:
    queue = ChunkQueue(capacity=4)
    key = put(queue, "\n  a b\n\n")
    blank = put(queue, "\n")
    assert (queue.get(key).text, queue.get(blank).text) == ("\n  a b\n\n", "\n")
    assert texts(queue)[0] == "\n  a b\n\n\n"


def test_adding_returns_the_changed_and_new_chunks() -> None:
    queue = ChunkQueue(capacity=4)
    assert queue.add("a b c ", [0, 2, 4])[1] == Changes(appeared=(1, 2))
    assert queue.add("d e ", [0, 2])[1] == Changes(appeared=(3,), changed=(1, 2))
    assert queue.add("f ", [0])[1] == Changes(changed=(2, 3))


def test_replacing_a_text_leaves_earlier_and_later_chunks() -> None:
    queue = ChunkQueue(capacity=4)
    put(queue, numbered(10, "a"))
    middle = put(queue, numbered(3, "b"))
    put(queue, numbered(10, "c"))
    before = {id: queue.chunk(id).text for id in queue.ids()}
    changes = exchange(queue, middle, numbered(9, "d"))
    after = {id: queue.chunk(id).text for id in queue.ids()}
    assert changes.appeared
    assert changes.removed == ()
    cut_ids = {*changes.appeared, *changes.changed}
    assert all(after[id] == text for id, text in before.items() if id not in cut_ids)
    assert not any("b" in text for text in after.values())
    assert queue.get(middle).text == numbered(9, "d")


def test_deleting_a_short_text_keeps_its_neighbours_in_the_same_chunk() -> None:
    queue = ChunkQueue()
    first, short, last = put(queue, "one two. "), put(queue, "oh. "), put(queue, "three four. ")
    changes = queue.delete(short)
    assert changes == Changes(changed=(1,))
    assert texts(queue) == ["one two. three four. "]
    assert (queue.get(first).text, queue.get(last).text) == ("one two. ", "three four. ")
    with pytest.raises(NotFound, match=f"text with key {short} not found; it was deleted"):
        queue.get(short)


def test_texts_around_a_separator_stay_apart_when_the_text_between_is_deleted() -> None:
    queue = ChunkQueue()
    put(queue, "a ")
    queue.separate()
    middle = put(queue, "b ")
    queue.delete(middle)
    put(queue, "c ")
    assert texts(queue) == ["a ", "c "]


def test_evicting_the_oldest_chunk_drops_its_own_tokens() -> None:
    queue = ChunkQueue(capacity=4, limit=3)
    first, second = put(queue, "a b c "), put(queue, "d e f ")
    assert len(queue) == 3
    _, changes = queue.add("g ", [0])
    assert changes == Changes(appeared=(4,), changed=(3,), removed=(1,))
    assert (queue.get(first).text, queue.get(second).text) == ("c ", "d e f ")
    put(queue, "h i ")
    with pytest.raises(NotFound, match=f"key {first}"):
        queue.get(first)
    assert texts(queue) == ["e f g h ", "g h i ", "i "]


def test_a_text_longer_than_the_queue_keeps_its_end() -> None:
    queue = ChunkQueue(capacity=4, limit=2)
    key, changes = queue.add(numbered(9), words(numbered(9)))
    assert changes.removed == ()
    assert len(changes.appeared) == 2
    assert queue.get(key).text == "w6 w7 w8 "


def test_keys_and_ids_are_not_reused_after_clearing() -> None:
    queue = ChunkQueue()
    put(queue, "a ")
    assert queue.clear() == Changes(removed=(1,))
    assert (queue.ids(), queue.texts()) == ([], [])
    assert (put(queue, "b "), queue.ids()) == (2, [2])


def test_keys_metadata_and_times_survive_a_round_trip_through_json() -> None:
    queue = ChunkQueue(capacity=4)
    put(queue, "a b c ", metadata={"n": 1, "deep": [{"x": None}]}, timestamp=NOON, importance=7)
    queue.separate()
    put(queue, "d ")
    back = ChunkQueue.from_state(json.loads(json.dumps(queue.state())))
    assert back.texts() == queue.texts()
    assert [type(text.key) for text in back.texts()] == [int, int]
    assert [back.chunk(id) for id in back.ids()] == [queue.chunk(id) for id in queue.ids()]
    assert put(back, "e ") == put(queue, "e ")
    assert texts(back) == texts(queue)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "invalid state: got version 2, expected 1"),
        ({"capacity": 0}, "damaged .*invalid chunk capacity 0"),
        ({"last": None}, "damaged"),
        ({"open": 3}, "damaged .*open run 3 is missing"),
        ({"runs": [{}]}, "damaged"),
        ({"limit": "many"}, "damaged"),
    ],
)
def test_a_damaged_state_is_rejected(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        ChunkQueue.from_state({**ChunkQueue().state(), **change})


def test_a_state_without_a_boundary_is_of_chunks_that_cross_line_ends() -> None:
    queue = ChunkQueue(4)
    put(queue, "a b\nc d e")
    state = queue.state()
    del state["boundary"]
    assert texts(ChunkQueue.from_state(state)) == texts(queue) == ["a b\nc d ", "c d e", "e"]
    with pytest.raises(BadInput, match="not those of its lines"):
        ChunkQueue.from_state({**state, "boundary": LINE})


@pytest.mark.parametrize("chunks", [[[1, 0]], [[1, 2], [2, 4]], [[1, 0], [2, 0]], []])
def test_a_state_whose_chunks_do_not_cover_its_texts_is_rejected(chunks: list[list[int]]) -> None:
    queue = ChunkQueue(capacity=4)
    put(queue, numbered(5))
    state = queue.state()
    state["runs"][0]["chunks"] = chunks
    with pytest.raises(BadInput, match="damaged"):
        ChunkQueue.from_state(state)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"capacity": 0}, "invalid chunk capacity 0"),
        ({"overlap": 0.6}, "invalid overlap 0.6"),
        ({"limit": 0}, "invalid limit 0; expected at least 1 chunk"),
    ],
)
def test_invalid_sizes_are_rejected(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        ChunkQueue(**given)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"text": ""}, "the text is empty"),
        ({"starts": [0, 9]}, r"invalid token offsets \[0, 9\]"),
        ({"starts": [2, 1]}, r"invalid token offsets \[2, 1\]"),
        ({"starts": [-1]}, r"invalid token offsets \[-1\]"),
        ({"metadata": {1: "x"}}, "str keys"),
        ({"metadata": {"x": {1}}}, "must be JSON-serialisable"),
        ({"metadata": ["x"]}, "must be a mapping"),
        ({"timestamp": datetime(2024, 5, 6)}, "has no time zone"),
        ({"importance": 11}, "invalid importance 11"),
        ({"importance": "5"}, "invalid importance '5'"),
    ],
)
def test_invalid_texts_are_rejected_and_change_nothing(given: dict[str, Any], complaint: str) -> None:
    queue = ChunkQueue()
    with pytest.raises(BadInput, match=complaint):
        queue.add(**{"text": "abc", "starts": [0], **given})
    assert (queue.texts(), queue.add("abc", [0])[0]) == ([], 1)


def test_changing_passed_metadata_does_not_change_the_queue() -> None:
    queue, given = ChunkQueue(), {"place": "here"}
    key = put(queue, "a ", metadata=given)
    given["place"] = "there"
    assert queue.get(key).metadata == {"place": "here"}


def test_an_unknown_chunk_is_named_in_the_error() -> None:
    with pytest.raises(NotFound, match="chunk 5 not found"):
        ChunkQueue().chunk(5)


class Model:
    """Holds runs of (key, text) as a queue does, without chunks."""

    def __init__(self) -> None:
        self.runs: list[list[tuple[int, str]]] = []
        self.open = False

    def add(self, key: int, text: str) -> None:
        if not self.open:
            self.runs.append([])
            self.open = True
        self.runs[-1].append((key, text))

    def change(self, key: int, text: str | None) -> None:
        last = self.runs[-1]
        for run in self.runs:
            for place, (each, _) in enumerate(run):
                if each == key:
                    run[place : place + 1] = [] if text is None else [(key, text)]
        if not last:
            self.open = False
        self.runs = [run for run in self.runs if run]

    def evict(self, queue: ChunkQueue) -> None:
        """Drop the evicted tokens at the front, and check that nothing else is missing."""
        have = sum(len(text.starts) for text in queue.texts())
        surplus = sum(len(own(text)) for run in self.runs for _, text in run) - have
        assert surplus >= 0
        if surplus:
            assert len(queue) == queue.limit
        while surplus:
            key, text = self.runs[0][0]
            tokens = own(text)
            cut = min(surplus, len(tokens))
            surplus -= cut
            self.runs[0][:1] = [(key, text[tokens[cut] :])] if cut < len(tokens) else []
            if not self.runs[0]:
                self.open = self.open and len(self.runs) > 1
                del self.runs[0]


def own(text: str) -> list[int]:
    starts = words(text)
    return starts if starts[:1] == [0] else [0, *starts]


TEXT = st.lists(st.sampled_from(["a", "bc ", "def. ", "\n", " g "]), min_size=1, max_size=12).map("".join)
OPERATION = st.tuples(
    st.sampled_from(["add", "add", "add", "separate", "replace", "delete", "reload"]), st.integers(0, 99), TEXT
)


@examples(300)
@given(
    st.lists(OPERATION, max_size=25),
    st.integers(1, 7),
    st.sampled_from([0.0, 0.3, 0.5]),
    st.sampled_from([1, 2, 5, 1000]),
    st.sampled_from(BOUNDARIES),
)
def test_any_sequence_of_operations_leaves_a_consistent_queue(
    operations: list[tuple[str, int, str]], capacity: int, overlap: float, limit: int, boundary: str
) -> None:
    queue, model = ChunkQueue(capacity, overlap, limit, boundary), Model()
    seen: dict[int, str] = {}
    for name, pick, text in operations:
        living = [each.key for each in queue.texts()]
        changes = Changes()
        if name == "add":
            key, changes = queue.add(text, words(text))
            model.add(key, text)
        elif name == "separate":
            queue.separate()
            model.open = False
        elif name == "reload":
            state = queue.state()
            queue = ChunkQueue.from_state(json.loads(json.dumps(state)))
            assert queue.state() == state
        elif living:
            key = living[pick % len(living)]
            new = text if name == "replace" else None
            changes = exchange(queue, key, text) if new is not None else queue.delete(key)
            model.change(key, new)
        model.evict(queue)
        assert [(each.key, each.text) for each in queue.texts()] == [pair for run in model.runs for pair in run]
        assert all(queue.get(each.key) is each for each in queue.texts())
        check_chunks(queue, model, boundary)
        seen = told(queue, changes, seen)


def check_chunks(queue: ChunkQueue, model: Model, boundary: str) -> None:
    """Check that chunks keep to their capacity, overlap correctly, and hold every token of every text."""
    assert len(queue) <= queue.limit
    runs: dict[int, list[Any]] = {}
    for chunk in map(queue.chunk, queue.ids()):
        runs.setdefault(chunk.run, []).append(chunk)
        assert 1 <= chunk.end - chunk.start <= queue.capacity
        assert chunk.text == "".join(queue.pieces(chunk.run, chunk.start, chunk.end))
        assert chunk.main in chunk.keys
    for id, chunks in runs.items():
        first, end = queue.bounds(id)
        assert (chunks[0].start, chunks[-1].end) == (first, end)
        if boundary == LINE:
            spans = Cutting(queue.capacity, queue.step, LINE).spans(queue.pieces(id, first, end), first)
            assert [(chunk.start, chunk.end) for chunk in chunks] == spans
            continue
        assert all(0 < behind.start - before.start <= queue.step for before, behind in pairwise(chunks))
        assert all(chunk.end == min(chunk.start + queue.capacity, end) for chunk in chunks)
    run_texts = ["".join(queue.pieces(id, *queue.bounds(id))) for id in runs]
    assert run_texts == ["".join(text for _, text in run) for run in model.runs]


def told(queue: ChunkQueue, changes: Changes, before: dict[int, str]) -> dict[int, str]:
    """Return the text of the chunks, and check that each difference was reported."""
    now = {id: queue.chunk(id).text for id in queue.ids()}
    assert set(changes.appeared) == now.keys() - before.keys()
    assert set(changes.removed) == before.keys() - now.keys()
    assert {id for id in now.keys() & before.keys() if now[id] != before[id]} <= set(changes.changed)
    assert set(changes.changed) <= now.keys() & before.keys()
    return now
