"""Copies a bank from one store to another: lines with their numbers, times and retractions, then the rest of the bank.

The rest is units, settings, ends and titles of sessions, queued jobs, and the receipts. Lines that the source has
forgotten are forgotten in the target. Vectors of lines are copied if the source has any of the target's embedder, which
otherwise computes them. Chunks are not copied: the target builds them at the first query. Nor is the list of the bank's
backups, which are those of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice, takewhile

from everthread.bank.embedding_backlog import embedding_text
from everthread.bank.line_preparation import prepare_lines
from everthread.bank.sharing import record_sharing
from everthread.common.keys import (
    META_RECALLED,
    SETTING_BACKUPS,
    SETTING_CHUNKS,
    SETTING_FACTS,
    SETTING_SHARED_WITH,
)
from everthread.errors import StoreError
from everthread.facts.fact_units import FACT, parse_unit
from everthread.facts.history import value_key
from everthread.facts.reading_state import ReadingState
from everthread.facts.types import Statement
from everthread.memory import BATCH_LINES, Memory
from everthread.recipes.goodai.token_stream import CHUNK, get_position
from everthread.stores.base import Scope, ScopeName
from everthread.stores.shared_rows import to_new_line
from everthread.stores.unit_store import UnitKey, UnitReplacement
from everthread.transfer.bank_contents import copy_lines
from everthread.types import Line, Session, Unit, now


def copy_bank(source: Memory, target: Memory, progress: Callable[[int], None] | None = None) -> tuple[int, str]:
    """Copy what the target lacks, and check that both banks are equal. May be interrupted and repeated.

    Lines that the source has forgotten since an earlier call are forgotten in the target. The source is not changed.

    Args:
        source: the bank to copy.
        target: the bank to write, which is empty or an earlier copy.
        progress: called with the number of lines of each batch.

    Returns:
        The number of lines, and their hash.

    Raises:
        StoreError: the target contains something else; the message names the first difference.
    """
    last = _last_seq(source)  # read before the lines, which are then copied up to it
    copied = _last_seq(target)
    forgotten = _find_forgotten(source, target, last, copied)
    if source.bank == target.bank:  # the receipts of another bank would delete lines in the backups of this one
        target.store.add_receipts(target.bank, source.store.receipts(source.bank))
    for scope, name in forgotten:
        target.store.forget(target.bank, scope, name, now())
    _copy_retractions(source, target)  # first, because new lines may take their keys
    has_vectors = target.embedder.name in dict(source.store.copy_reader(source.bank).models())
    lines = _all_lines(source, copied)
    while batch := list(islice(lines, BATCH_LINES)):
        if has_vectors and source.bank == target.bank:
            copy_lines(source.store, source.bank, batch, target.store)
        else:
            _write_lines(target, batch)
        if progress is not None:
            progress(len(batch))
    _copy_retractions(source, target)
    target.store.reserve_seqs(target.bank, last)
    _copy_bank_data(source, target)
    return _verify(source, target, last)


def _all_lines(memory: Memory, after: int = 0) -> Iterator[Line]:
    """Iterate over the lines after a number, with retracted and wordless ones."""
    return memory.lines(after=after, include_retracted=True, include_wordless=True)


def _last_seq(memory: Memory) -> int:
    """Return the last number that the bank assigned, even if that line was forgotten."""
    return memory.store.corpus_stats(memory.bank).last_seq


def _find_forgotten(source: Memory, target: Memory, last: int, copied: int) -> list[tuple[Scope, ScopeName]]:
    """Find the sessions and other lines of the target that the source has forgotten.

    The other lines of the target must equal the source's up to the number `copied`, and at least one must exist, so
    that nothing is written into an unrelated bank.

    Returns:
        Scope and name of each.

    Raises:
        StoreError: a line differs.
    """
    forgotten: list[Line] = []
    any_equal = False
    ours = takewhile(lambda line: line.seq <= copied, _all_lines(source))
    for line, other in _pair_by_seq(ours, _all_lines(target)):
        if line is None and other is not None and other.seq <= last:
            forgotten.append(replace(other, text=""))
            continue
        if other is not None and other.retracted_at is None and line is not None:
            other = replace(other, retracted_at=line.retracted_at)  # the target may not have the retraction yet
        _check_same(source.bank, line, other)
        any_equal = True
    if forgotten and not any_equal:
        _check_same(source.bank, None, forgotten[0])
    remaining = {session.id for session in source.sessions()}
    sessions = dict.fromkeys(line.session for line in forgotten if line.session not in remaining)
    lines = [line.seq for line in forgotten if line.session in remaining]
    found: list[tuple[Scope, ScopeName]] = [("session", name) for name in sessions]
    return [*found, ("line", lines)] if lines else found


def _pair_by_seq(ours: Iterable[Line], theirs: Iterable[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    """Pair the lines of two banks by number; None for a line that one bank lacks."""
    our_lines, their_lines = iter(ours), iter(theirs)
    our, their = next(our_lines, None), next(their_lines, None)
    while our is not None or their is not None:
        seq = min(line.seq for line in (our, their) if line is not None)
        our_match, their_match = (line if line is not None and line.seq == seq else None for line in (our, their))
        yield our_match, their_match
        our = next(our_lines, None) if our_match is not None else our
        their = next(their_lines, None) if their_match is not None else their


def _check_same(bank: str, line: Line | None, other: Line | None) -> None:
    """Check that two lines are equal, including the offset of their times. A retracted line may have lost its key, and
    what is recorded of a reply its forgotten lines.

    Raises:
        StoreError: they differ.
    """
    if line is not None and other is not None and line.key is None and line.retracted_at is not None:
        other = replace(other, key=None)
    if repr(_without_evidence(line)) != repr(_without_evidence(other)):
        seq = min(present.seq for present in (line, other) if present is not None)
        raise StoreError(_DIFFERS.format(bank, f"line {seq}"))


def _without_evidence(line: Line | None) -> Line | None:
    if line is None or META_RECALLED not in line.metadata:
        return line
    return replace(line, metadata={name: value for name, value in line.metadata.items() if name != META_RECALLED})


_DIFFERS = (
    "bank {!r} differs at {} from the bank in the target. Move it to another store, or forget the bank there and move "
    "it again"
)


def _copy_retractions(source: Memory, target: Memory) -> None:
    """Retract the target's copies of retracted lines, with the same times."""
    for line, other in _pair_by_seq(
        _all_lines(source),
        _all_lines(target),
    ):
        if line and other and line.retracted_at is not None and other.retracted_at is None:
            target.store.retract(target.bank, line.seq, line.retracted_at)


