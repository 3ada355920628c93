"""A queue of overlapping chunks over texts that follow one another: goodai-ltm's layout. Pure.

Texts are laid end to end in a *run*; a separator ends the run. In a run that was only added to, chunk i begins at token
i · step and holds `capacity` tokens; the last ones, at the run's end, are shorter. A chunk may thereby hold the end of
one text and the beginning of the next. When a text is replaced or deleted, the chunks that held some of it are laid
anew over what is left, up to the first chunk that begins behind it; that one and all others stay as they are. So no
neighbour is touched, a change costs what the text is long, and two chunks share no fewer tokens than before.

It knows no tokenizer, no vectors, no store and no clock: it is told where the tokens of a text begin, and each
operation tells which chunks have appeared, changed and gone. A token reaches to the beginning of the next one, so that
the tokens are the whole text, blanks and line breaks included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from everthread.errors import BadInput, NotFound
from everthread.text.tokenized_text import Text, from_state, make_text, to_state
from everthread.types import Metadata

CHUNK_TOKENS = 24  # tokens of a chunk
OVERLAP = 0.5  # share of a chunk that the next one holds again
MAX_CHUNKS = 50_000  # chunks; then the oldest goes
VERSION = 1  # of the state as JSON


@dataclass(frozen=True, slots=True)
class Chunk:
    """The tokens from start to end (excluded) of a run; keys are of the texts it holds some of, in order."""

    id: int
    run: int
    start: int
    end: int
    text: str
    keys: tuple[int, ...]
    main: int  # the key of the text that it holds most of; of two alike the first


@dataclass(frozen=True, slots=True)
class Changes:
    """What an operation did to the chunks: their ids, none in two of the three."""

    appeared: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class _Mark:
    """A chunk in its run; it ends after `capacity` tokens, or with the run."""

    id: int
    run: _Run
    start: int


class _Run:
    """Texts end to end. Positions count tokens and go on counting when the front is evicted."""

    def __init__(self, id: int, first: int = 0) -> None:
        self.id = id
        self.first = self.end = first
        self.texts: list[Text] = []  # their keys ascend
        self.begins: list[int] = []  # the position of each text's first token
        self.marks: list[_Mark] = []  # their starts ascend

    def append(self, text: Text) -> None:
        self.texts.append(text)
        self.begins.append(self.end)
        self.end += len(text.starts)

    def put(self, place: int, texts: list[Text]) -> None:
        """Put other texts, or none, where one was."""
        at = self.begins[place]
        self.texts[place : place + 1] = texts
        del self.begins[place:]
        for text in self.texts[place:]:
            self.begins.append(at)
            at += len(text.starts)
        self.end = at

    def trim(self, first: int) -> list[int]:
        """Drop all tokens before a position; the keys of the texts that are gone."""
        place = bisect_right(self.begins, first) - 1
        gone = [text.key for text in self.texts[:place]]
        self.texts[: place + 1] = [self.texts[place].without(first - self.begins[place])]
        self.begins[: place + 1] = [first]
        self.first = first
        return gone

    def place(self, key: int) -> int:
        return bisect_left(self.texts, key, key=lambda text: text.key)

    def parts(self, start: int, end: int) -> list[tuple[Text, int, int]]:
        """The texts between two positions, each with its tokens' numbers from and to."""
        found = []
        place = bisect_right(self.begins, start) - 1
        while start < end:
            text, begin = self.texts[place], self.begins[place]
            upto = min(end, begin + len(text.starts))
            found.append((text, start - begin, upto - begin))
            start, place = upto, place + 1
        return found


