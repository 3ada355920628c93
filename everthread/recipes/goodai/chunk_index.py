"""Updates the chunks of a bank from its lines.

The progress is saved as a setting of the bank, in one transaction with the chunks, so an interrupted or concurrent
update is noticed and repeated. If lines were only added, chunks continue from the end of the last ones. If lines were
retracted, the store has also removed all chunks that contained some of them; sessions with a missing chunk are cut
again, and unchanged chunks stay. Removed chunks are deleted, even retracted ones: the lines are the record, not the
chunks.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise, takewhile

import numpy as np

from everthread.bank.embedding_backlog import embedding_text
from everthread.common.keys import SETTING_CHUNKS
from everthread.embedders.encoder import Encoder
from everthread.recipes.goodai.cutting import Cutting
from everthread.recipes.goodai.token_stream import (
    CHUNK,
    SESSION,
    ChunkPosition,
    TokenStream,
    get_position,
    tokenize_line,
)
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.stores.base import CorpusStats, Store
from everthread.stores.unit_store import UnitReplacement
from everthread.types import Filter, JSONValue, Line, NewUnit, Session, Unit, now

log = logging.getLogger("everthread")

PAGE_LINES = 512  # lines whose chunks are embedded and written together
EVICTION_DIVISOR = 100  # 1/100 of all chunks is evicted at once, because finding the oldest takes time
MAX_ATTEMPTS = 8  # of an update, if other processes write at the same time


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    """The settings with which token streams are cut into chunks."""

    cutting: Cutting
    tokenizer: Tokenizer
    context: int = 0  # lines before a chunk that it also derives from

    @property
    def name(self) -> str:
        """The identifier of the settings: chunks that were cut with other settings are cut again."""
        kind = getattr(self.tokenizer, "name", None) or getattr(self.tokenizer, "__qualname__", None)
        name = f"{self.cutting.capacity}/{self.cutting.step}/{kind or type(self.tokenizer).__name__}"
        name += "/lines" if self.cutting.keeps_lines else ""
        return f"{name}/{self.context} before" if self.context else name

    def stream(self, lines: Iterable[Line], at: int = 0) -> TokenStream:
        return TokenStream.from_lines(((line, tokenize_line(line, self.tokenizer)) for line in lines), at)

    def chunks(self, stream: TokenStream, begin: int = 0) -> list[NewUnit]:
        return stream.cut(begin, self.cutting, self.context)

    def may_grow(self, chunk: Chunk) -> bool:
        """Return whether a chunk at the end of its session grows with the next line."""
        return not self.cutting.keeps_lines and _position(chunk).tokens < self.cutting.capacity


@dataclass(frozen=True, slots=True)
class State:
    """The progress of the chunks through the lines of a bank.

    It contains no words of lines and no session names, since forgetting those doesn't change it.
    """

    cut: str  # name of the chunking
    last: int = 0  # the last line with chunks
    lines: int = 0  # active lines up to it; the count changes if one is retracted
    retracted: int = 0  # retracted lines up to it
    # The tail: the chunks at the end of the latest session that aren't full yet.
    seq: int = 0  # the line in which the tail begins
    before: int = 0  # tokens of that line before the tail
    at: int = 0  # position of the first token of the tail
    tail: tuple[int, ...] = ()  # ids of the chunks of the tail that are written
    open: bool = False  # whether some chunks of the tail are not written
    count: int = 0  # upper bound of the number of chunks, for eviction
    first: int = 0  # the first line of the oldest chunk that was not evicted
    above: int = 0  # the greatest id ever assigned, so that none is reused

    def json(self) -> dict[str, JSONValue]:
        return {**asdict(self), "tail": list(self.tail)}


Chunk = Unit | NewUnit  # stored, or to be written
_FIELDS = State("").json().keys()


@dataclass(slots=True)
class _Change:
    """A change of the chunks, to be written in one transaction."""

    removed_ids: list[int] = field(default_factory=list)
    new: list[NewUnit] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # that were read for it
    tail: list[Chunk] | None = None  # the chunks of the latest session that aren't full; None: unchanged
    is_partial: bool = False  # whether further changes must follow


class ChunkIndex:
    """Keeps the chunks of one bank up to date with its lines."""

    def __init__(
        self,
        store: Store,
        bank: str,
        encoder: Encoder,
        config: ChunkingConfig,
        max_chunks: int,
        finish: Callable[[list[NewUnit]], list[NewUnit]] = list,
    ) -> None:
        """Create an index.

        Args:
            store: the store.
            bank: the bank.
            encoder: embeds the chunks.
            config: the settings with which streams are cut.
            max_chunks: maximum number of chunks; more chunks evict the oldest.
            finish: changes new chunks before they are embedded and written.
        """
        self.store, self.bank, self.encoder = store, bank, encoder
        self.config, self.max_chunks, self.finish = config, max_chunks, finish

    def update(self, shown: Collection[int] | None = None) -> None:
        """Update the chunks.

        Args:
            shown: numbers of the lines in the prompt. If given, the chunks of the latest session that aren't full yet
                are written, too, unless all their lines are shown.
        """
        failed_attempts = 0
        while failed_attempts < MAX_ATTEMPTS:
            succeeded = self._step(shown)
            if succeeded is None:
                return
            failed_attempts += not succeeded
        log.warning("chunks will be updated at the next line or question: another process keeps writing to the bank")

    def _step(self, shown: Collection[int] | None) -> bool | None:
        """Write one transaction; return whether it succeeded, or None if there is no work or no embedder answers."""
        setting = self.store.settings(self.bank).get(SETTING_CHUNKS)
        if (state := self._parse_state(setting)) is None:
            return self._restart(setting)
        corpus = self.store.corpus_stats(self.bank)
        if (state.last, state.lines, state.retracted) == (corpus.last_seq, corpus.lines, corpus.retracted):
            if not state.open or shown is None or set(shown).issuperset(range(state.seq, state.last + 1)):
                return None
            change = self._append(state, [], state.last, is_final=True)
            return self._put(setting, state, change) if change else self._repair(setting, state, corpus, None)
        found = self.store.lines(self.bank, after=state.last, limit=PAGE_LINES, include_retracted=True)
        page = [line for line in found if line.seq <= corpus.last_seq]  # later lines are not in the statistics
        has_more = len(page) == PAGE_LINES
        lines = [line for line in page if line.retracted_at is None]
        after = replace(
            state,
            last=page[-1].seq if has_more else corpus.last_seq,
            lines=state.lines + len(lines),
            retracted=state.retracted + len(page) - len(lines),
        )
        only_added = has_more or (after.lines, after.retracted) == (corpus.lines, corpus.retracted)
        if only_added and (change := self._append(state, lines, after.last)):
            return self._put(setting, after, change)
        some_forgotten = has_more or after.lines - corpus.lines != corpus.retracted - after.retracted
        touched = None if some_forgotten else self._find_touched_sessions(state, lines)
        return self._repair(setting, state, corpus, touched)

    def _parse_state(self, setting: JSONValue | None) -> State | None:
        """Parse the saved state; None if it is missing, invalid or of other settings."""
        if not isinstance(setting, dict) or setting.keys() != _FIELDS or setting["cut"] != self.config.name:
            return None
        return State(**{**setting, "tail": tuple(setting["tail"])})

    def _restart(self, setting: JSONValue | None) -> bool | None:
        """Remove chunks that were cut with other settings."""
        old = [unit.id for unit in self.store.units(self.bank, (CHUNK,), include_retracted=True) if get_position(unit)]
        return self._put(setting, State(self.config.name), _Change(old))

    # ------------------------------------------------------------------- adding

    def _append(self, state: State, lines: Sequence[Line], last: int, is_final: bool = False) -> _Change | None:
        """Cut the added lines up to `last` into chunks; None if the chunks before them have changed."""
        first = self.store.get(self.bank, [state.seq])
        if state.seq and not first:
            return None
        continued = first[0].session if first else ""
        groups: dict[str, list[Line]] = {continued: []} if state.open else {}
        for line in lines:
            groups.setdefault(line.session, []).append(line)
        latest = lines[-1].session if lines else continued
        change = _Change()
        for session in sorted(groups, key=lambda name: name == latest):  # the latest comes last
            is_open = session == latest and not is_final
            if session == continued:
                if not self._continue(change, state, session, last, is_open):
                    return None
            else:
                stored = self._stored_chunks(session, groups[session][0].seq)
                self._recut(change, session, stored, state.first, last, is_open)
        return change

    def _continue(self, change: _Change, state: State, session: str, last: int, is_open: bool) -> bool:
        """Cut the chunks of the continued session that were not full; return False if their first line is missing."""
        lines = self._read_lines(session, last, after=state.seq - 1)
        if not lines or lines[0].seq != state.seq:
            return False
        change.lines += lines
        stream = self.config.stream(lines, state.at - state.before)
        change.removed_ids += state.tail
        self._write(change, self.config.chunks(stream, state.at), is_open)
        return True

    def _write(self, change: _Change, chunks: Sequence[Chunk], is_open: bool) -> None:
        """Add the new chunks of a session, of an open one only the full ones, and set the tail."""
        if chunks or not self.config.cutting.keeps_lines:  # else the place to continue from stays
            change.tail = self._select_tail(chunks)
        waiting = {id(chunk) for chunk in chunks if is_open and self.config.may_grow(chunk)}
        change.new += [chunk for chunk in chunks if isinstance(chunk, NewUnit) and id(chunk) not in waiting]

    def _select_tail(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks that change when the session continues: those not full, else the last."""
        return [chunk for chunk in chunks if self.config.may_grow(chunk)] or list(chunks[-1:])

    def _stored_chunks(self, session: str, before: int) -> list[Chunk]:
        """Return the stored chunks of a session that began before a line, by position; usually an empty list."""
        first = next(self.store.lines(self.bank, Filter(session=session), limit=1), None)
        if first is None or first.seq >= before:
            return []
        spans = self.store.unit_spans(self.bank, CHUNK)
        ids = spans[(spans[:, 1] >= first.seq) & (spans[:, 2] < before), 0]
        units = self.store.units(self.bank, (CHUNK,), ids=ids.tolist())
        return _sort_by_position(unit for unit in units if get_position(unit) and unit.metadata.get(SESSION) == session)

    def _recut(
        self, change: _Change, session: str, stored: Sequence[Chunk], first: int, last: int, is_open: bool
    ) -> list[Chunk]:
        """Cut all chunks of a session again, except for evicted ones; unchanged stored chunks stay."""
        lines = self._read_lines(session, last)
        change.lines += lines
        stream = self.config.stream(lines)
        stored_by_key = {_equality_key(unit): unit for unit in stored}
        cut = [chunk for chunk in self.config.chunks(stream) if chunk.first_seq >= first]
        chunks = [stored_by_key.get(_equality_key(chunk), chunk) for chunk in cut]
        unchanged_ids = {chunk.id for chunk in chunks if isinstance(chunk, Unit)}
        change.removed_ids += [unit.id for unit in stored if isinstance(unit, Unit) and unit.id not in unchanged_ids]
        self._write(change, chunks, is_open)
        return chunks

    def _read_lines(self, session: str, last: int, after: int = 0) -> list[Line]:
        """Return the active lines of a session up to one."""
        found = self.store.lines(self.bank, Filter(session=session), after=after)
        return list(takewhile(lambda line: line.seq <= last, found))

    # ---------------------------------------------------------------- repairing

    def _find_touched_sessions(self, state: State, lines: Sequence[Line]) -> set[str] | None:
        """Return the sessions whose chunks may be incomplete, if no line was forgotten.

        These are the sessions of retracted chunks, of new lines, and the continued one. None: they are unknown.
        """
        first = next(self.store.lines(self.bank, after=state.seq - 1, limit=1, include_retracted=True), None)
        if state.seq == 0 or first is None:
            return None
        ids = self.store.unit_spans(self.bank, CHUNK, retracted=True)[:, 0]
        retracted = self.store.units(self.bank, (CHUNK,), include_retracted=True, ids=ids.tolist())
        sessions = (str(unit.metadata.get(SESSION)) for unit in retracted)
        return {first.session, *(line.session for line in lines), *sessions}

    def _affected_ids(self, sessions: Sequence[Session]) -> list[int]:
        """Return the ids of the chunks inside these sessions, and of retracted ones."""
        spans = self.store.unit_spans(self.bank, CHUNK)
        inside = np.zeros(len(spans), bool)
        for session in sessions:
            inside |= (spans[:, 1] >= session.first_seq) & (spans[:, 2] <= session.last_seq)
        retracted = self.store.unit_spans(self.bank, CHUNK, retracted=True)
        return [*spans[inside, 0].tolist(), *retracted[:, 0].tolist()]

    def _repair(
        self, setting: JSONValue | None, state: State, corpus: CorpusStats, touched: Collection[str] | None
    ) -> bool | None:
        """Cut sessions with incomplete chunks again, a limited number at a time.

        Args:
            setting: the saved setting.
            state: the state that it contains.
            corpus: the bank's statistics.
            touched: the sessions to check; None for all.
        """
        sessions = [session for session in self.store.sessions(self.bank) if touched is None or session.id in touched]
        ids = None if touched is None else self._affected_ids(sessions)
        stored: defaultdict[str, list[Chunk]] = defaultdict(list)
        change, cut_lines, retracted_ids = _Change(), 0, list[int]()
        for unit in self.store.units(self.bank, (CHUNK,), include_retracted=True, ids=ids):
            name = str(unit.metadata.get(SESSION))
            if get_position(unit) is None or (touched is not None and name not in touched):
                continue
            if unit.retracted_at is None:
                stored[name].append(unit)
            else:
                retracted_ids.append(unit.id)
        for session in sessions:
            chunks = stored[session.id] = _sort_by_position(stored[session.id])
            if self._is_complete(session, chunks, state):
                continue
            if cut_lines >= PAGE_LINES:
                change.is_partial = True
                break
            before = len(change.removed_ids) + len(change.new)
            stored[session.id] = self._recut(change, session.id, chunks, state.first, corpus.last_seq, is_open=False)
            cut_lines += session.lines if len(change.removed_ids) + len(change.new) > before else 0
        latest = max(filter(None, stored.values()), key=lambda chunks: chunks[-1].last_seq, default=[])
        change.tail = self._select_tail(latest)
        if change.is_partial:
            return self._put(setting, state, change)
        change.removed_ids += retracted_ids  # not earlier: retracted chunks show which sessions are touched
        after = replace(state, last=corpus.last_seq, lines=corpus.lines, retracted=corpus.retracted)
        return self._put(setting, after, change)

    def _is_complete(self, session: Session, chunks: Sequence[Chunk], state: State) -> bool:
        """Return whether the chunks of a session cover all of its lines.

        They do if the first chunk that is not evicted begins where the session does, no chunk is missing between them,
        and the last chunk is at the end of the session. If the store removed a chunk with a line, one of these is
        false. (If chunks don't overlap, the last may be full; then only its last line decides.)
        """
        if session.lines == 0 or session.last_seq < state.first:
            return True
        if not chunks or session.last_seq > state.last:
            return False
        positions = [_position(chunk) for chunk in chunks]
        last = positions[-1]
        has_start = positions[0].start == 0 or chunks[0].first_seq == state.first
        has_no_gap = all(self._is_next(one, two) for one, two in pairwise(positions))
        has_end = self.config.may_grow(chunks[-1]) or chunks[-1].last_seq == session.last_seq
        is_short = self.config.cutting.keeps_lines or last.tokens <= self.config.cutting.step
        return has_start and has_no_gap and has_end and is_short and last.after == 0

    def _is_next(self, one: ChunkPosition, two: ChunkPosition) -> bool:
        """Return whether no chunk is missing between two."""
        if self.config.cutting.keeps_lines and two.start >= one.end:
            return two.start == one.end
        return two.start - one.start == self.config.cutting.step

    # ------------------------------------------------------------------ writing

    def _put(self, setting: JSONValue | None, state: State, change: _Change) -> bool | None:
        """Write a change and the resulting state; None if no embedder answers."""
        state = self._evict(state, change)
        units = self.finish(change.new)
        vectors = self.encoder.try_embed_vectors([embedding_text(unit) for unit in units]) if units else []
        if vectors is None:
            return None
        numbers = {id(unit): number for number, unit in enumerate(change.new)}

        def after(first: int) -> JSONValue:
            written = {id(unit): unit.id for unit in change.tail or () if isinstance(unit, Unit)}
            written |= {unit: first + number for unit, number in numbers.items()}
            above = first + len(change.new) - 1
            return replace(self._with_tail(state, change, written), above=above).json()

        sources = {seq for unit in units for seq in unit.sources}
        rewriting = UnitReplacement(
            kind=CHUNK,
            delete_ids=change.removed_ids,
            units=units,
            vectors=vectors,
            min_id=state.above,
            setting=SETTING_CHUNKS,
            expected_value=setting,
            make_value=after,
            lines=[line for line in change.lines if line.seq in sources],
        )
        return self.store.replace_units(self.bank, rewriting, self.encoder.name, now())

    def _with_tail(self, state: State, change: _Change, written: dict[int, int]) -> State:
        """Return the state from which the session of a change continues; the arguments are of `_with_open_tail`."""
        if change.tail is None:
            return state
        if change.is_partial or not change.tail:
            return replace(state, seq=0, before=0, at=0, tail=(), open=False)
        if not self.config.cutting.keeps_lines:
            return _with_open_tail(state, change, written)
        last, position = change.tail[-1], _position(change.tail[-1])
        return replace(
            state, seq=last.first_seq, before=position.before + position.tokens, at=position.end, tail=(), open=False
        )

    def _evict(self, state: State, change: _Change) -> State:
        """Evict the oldest chunks beyond the limit, except for units of another origin."""
        count = state.count + len(change.new) - len(change.removed_ids)
        if count <= self.max_chunks:
            return replace(state, count=max(count, 0))
        spans = self.store.unit_spans(self.bank, CHUNK)
        spans = spans[~np.isin(spans[:, 0], change.removed_ids)]
        spans = spans[np.lexsort((spans[:, 0], spans[:, 1]))]  # by first line, then by id
        surplus = len(spans) + len(change.new) - self.max_chunks
        if surplus <= 0:
            return replace(state, count=len(spans) + len(change.new))
        oldest, remaining = np.split(spans, [surplus + self.max_chunks // EVICTION_DIVISOR])
        units = self.store.units(self.bank, (CHUNK,), ids=oldest[:, 0].tolist())
        evicted = [unit.id for unit in units if get_position(unit)]
        change.removed_ids += evicted
        del change.new[: max(surplus - len(oldest), 0)]
        begins = [*remaining[:1, 1].tolist(), *(unit.first_seq for unit in change.new)]
        return replace(state, count=len(spans) - len(evicted) + len(change.new), first=min(begins, default=state.last))


def _with_open_tail(state: State, change: _Change, written: dict[int, int]) -> State:
    """Return the state with the tail of a change: the chunks that aren't full, or the last one.

    Args:
        state: the state before.
        change: the change.
        written: the ids of the written chunks, by the `id()` of the objects.
    """
    assert change.tail
    first, position = change.tail[0], _position(change.tail[0])
    ids = [written[id(chunk)] for chunk in change.tail if id(chunk) in written]
    return replace(
        state,
        seq=first.first_seq,
        before=position.before,
        at=position.start,
        tail=tuple(chunk_id for chunk_id in ids if chunk_id not in change.removed_ids),
        open=len(ids) < len(change.tail),
    )


def _position(chunk: Chunk) -> ChunkPosition:
    """Return the position of a chunk that this recipe wrote."""
    position = get_position(chunk)
    assert position is not None
    return position


def _sort_by_position(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Sort the chunks of a session by position."""
    return sorted(chunks, key=lambda chunk: _position(chunk).start)


def _equality_key(chunk: Chunk) -> tuple[ChunkPosition, str, int, int]:
    """Return a key that is equal for equal chunks of a session."""
    return _position(chunk), chunk.text, chunk.first_seq, chunk.last_seq
