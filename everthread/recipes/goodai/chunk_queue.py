"""Cuts a queue of texts into overlapping chunks, as goodai-ltm does. Pure.

Texts are concatenated in a *run*; a separator ends the run. If texts were only added to a run, chunk i begins at token
i · step and contains `capacity` tokens; the last chunks, at the run's end, are shorter. A chunk may thus contain the
end of one text and the beginning of the next. When a text is replaced or deleted, the chunks that contained some of it
are cut again from the remaining tokens, up to the first chunk that begins after it; all other chunks stay. So
neighbours don't change, the cost is proportional to the text, and two chunks share at least as many tokens as before.

With the boundary `line` (`cutting.py`) no chunk crosses the end of a line, and the chunks are always those that would
be cut from the remaining tokens at once.

The queue uses no tokenizer, vectors, store or clock: callers pass the positions at which tokens begin, and each
operation returns the chunks that it created, changed and removed. A token extends to the beginning of the next one,
so the tokens are the whole text, including blanks and line breaks.
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
from everthread.recipes.goodai import cutting
from everthread.recipes.goodai.cutting import Cutting, Span, line_starts
from everthread.text.tokenized_text import Text, from_state, make_text, to_state
from everthread.types import Metadata

CHUNK_TOKENS = 24
OVERLAP = 0.5  # share of a chunk that the next one repeats
MAX_CHUNKS = 50_000  # more chunks evict the oldest
VERSION = 1  # of the saved state


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: the tokens of a run from start to end (excluded)."""

    id: int
    run: int
    start: int
    end: int
    text: str
    keys: tuple[int, ...]  # the keys of the texts with tokens in the chunk, in order
    main: int  # the key of the text with most tokens in the chunk; the first in a tie


@dataclass(frozen=True, slots=True)
class Changes:
    """The ids of the chunks that an operation created, changed or removed. No id is in two of these."""

    appeared: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class _Mark:
    """The first token of a chunk in its run, and the position after its last one."""

    id: int
    run: _Run
    start: int
    end: int


class _Run:
    """Concatenated texts. Positions count tokens, including evicted ones at the front."""

    def __init__(self, id: int, first: int = 0) -> None:
        self.id = id
        self.first = self.end = first
        self.texts: list[Text] = []  # their keys ascend
        self.begins: list[int] = []  # the position of each text's first token
        self.marks: list[_Mark] = []  # their starts ascend, and their ends don't descend

    def append(self, text: Text) -> None:
        self.texts.append(text)
        self.begins.append(self.end)
        self.end += len(text.starts)

    def put(self, index: int, texts: list[Text]) -> None:
        """Replace the text at an index by others, or remove it."""
        begin = self.begins[index]
        self.texts[index : index + 1] = texts
        del self.begins[index:]
        for text in self.texts[index:]:
            self.begins.append(begin)
            begin += len(text.starts)
        self.end = begin

    def trim(self, first: int) -> list[int]:
        """Drop all tokens before a position, and return the keys of the texts that are dropped whole."""
        index = bisect_right(self.begins, first) - 1
        dropped_keys = [text.key for text in self.texts[:index]]
        self.texts[: index + 1] = [self.texts[index].drop_tokens(first - self.begins[index])]
        self.begins[: index + 1] = [first]
        self.first = first
        return dropped_keys

    def index(self, key: int) -> int:
        """Return the index of a text."""
        return bisect_left(self.texts, key, key=lambda text: text.key)

    def parts(self, start: int, end: int) -> list[tuple[Text, int, int]]:
        """Return the texts between two positions, each with the range of its tokens."""
        parts = []
        index = bisect_right(self.begins, start) - 1
        while start < end:
            text, begin = self.texts[index], self.begins[index]
            part_end = min(end, begin + len(text.starts))
            parts.append((text, start - begin, part_end - begin))
            start, index = part_end, index + 1
        return parts


