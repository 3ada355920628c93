"""SQLite's rows as our nouns, and the other way round: lines, sessions, vectors, and what must hold among them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from everthread.errors import BadLine
from everthread.stores import vectors
from everthread.stores.base import LINE, Rows
from everthread.stores.text import words
from everthread.stores.times import moment
from everthread.types import Line, Seqs, Vectors

SESSION_GAP = timedelta(hours=1)  # a line without a session, said longer than this after the last one, begins a new one

COLUMNS = """line.seq, session.session_id, speaker.role, speaker.name, line.text, line.said_at, line.said_offset,
    line.parent_seq, line.metadata, line.key, line.retracted_at"""
FROM = """FROM line JOIN session ON session.number = line.session JOIN speaker ON speaker.number = line.speaker"""


def unembedded(model: str) -> str:
    """The condition of a line without a vector of the newest model of which this holds."""
    return f"""line.retracted_at IS NULL AND NOT EXISTS (SELECT 1 FROM vector WHERE kind = 'line'
        AND unit_id = line.seq AND model = (SELECT max(number) FROM model WHERE {model}))"""


def line(row: tuple[Any, ...]) -> Line:
    """A row of COLUMNS."""
    seq, session, role, speaker, text, said_at, said_offset, parent, metadata, key, retracted_at = row
    gone = None if retracted_at is None else moment(retracted_at)
    return Line(
        seq, session, role, speaker, text, moment(said_at, said_offset), parent, json.loads(metadata), key, gone
    )


def session_for(db: sqlite3.Connection, at: int) -> str:
    """The session of a line that names none: the last one, unless it has been silent for longer than SESSION_GAP."""
    last = db.execute(
        """SELECT session_id, last_at FROM session
           WHERE number = (SELECT session FROM line ORDER BY seq DESC LIMIT 1)"""
    ).fetchone()
    if last and abs(at - last[1]) <= SESSION_GAP // timedelta(microseconds=1):
        return str(last[0])
    name = moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")
    taken = {
        str(found) for (found,) in db.execute("SELECT session_id FROM session WHERE session_id GLOB ?", (f"{name}*",))
    }
    return next(each for n in range(1, len(taken) + 2) if (each := name if n == 1 else f"{name}-{n}") not in taken)


def parent(db: sqlite3.Connection, named: int | str | None) -> int | None:
    """The seq of the line named by its seq or its key. BadLine if there is none."""
    if named is None:
        return None
    column = "key" if isinstance(named, str) else "seq"
    found = db.execute(f"SELECT seq FROM line WHERE {column} = ?", (named,)).fetchone()
    if found is None:
        raise BadLine(f"parent {named!r} is no line of this bank; give the seq or the key of a line that is there")
    return int(found[0])


def speaker(db: sqlite3.Connection, name: str, role: str) -> int:
    """The speaker's number, given now to whoever speaks for the first time."""
    found = db.execute("SELECT number FROM speaker WHERE name = ? AND role = ?", (name, role)).fetchone()
    if found is None:
        found = db.execute("INSERT INTO speaker (name, role) VALUES (?, ?) RETURNING number", (name, role)).fetchone()
    return int(found[0])


def rows(db: sqlite3.Connection, seqs: Seqs) -> Rows:
    """What scoring needs of these lines (ascending) and of their sessions."""
    if len(seqs) and seqs[-1] - seqs[0] + 1 == len(seqs):
        found = db.execute(
            "SELECT data FROM gist WHERE seq BETWEEN ? AND ? ORDER BY seq", (int(seqs[0]), int(seqs[-1]))
        )
    else:
        chosen = json.dumps(seqs.tolist())
        found = db.execute(
            "SELECT data FROM gist WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq", (chosen,)
        )
    lines = np.frombuffer(b"".join(data for (data,) in found.fetchall()), LINE)
    numbers = json.dumps(np.unique(lines["session"]).tolist())
    sessions = db.execute(
        """SELECT number, first_seq, last_seq, terms FROM session
           WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number""",
        (numbers,),
    ).fetchall()
    return Rows(lines, np.array(sessions, np.int64).reshape(-1, 4))