def _copy_bank_data(source: Memory, target: Memory) -> None:
    """Copy units, the data of sessions, settings and jobs; remove those that the source no longer has."""
    _copy_units(source, target)
    copies = {session.id: session for session in target.sessions()}
    for session in source.sessions():
        if session.id in copies:
            _copy_session(target, session, copies[session.id])
    ours, theirs = source.settings(), target.settings()
    record_sharing(target.store, target.bank, ours)
    for name in (ours.keys() | theirs.keys()) - {SETTING_BACKUPS, SETTING_CHUNKS, SETTING_SHARED_WITH}:
        if ours.get(name) != theirs.get(name):
            target.store.set_setting(target.bank, name, ours.get(name))
    jobs = source.jobs()
    for job in target.jobs():
        if job not in jobs:
            target.store.dequeue(target.bank, job)
    for job in jobs:
        if job.session in copies:
            target.store.enqueue(target.bank, job)


def _copy_session(target: Memory, session: Session, copy: Session) -> None:
    """Copy the end, the title and the metadata of a session."""
    if session.ended_at is not None and session.ended_at != copy.ended_at:
        target.store.end_session(target.bank, session.id, session.ended_at)
    if (session.title, session.metadata) != (copy.title, copy.metadata):
        target.store.set_session(target.bank, session.id, session.title or "", session.metadata)


def _copy_units(source: Memory, target: Memory) -> None:
    """Copy new units, and units that were superseded or retracted since they were copied.

    Raises:
        StoreError: the target has a unit that is not a copy.
    """
    ours = {(unit.kind, unit.id): unit for unit in _list_units(source)}
    _forget_other_facts(source, target, ours)
    theirs = {(unit.kind, unit.id): unit for unit in _list_units(target)}
    for unit in theirs.values():
        if _differs(unit, ours):
            raise StoreError(_DIFFERS.format(source.bank, f"{unit.kind} {unit.id}"))
    last = _last_seq(target)
    for key, unit in ours.items():
        if unit != theirs.get(key) and unit.last_seq <= last:
            if unit.kind == CHUNK:  # may replace a chunk of the target, which then builds its chunks again
                target.store.set_setting(target.bank, SETTING_CHUNKS, None)
            _write_unit(target, unit)