class ChunkQueue:
    """Stores texts under permanent keys, and the chunks cut from them.

    Keys and ids count from 1 and are never reused. Methods raise NotFound for a key or an id that doesn't exist.
    """

    def __init__(
        self,
        capacity: int = CHUNK_TOKENS,
        overlap: float = OVERLAP,
        limit: int = MAX_CHUNKS,
        boundary: str = cutting.NONE,
    ) -> None:
        """Create an empty queue.

        Args:
            capacity: tokens of a chunk.
            overlap: share of a chunk, up to a half, that the next one repeats.
            limit: maximum number of chunks. More chunks evict the oldest, with the tokens that no other chunk contains:
                a text loses its beginning that way, and its key with its last token.
            boundary: what no chunk crosses, `line` or `none`.

        Raises:
            BadInput: a value is invalid.
        """
        if capacity < 1:
            raise BadInput(f"invalid chunk capacity {capacity}; expected at least 1 token")
        if not 0 <= overlap <= 0.5:
            raise BadInput(f"invalid overlap {overlap}; expected a share from 0 to 0.5")
        if limit < 1:
            raise BadInput(f"invalid limit {limit}; expected at least 1 chunk")
        self.capacity, self.overlap, self.limit = capacity, overlap, limit
        self._cutting = Cutting(capacity, capacity - int(capacity * overlap), boundary)
        self._runs: OrderedDict[int, _Run] = OrderedDict()
        self._open: int | None = None  # the run to which the next text is added
        self._runs_by_key: dict[int, _Run] = {}  # the run of each text, by the text's key
        self._marks: dict[int, _Mark] = {}
        self._keys = self._ids = self._run_ids = 0  # the last ones assigned

    @property
    def step(self) -> int:
        """The number of tokens from the start of a chunk to that of the next, within a line if it keeps lines."""
        return self._cutting.step

    def add(
        self,
        text: str,
        starts: Sequence[int],
        metadata: Metadata | None = None,
        timestamp: datetime | None = None,
        importance: int | None = None,
    ) -> tuple[int, Changes]:
        """Append a text.

        Args:
            text: the text.
            starts: the ascending positions at which its tokens begin.
            metadata: any JSON-serialisable mapping.
            timestamp: when the text was said.
            importance: from 1 to 10.

        Returns:
            The text's key, and the changes of chunks.
        """
        new = make_text(self._keys + 1, text, starts, {} if metadata is None else metadata, timestamp, importance)
        self._keys = new.key
        run = self._runs[self._open] if self._open is not None else self._new_run()
        end = run.end
        run.append(new)
        self._runs_by_key[new.key] = run
        return new.key, self._cut_again(run, end, end, len(new.starts))

    def replace(
        self,
        key: int,
        text: str,
        starts: Sequence[int],
        metadata: Metadata,
        timestamp: datetime | None,
        importance: int | None,
    ) -> Changes:
        """Replace a text; its key and position stay. Arguments are those of `add`."""
        run = self._get_run(key)
        new = make_text(key, text, starts, metadata, timestamp, importance)
        return self._replace(run, run.index(key), [new])

    def delete(self, key: int) -> Changes:
        """Remove a text, so that its neighbours become adjacent."""
        run = self._get_run(key)
        changes = self._replace(run, run.index(key), [])
        del self._runs_by_key[key]
        if not run.texts:
            self._drop_run(run)
        return changes

    def separate(self) -> None:
        """Keep the last text and the next one in different chunks."""
        self._open = None

    def clear(self) -> Changes:
        """Remove all texts. Keys and ids are not reused."""
        removed = tuple(self._marks)
        self._runs.clear()
        self._runs_by_key.clear()
        self._marks.clear()
        self._open = None
        return Changes(removed=removed)

    def get(self, key: int) -> Text:
        run = self._get_run(key)
        return run.texts[run.index(key)]

    def texts(self) -> list[Text]:
        """Return all texts, in order."""
        return [text for run in self._runs.values() for text in run.texts]

    def ids(self) -> list[int]:
        """Return the ids of all chunks, the oldest first."""
        return [mark.id for run in self._runs.values() for mark in run.marks]

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._marks)

    def __contains__(self, id: object) -> bool:
        """Return whether a chunk of that id exists."""
        return id in self._marks

    def chunk(self, id: int) -> Chunk:
        if (mark := self._marks.get(id)) is None:
            raise NotFound(f"chunk {id!r} not found; it was evicted or deleted, or never existed")
        parts = mark.run.parts(mark.start, mark.end)
        text = "".join(text.join_tokens(first, last) for text, first, last in parts)
        main = max(parts, key=lambda part: part[2] - part[1])[0].key
        return Chunk(id, mark.run.id, mark.start, mark.end, text, tuple(part[0].key for part in parts), main)

    def bounds(self, run: int) -> tuple[int, int]:
        """Return the start and end (excluded) of a run."""
        return self._runs[run].first, self._runs[run].end

    def pieces(self, run: int, start: int, end: int) -> list[str]:
        """Return the tokens of a run from start to end (excluded), both within its bounds."""
        parts = self._runs[run].parts(start, end)
        return [piece for text, first, last in parts for piece in text.pieces(first, last)]

    def _new_run(self) -> _Run:
        self._run_ids += 1
        self._open = self._run_ids
        run = self._runs[self._open] = _Run(self._open)
        return run

    def _get_run(self, key: int) -> _Run:
        if (run := self._runs_by_key.get(key)) is None:
            raise NotFound(f"text with key {key!r} not found; it was deleted or evicted, or never existed")
        return run

    def _replace(self, run: _Run, index: int, texts: list[Text]) -> Changes:
        begin, old = run.begins[index], len(run.texts[index].starts)
        run.put(index, texts)
        return self._cut_again(run, begin, begin + old, sum(len(text.starts) for text in texts))

    def _cut_again(self, run: _Run, start: int, end: int, tokens: int) -> Changes:
        """Cut a run again around the tokens from start to end, which were replaced by `tokens` others."""
        shift = tokens - (end - start)
        first, resume = self._find_affected(run, start, end, shift)
        next_mark = bisect_left(run.marks, resume - shift, key=lambda mark: mark.start)
        old = run.marks[first:next_mark]
        for mark in run.marks[next_mark:]:
            mark.start += shift
            mark.end += shift
        spans = self._spans(run, old[0].start if old else start, resume)
        changed = [
            mark.id for mark, span in zip(old, spans, strict=False) if (mark.start, mark.end) != span or span[1] > start
        ]
        for mark, span in zip(old, spans, strict=False):
            mark.start, mark.end = span
        new = [self._new_mark(run, span) for span in spans[len(old) :]]
        run.marks[first:next_mark] = old[: len(spans)] + new
        removed = [mark.id for mark in old[len(spans) :]]
        for id in removed:
            del self._marks[id]
        return _combine_changes((mark.id for mark in new), changed, removed, self._evict())

    def _find_affected(self, run: _Run, start: int, end: int, shift: int) -> tuple[int, int]:
        """Return the index of the first chunk that an edit affects, and the position from which chunks stay.

        Args:
            run: the run after the edit, with the chunks before it.
            start: position of the first replaced token.
            end: position after the last replaced token, before the edit.
            shift: the number of tokens that the edit added.
        """
        if not self._cutting.keeps_lines:
            first = bisect_right(run.marks, start - self.capacity, key=lambda mark: mark.start)
            next_mark = bisect_left(run.marks, end, key=lambda mark: mark.start)
            return first, run.marks[next_mark].start + shift if next_mark < len(run.marks) else run.end
        first = bisect_left(run.marks, start, key=lambda mark: mark.end)
        after = end + shift
        pieces = (piece for text, *tokens in run.parts(after, run.end) for piece in text.pieces(*tokens))
        return first, after + next(line_starts(pieces), run.end - after)

    def _spans(self, run: _Run, begin: int, stop: int) -> list[Span]:
        """Cut the tokens of a run from the start of a chunk to that of the first one that stays."""
        if not self._cutting.keeps_lines:
            return self._cutting.strided(begin, stop, run.end)
        return self._cutting.spans(self.pieces(run.id, begin, stop), begin)

    def _new_mark(self, run: _Run, span: Span) -> _Mark:
        self._ids += 1
        mark = self._marks[self._ids] = _Mark(self._ids, run, *span)
        return mark

    def _evict(self) -> list[int]:
        """Evict the oldest chunks beyond the limit, and return their ids."""
        evicted: list[int] = []
        while (surplus := len(self._marks) - self.limit) > 0:
            run = next(iter(self._runs.values()))
            ids = [mark.id for mark in run.marks[:surplus]]
            del run.marks[:surplus]
            if run.marks:
                keys = run.trim(run.marks[0].start)
            else:
                keys = [text.key for text in run.texts]
                self._drop_run(run)
            for id in ids:
                del self._marks[id]
            for key in keys:
                del self._runs_by_key[key]
            evicted += ids
        return evicted

    def _drop_run(self, run: _Run) -> None:
        """Drop an empty run. The next text begins another run, since a separator came before."""
        del self._runs[run.id]
        if self._open == run.id:
            self._open = None

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON."""
        return {
            "version": VERSION,
            "capacity": self.capacity,
            "overlap": self.overlap,
            "limit": self.limit,
            "boundary": self._cutting.boundary,
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
        """Restore a queue from what `state` returned. Raises BadInput if it is damaged or of another version."""
        if not isinstance(state, Mapping) or state.get("version") != VERSION:
            version = state.get("version") if isinstance(state, Mapping) else None
            raise BadInput(
                f"invalid state: got version {version!r}, expected {VERSION}; write it again with this version"
            )
        try:
            queue = cls(state["capacity"], state["overlap"], state["limit"], state.get("boundary", cutting.NONE))
            queue._keys, queue._ids, queue._run_ids = state["last"]
            queue._open = state["open"]
            for run in state["runs"]:
                queue._read_run(run)
            if queue._open not in (None, *queue._runs):
                raise ValueError(f"its open run {queue._open!r} is missing")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise BadInput(f"this state of a chunk queue is damaged ({error}); restore it from a copy") from error
        return queue

    def _read_run(self, state: Mapping[str, Any]) -> None:
        run = self._runs[state["id"]] = _Run(state["id"], state["first"])
        for text_state in state["texts"]:
            text = from_state(text_state)
            run.append(text)
            self._runs_by_key[text.key] = run
        spans = self._restore_spans(run, [start for _, start in state["chunks"]])
        for (id, _), span in zip(state["chunks"], spans, strict=True):
            self._marks[id] = _Mark(id, run, *span)
            run.marks.append(self._marks[id])

    def _restore_spans(self, run: _Run, starts: Sequence[int]) -> list[Span]:
        """Return the chunks of a run with these starts. Raises ValueError if they don't hold all of its tokens."""
        if self._cutting.keeps_lines:
            spans = self._spans(run, run.first, run.end)
            if [start for start, _ in spans] != starts:
                raise ValueError(f"the chunks of run {run.id} are not those of its lines")
            return spans
        if starts[0] != run.first or not run.end - self.step <= starts[-1] < run.end:
            raise ValueError(f"the chunks of run {run.id} do not cover its texts")
        if not all(0 < after - before <= self.step for before, after in pairwise(starts)):
            raise ValueError(f"the chunks of run {run.id} overlap incorrectly")
        return [(start, min(start + self.capacity, run.end)) for start in starts]


def _combine_changes(
    new: Iterable[int], reused: Iterable[int], removed: Sequence[int], evicted: Sequence[int]
) -> Changes:
    """Combine changes, without chunks that were created and evicted at once."""
    new_ids, evicted_ids = dict.fromkeys(new), dict.fromkeys(evicted)
    appeared = tuple(id for id in new_ids if id not in evicted_ids)
    changed = tuple(id for id in reused if id not in evicted_ids)
    return Changes(appeared, changed, (*removed, *(id for id in evicted_ids if id not in new_ids)))