def put_vectors(db: sqlite3.Connection, model: str, by_seq: Mapping[int, Vectors]) -> None:
    """Keep vectors, in place of those the model has for these lines."""
    if not by_seq:
        return
    dim = next(iter(by_seq.values())).shape[1]
    db.execute("INSERT OR IGNORE INTO model (name, dim) VALUES (?, ?)", (model, dim))
    number = int(db.execute("SELECT number FROM model WHERE name = ? AND dim = ?", (model, dim)).fetchone()[0])
    older = (
        "DELETE FROM vector WHERE kind = 'line' AND unit_id = ? AND model IN (SELECT number FROM model WHERE name = ?)"
    )
    db.executemany(older, [(seq, model) for seq in by_seq])
    db.executemany(
        "INSERT INTO vector (model, unit_id, ordinal, code, data) VALUES (?, ?, ?, ?, ?)",
        [
            (number, seq, ordinal, code.tobytes(), row.tobytes())
            for seq, data in by_seq.items()
            for ordinal, (code, row) in enumerate(zip(vectors.encode(data), data.astype(np.float16), strict=True))
        ],
    )


def load_dense(db: sqlite3.Connection, model: str, dim: int, after: int, whole: bool) -> vectors.DenseIndex:
    """The dense index of a model's vectors of lines with ids behind `after`, with the whole vectors or their codes."""
    found = db.execute("SELECT number FROM model WHERE name = ? AND dim = ?", (model, dim)).fetchone()
    number = found[0] if found else -1
    # From the start the order of the index of codes is the quick way; for the newest rows it is the order of ids.
    hint = "NOT INDEXED" if after else "INDEXED BY vector_code"
    rows = db.execute(
        f"""SELECT unit_id, code {", data" if whole else ""} FROM vector {hint}
            WHERE model = ? AND kind = 'line' AND id > ? ORDER BY unit_id, ordinal""",
        (number, after),
    ).fetchall()
    width = -(-dim // 64) * 8  # bytes of a code
    codes = np.frombuffer(b"".join(row[1] for row in rows), np.uint8).reshape(len(rows), width)
    data = np.frombuffer(b"".join(row[2] for row in rows), np.float16).reshape(len(rows), dim) if whole else None
    ids = np.array([row[0] for row in rows], np.int64)
    return vectors.DenseIndex(ids, vectors.columns(codes), data)


def contradictions(db: sqlite3.Connection) -> list[str]:
    """What does not agree inside a bank whose pages are sound."""
    lines, terms, last = db.execute("SELECT lines, terms, last_seq FROM bank").fetchone()
    found: list[str] = []
    counted = total = records = highest = 0
    for seq, text, retracted in db.execute("SELECT seq, text, retracted_at FROM line ORDER BY seq"):
        highest = seq
        if retracted is None:
            here = words(text)
            counted, total, records = counted + 1, total + here.length, records + len(here.terms)
    kept = db.execute("SELECT total(count), total(length(data)) FROM posting WHERE kind = 'line'").fetchone()
    orphans = db.execute(
        """SELECT count(*) FROM vector WHERE kind = 'line'
           AND unit_id NOT IN (SELECT seq FROM line WHERE retracted_at IS NULL)"""
    ).fetchone()[0]
    for name, has, wants in (
        ("lines", lines, counted),
        ("terms", terms, total),
        ("word records", int(kept[0]), records),
        ("bytes of word records", int(kept[1]), records * 8),
        ("lines in sessions", db.execute("SELECT total(lines) FROM session").fetchone()[0], counted),
        ("vectors without a line", orphans, 0),
        ("packed lines", db.execute("SELECT count(*) FROM gist").fetchone()[0], counted),
    ):
        if has != wants:
            found.append(f"{name}: {has:.0f} are counted, {wants} are there; export the lines into a new bank")
    return found + ([f"the last seq is {last}, but line {highest} is there"] if highest > last else [])
