"""Copying a bank from one store to another: every line under its number, with its times, retracted ones as such; and
what is kept beside lines: units, settings, ended sessions, queued work.

What is forgotten stays forgotten. Vectors are made anew, for they belong to the embedder and not to the record; so are
chunks, which come and go, and are cut of the lines alone when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice, takewhile

from everthread.bank.embedding_backlog import embedding_text
from everthread.bank.line_preparation import prepare_lines
from everthread.common.keys import SETTING_CHUNKS
from everthread.errors import StoreError
from everthread.memory import BATCH, Memory
from everthread.recipes.goodai.token_stream import CHUNK, get_position
from everthread.stores.base import Scope
from everthread.stores.shared_rows import to_new_line as as_offered
from everthread.types import Line, Unit, now


def copy_bank(source: Memory, target: Memory, progress: Callable[[int], None] | None = None) -> tuple[int, str]:
    """Copy what the target doesn't have yet, and see that both hold the same: how many lines, and their hash.

    May be stopped and started again; what the source has forgotten meanwhile is forgotten in the target. The source
    stays as it is. Raises StoreError, which names the first line that differs, where the target holds something else.
    """
    last = _last_seq(source)  # before its lines are read: all up to it are then copied
    done = _last_seq(target)
    for scope, name in _find_forgotten(source, target, last, done):
        target.store.forget(target.bank, scope, name, now())
    _copy_retractions(source, target)  # before others come under their keys
    lines = source.lines(after=done, retracted=True)
    while batch := list(islice(lines, BATCH)):
        _write_lines(target, batch)
        if progress is not None:
            progress(len(batch))
    _copy_retractions(source, target)
    target.store.reserve_seqs(target.bank, last)
    _copy_bank_data(source, target)
    return _verify(source, target, last)


def _last_seq(memory: Memory) -> int:
    """The last number that the bank has given to a line, which may have been forgotten since."""
    return memory.store.corpus_stats(memory.bank).last_seq


def _find_forgotten(source: Memory, target: Memory, last: int, done: int) -> list[tuple[Scope, str | int]]:
    """What the target has and the source has forgotten: sessions that are gone, and lines of others.

    The target's other lines must be the source's up to the number `done`, and there must be one: nothing is written
    into a bank that holds something else.
    """
    gone: list[Line] = []
    agreed = False
    ours = takewhile(lambda line: line.seq <= done, source.lines(retracted=True))
    for line, other in _pair_by_seq(ours, target.lines(retracted=True)):
        if line is None and other is not None and other.seq <= last:
            gone.append(replace(other, text=""))
            continue
        if other is not None and other.retracted_at is None and line is not None:
            other = replace(other, retracted_at=line.retracted_at)  # it may not have been said yet
        _check_same(source.bank, line, other)
        agreed = True
    if gone and not agreed:
        _check_same(source.bank, None, gone[0])
    here = {session.id for session in source.sessions()}
    sessions = dict.fromkeys(line.session for line in gone if line.session not in here)
    return [*(("session", name) for name in sessions), *(("line", line.seq) for line in gone if line.session in here)]


def _pair_by_seq(ours: Iterable[Line], theirs: Iterable[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """The lines of two banks side by side, by their numbers; None where one has none of the number."""
    one, other = iter(ours), iter(theirs)
    line, its = next(one, None), next(other, None)
    while line is not None or its is not None:
        first = min(each.seq for each in (line, its) if each is not None)
        left, right = (each if each is not None and each.seq == first else None for each in (line, its))
        yield left, right
        line = next(one, None) if left is not None else line
        its = next(other, None) if right is not None else its


def _check_same(bank: str, line: Line | None, other: Line | None) -> None:
    """See that two lines are one, down to the offset of its time. A retracted one may have left its key to another."""
    if line is not None and other is not None and line.key is None and line.retracted_at is not None:
        other = replace(other, key=None)
    if repr(line) != repr(other):
        seq = min(each.seq for each in (line, other) if each is not None)
        raise StoreError(_DIFFERS.format(bank, f"line {seq}"))


_DIFFERS = (
    "bank {!r} differs at {}: the target holds something else. Move it to another store, or forget the bank there and "
    "move it again"
)


def _copy_retractions(source: Memory, target: Memory) -> None:
    """Retract in the target what is retracted in the source, at the same time."""
    for line, other in _pair_by_seq(source.lines(retracted=True), target.lines(retracted=True)):
        if line and other and line.retracted_at is not None and other.retracted_at is None:
            target.store.retract(target.bank, line.seq, line.retracted_at)


def _copy_bank_data(source: Memory, target: Memory) -> None:
    """Copy what is kept beside the lines, and let go of what the source has no more of."""
    _copy_units(source, target)
    over = {session.id: session.ended_at for session in target.sessions()}
    for session in source.sessions():
        if session.ended_at is not None and session.id in over and session.ended_at != over[session.id]:
            target.store.end_session(target.bank, session.id, session.ended_at)
    ours, theirs = source.settings(), target.settings()
    for name in (ours.keys() | theirs.keys()) - {SETTING_CHUNKS}:
        if ours.get(name) != theirs.get(name):
            target.store.set_setting(target.bank, name, ours.get(name))
    work = source.jobs()
    for each in target.jobs():
        if each not in work:
            target.store.dequeue(target.bank, each)
    for each in work:
        if each.session in over:
            target.store.enqueue(target.bank, each)


def _copy_units(source: Memory, target: Memory) -> None:
    """Copy the units. What becomes of one later (that it is superseded, or retracted) is brought along."""
    ours, theirs = ({(unit.kind, unit.id): unit for unit in _list_units(memory)} for memory in (source, target))
    for key, unit in theirs.items():
        if key not in ours or _constant_fields(ours[key]) != _constant_fields(unit):
            raise StoreError(_DIFFERS.format(source.bank, f"{unit.kind} {unit.id}"))
    last = _last_seq(target)
    for key, unit in ours.items():
        if unit != theirs.get(key) and unit.last_seq <= last:
            if unit.kind == CHUNK:  # it may come in the place of one of the target's own, which are then cut anew
                target.store.set_setting(target.bank, SETTING_CHUNKS, None)
            _write_unit(target, unit)


def _write_lines(target: Memory, lines: Sequence[Line]) -> None:
    """Write lines under their own numbers, which are greater than the bank's last; retracted ones as current."""
    new = [as_offered(line) for line in lines]
    prepared = prepare_lines(new, target.recipe.embedded_roles, target.reader.encoder.try_embed)
    numbered = [replace(each, seq=line.seq) for each, line in zip(prepared, lines, strict=True)]
    target.store.append(target.bank, numbered, target.embedder.name)


