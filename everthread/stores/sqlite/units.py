"""SQLite's rows of memory units, settings and scribe jobs. `stores.units` is shared by all stores."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from everthread.stores.json_text import canonical_json
from everthread.stores.shared_rows import unchanged_seqs
from everthread.stores.sqlite import recall_records, unit_vectors
from everthread.stores.sqlite.rows import get_lines
from everthread.stores.unit_store import UnitReplacement
from everthread.stores.units import (
    JOB_COLUMNS,
    SINGLE_KINDS,
    UNIT_COLUMNS,
    UNIT_REF_COLUMNS,
    UnitRef,
    build_unit,
    build_unit_rows,
    check_unit,
    find_affected,
    find_chain,
    job_key,
    job_row,
    parse_unit,
    parse_unit_ref,
    plan_unlinking,
    source_seqs,
    summary_session,
    unit_row,
    vectors_by_key,
)
from everthread.types import JSONValue, Line, NewUnit, ScribeJob, Unit


def put(db: sqlite3.Connection, bank: str, new: NewUnit, at: int, supersedes: int | None) -> Unit:
    """Write a new unit; the unit that it supersedes ends at `at` (microseconds since 1970).

    Raises:
        NotFound: See `stores.units.check_unit`.
    """
    last = int(db.execute("SELECT last_seq FROM bank").fetchone()[0])
    existing = db.execute(
        "SELECT seq FROM line WHERE retracted_at IS NULL AND seq IN (SELECT value FROM json_each(?))",
        (json.dumps(new.sources),),
    )
    check_unit(bank, new, last, {seq for (seq,) in existing}, supersedes, _read_current(db, new.kind, supersedes))
    db.execute("UPDATE unit SET valid_to = ? WHERE kind = ? AND unit_id = ?", (at, new.kind, supersedes))
    number = db.execute("SELECT coalesce(max(unit_id), 0) + 1 FROM unit WHERE kind = ?", (new.kind,)).fetchone()[0]
    restore(db, build_unit(new, number, at, supersedes))
    return read(db, "kind = ? AND unit_id = ?", (new.kind, number))[0]


def _read_current(db: sqlite3.Connection, kind: str, supersedes: int | None) -> dict[int, str]:
    if supersedes is None and kind not in SINGLE_KINDS:
        return {}
    query = "SELECT unit_id, metadata FROM unit WHERE kind = ? AND valid_to IS NULL AND retracted_at IS NULL"
    return dict(db.execute(f"{query} AND unit_id = coalesce(?, unit_id)", (kind, supersedes)).fetchall())


def restore(db: sqlite3.Connection, unit: Unit) -> None:
    """Write a unit unchanged, replacing the unit of the same kind and id."""
    values = unit_row(unit)
    db.execute("DELETE FROM unit WHERE kind = ? AND unit_id = ?", (unit.kind, unit.id))
    db.execute(f"INSERT INTO unit ({UNIT_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)


def _has_changed(db: sqlite3.Connection, lines: Sequence[Line]) -> bool:
    """Return whether any of these lines has been removed, or another is stored under its number."""
    stored = get_lines(db, [line.seq for line in lines], "line.retracted_at IS NULL")
    return len(unchanged_seqs(stored, lines)) < len(lines)


def replace(db: sqlite3.Connection, change: UnitReplacement, model: str, at: int) -> bool:
    """Apply a replacement of units and its setting; return False, with nothing changed, if its basis has changed."""
    lines = source_seqs(change)
    existing = db.execute(
        "SELECT count(*) FROM line WHERE retracted_at IS NULL AND seq IN (SELECT value FROM json_each(?))",
        (json.dumps(lines),),
    ).fetchone()[0]
    is_current = (
        "kind = ? AND unit_id IN (SELECT value FROM json_each(?)) AND valid_to IS NULL AND retracted_at IS NULL"
    )
    superseded = (change.kind, json.dumps([*change.supersedes]))
    current = db.execute(f"SELECT count(*) FROM unit WHERE {is_current}", superseded).fetchone()[0]
    is_changed = existing < len(lines) or current < len(change.supersedes)
    if is_changed or _has_changed(db, change.lines) or get_setting(db, change.setting) != change.expected_value:
        return False
    db.execute(f"UPDATE unit SET valid_to = ? WHERE {is_current}", (at, *superseded))
    last_id = db.execute("SELECT coalesce(max(unit_id), 0) FROM unit WHERE kind = ?", (change.kind,)).fetchone()[0]
    first_id = max(last_id, change.min_id) + 1
    db.executemany(
        "DELETE FROM unit WHERE kind = ? AND unit_id = ?", [(change.kind, int(number)) for number in change.delete_ids]
    )
    if change.forgets:
        recall_records.remove_units(db, change.kind, change.delete_ids)
    rows = build_unit_rows(change, first_id, at)
    if rows:
        db.executemany(f"INSERT INTO unit ({UNIT_COLUMNS}) VALUES ({', '.join('?' * len(rows[0]))})", rows)
    unit_vectors.put(db, model, vectors_by_key(change, first_id))
    put_setting(db, change.setting, change.make_value(first_id))
    return True


def get_setting(db: sqlite3.Connection, name: str) -> JSONValue | None:
    """Return a setting of the bank; None if it is not set."""
    row = db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    value: JSONValue | None = None if row is None else json.loads(row[0])
    return value


def put_setting(db: sqlite3.Connection, name: str, value: JSONValue | None) -> None:
    """Store one setting; None removes it."""
    if value is None:
        db.execute("DELETE FROM setting WHERE name = ?", (name,))
    else:
        db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, canonical_json(value)))


def read(db: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Unit]:
    """Return the units that meet an SQL condition, by kind and id."""
    rows = db.execute(f"SELECT {UNIT_COLUMNS} FROM unit WHERE {condition} ORDER BY kind, unit_id", values).fetchall()
    return [parse_unit(row) for row in rows]


def _read_refs(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> list[UnitRef]:
    rows = db.execute(f"SELECT {UNIT_REF_COLUMNS} FROM unit WHERE {condition}", values).fetchall()
    return [parse_unit_ref(row) for row in rows]


def _read_refs_around(db: sqlite3.Connection, seqs: Sequence[int]) -> list[UnitRef]:
    """Return the units that may derive from these lines (ascending), and all that supersede another."""
    condition = "supersedes IS NOT NULL OR (first_seq <= ? AND last_seq >= ?)"
    return _read_refs(db, condition, (seqs[-1], seqs[0]))


def retract(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """Retract the units that derive from lines.

    Args:
        db: A connection in a transaction.
        times: Line number -> time of its retraction (microseconds since 1970). A unit that derives from several of the
            lines takes the earliest.
    """
    seqs = sorted(times)
    refs = _read_refs_around(db, seqs)
    removed = find_affected([ref for ref in refs if ref.is_live], seqs)
    _unlink(db, refs, removed)
    for ref in removed:
        at = ref.find_earliest(times)
        db.execute("DELETE FROM unit_vector WHERE kind = ? AND unit_id = ?", ref.key)
        db.execute("UPDATE unit SET retracted_at = ?, supersedes = NULL WHERE kind = ? AND unit_id = ?", (at, *ref.key))


def forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove the units that derive from any of these lines (ascending)."""
    refs = _read_refs_around(db, seqs)
    _delete(db, refs, find_affected(refs, seqs))


