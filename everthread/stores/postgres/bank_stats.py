"""Counts what a bank in Postgres contains."""

from __future__ import annotations

from collections.abc import Collection

from everthread.common.timestamps import from_micros
from everthread.stores.postgres.connections import Connection
from everthread.stores.postgres.rows import EARLIER_LAST
from everthread.stores.postings import POSTING_DTYPE
from everthread.stores.shared_rows import LINES_PER_PAGE, sum_by_name
from everthread.types import ROLES, Role, Stats


def read_stats(db: Connection, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
    """Count the contents of the bank from stored counters; its recipe is left empty.

    Its size in bytes is an estimate. Pending lines are counted individually unless `roles` has every role.
    """
    row = db.execute(
        f"SELECT lines, retracted, terms, {EARLIER_LAST} FROM everthread.bank WHERE bank_id = %s", (bank,)
    ).fetchone()
    lines, retracted, terms, earlier = row or (0, 0, 0, 0)
    spans = db.execute(
        "SELECT count(*), min(started_at), max(last_at) FROM everthread.session WHERE bank_id = %s", (bank,)
    ).fetchone()
    assert spans is not None
    first, last = (None if end is None else from_micros(end) for end in spans[1:])
    models = db.execute(
        "SELECT name, lines, dim FROM everthread.model WHERE bank_id = %s ORDER BY number", (bank,)
    ).fetchall()
    embedded = {name: count for name, count, _ in models}.get(model, 0)
    vector_bytes = sum(2 * dim * count for _, count, dim in models)  # one vector per line
    line_bytes = _average_line_bytes(db, bank) * (lines + retracted)
    return Stats(
        bank=bank,
        lines=lines,
        retracted=retracted,
        sessions=spans[0],
        speakers=_speaker_names(db, bank),
        first_said_at=first,
        last_said_at=last,
        vectors=sum_by_name((name, count) for name, count, _ in models),
        pending=lines - embedded if {*ROLES} <= {*roles} else _count_pending(db, bank, model, roles),
        bytes=round(line_bytes + terms * POSTING_DTYPE.itemsize + vector_bytes),
        recipe="",
        embedder=model,
        units=_count_units(db, bank),
        queued=_count_jobs(db, bank),
        outdated=_count_live(db, bank, earlier) if earlier else 0,
    )


def _speaker_names(db: Connection, bank: str) -> tuple[str, ...]:
    names = db.execute("SELECT DISTINCT name FROM everthread.speaker WHERE bank_id = %s ORDER BY name", (bank,))
    return tuple(name for (name,) in names)


def _count_units(db: Connection, bank: str) -> dict[str, int]:
    """Count the units that were not retracted, by kind."""
    counts = db.execute(
        """SELECT kind, count(*) FROM everthread.unit WHERE bank_id = %s AND retracted_at IS NULL
           GROUP BY kind ORDER BY kind""",
        (bank,),
    )
    return dict(counts.fetchall())


def _count_jobs(db: Connection, bank: str) -> int:
    row = db.execute("SELECT count(*) FROM everthread.work WHERE bank_id = %s", (bank,)).fetchone()
    assert row is not None
    return int(row[0])


def _count_live(db: Connection, bank: str, last: int) -> int:
    """Count the lines up to a number that are neither retracted nor wordless."""
    query = "SELECT count(*) FROM everthread.line WHERE bank_id = %s AND seq <= %s AND gist IS NOT NULL"
    row = db.execute(query, (bank, last)).fetchone()
    assert row is not None
    return int(row[0])


def _average_line_bytes(db: Connection, bank: str) -> float:
    """Return the average size of the last `LINES_PER_PAGE` lines, without indexes."""
    row = db.execute(
        """SELECT coalesce(avg(pg_column_size(last.*)), 0)::float8 FROM (
           SELECT * FROM everthread.line WHERE bank_id = %s ORDER BY seq DESC LIMIT %s) AS last""",
        (bank, LINES_PER_PAGE),
    ).fetchone()
    assert row is not None
    return float(row[0])


def _count_pending(db: Connection, bank: str, model: str, roles: Collection[Role]) -> int:
    """Count the lines of these roles that have no vector of the newest model of this name."""
    row = db.execute(
        """SELECT count(*) FROM everthread.line WHERE bank_id = %s AND gist IS NOT NULL
           AND speaker IN (SELECT number FROM everthread.speaker WHERE bank_id = %s AND role = ANY(%s))
           AND NOT EXISTS (SELECT 1 FROM everthread.vector WHERE vector.bank_id = line.bank_id
           AND vector.model = (SELECT max(number) FROM everthread.model WHERE bank_id = %s AND name = %s)
           AND vector.seq = line.seq)""",
        (bank, bank, list(roles), bank, model),
    ).fetchone()
    assert row is not None
    return int(row[0])
