"""Counts what a bank in SQLite contains."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from everthread.common.timestamps import from_micros
from everthread.stores.shared_rows import sum_by_name
from everthread.types import ROLES, Role, Stats


def read_stats(db: sqlite3.Connection, bank: str, model: str, roles: Collection[Role] = ROLES) -> Stats:
    """Count the contents of the bank from stored counters; size and recipe are left empty.

    Pending lines are counted individually unless `roles` has every role.
    """
    lines, retracted = db.execute("SELECT lines, retracted FROM bank").fetchone()
    sessions, *ends = db.execute("SELECT count(*), min(started_at), max(last_at) FROM session").fetchone()
    first, last = (None if end is None else from_micros(end) for end in ends)
    speakers = tuple(name for (name,) in db.execute("SELECT DISTINCT name FROM speaker ORDER BY name"))
    # In this order dict() retains the newest model of a name.
    models = db.execute("SELECT name, lines FROM model ORDER BY number").fetchall()
    pending = lines - dict(models).get(model, 0) if {*ROLES} <= {*roles} else _count_pending(db, model, roles)
    units = dict(
        db.execute("SELECT kind, count(*) FROM unit WHERE retracted_at IS NULL GROUP BY kind ORDER BY kind").fetchall()
    )
    queued = db.execute("SELECT count(*) FROM work").fetchone()[0]
    return Stats(
        bank=bank,
        lines=lines,
        retracted=retracted,
        sessions=sessions,
        speakers=speakers,
        first_said_at=first,
        last_said_at=last,
        vectors=sum_by_name(models),
        pending=pending,
        bytes=0,
        recipe="",
        embedder=model,
        units=units,
        queued=queued,
    )


def _count_pending(db: sqlite3.Connection, model: str, roles: Collection[Role]) -> int:
    """Count the lines of these roles that have no vector of the newest model of this name."""
    newest = db.execute("SELECT coalesce(max(number), 0) FROM model WHERE name = ?", (model,)).fetchone()[0]
    row = db.execute(
        """SELECT count(*) FROM line WHERE retracted_at IS NULL AND text <> ''
           AND speaker IN (SELECT number FROM speaker WHERE role IN (SELECT value FROM json_each(?)))
           AND NOT EXISTS (SELECT 1 FROM vector WHERE id BETWEEN ? + (seq << 12) AND ? + (seq << 12) + 4095)""",
        (json.dumps(list(roles)), newest << 44, newest << 44),
    ).fetchone()
    return int(row[0])
