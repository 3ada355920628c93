"""Restores an exported bank: its lines with their numbers, and everything else that the file has.

Only a bank that is empty, or that has exactly the first lines of the file, becomes the bank of the file; the latter is
a copy that is older, or whose import was interrupted. Settings and units that the bank has already stay as they are.
Vectors are computed by the bank's embedder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path

from everthread.bank.embedding_backlog import embedding_text
from everthread.bank.line_preparation import prepare_lines
from everthread.common.keys import SETTING_FACTS
from everthread.facts.reading_state import ReadingState
from everthread.memory import BATCH_LINES, Memory
from everthread.stores.errors import forgotten_bank_error
from everthread.stores.shared_rows import to_new_line
from everthread.transfer.bank_file import Head, SessionRow, SettingRow, read_rows
from everthread.transfer.jsonl import build_numbered_line
from everthread.transfer.portable_settings import select_portable
from everthread.types import JSONValue, Line, NewLine, ScribeJob, Unit

MAX_UNUSED_SEQS = 1_000_000  # a bank takes some bytes of memory for each number, also of a forgotten line
MAX_SEQS_PER_LINE = 100  # beyond which lines are numbered again

NumberedLine = tuple[int, NewLine]


def is_copy(memory: Memory, path: Path, head: Head, lines: int) -> bool:
    """Return whether a bank is empty, or has exactly the first lines of an export under the same numbers.

    Args:
        memory: the bank.
        path: the file.
        head: its head.
        lines: the number of its lines. False for an export of a few lines with huge numbers, which would take memory.
    """
    if head.last_seq > MAX_UNUSED_SEQS + MAX_SEQS_PER_LINE * lines:
        return False
    last = memory.store.corpus_stats(memory.bank).last_seq
    if not 0 < last <= head.last_seq:
        return last == 0
    exported = (line for line in _read_lines(path) if line[0] <= last)
    stored = memory.lines(include_retracted=True, include_wordless=True)
    return all(line is not None and other == _number(line) for line, other in zip_longest(stored, exported))


def _number(line: Line) -> NumberedLine:
    return line.seq, replace(to_new_line(line), retracted_at=line.retracted_at)


def _read_lines(path: Path) -> Iterator[NumberedLine]:
    return (build_numbered_line(row, path, where) for where, row in read_rows(path) if isinstance(row, Mapping))


def restore(memory: Memory, path: Path, head: Head, progress: Callable[[int], None] | None = None) -> None:
    """Store what a bank lacks of an export, of which `is_copy` is true. May be interrupted and repeated.

    Args:
        memory: the bank.
        path: the file, which was checked.
        head: its head.
        progress: called with the number of lines of each batch.

    Raises:
        NotFound: the bank was forgotten in the meantime.
    """
    last = stored = memory.store.corpus_stats(memory.bank).last_seq
    _store_reading_state(memory, path, head)
    lines = _read_lines(path)
    while batch := list(islice(lines, BATCH_LINES)):
        if new := [line for line in batch if line[0] > last]:
            _store_lines(memory, new, stored)
            stored = new[-1][0]
        if progress is not None:
            progress(len(batch))
    _require_bank(memory, stored)
    memory.store.reserve_seqs(memory.bank, head.last_seq)
    rows = (row for _, row in read_rows(path) if not isinstance(row, Mapping | Head))
    while others := list(islice(rows, BATCH_LINES)):
        _require_bank(memory, stored)
        _store_units(memory, [row for row in others if isinstance(row, Unit)])
        _store_settings(memory, {row.name: row.value for row in others if isinstance(row, SettingRow)})
        _label_sessions(memory, [row for row in others if isinstance(row, SessionRow)])
        _store_jobs(memory, [row for row in others if isinstance(row, ScribeJob)])


def _store_reading_state(memory: Memory, path: Path, head: Head) -> None:
    """Store how far lines were read for facts, before the lines: otherwise they might be read during the import."""
    rows = (row for _, row in read_rows(path) if isinstance(row, SettingRow) and row.name == SETTING_FACTS)
    for row in rows:
        state = ReadingState.parse(row.value)
        _store_settings(memory, {row.name: replace(state, last_seq=min(state.last_seq, head.last_seq)).to_json()})


def _require_bank(memory: Memory, last_seq: int) -> None:
    """Raise NotFound if the bank was forgotten since it assigned this number; a write would create it again."""
    store, bank = memory.store, memory.bank
    if not store.exists(bank) or store.corpus_stats(bank).last_seq < last_seq:
        raise forgotten_bank_error(bank)


def _store_lines(memory: Memory, lines: Sequence[NumberedLine], after: int) -> None:
    new = [line for _, line in lines]
    recipe = memory.recipe
    prepared = prepare_lines(new, recipe.embedded_roles, memory.reader.encoder.try_embed, recipe.token_roles)
    entries = [replace(entry, seq=seq) for entry, (seq, _) in zip(prepared, lines, strict=True)]
    memory.store.append(memory.bank, entries, memory.embedder.name, after=after)


def _store_units(memory: Memory, units: Sequence[Unit]) -> None:
    """Store units that the bank lacks, or has in an earlier state."""
    kinds = {unit.kind for unit in units}
    stored = {
        (unit.kind, unit.id): unit
        for unit in (memory.store.units(memory.bank, sorted(kinds), include_retracted=True) if kinds else ())
    }
    new = [unit for unit in units if _is_later(unit, stored.get((unit.kind, unit.id)))]
    live = [unit for unit in new if unit.retracted_at is None]
    vectors = memory.reader.encoder.try_embed_vectors([embedding_text(unit) for unit in live]) if live else None
    by_key = {(unit.kind, unit.id): data for unit, data in zip(live, vectors or (), strict=False)}
    for unit in new:
        memory.store.restore_unit(memory.bank, unit, by_key.get((unit.kind, unit.id)), memory.embedder.name)


def _is_later(unit: Unit, stored: Unit | None) -> bool:
    """Return whether a unit of the file is new to the bank, or was superseded or retracted since."""
    return stored is None or (stored != unit and _constants(stored) == _constants(unit))


def _constants(unit: Unit) -> Unit:
    return replace(unit, valid_to=None, supersedes=None, retracted_at=None)


def _store_settings(memory: Memory, settings: Mapping[str, JSONValue]) -> None:
    known = memory.settings() if settings else {}
    for name, value in select_portable(settings).items():
        if name not in known:
            memory.set_setting(name, value)


def _label_sessions(memory: Memory, rows: Sequence[SessionRow]) -> None:
    """Set titles, metadata and ends of sessions that have none. A session without a line in the file is left out."""
    stored = {session.id: session for session in (memory.sessions() if rows else ())}
    for row in rows:
        if (session := stored.get(row.id)) is None:
            continue
        title = row.label.title if session.title is None else None
        metadata = row.label.metadata if not session.metadata else None
        if title or metadata:
            memory.set_session(row.id, title=title, metadata=metadata)
        if row.label.ended_at is not None and session.ended_at is None:
            memory.end(row.id, row.label.ended_at)


def _store_jobs(memory: Memory, jobs: Sequence[ScribeJob]) -> None:
    sessions = {session.id for session in (memory.sessions() if jobs else ())}
    queued = {(job.kind, job.session, job.first_seq) for job in (memory.jobs() if jobs else ())}
    for job in jobs:
        if job.session in sessions and (job.kind, job.session, job.first_seq) not in queued:
            memory.enqueue(job)