class ChunkQueue:
    """Texts under lasting keys, and the chunks over them. Keys and ids are numbers from 1, and none comes twice.

    capacity: tokens of a chunk; overlap: the share of it, up to a half, that two neighbours have in common; limit: the
    number of chunks. Beyond it the oldest goes, with the tokens that only it holds: a text loses its beginning that
    way, and its key with its last token. Raises BadInput for impossible values, NotFound for a key that isn't there.
    """

    def __init__(self, capacity: int = CHUNK_TOKENS, overlap: float = OVERLAP, limit: int = MAX_CHUNKS) -> None:
        if capacity < 1:
            raise BadInput(f"a chunk can't hold {capacity} tokens; give a capacity of at least 1")
        if not 0 <= overlap <= 0.5:
            raise BadInput(f"chunks can't overlap by {overlap}; give a share from 0 to 0.5")
        if limit < 1:
            raise BadInput(f"a queue can't be limited to {limit} chunks; give at least 1")
        self.capacity, self.overlap, self.limit = capacity, overlap, limit
        self.step = capacity - int(capacity * overlap)
        self._runs: OrderedDict[int, _Run] = OrderedDict()
        self._open: int | None = None  # the run that the next text goes to
        self._homes: dict[int, _Run] = {}  # of a text, by its key
        self._marks: dict[int, _Mark] = {}
        self._keys = self._ids = self._run_ids = 0  # the last ones given

    def add(
        self,
        text: str,
        starts: Sequence[int],
        metadata: Metadata | None = None,
        timestamp: datetime | None = None,
        importance: int | None = None,
    ) -> tuple[int, Changes]:
        """Put a text behind the last one: its key, and what became of the chunks. starts: where its tokens begin."""
        new = make_text(self._keys + 1, text, starts, {} if metadata is None else metadata, timestamp, importance)
        self._keys = new.key
        run = self._runs[self._open] if self._open is not None else self._new_run()
        end = run.end
        run.append(new)
        self._homes[new.key] = run
        return new.key, self._laid(run, end, end, len(new.starts))

    def replace(
        self,
        key: int,
        text: str,
        starts: Sequence[int],
        metadata: Metadata,
        timestamp: datetime | None,
        importance: int | None,
    ) -> Changes:
        """Put another text in the place, and under the key, of one that is there."""
        run = self._home(key)
        new = make_text(key, text, starts, metadata, timestamp, importance)
        return self._put(run, run.place(key), [new])

    def delete(self, key: int) -> Changes:
        """Remove a text. Its neighbours then follow one another."""
        run = self._home(key)
        changes = self._put(run, run.place(key), [])
        del self._homes[key]
        if not run.texts:
            self._drop(run)
        return changes

    def separate(self) -> None:
        """Let no chunk hold the last text and the next one."""
        self._open = None

    def clear(self) -> Changes:
        """Remove every text. Keys and ids go on counting, so that none of before is ever taken for another."""
        gone = tuple(self._marks)
        self._runs.clear()
        self._homes.clear()
        self._marks.clear()
        self._open = None
        return Changes(gone=gone)

    def get(self, key: int) -> Text:
        run = self._home(key)
        return run.texts[run.place(key)]

    def texts(self) -> list[Text]:
        """All texts, in order."""
        return [text for run in self._runs.values() for text in run.texts]

    def ids(self) -> list[int]:
        """The ids of all chunks, the oldest first."""
        return [mark.id for run in self._runs.values() for mark in run.marks]

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self._marks)

    def __contains__(self, id: object) -> bool:
        """Whether there is a chunk of that id."""
        return id in self._marks

    def chunk(self, id: int) -> Chunk:
        if (mark := self._marks.get(id)) is None:
            raise NotFound(f"there is no chunk {id!r}; it was evicted or deleted, or never was")
        end = min(mark.start + self.capacity, mark.run.end)
        parts = mark.run.parts(mark.start, end)
        text = "".join(text.between(first, last) for text, first, last in parts)
        main = max(parts, key=lambda part: part[2] - part[1])[0].key
        return Chunk(id, mark.run.id, mark.start, end, text, tuple(part[0].key for part in parts), main)

    def bounds(self, run: int) -> tuple[int, int]:
        """The positions of a run's first token, and behind its last one."""
        return self._runs[run].first, self._runs[run].end

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """The tokens of a run from start to end (excluded), both within its bounds."""
        return [
            piece
            for text, first, last in self._runs[run].parts(start, end)
            for piece in text.pieces(first, last)
        ]  # fmt: skip

    def _new_run(self) -> _Run:
        self._run_ids += 1
        self._open = self._run_ids
        run = self._runs[self._open] = _Run(self._open)
        return run

    def _home(self, key: int) -> _Run:
        if (run := self._homes.get(key)) is None:
            raise NotFound(f"there is no text with the key {key!r}; it was deleted or evicted, or never was")
        return run

    def _put(self, run: _Run, place: int, texts: list[Text]) -> Changes:
        begin, old = run.begins[place], len(run.texts[place].starts)
        run.put(place, texts)
        return self._laid(run, begin, begin + old, sum(len(text.starts) for text in texts))

    def _laid(self, run: _Run, start: int, end: int, tokens: int) -> Changes:
        """Lay the chunks of a run anew whose tokens from start to end have become that many others."""
        moved = tokens - (end - start)
        first = bisect_right(run.marks, start - self.capacity, key=lambda mark: mark.start)
        behind = bisect_left(run.marks, end, key=lambda mark: mark.start)
        old = run.marks[first:behind]
        for mark in run.marks[behind:]:
            mark.start += moved
        begin = old[0].start if old else start
        upto = run.marks[behind].start if behind < len(run.marks) else run.end
        starts = range(begin, upto, self.step)
        for mark, at in zip(old, starts, strict=False):
            mark.start = at
        kept = old[: len(starts)]
        new = [self._new_mark(run, at) for at in starts[len(old) :]]
        run.marks[first:behind] = kept + new
        gone = [mark.id for mark in old[len(starts) :]]
        for id in gone:
            del self._marks[id]
        return _changes((mark.id for mark in new), (mark.id for mark in kept), gone, self._evicted())

    def _new_mark(self, run: _Run, start: int) -> _Mark:
        self._ids += 1
        mark = self._marks[self._ids] = _Mark(self._ids, run, start)
        return mark

    def _evicted(self) -> list[int]:
        """Drop the oldest chunks until there is room; their ids."""
        gone: list[int] = []
        while (surplus := len(self._marks) - self.limit) > 0:
            run = next(iter(self._runs.values()))
            dropped = [mark.id for mark in run.marks[:surplus]]
            del run.marks[:surplus]
            if run.marks:
                lost = run.trim(run.marks[0].start)
            else:
                lost = [text.key for text in run.texts]
                self._drop(run)
            for id in dropped:
                del self._marks[id]
            for key in lost:
                del self._homes[key]
            gone += dropped
        return gone

    def _drop(self, run: _Run) -> None:
        """Forget a run that is empty. What follows is not joined to what was before it: a separator stood between."""
        del self._runs[run.id]
        if self._open == run.id:
            self._open = None

    def state(self) -> dict[str, Any]:
        """All of it as values that JSON can hold."""
        return {
            "version": VERSION,
            "capacity": self.capacity,
            "overlap": self.overlap,
            "limit": self.limit,
            "last": [self._keys, self._ids, self._run_ids],
            "open": self._open,
            "runs": [
                {
                    "id": run.id,
                    "first": run.first,
                    "texts": [to_state(text) for text in run.texts],
                    "chunks": [[mark.id, mark.start] for mark in run.marks],
                }
                for run in self._runs.values()
            ],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ChunkQueue:
        """The queue of which `state` was taken. Raises BadInput where it is of another version, or damaged."""
        if not isinstance(state, Mapping) or state.get("version") != VERSION:
            version = state.get("version") if isinstance(state, Mapping) else None
            raise BadInput(f"this is no state of version {VERSION} but of {version!r}; write it anew with this version")
        try:
            queue = cls(state["capacity"], state["overlap"], state["limit"])
            queue._keys, queue._ids, queue._run_ids = state["last"]
            queue._open = state["open"]
            for each in state["runs"]:
                queue._read(each)
            if queue._open not in (None, *queue._runs):
                raise ValueError(f"its open run {queue._open!r} is not there")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise BadInput(f"this state of a chunk queue is damaged ({error}); restore it from a copy") from error
        return queue

    def _read(self, state: Mapping[str, Any]) -> None:
        run = self._runs[state["id"]] = _Run(state["id"], state["first"])
        for each in state["texts"]:
            text = from_state(each)
            run.append(text)
            self._homes[text.key] = run
        for id, start in state["chunks"]:
            self._marks[id] = _Mark(id, run, start)
            run.marks.append(self._marks[id])
        starts = [mark.start for mark in run.marks]
        steps = [behind - before for before, behind in pairwise(starts)]
        if starts[0] != run.first or not run.end - self.step <= starts[-1] < run.end:
            raise ValueError(f"the chunks of run {run.id} do not hold its texts")
        if not all(0 < step <= self.step for step in steps):
            raise ValueError(f"the chunks of run {run.id} do not overlap as they should")


def _changes(new: Iterable[int], kept: Iterable[int], gone: Sequence[int], evicted: Sequence[int]) -> Changes:
    """Changes of which a chunk that came and went at once is none."""
    lost, came = dict.fromkeys(evicted), dict.fromkeys(new)
    appeared = tuple(id for id in came if id not in lost)
    changed = tuple(id for id in kept if id not in lost)
    return Changes(appeared, changed, (*gone, *(id for id in lost if id not in came)))
