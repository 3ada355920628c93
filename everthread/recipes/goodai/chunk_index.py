"""Updates the chunks of a bank from its lines.

Progress is a setting of the bank, written in one transaction with the chunks, so an interrupted or concurrent update is
noticed and repeated. If lines were only added, chunks continue from the end of the last ones. If lines were retracted,
the store has also removed all chunks that held some of them; sessions with a missing chunk are cut again, and unchanged
chunks stay. Removed chunks are deleted, even retracted ones: the lines are the record, not the chunks.
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
from everthread.recipes.goodai.token_stream import (
    CHUNK,
    SESSION,
    ChunkPosition,
    TokenStream,
    get_position,
    tokenize_line,
)
from everthread.recipes.goodai.tokenizers import Tokenizer
from everthread.stores.base import CorpusStats, Store, UnitReplacement
from everthread.types import Filter, JSONValue, Line, NewUnit, Session, Unit, now

log = logging.getLogger("everthread")

PAGE_LINES = 512  # whose chunks are embedded and written together
EVICTION_DIVISOR = 100  # 1/100 of a full queue is evicted at once, so that the oldest are rarely searched for
MAX_ATTEMPTS = 8  # if another process writes at the same time


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    """How streams are cut."""

    capacity: int  # tokens of a chunk
    step: int  # tokens from the start of a chunk to that of the next
    tokenizer: Tokenizer
    context: int = 0  # lines before a chunk that it also derives from

    @property
    def name(self) -> str:
        """An identifier: chunks with another one are cut again."""
        kind = getattr(self.tokenizer, "name", None) or getattr(self.tokenizer, "__qualname__", None)
        name = f"{self.capacity}/{self.step}/{kind or type(self.tokenizer).__name__}"
        return f"{name}/{self.context} before" if self.context else name

    def stream(self, lines: Iterable[Line], at: int = 0) -> TokenStream:
        return TokenStream.from_lines(((line, tokenize_line(line, self.tokenizer)) for line in lines), at)

    def chunks(self, stream: TokenStream, begin: int = 0) -> list[NewUnit]:
        return stream.cut(begin, self.capacity, self.step, self.context)


@dataclass(frozen=True, slots=True)
class State:
    """The progress of an update.

    It contains no words of lines and no session's name, since forgetting those doesn't change it.
    """

    cut: str  # name of the chunking
    last: int = 0  # the last line with chunks
    lines: int = 0  # active lines up to it; the count changes if one is retracted
    retracted: int = 0  # retracted lines up to it
    seq: int = 0  # the line, in the session that continues, where the chunks begin that aren't full yet
    before: int = 0  # tokens of that line before these chunks
    at: int = 0  # position of the first of them
    tail: tuple[int, ...] = ()  # ids of those that are written
    open: bool = False  # whether some are not written
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

    gone: list[int] = field(default_factory=list)  # ids
    new: list[NewUnit] = field(default_factory=list)
    tail: list[Chunk] | None = None  # those of the last session that aren't full, written or not; None: unchanged
    is_partial: bool = False  # more changes are needed until the state is reached


class ChunkIndex:
    """The chunks of one bank."""

    def __init__(
        self,
        store: Store,
        bank: str,
        encoder: Encoder,
        cut: ChunkingConfig,
        most: int,
        finish: Callable[[list[NewUnit]], list[NewUnit]] = list,
    ) -> None:
        self.store, self.bank, self.encoder = store, bank, encoder
        self.cut, self.most, self.finish = cut, most, finish

    def update(self, shown: Collection[int] | None = None) -> None:
        """Update the chunks.

        Args:
            shown: numbers of the lines in the prompt. If given, the last session's chunks that aren't full yet are
                written, too, unless all their lines are shown.
        """
        failed_attempts = 0
        while failed_attempts < MAX_ATTEMPTS:
            done = self._step(shown)
            if done is None:
                return
            failed_attempts += not done
        log.warning("chunks will be updated at the next line or question: another process keeps writing to the bank")

    def _step(self, shown: Collection[int] | None) -> bool | None:
        """Write one transaction; return whether it succeeded, or None if there is no work or no embedder answers."""
        kept = self.store.settings(self.bank).get(SETTING_CHUNKS)
        if (state := self._parse_state(kept)) is None:
            return self._restart(kept)
        corpus = self.store.corpus_stats(self.bank)
        if (state.last, state.lines, state.retracted) == (corpus.last_seq, corpus.lines, corpus.retracted):
            if not state.open or shown is None or set(shown).issuperset(range(state.seq, state.last + 1)):
                return None
            change = self._append(state, [], state.last, is_final=True)
            return self._put(kept, state, change) if change else self._repair(kept, state, corpus, None)
        found = self.store.lines(self.bank, after=state.last, limit=PAGE_LINES, include_retracted=True)
        page = [line for line in found if line.seq <= corpus.last_seq]  # counted in the corpus
        more = len(page) == PAGE_LINES
        lines = [line for line in page if line.retracted_at is None]
        after = replace(
            state,
            last=page[-1].seq if more else corpus.last_seq,
            lines=state.lines + len(lines),
            retracted=state.retracted + len(page) - len(lines),
        )
        added = more or (after.lines, after.retracted) == (corpus.lines, corpus.retracted)
        if added and (change := self._append(state, lines, after.last)):
            return self._put(kept, after, change)
        forgotten = more or after.lines - corpus.lines != corpus.retracted - after.retracted
        return self._repair(kept, state, corpus, None if forgotten else self._find_touched_sessions(state, lines))

    def _parse_state(self, kept: JSONValue | None) -> State | None:
        """Parse the state; None if it is missing, invalid or of another chunking."""
        if not isinstance(kept, dict) or kept.keys() != _FIELDS or kept["cut"] != self.cut.name:
            return None
        return State(**{**kept, "tail": tuple(kept["tail"])})

    def _restart(self, kept: JSONValue | None) -> bool | None:
        """Remove the chunks of another chunking."""
        old = [unit.id for unit in self.store.units(self.bank, (CHUNK,), include_retracted=True) if get_position(unit)]
        return self._put(kept, State(self.cut.name), _Change(old))

    # ------------------------------------------------------------------- adding

    def _append(self, state: State, lines: Sequence[Line], last: int, is_final: bool = False) -> _Change | None:
        """Chunk the added lines up to `last`; None if the chunks before are not unchanged."""
        first = self.store.get(self.bank, [state.seq])
        if state.seq and not first:
            return None
        going = first[0].session if first else ""
        groups: dict[str, list[Line]] = {going: []} if state.open else {}
        for line in lines:
            groups.setdefault(line.session, []).append(line)
        latest = lines[-1].session if lines else going
        change = _Change()
        for session in sorted(groups, key=lambda name: name == latest):  # it comes last
            open_ = session == latest and not is_final
            if session == going:
                if not self._continue(change, state, session, last, open_):
                    return None
            else:
                self._recut(
                    change, session, self._stored_chunks(session, groups[session][0].seq), state.first, last, open_
                )
        return change

    def _continue(self, change: _Change, state: State, session: str, last: int, open_: bool) -> bool:
        """Cut the chunks of the continued session that were not full; False if their first line is gone."""
        lines = self._read_lines(session, last, after=state.seq - 1)
        if not lines or lines[0].seq != state.seq:
            return False
        stream = self.cut.stream(lines, state.at - state.before)
        change.gone += state.tail
        self._write(change, self.cut.chunks(stream, state.at), open_)
        return True

    def _write(self, change: _Change, chunks: Sequence[Chunk], open_: bool) -> None:
        """Add all chunks of a session, stored ones included; of an open session, only full ones are written."""
        change.tail = self._select_tail(chunks)
        waiting = {id(chunk) for chunk in chunks if open_ and _position(chunk).tokens < self.cut.capacity}
        change.new += [chunk for chunk in chunks if isinstance(chunk, NewUnit) and id(chunk) not in waiting]

    def _select_tail(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks that change when the session continues: those not full, else the last."""
        return [chunk for chunk in chunks if _position(chunk).tokens < self.cut.capacity] or list(chunks[-1:])

    def _stored_chunks(self, session: str, before: int) -> list[Chunk]:
        """Return the chunks of a session that began before a line, by position; usually an empty list."""
        first = next(self.store.lines(self.bank, Filter(session=session), limit=1), None)
        if first is None or first.seq >= before:
            return []
        spans = self.store.unit_spans(self.bank, CHUNK)
        ids = spans[(spans[:, 1] >= first.seq) & (spans[:, 2] < before), 0]
        units = self.store.units(self.bank, (CHUNK,), ids=ids.tolist())
        return _sort_by_position(unit for unit in units if get_position(unit) and unit.metadata.get(SESSION) == session)

    def _recut(
        self, change: _Change, session: str, held: Sequence[Chunk], first: int, last: int, open_: bool
    ) -> list[Chunk]:
        """Cut all chunks of a session again, except for evicted ones; unchanged stored ones stay."""
        stream = self.cut.stream(self._read_lines(session, last))
        there = {_equality_key(unit): unit for unit in held}
        chunks = [
            there.get(_equality_key(chunk), chunk) for chunk in self.cut.chunks(stream) if chunk.first_seq >= first
        ]
        staying = {chunk.id for chunk in chunks if isinstance(chunk, Unit)}
        change.gone += [unit.id for unit in held if isinstance(unit, Unit) and unit.id not in staying]
        self._write(change, chunks, open_)
        return chunks

    def _read_lines(self, session: str, last: int, after: int = 0) -> list[Line]:
        """Return the active lines of a session up to one."""
        found = self.store.lines(self.bank, Filter(session=session), after=after)
        return list(takewhile(lambda line: line.seq <= last, found))

    # ---------------------------------------------------------------- repairing

    def _find_touched_sessions(self, state: State, lines: Sequence[Line]) -> set[str] | None:
        """Return the sessions whose chunks may be incomplete, if no line was forgotten.

        These are the sessions of retracted chunks, of new lines, and the continued one. None: it is unknown.
        """
        first = next(self.store.lines(self.bank, after=state.seq - 1, limit=1, include_retracted=True), None)
        if state.seq == 0 or first is None:
            return None
        ids = self.store.unit_spans(self.bank, CHUNK, retracted=True)[:, 0]
        gone = self.store.units(self.bank, (CHUNK,), include_retracted=True, ids=ids.tolist())
        return {first.session, *(line.session for line in lines), *(str(unit.metadata.get(SESSION)) for unit in gone)}

    def _affected_ids(self, sessions: Sequence[Session]) -> list[int]:
        """Return the ids of the chunks inside these sessions, and of retracted ones."""
        spans = self.store.unit_spans(self.bank, CHUNK)
        inside = np.zeros(len(spans), bool)
        for each in sessions:
            inside |= (spans[:, 1] >= each.first_seq) & (spans[:, 2] <= each.last_seq)
        retracted = self.store.unit_spans(self.bank, CHUNK, retracted=True)
        return [*spans[inside, 0].tolist(), *retracted[:, 0].tolist()]

    def _repair(
        self, kept: JSONValue | None, state: State, corpus: CorpusStats, touched: Collection[str] | None
    ) -> bool | None:
        """Cut sessions with incomplete chunks again, a limited number at a time.

        Args:
            kept: the stored setting.
            state: the parsed one.
            corpus: the bank's statistics.
            touched: the sessions to check; None for all.
        """
        sessions = [each for each in self.store.sessions(self.bank) if touched is None or each.id in touched]
        ids = None if touched is None else self._affected_ids(sessions)
        held: defaultdict[str, list[Chunk]] = defaultdict(list)
        change, seen, retracted = _Change(), 0, list[int]()
        for unit in self.store.units(self.bank, (CHUNK,), include_retracted=True, ids=ids):
            name = str(unit.metadata.get(SESSION))
            if get_position(unit) is None or (touched is not None and name not in touched):
                continue
            if unit.retracted_at is None:
                held[name].append(unit)
            else:
                retracted.append(unit.id)
        for session in sessions:
            there = held[session.id] = _sort_by_position(held[session.id])
            if self._is_complete(session, there, state):
                continue
            if seen >= PAGE_LINES:
                change.is_partial = True
                break
            before = len(change.gone) + len(change.new)
            held[session.id] = self._recut(change, session.id, there, state.first, corpus.last_seq, open_=False)
            seen += session.lines if len(change.gone) + len(change.new) > before else 0
        latest = max(filter(None, held.values()), key=lambda chunks: chunks[-1].last_seq, default=[])
        change.tail = self._select_tail(latest)
        if change.is_partial:
            return self._put(kept, state, change)
        change.gone += retracted  # not before: they show which sessions are touched
        after = replace(state, last=corpus.last_seq, lines=corpus.lines, retracted=corpus.retracted)
        return self._put(kept, after, change)

    def _is_complete(self, session: Session, chunks: Sequence[Chunk], state: State) -> bool:
        """Return whether the chunks of a session cover all of its lines.

        They begin where it does, except for evicted ones, none between them is missing, and the last is at its end.
        Any chunk that the store removed with a line violates one of these. (If chunks don't overlap, the last may be
        full; then only its last line decides.)
        """
        if session.lines == 0 or session.last_seq < state.first:
            return True
        if not chunks or session.last_seq > state.last:
            return False
        places = [_position(chunk) for chunk in chunks]
        begins = places[0].start == 0 or chunks[0].first_seq == state.first
        steps = all(two.start - one.start == self.cut.step for one, two in pairwise(places))
        ends = places[-1].tokens < self.cut.capacity or chunks[-1].last_seq == session.last_seq
        return begins and steps and ends and places[-1].tokens <= self.cut.step and places[-1].after == 0

    # ------------------------------------------------------------------ writing

    def _put(self, kept: JSONValue | None, state: State, change: _Change) -> bool | None:
        """Write a change and the resulting state; None if no embedder answers."""
        state = self._evict(state, change)
        units = self.finish(change.new)
        vectors = self.encoder.try_embed([embedding_text(unit) for unit in units]) if units else []
        if vectors is None:
            return None
        numbers = {id(unit): number for number, unit in enumerate(change.new)}

        def after(first: int) -> JSONValue:
            written = {id(unit): unit.id for unit in change.tail or () if isinstance(unit, Unit)}
            written |= {unit: first + number for unit, number in numbers.items()}
            above = first + len(change.new) - 1
            return replace(_with_tail(state, change, written), above=above).json()

        rewriting = UnitReplacement(CHUNK, change.gone, units, vectors, state.above, SETTING_CHUNKS, kept, after)
        return self.store.replace_units(self.bank, rewriting, self.encoder.name, now())

    def _evict(self, state: State, change: _Change) -> State:
        """Evict the oldest chunks beyond the limit, except for units of another origin."""
        count = state.count + len(change.new) - len(change.gone)
        if count <= self.most:
            return replace(state, count=max(count, 0))
        spans = self.store.unit_spans(self.bank, CHUNK)
        spans = spans[~np.isin(spans[:, 0], change.gone)]
        spans = spans[np.lexsort((spans[:, 0], spans[:, 1]))]  # by first line, then by id
        over = len(spans) + len(change.new) - self.most
        if over <= 0:
            return replace(state, count=len(spans) + len(change.new))
        oldest, left = np.split(spans, [over + self.most // EVICTION_DIVISOR])
        units = self.store.units(self.bank, (CHUNK,), ids=oldest[:, 0].tolist())
        evicted = [unit.id for unit in units if get_position(unit)]
        change.gone += evicted
        del change.new[: max(over - len(oldest), 0)]
        begins = [*left[:1, 1].tolist(), *(unit.first_seq for unit in change.new)]
        return replace(state, count=len(spans) - len(evicted) + len(change.new), first=min(begins, default=state.last))


def _with_tail(state: State, change: _Change, written: dict[int, int]) -> State:
    """Return the state with the tail of a change.

    Args:
        state: the state before.
        change: the change.
        written: the ids of written chunks, by `id`.
    """
    if change.tail is None:
        return state
    if change.is_partial or not change.tail:
        return replace(state, seq=0, before=0, at=0, tail=(), open=False)
    first, place = change.tail[0], _position(change.tail[0])
    ids = [written[id(chunk)] for chunk in change.tail if id(chunk) in written]
    return replace(
        state,
        seq=first.first_seq,
        before=place.before,
        at=place.start,
        tail=tuple(each for each in ids if each not in change.gone),
        open=len(ids) < len(change.tail),
    )


def _position(chunk: Chunk) -> ChunkPosition:
    """Return the position of a chunk that this recipe wrote."""
    found = get_position(chunk)
    assert found is not None
    return found


def _sort_by_position(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Sort the chunks of a session by position."""
    return sorted(chunks, key=lambda chunk: _position(chunk).start)


def _equality_key(chunk: Chunk) -> tuple[ChunkPosition, str, int, int]:
    """Return a key that is equal for equal chunks of a session."""
    return _position(chunk), chunk.text, chunk.first_seq, chunk.last_seq
