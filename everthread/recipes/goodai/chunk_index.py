"""The chunks of a bank, brought up to date with its lines.

How far they are is a setting of the bank, written in one transaction with the chunks: what was cut short, or written
by two at once, is then seen and done again. Where lines were only added, the chunks go on from where the last ones
ended. Where lines were taken back, the store has taken with them all that held some of them; the sessions in which a
chunk is missing are cut anew, and chunks that come out as they were stay. Chunks are removed for good, retracted ones
too: they are no record of anything, the lines are.
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

PAGE = 512  # lines whose chunks are embedded and written together
SPARED = 100  # of a full queue a hundredth is evicted at once, so that looking for the oldest is a seldom thing
TRIES = 8  # times that what another process has changed meanwhile is looked at again


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    """How streams are cut, and from how many lines before it each chunk derives as well."""

    capacity: int
    step: int
    tokenizer: Tokenizer
    context: int = 0

    @property
    def name(self) -> str:
        """What tells it from others: chunks that were cut otherwise are cut anew."""
        kind = getattr(self.tokenizer, "name", None) or getattr(self.tokenizer, "__qualname__", None)
        name = f"{self.capacity}/{self.step}/{kind or type(self.tokenizer).__name__}"
        return f"{name}/{self.context} before" if self.context else name

    def stream(self, lines: Iterable[Line], at: int = 0) -> TokenStream:
        return TokenStream.from_lines(((line, tokenize_line(line, self.tokenizer)) for line in lines), at)

    def chunks(self, stream: TokenStream, begin: int = 0) -> list[NewUnit]:
        return stream.cut(begin, self.capacity, self.step, self.context)


@dataclass(frozen=True, slots=True)
class State:
    """How far the chunks are.

    They are of the lines up to `last`, of which so many stood and were retracted; a line taken back makes either count
    another. The session of the line `seq` goes on: its chunks from the place `at` on are not full yet. They begin in
    that line, `before` tokens of which stand before; `tail` are the ids of those that are written, and `open` tells
    that not all are. No word of a line and no session's name is kept here: who forgets them knows nothing of this.
    """

    cut: str
    last: int = 0
    lines: int = 0
    retracted: int = 0
    seq: int = 0
    before: int = 0
    at: int = 0
    tail: tuple[int, ...] = ()
    open: bool = False
    count: int = 0  # chunks there were at most, for eviction
    first: int = 0  # the first line of the oldest chunk that was not evicted
    above: int = 0  # the greatest id that was given: none is given twice

    def json(self) -> dict[str, JSONValue]:
        return {**asdict(self), "tail": list(self.tail)}


Chunk = Unit | NewUnit  # one that is there, or one that is to be written
_FIELDS = State("").json().keys()


@dataclass(slots=True)
class _Change:
    """What is to be done to the chunks. tail are those of the last session that aren't full, written or not, in order;
    None where they stay what they were. `partly` tells that more is to be done until the state holds."""

    gone: list[int] = field(default_factory=list)
    new: list[NewUnit] = field(default_factory=list)
    tail: list[Chunk] | None = None
    partly: bool = False


class ChunkIndex:
    """The chunks of one bank, at most `most` of them; finish, if given, has the last word on new ones."""

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
        """Bring the chunks up to date. Those of the last session that aren't full yet wait, unless `shown` is given:
        then they are written as well, but where all their lines are shown already."""
        refused = 0
        while refused < TRIES:
            done = self._step(shown)
            if done is None:
                return
            refused += not done
        log.warning("a bank is being written to; its chunks wait for the next line or question")

    def _step(self, shown: Collection[int] | None) -> bool | None:
        """One transaction's worth of it: whether it was kept; None where there is no more to do, or no embedder."""
        kept = self.store.settings(self.bank).get(SETTING_CHUNKS)
        if (state := self._state(kept)) is None:
            return self._begin(kept)
        corpus = self.store.corpus_stats(self.bank)
        if (state.last, state.lines, state.retracted) == (corpus.last_seq, corpus.lines, corpus.retracted):
            if not state.open or shown is None or set(shown).issuperset(range(state.seq, state.last + 1)):
                return None
            change = self._added(state, [], state.last, whole=True)
            return self._put(kept, state, change) if change else self._mend(kept, state, corpus, None)
        found = self.store.lines(self.bank, after=state.last, limit=PAGE, include_retracted=True)
        page = [line for line in found if line.seq <= corpus.last_seq]  # those that were counted
        more = len(page) == PAGE
        lines = [line for line in page if line.retracted_at is None]
        after = replace(
            state,
            last=page[-1].seq if more else corpus.last_seq,
            lines=state.lines + len(lines),
            retracted=state.retracted + len(page) - len(lines),
        )
        added = more or (after.lines, after.retracted) == (corpus.lines, corpus.retracted)
        if added and (change := self._added(state, lines, after.last)):
            return self._put(kept, after, change)
        forgotten = more or after.lines - corpus.lines != corpus.retracted - after.retracted
        return self._mend(kept, state, corpus, None if forgotten else self._touched(state, lines))

    def _state(self, kept: JSONValue | None) -> State | None:
        """The state, where it is one, and of this cut."""
        if not isinstance(kept, dict) or kept.keys() != _FIELDS or kept["cut"] != self.cut.name:
            return None
        return State(**{**kept, "tail": tuple(kept["tail"])})

    def _begin(self, kept: JSONValue | None) -> bool | None:
        """Remove the chunks that were cut otherwise."""
        old = [unit.id for unit in self.store.units(self.bank, (CHUNK,), include_retracted=True) if get_position(unit)]
        return self._put(kept, State(self.cut.name), _Change(old))

    # ------------------------------------------------------------------- adding

    def _added(self, state: State, lines: Sequence[Line], last: int, whole: bool = False) -> _Change | None:
        """Chunks of lines that were added, up to the line `last`; None where the chunks before aren't as they were."""
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
            open_ = session == latest and not whole
            if session == going:
                if not self._continue(change, state, session, last, open_):
                    return None
            else:
                self._recut(change, session, self._held(session, groups[session][0].seq), state.first, last, open_)
        return change

    def _continue(self, change: _Change, state: State, session: str, last: int, open_: bool) -> bool:
        """The chunks of the session that goes on, from where they were not full; False where that line is gone."""
        lines = self._lines(session, last, after=state.seq - 1)
        if not lines or lines[0].seq != state.seq:
            return False
        stream = self.cut.stream(lines, state.at - state.before)
        change.gone += state.tail
        self._write(change, self.cut.chunks(stream, state.at), open_)
        return True

    def _write(self, change: _Change, chunks: Sequence[Chunk], open_: bool) -> None:
        """Take up all chunks of a session, those that are there among them; of an open one, only what is full is
        written."""
        change.tail = self._tail(chunks)
        waiting = {id(chunk) for chunk in chunks if open_ and _place(chunk).tokens < self.cut.capacity}
        change.new += [chunk for chunk in chunks if isinstance(chunk, NewUnit) and id(chunk) not in waiting]

    def _tail(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Those that change when the session goes on: what is not full, else the last."""
        return [chunk for chunk in chunks if _place(chunk).tokens < self.cut.capacity] or list(chunks[-1:])

    def _held(self, session: str, before: int) -> list[Chunk]:
        """The chunks of a session that began before a line, by their place; mostly there is none."""
        first = next(self.store.lines(self.bank, Filter(session=session), limit=1), None)
        if first is None or first.seq >= before:
            return []
        spans = self.store.unit_spans(self.bank, CHUNK)
        ids = spans[(spans[:, 1] >= first.seq) & (spans[:, 2] < before), 0]
        units = self.store.units(self.bank, (CHUNK,), ids=ids.tolist())
        return _sorted(unit for unit in units if get_position(unit) and unit.metadata.get(SESSION) == session)

    def _recut(
        self, change: _Change, session: str, held: Sequence[Chunk], first: int, last: int, open_: bool
    ) -> list[Chunk]:
        """The chunks of a session cut from nothing, but for what was evicted, in place of those that are held; those
        that come out as they were stay."""
        stream = self.cut.stream(self._lines(session, last))
        there = {_same(unit): unit for unit in held}
        chunks = [there.get(_same(chunk), chunk) for chunk in self.cut.chunks(stream) if chunk.first_seq >= first]
        staying = {chunk.id for chunk in chunks if isinstance(chunk, Unit)}
        change.gone += [unit.id for unit in held if isinstance(unit, Unit) and unit.id not in staying]
        self._write(change, chunks, open_)
        return chunks

    def _lines(self, session: str, last: int, after: int = 0) -> list[Line]:
        """The standing lines of a session up to one."""
        found = self.store.lines(self.bank, Filter(session=session), after=after)
        return list(takewhile(lambda line: line.seq <= last, found))

    # ------------------------------------------------------------------ mending

    def _touched(self, state: State, lines: Sequence[Line]) -> set[str] | None:
        """The sessions whose chunks may not be whole, where no line was forgotten: those of the chunks that were
        retracted, of the new lines, and the one that goes on. None where nobody knows which that is."""
        first = next(self.store.lines(self.bank, after=state.seq - 1, limit=1, include_retracted=True), None)
        if state.seq == 0 or first is None:
            return None
        ids = self.store.unit_spans(self.bank, CHUNK, retracted=True)[:, 0]
        gone = self.store.units(self.bank, (CHUNK,), include_retracted=True, ids=ids.tolist())
        return {first.session, *(line.session for line in lines), *(str(unit.metadata.get(SESSION)) for unit in gone)}

    def _near(self, sessions: Sequence[Session]) -> list[int]:
        """The ids of the chunks that these sessions enclose, and of those that were retracted."""
        spans = self.store.unit_spans(self.bank, CHUNK)
        inside = np.zeros(len(spans), bool)
        for each in sessions:
            inside |= (spans[:, 1] >= each.first_seq) & (spans[:, 2] <= each.last_seq)
        retracted = self.store.unit_spans(self.bank, CHUNK, retracted=True)
        return [*spans[inside, 0].tolist(), *retracted[:, 0].tolist()]

    def _mend(
        self, kept: JSONValue | None, state: State, corpus: CorpusStats, touched: Collection[str] | None
    ) -> bool | None:
        """Cut the sessions anew whose chunks aren't whole, all of their lines; of many some at a time. Only the touched
        ones are looked at, if they are known."""
        sessions = [each for each in self.store.sessions(self.bank) if touched is None or each.id in touched]
        ids = None if touched is None else self._near(sessions)
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
            there = held[session.id] = _sorted(held[session.id])
            if self._whole(session, there, state):
                continue
            if seen >= PAGE:
                change.partly = True
                break
            before = len(change.gone) + len(change.new)
            held[session.id] = self._recut(change, session.id, there, state.first, corpus.last_seq, open_=False)
            seen += session.lines if len(change.gone) + len(change.new) > before else 0
        latest = max(filter(None, held.values()), key=lambda chunks: chunks[-1].last_seq, default=[])
        change.tail = self._tail(latest)
        if change.partly:
            return self._put(kept, state, change)
        change.gone += retracted  # only now: they tell which sessions are touched
        after = replace(state, last=corpus.last_seq, lines=corpus.lines, retracted=corpus.retracted)
        return self._put(kept, after, change)

    def _whole(self, session: Session, chunks: Sequence[Chunk], state: State) -> bool:
        """Whether the chunks of a session hold all of its lines: they begin where it does, but for what was evicted,
        none between them is missing, and the last is the last there can be. Whatever the store has taken away with a
        line, one of these is not so. (Where chunks don't overlap, the last may be full, and only its line tells.)"""
        if session.lines == 0 or session.last_seq < state.first:
            return True
        if not chunks or session.last_seq > state.last:
            return False
        places = [_place(chunk) for chunk in chunks]
        begins = places[0].start == 0 or chunks[0].first_seq == state.first
        steps = all(two.start - one.start == self.cut.step for one, two in pairwise(places))
        ends = places[-1].tokens < self.cut.capacity or chunks[-1].last_seq == session.last_seq
        return begins and steps and ends and places[-1].tokens <= self.cut.step and places[-1].after == 0

    # ------------------------------------------------------------------ keeping

    def _put(self, kept: JSONValue | None, state: State, change: _Change) -> bool | None:
        """Write a change, and the state that it leads to; None where no embedder answers."""
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
            return replace(_gone_on(state, change, written), above=above).json()

        rewriting = UnitReplacement(CHUNK, change.gone, units, vectors, state.above, SETTING_CHUNKS, kept, after)
        return self.store.replace_units(self.bank, rewriting, self.encoder.name, now())

    def _evict(self, state: State, change: _Change) -> State:
        """Take the oldest chunks along, where there would be too many; not those that somebody else wrote."""
        count = state.count + len(change.new) - len(change.gone)
        if count <= self.most:
            return replace(state, count=max(count, 0))
        spans = self.store.unit_spans(self.bank, CHUNK)
        spans = spans[~np.isin(spans[:, 0], change.gone)]
        spans = spans[np.lexsort((spans[:, 0], spans[:, 1]))]  # by first line, then by id
        over = len(spans) + len(change.new) - self.most
        if over <= 0:
            return replace(state, count=len(spans) + len(change.new))
        oldest, left = np.split(spans, [over + self.most // SPARED])
        units = self.store.units(self.bank, (CHUNK,), ids=oldest[:, 0].tolist())
        evicted = [unit.id for unit in units if get_position(unit)]
        change.gone += evicted
        del change.new[: max(over - len(oldest), 0)]
        begins = [*left[:1, 1].tolist(), *(unit.first_seq for unit in change.new)]
        return replace(state, count=len(spans) - len(evicted) + len(change.new), first=min(begins, default=state.last))


def _gone_on(state: State, change: _Change, written: dict[int, int]) -> State:
    """The state with the tail that a change leads to; written are the ids of its chunks, by their identity."""
    if change.tail is None:
        return state
    if change.partly or not change.tail:
        return replace(state, seq=0, before=0, at=0, tail=(), open=False)
    first, place = change.tail[0], _place(change.tail[0])
    ids = [written[id(chunk)] for chunk in change.tail if id(chunk) in written]
    return replace(
        state,
        seq=first.first_seq,
        before=place.before,
        at=place.start,
        tail=tuple(each for each in ids if each not in change.gone),
        open=len(ids) < len(change.tail),
    )


def _place(chunk: Chunk) -> ChunkPosition:
    """Where a chunk of ours stands."""
    found = get_position(chunk)
    assert found is not None
    return found


def _sorted(chunks: Iterable[Chunk]) -> list[Chunk]:
    """The chunks of a session as they follow one another."""
    return sorted(chunks, key=lambda chunk: _place(chunk).start)


def _same(chunk: Chunk) -> tuple[ChunkPosition, str, int, int]:
    """What makes two of a session's chunks the same."""
    return _place(chunk), chunk.text, chunk.first_seq, chunk.last_seq
