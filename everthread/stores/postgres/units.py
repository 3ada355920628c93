"""Postgres rows of memory units, their vectors, settings and scribe jobs. `stores.units` is shared by all stores."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np
from pgvector import HalfVector

from everthread.common.timestamps import to_micros
from everthread.stores.json_text import canonical_json
from everthread.stores.postgres import recall_records
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.arrays import SeqArray
from everthread.stores.postgres.bulk_insert import insert
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.shared_rows import unchanged_seqs
from everthread.stores.unit_store import UnitCosines, UnitKey, UnitReplacement, UnitVersion
from everthread.stores.units import (
    JOB_COLUMNS,
    SINGLE_KINDS,
    UNIT_COLUMNS,
    UNIT_REF_COLUMNS,
    VERSION_COLUMNS,
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
from everthread.types import JSONValue, Line, NewUnit, ScribeJob, Unit, Vector, Vectors

_IS_UNIT = "bank_id = %s AND kind = %s AND unit_id = %s"
_IS_CURRENT = "valid_to IS NULL AND retracted_at IS NULL"
_IS_IN_UNITS = "bank_id = %s AND kind = %s AND unit_id = ANY(%s::bigint[])"


def put(db: Connection, bank: str, new: NewUnit, at: int, supersedes: int | None, last: int) -> Unit:
    """Write a new unit; the unit that it supersedes ends at `at` (microseconds since 1970).

    The caller holds the bank's lock; `last` is the bank's last seq.

    Raises:
        NotFound: see `stores.units.check_unit`.
    """
    existing = db.execute(
        "SELECT seq FROM everthread.line WHERE bank_id = %s AND seq = ANY(%s::bigint[]) AND retracted_at IS NULL",
        (bank, list(new.sources)),
    ).fetchall()
    check_unit(bank, new, last, {seq for (seq,) in existing}, supersedes, _read_current(db, bank, new.kind, supersedes))
    db.execute(f"UPDATE everthread.unit SET valid_to = %s WHERE {_IS_UNIT}", (at, bank, new.kind, supersedes))
    row = db.execute(
        "SELECT coalesce(max(unit_id), 0) + 1 FROM everthread.unit WHERE bank_id = %s AND kind = %s", (bank, new.kind)
    ).fetchone()
    assert row is not None
    unit = build_unit(new, row[0], at, supersedes)
    restore(db, bank, unit)
    return read(db, bank, "kind = %s AND unit_id = %s", (unit.kind, unit.id))[0]


def _read_current(db: Connection, bank: str, kind: str, supersedes: int | None) -> dict[int, str]:
    if supersedes is None and kind not in SINGLE_KINDS:
        return {}
    query = f"""SELECT unit_id, metadata FROM everthread.unit WHERE bank_id = %s AND kind = %s AND {_IS_CURRENT}
        AND unit_id = coalesce(%s::bigint, unit_id)"""
    return dict(db.execute(query, (bank, kind, supersedes)))


def restore(db: Connection, bank: str, unit: Unit) -> None:
    """Write a unit unchanged, replacing the unit of the same kind and id."""
    values = unit_row(unit)
    db.execute(f"DELETE FROM everthread.unit WHERE {_IS_UNIT}", (bank, unit.kind, unit.id))
    db.execute(
        f"INSERT INTO everthread.unit (bank_id, {UNIT_COLUMNS}) VALUES (%s, {', '.join(['%s'] * len(values))})",
        (bank, *values),
    )


def _has_changed(db: Connection, bank: str, lines: Sequence[Line]) -> bool:
    """Return whether any of these lines has been removed, or another is stored under its number."""
    if not lines:
        return False
    seqs = SeqArray(np.array([line.seq for line in lines], np.int64))
    stored = bank_rows.get_lines(db, bank, seqs, "line.retracted_at IS NULL")
    return len(unchanged_seqs(stored, lines)) < len(lines)


def replace(db: Connection, bank: str, change: UnitReplacement, model: str, at: int, models: int) -> JSONValue | None:
    """Apply a replacement of units and its setting; `models` is the number of models numbered so far.

    The caller holds the bank's lock.

    Returns:
        The new value of the setting; None, with nothing changed, if the replacement's basis has changed.
    """
    lines = source_seqs(change)
    existing = db.execute(
        """SELECT count(*) FROM everthread.line
           WHERE bank_id = %s AND seq = ANY(%s::bigint[]) AND retracted_at IS NULL""",
        (bank, lines),
    ).fetchone()
    superseded = (bank, change.kind, [*change.supersedes])
    current = db.execute(f"SELECT count(*) FROM everthread.unit WHERE {_IS_IN_UNITS} AND {_IS_CURRENT}", superseded)
    counts = existing, current.fetchone()
    is_changed = any(
        row is None or row[0] < len(wanted) for row, wanted in zip(counts, (lines, change.supersedes), strict=True)
    )
    if (
        is_changed
        or _has_changed(db, bank, change.lines)
        or get_setting(db, bank, change.setting) != change.expected_value
    ):
        return None
    db.execute(f"UPDATE everthread.unit SET valid_to = %s WHERE {_IS_IN_UNITS}", (at, *superseded))
    last_id = db.execute(
        "SELECT coalesce(max(unit_id), 0) FROM everthread.unit WHERE bank_id = %s AND kind = %s", (bank, change.kind)
    ).fetchone()
    first_id = max(last_id[0] if last_id else 0, change.min_id) + 1
    db.execute(
        "DELETE FROM everthread.unit WHERE bank_id = %s AND kind = %s AND unit_id = ANY(%s::bigint[])",
        (bank, change.kind, [int(number) for number in change.delete_ids]),
    )
    if change.forgets:
        recall_records.remove_units(db, bank, change.kind, change.delete_ids)
    rows = build_unit_rows(change, first_id, at)
    insert(db, bank, f"unit (bank_id, {UNIT_COLUMNS})", list(_UNIT_TYPES.values()), rows)
    put_vectors(db, bank, model, vectors_by_key(change, first_id), models)
    value = change.make_value(first_id)
    put_setting(db, bank, change.setting, value)
    return value


# The types of UNIT_COLUMNS.
_UNIT_TYPES = {
    "unit_id": "bigint",
    "kind": "text",
    "text": "text",
    "first_seq": "bigint",
    "last_seq": "bigint",
    "said_at": "bigint",
    "said_offset": "int",
    "valid_from": "bigint",
    "valid_to": "bigint",
    "importance": "float8",
    "category": "text",
    "metadata": "text",
    "retracted_at": "bigint",
    "supersedes": "bigint",
}


def get_setting(db: Connection, bank: str, name: str) -> JSONValue | None:
    """Return a setting of the bank; None if it is not set."""
    query = "SELECT value FROM everthread.setting WHERE bank_id = %s AND name = %s"
    row = db.execute(query, (bank, name)).fetchone()
    value: JSONValue | None = None if row is None else json.loads(row[0])
    return value


def put_setting(db: Connection, bank: str, name: str, value: JSONValue | None) -> None:
    """Store one setting; None removes it."""
    if value is None:
        db.execute("DELETE FROM everthread.setting WHERE bank_id = %s AND name = %s", (bank, name))
    else:
        db.execute(
            """INSERT INTO everthread.setting (bank_id, name, value) VALUES (%s, %s, %s)
               ON CONFLICT (bank_id, name) DO UPDATE SET value = excluded.value""",
            (bank, name, canonical_json(value)),
        )


def enqueue(db: Connection, bank: str, job: ScribeJob) -> None:
    """Queue a scribe job, or update the job with the same key."""
    db.execute(
        f"""INSERT INTO everthread.work (bank_id, {JOB_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (bank_id, kind, session_id, first_seq) DO UPDATE SET
            last_seq = excluded.last_seq, tries = excluded.tries, error = excluded.error""",
        (bank, *job_row(job)),
    )


def dequeue(db: Connection, bank: str, job: ScribeJob) -> None:
    """Remove a scribe job from the queue."""
    query = "DELETE FROM everthread.work WHERE bank_id = %s AND kind = %s AND session_id = %s AND first_seq = %s"
    db.execute(query, (bank, *job_key(job)))


def sessions_with_summary(db: Connection, bank: str, seqs: Sequence[int]) -> set[str]:
    """Return the sessions with a current summary that may derive from these lines (ascending)."""
    rows = db.execute(
        f"""SELECT metadata FROM everthread.unit WHERE bank_id = %s AND kind = 'summary' AND {_IS_CURRENT}
            AND first_seq <= %s AND last_seq >= %s""",
        (bank, seqs[-1], seqs[0]),
    )
    return {session for (metadata,) in rows if (session := summary_session(metadata)) is not None}


def queue_summaries(db: Connection, bank: str, sessions: Collection[str], at: datetime) -> None:
    """Queue a summary of the remaining lines of each session."""
    rows = db.execute(
        """SELECT session_id, min(line.seq), max(line.seq) FROM everthread.line JOIN everthread.session
           ON session.bank_id = line.bank_id AND session.number = line.session
           WHERE line.bank_id = %s AND line.retracted_at IS NULL AND session_id = ANY(%s)
           GROUP BY session_id ORDER BY session_id""",
        (bank, sorted(sessions)),
    )
    for session, first, last in rows.fetchall():
        enqueue(db, bank, ScribeJob("summary", session, first, last, at))


def exists(db: Connection, bank: str, unit: Unit) -> bool:
    """Return whether this unit was written, by time and text."""
    cursor = db.execute(
        f"SELECT 1 FROM everthread.unit WHERE {_IS_UNIT} AND valid_from = %s AND text = %s",
        (bank, unit.kind, unit.id, to_micros(unit.valid_from), unit.text),
    )
    return cursor.fetchone() is not None


def read(db: Connection, bank: str, condition: str, values: Sequence[object] = ()) -> list[Unit]:
    """Return the units that meet an SQL condition, by kind and id."""
    query = f"SELECT {UNIT_COLUMNS} FROM everthread.unit WHERE bank_id = %s AND {condition} ORDER BY kind, unit_id"
    return [parse_unit(row) for row in db.execute(query, (bank, *values))]


def version(db: Connection, bank: str, kind: str) -> UnitVersion:
    """Return a value that changes with the units of a kind that are not retracted."""
    row = db.execute(
        f"""SELECT (SELECT created_at FROM everthread.bank WHERE bank_id = %s), {VERSION_COLUMNS}
            FROM everthread.unit WHERE bank_id = %s AND kind = %s AND retracted_at IS NULL""",
        (bank, bank, kind),
    ).fetchone()
    assert row is not None
    return tuple(row)


def spans(db: Connection, bank: str, kind: str, retracted: bool) -> list[tuple[int, int, int]]:
    """Return id, first and last seq of the units of a kind, by id: the retracted ones, or all others."""
    rows = db.execute(
        """SELECT unit_id, first_seq, last_seq FROM everthread.unit
           WHERE (retracted_at IS NOT NULL) = %s AND bank_id = %s AND kind = %s ORDER BY unit_id""",
        (retracted, bank, kind),
    )
    return [(number, first, last) for number, first, last in rows]


def read_refs(db: Connection, bank: str, seqs: Sequence[int] | None = None) -> list[UnitRef]:
    """Return references to all units.

    With `seqs` (ascending), only to units that may derive from these lines or that supersede another.
    """
    query = f"SELECT {UNIT_REF_COLUMNS} FROM everthread.unit WHERE bank_id = %s"
    if seqs is None:
        return [parse_unit_ref(row) for row in db.execute(query, (bank,))]
    overlap = " AND (supersedes IS NOT NULL OR (first_seq <= %s AND last_seq >= %s))"
    return [parse_unit_ref(row) for row in db.execute(query + overlap, (bank, seqs[-1], seqs[0]))]


def retract(db: Connection, bank: str, seqs: Sequence[int], at: int) -> None:
    """Retract the units that derive from any of these lines (ascending)."""
    refs = read_refs(db, bank, seqs)
    removed = find_affected([ref for ref in refs if ref.is_live], seqs)
    _unlink(db, bank, refs, removed)
    for ref in removed:
        db.execute(f"DELETE FROM everthread.unit_vector WHERE {_IS_UNIT}", (bank, *ref.key))
        db.execute(
            f"UPDATE everthread.unit SET retracted_at = %s, supersedes = NULL WHERE {_IS_UNIT}", (at, bank, *ref.key)
        )


def forget(db: Connection, bank: str, seqs: Sequence[int]) -> list[str]:
    """Remove the units that derive from any of these lines (ascending); return the tables that lost rows."""
    refs = read_refs(db, bank, seqs)
    removed = find_affected(refs, seqs)
    _unlink(db, bank, refs, removed)
    with db.pipeline():
        for ref in removed:
            db.execute(f"DELETE FROM everthread.unit WHERE {_IS_UNIT}", (bank, *ref.key))
    return ["unit", "unit_vector"] if removed else []


def forget_chain(db: Connection, bank: str, kind: str, number: int) -> tuple[list[int], list[str]]:
    """Remove a unit and the units that it superseded.

    Returns:
        Their ids, its own first, and the tables that lost rows or values.

    Raises:
        NotFound: there is no such unit, or it is retracted.
    """
    bank_rows.lock_existing(db, bank)
    refs = [ref for ref in read_refs(db, bank) if ref.kind == kind]
    chain = find_chain(refs, kind, number)
    _unlink(db, bank, refs, chain)
    ids = [ref.id for ref in chain]
    db.execute(f"DELETE FROM everthread.unit WHERE {_IS_IN_UNITS}", (bank, kind, ids))
    recorded = recall_records.remove_units(db, bank, kind, ids)
    return ids, ["unit", "unit_vector", *(["line"] if recorded else [])]


def is_gone(db: Connection, bank: str, kind: str, ids: Sequence[int]) -> bool:
    """Return whether none of these units exists, after the bank's current writer has finished."""
    bank_rows.lock_existing(db, bank)
    row = db.execute(f"SELECT 1 FROM everthread.unit WHERE {_IS_IN_UNITS}", (bank, kind, list(ids))).fetchone()
    return row is None


def _unlink(db: Connection, bank: str, refs: Sequence[UnitRef], removed: Sequence[UnitRef]) -> None:
    relinked, reopened = plan_unlinking(refs, removed)
    with db.pipeline():
        for key, supersedes in relinked.items():
            db.execute(f"UPDATE everthread.unit SET supersedes = %s WHERE {_IS_UNIT}", (supersedes, bank, *key))
        for key in reopened:
            db.execute(f"UPDATE everthread.unit SET valid_to = NULL WHERE {_IS_UNIT}", (bank, *key))


def put_vectors(db: Connection, bank: str, name: str, by_unit: Mapping[UnitKey, Vectors], models: int) -> None:
    """Store the vectors of units, replacing those of the same model; `models` are numbered so far."""
    if not by_unit:
        return
    model_number = bank_rows.get_or_create_model(db, bank, name, {0: next(iter(by_unit.values()))}, models).number
    db.execute(
        """DELETE FROM everthread.unit_vector WHERE bank_id = %s AND model = %s
           AND (kind, unit_id) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))""",
        (bank, model_number, [kind for kind, _ in by_unit], [number for _, number in by_unit]),
    )
    rows = [
        (model_number, *key, ordinal, HalfVector(row))
        for key, data in by_unit.items()
        for ordinal, row in enumerate(data)
    ]
    into = "unit_vector (bank_id, model, kind, unit_id, ordinal, data)"
    insert(db, bank, into, ("int", "text", "bigint", "int", "halfvec"), rows)


def cosines(db: Connection, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None) -> UnitCosines:
    """Return the cosine of each unit's nearest piece to the query; of the k nearest units only, if k is given."""
    best: dict[UnitKey, float] = {}
    for vector in np.atleast_2d(query):
        for kind, number, cosine in _read_cosines(db, bank, model, vector, kinds, k):
            best[kind, number] = max(cosine, best.get((kind, number), cosine))
    nearest = sorted(best.items(), key=lambda unit: (-unit[1], unit[0]))[:k]
    return sorted((kind, number, cosine) for (kind, number), cosine in nearest)


def _read_cosines(db: Connection, bank: str, model: str, query: Vector, kinds: Sequence[str], k: int | None) -> Cursor:
    return db.execute(
        """SELECT kind, unit_id, max(-(data <#> %s))::float8 FROM everthread.unit_vector
           WHERE bank_id = %s AND model = (SELECT number FROM everthread.model
               WHERE bank_id = %s AND name = %s AND dim = %s)
           AND (%s OR kind = ANY(%s::text[])) GROUP BY kind, unit_id ORDER BY 3 DESC, kind, unit_id LIMIT %s""",
        (HalfVector(query), bank, bank, model, len(query), not kinds, list(kinds), k),
    )