def _write_unit(target: Memory, unit: Unit) -> None:
    """Write a unit under its own number."""
    vectors = target.reader.encoder.try_embed([embedding_text(unit)]) if unit.retracted_at is None else None
    target.store.restore_unit(target.bank, unit, vectors[0] if vectors else None, target.embedder.name)


def _list_units(memory: Memory) -> list[Unit]:
    return [unit for unit in memory.store.units(memory.bank, include_retracted=True) if get_position(unit) is None]


def _constant_fields(unit: Unit) -> str:
    """What of a unit never changes."""
    return repr(replace(unit, valid_to=None, supersedes=None, retracted_at=None))


def _verify(source: Memory, target: Memory, last: int) -> tuple[int, str]:
    """See that the lines are the same, and that the next one gets a new number in the target, too."""
    count, digest = 0, sha256()
    for line, other in _pair_by_seq(source.lines(retracted=True), target.lines(retracted=True)):
        _check_same(source.bank, line, other)
        count += 1
        digest.update(repr(line).encode())
    ours, theirs = ({repr(unit): unit for unit in _list_units(memory)} for memory in (source, target))
    for written in sorted(ours.keys() ^ theirs.keys()):
        unit = ours.get(written) or theirs[written]
        if unit.last_seq <= last:
            raise StoreError(_DIFFERS.format(source.bank, f"{unit.kind} {unit.id}"))
    if _last_seq(target) < last:
        raise StoreError(f"bank {source.bank!r}: the target would give numbers up to {last} a second time; move again")
    return count, digest.hexdigest()