def forget_chain(db: sqlite3.Connection, kind: str, number: int) -> list[int]:
    """Remove a unit and the units that it superseded; return their ids, its own first.

    Raises:
        NotFound: There is no such unit, or it is retracted.
    """
    refs = _read_refs(db, "kind = ?", (kind,))
    chain = find_chain(refs, kind, number)
    _delete(db, refs, chain)
    ids = [ref.id for ref in chain]
    recall_records.remove_units(db, kind, ids)
    return ids


def _delete(db: sqlite3.Connection, refs: Sequence[UnitRef], removed: Sequence[UnitRef]) -> None:
    _unlink(db, refs, removed)
    db.executemany("DELETE FROM unit WHERE kind = ? AND unit_id = ?", [ref.key for ref in removed])


def _unlink(db: sqlite3.Connection, refs: Sequence[UnitRef], removed: Sequence[UnitRef]) -> None:
    relinked, reopened = plan_unlinking(refs, removed)
    db.executemany(
        "UPDATE unit SET supersedes = ? WHERE kind = ? AND unit_id = ?",
        [(supersedes, *key) for key, supersedes in relinked.items()],
    )
    db.executemany("UPDATE unit SET valid_to = NULL WHERE kind = ? AND unit_id = ?", list(reopened))


# ---------------------------------------------------------------------- scribe jobs


def enqueue(db: sqlite3.Connection, job: ScribeJob) -> None:
    """Queue a scribe job, or update the job with the same key."""
    db.execute(
        f"""INSERT INTO work ({JOB_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
            last_seq = excluded.last_seq, tries = excluded.tries, error = excluded.error""",
        job_row(job),
    )


def dequeue(db: sqlite3.Connection, job: ScribeJob) -> None:
    """Remove a scribe job from the queue."""
    db.execute("DELETE FROM work WHERE kind = ? AND session_id = ? AND first_seq = ?", job_key(job))


def sessions_with_summary(db: sqlite3.Connection, seqs: Sequence[int]) -> set[str]:
    """Return the sessions with a current summary that may derive from these lines (ascending)."""
    rows = db.execute(
        """SELECT metadata FROM unit WHERE kind = 'summary' AND valid_to IS NULL AND retracted_at IS NULL
           AND first_seq <= ? AND last_seq >= ?""",
        (seqs[-1], seqs[0]),
    )
    return {session for (metadata,) in rows if (session := summary_session(metadata)) is not None}


def queue_summaries(db: sqlite3.Connection, sessions: Collection[str], at: datetime) -> None:
    """Queue a summary of the remaining lines of each session."""
    for session in sorted(sessions):
        first, last = db.execute(
            """SELECT min(seq), max(seq) FROM line WHERE retracted_at IS NULL
               AND session = (SELECT number FROM session WHERE session_id = ?)""",
            (session,),
        ).fetchone()
        if first is not None:
            enqueue(db, ScribeJob("summary", session, first, last, at))