def _forget_other_facts(source: Memory, target: Memory, ours: Mapping[UnitKey, Unit]) -> None:
    """Forget facts that the target's rules have read from its lines, or that the source has forgotten since.

    Raises:
        StoreError: the person or a model has stated another fact in the target, such as a correction.
    """
    facts = target.store.units(target.bank, (FACT,), include_retracted=True)
    others = [unit for unit in facts if "attribute" in unit.metadata and _differs(unit, ours)]
    for unit in others:
        statement = parse_unit(unit)
        if statement.writer != "rules" and not _has_forgotten(source, statement, ours):
            raise StoreError(_DIFFERS.format(target.bank, f"fact {unit.id}"))
    ids, basis = [unit.id for unit in others], (SETTING_FACTS, target.settings().get(SETTING_FACTS))
    change = UnitReplacement(FACT, ids, (), (), 0, *basis, lambda _: basis[1], forgets=True)
    if ids and not target.store.replace_units(target.bank, change, target.embedder.name, now()):
        raise StoreError(_DIFFERS.format(target.bank, f"fact {ids[0]}"))


def _has_forgotten(source: Memory, statement: Statement, ours: Mapping[UnitKey, Unit]) -> bool:
    """Return whether the source has forgotten a fact of a statement's lines, and has nothing left of this one."""
    seqs = set(statement.seqs)
    if not seqs or not seqs <= ReadingState.parse(source.settings().get(SETTING_FACTS)).excluded:
        return False
    left = [parse_unit(unit) for (kind, _), unit in ours.items() if kind == FACT]
    value = statement.attribute, value_key(statement.value)
    return not any(
        each.id == statement.id or ((each.attribute, value_key(each.value)) == value and not seqs.isdisjoint(each.seqs))
        for each in left
    )


def _differs(unit: Unit, ours: Mapping[UnitKey, Unit]) -> bool:
    """Return whether a unit of the target is no copy of one of the source's."""
    own = ours.get((unit.kind, unit.id))
    return own is None or _constant_fields(own) != _constant_fields(unit)


def _write_lines(target: Memory, lines: Sequence[Line]) -> None:
    """Write lines with their own numbers, which are greater than the bank's last; retractions follow separately."""
    new = [to_new_line(line) for line in lines]
    recipe = target.recipe
    prepared = prepare_lines(new, recipe.embedded_roles, target.reader.encoder.try_embed, recipe.token_roles)
    numbered = [replace(entry, seq=line.seq) for entry, line in zip(prepared, lines, strict=True)]
    target.store.append(target.bank, numbered, target.embedder.name)


def _write_unit(target: Memory, unit: Unit) -> None:
    """Write a unit with its own number."""
    vectors = target.reader.encoder.try_embed_vectors([embedding_text(unit)]) if unit.retracted_at is None else None
    target.store.restore_unit(target.bank, unit, vectors[0] if vectors else None, target.embedder.name)


def _list_units(memory: Memory) -> list[Unit]:
    """Return the units that are copied: all except the chunks that a recipe built."""
    return [unit for unit in memory.store.units(memory.bank, include_retracted=True) if get_position(unit) is None]


def _constant_fields(unit: Unit) -> str:
    """Return the fields of a unit that never change, as text."""
    return repr(replace(unit, valid_to=None, supersedes=None, retracted_at=None))


def _verify(source: Memory, target: Memory, last: int) -> tuple[int, str]:
    """Check that both banks are equal, and that the target will assign no number twice.

    Returns:
        The number of lines, and their hash.

    Raises:
        StoreError: something differs.
    """
    count, digest = 0, sha256()
    for line, other in _pair_by_seq(
        _all_lines(source),
        _all_lines(target),
    ):
        _check_same(source.bank, line, other)
        count += 1
        digest.update(repr(line).encode())
    ours, theirs = ({repr(unit): unit for unit in _list_units(memory)} for memory in (source, target))
    for text in sorted(ours.keys() ^ theirs.keys()):
        unit = ours.get(text) or theirs[text]
        if unit.last_seq <= last:
            raise StoreError(_DIFFERS.format(source.bank, f"{unit.kind} {unit.id}"))
    if _last_seq(target) < last:
        raise StoreError(f"bank {source.bank!r}: the target would reuse line numbers up to {last}; move again")
    return count, digest.hexdigest()
