"""Units: what was written about lines. What every store makes of them, and SQLite's rows.

A unit derives from a span of lines and goes with any of them. One that supersedes another names it, so that the units
of a kind are linked; when one goes, its neighbours are linked, and if it was current, the one before it is so again.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from everthread.common.timestamps import micros, moment, offset
from everthread.errors import NotFound
from everthread.stores.base import Key, UnitReplacement
from everthread.stores.filters import as_json
from everthread.stores.sqlite import unit_vectors
from everthread.types import JSONValue, NewUnit, ScribeJob, Unit, Vectors

COLUMNS = """unit_id, kind, text, first_seq, last_seq, said_at, said_offset, valid_from, valid_to, importance, category,
    metadata, retracted_at, supersedes"""
SINGLE = ("note", "summary")  # kinds of which one is current at a time: in a bank, and in a session
WORK = "kind, session_id, first_seq, last_seq, queued_at, tries, error"
LINK = "kind, unit_id, first_seq, last_seq, supersedes, retracted_at IS NULL"
SPANS = "SELECT unit_id, first_seq, last_seq FROM unit WHERE (retracted_at IS NOT NULL) ="


def unit(row: tuple[Any, ...]) -> Unit:
    """A row of COLUMNS."""
    number, kind, text, first, last, said_at, away, since, until, importance, category, metadata, gone, before = row
    return Unit(
        *(number, kind, text, first, last, moment(said_at, away), moment(since)),
        *(None if until is None else moment(until), importance, category, json.loads(metadata)),
        *(None if gone is None else moment(gone), before),
    )


def row_of(unit: Unit) -> tuple[Any, ...]:
    """The unit as a row of COLUMNS."""
    return (
        *(unit.id, unit.kind, unit.text, unit.first_seq, unit.last_seq, micros(unit.said_at), offset(unit.said_at)),
        *(micros(unit.valid_from), None if unit.valid_to is None else micros(unit.valid_to)),
        *(unit.importance, unit.category, as_json(unit.metadata)),
        *(None if unit.retracted_at is None else micros(unit.retracted_at), unit.supersedes),
    )


def numbered(new: NewUnit, number: int, at: int, supersedes: int | None) -> Unit:
    """The unit that becomes current at this moment, under its number."""
    return Unit(
        *(number, new.kind, new.text, new.first_seq, new.last_seq, new.said_at, moment(at), None),
        *(new.importance, new.category, new.metadata, None, supersedes),
    )


def check(
    bank: str, new: NewUnit, last: int, there: Collection[int], supersedes: int | None, current: Mapping[int, str]
) -> None:
    """See that a unit may be written: that none of its lines, and not the unit before it, is gone, and that no other
    was written meanwhile. `current` are the metadata of the current units that it supersedes, or else of those of its
    kind if that is SINGLE, by id. NotFound else."""
    if new.last_seq > last:
        raise NotFound(f"bank {bank!r} has no line {new.last_seq}, of which a {new.kind} was to be written")
    if gone := sorted(set(new.sources).difference(there)):
        raise NotFound(
            f"bank {bank!r} has no line {gone[0]} any more, of which a {new.kind} was written; nothing was kept, as it "
            "may tell what is gone. Write it again from the lines that are there"
        )
    if supersedes is not None and supersedes not in current:
        raise NotFound(
            f"bank {bank!r} has no current {new.kind} {supersedes} that could be superseded; it was retracted, "
            "forgotten or superseded meanwhile. Read the current one and write again"
        )
    if supersedes is None and (rival := _rival(new, current)) is not None:
        raise NotFound(
            f"bank {bank!r} has a current {new.kind} {rival} already, which was to be the first; it was written "
            "meanwhile. Read it and write again in its place"
        )


def _rival(new: NewUnit, current: Mapping[int, str]) -> int | None:
    """The current unit beside which a new one can't be: there is one note a bank, and one summary a session."""
    if new.kind == "note":
        return max(current, default=None)
    session = new.metadata.get("session")
    return next((number for number, text in current.items() if session_of(text) == session is not None), None)


def session_of(metadata: str) -> str | None:
    """The session that a summary is of, as its metadata say."""
    session = json.loads(metadata).get("session")
    return session if isinstance(session, str) else None


def rows_of(change: UnitReplacement, first: int, at: int) -> list[tuple[Any, ...]]:
    """The new units as rows of COLUMNS, numbered from `first`."""
    return [row_of(numbered(new, number, at, None)) for number, new in enumerate(change.units, first)]


def sources(change: UnitReplacement) -> list[int]:
    """The lines of which the new units are made, each once."""
    return sorted({seq for new in change.units for seq in new.sources})


def embedded(change: UnitReplacement, first: int) -> dict[Key, Vectors]:
    """The new units' vectors, by kind and id."""
    return {(change.kind, number): data for number, data in enumerate(change.vectors, first)}


# --------------------------------------------------------------------------- links


@dataclass(frozen=True, slots=True)
class UnitRef:
    """A unit, the lines it derives from, and the id of the unit whose place it took. live: it is not retracted."""

    kind: str
    id: int
    first: int
    last: int
    supersedes: int | None
    live: bool

    @property
    def key(self) -> Key:
        return self.kind, self.id

    @property
    def before(self) -> Key | None:
        """The unit whose place it took."""
        return None if self.supersedes is None else (self.kind, self.supersedes)


def affected(links: Sequence[UnitRef], seqs: Sequence[int]) -> list[UnitRef]:
    """Those that derive from any of these lines (ascending)."""
    spans = np.array([(link.first, link.last) for link in links], np.int64).reshape(-1, 2)
    lines = np.asarray(seqs, np.int64)
    hit = np.searchsorted(lines, spans[:, 0]) < np.searchsorted(lines, spans[:, 1], "right")
    return [link for link, each in zip(links, hit.tolist(), strict=True) if each]


def unlinked(links: Sequence[UnitRef], gone: Sequence[UnitRef]) -> tuple[dict[Key, int | None], set[Key]]:
    """What becomes of the others when some units go: what they supersede now, and which are current again."""
    by_key = {link.key: link for link in links if link.live}
    going = {link.key for link in gone}

    def before(link: UnitRef) -> Key | None:
        while link.before in going and link.before in by_key:
            link = by_key[link.before]
        return link.before

    left = [link for key, link in by_key.items() if key not in going]
    now = {link.key: before(link) for link in left}
    moved = {link.key: found and found[1] for link in left if (found := now[link.key]) != link.before}
    freed = {before(link) for link in gone if link.live} - set(now.values())
    return moved, {key for key in freed if key is not None}


def history(links: Sequence[UnitRef], kind: str, number: int) -> list[UnitRef]:
    """A unit and those whose place it took, the newest first. NotFound if there is none that is not retracted."""
    by_key = {link.key: link for link in links if link.live}
    found: list[UnitRef] = []
    key: Key | None = (kind, number)
    while key is not None and key in by_key:
        found.append(by_key[key])
        key = found[-1].before
    if not found:
        raise NotFound(f"there is no {kind} {number}; nothing was forgotten")
    return found


# ---------------------------------------------------------------------- SQLite's rows


def put(db: sqlite3.Connection, bank: str, new: NewUnit, at: int, supersedes: int | None) -> Unit:
    """Write a unit that is new, in the place of the one that it supersedes."""
    last = int(db.execute("SELECT last_seq FROM bank").fetchone()[0])
    there = db.execute(
        "SELECT seq FROM line WHERE retracted_at IS NULL AND seq IN (SELECT value FROM json_each(?))",
        (json.dumps(new.sources),),
    )
    check(bank, new, last, {seq for (seq,) in there}, supersedes, _current(db, new.kind, supersedes))
    db.execute("UPDATE unit SET valid_to = ? WHERE kind = ? AND unit_id = ?", (at, new.kind, supersedes))
    number = db.execute("SELECT coalesce(max(unit_id), 0) + 1 FROM unit WHERE kind = ?", (new.kind,)).fetchone()[0]
    made = numbered(new, number, at, supersedes)
    restore(db, made)
    return read(db, "kind = ? AND unit_id = ?", (new.kind, number))[0]


def _current(db: sqlite3.Connection, kind: str, supersedes: int | None) -> dict[int, str]:
    if supersedes is None and kind not in SINGLE:
        return {}
    query = "SELECT unit_id, metadata FROM unit WHERE kind = ? AND valid_to IS NULL AND retracted_at IS NULL"
    return dict(db.execute(f"{query} AND unit_id = coalesce(?, unit_id)", (kind, supersedes)).fetchall())


def restore(db: sqlite3.Connection, made: Unit) -> None:
    """Write a unit as it is, in place of one of its kind and number."""
    values = row_of(made)
    db.execute("DELETE FROM unit WHERE kind = ? AND unit_id = ?", (made.kind, made.id))
    db.execute(f"INSERT INTO unit ({COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)


def rewrite(db: sqlite3.Connection, change: UnitReplacement, model: str, at: int) -> bool:
    """Units in the place of others, and the setting, if all is still as it was when this was thought out."""
    lines = sources(change)
    there = db.execute(
        "SELECT count(*) FROM line WHERE retracted_at IS NULL AND seq IN (SELECT value FROM json_each(?))",
        (json.dumps(lines),),
    ).fetchone()[0]
    if setting(db, change.setting) != change.before or there < len(lines):
        return False
    highest = db.execute("SELECT coalesce(max(unit_id), 0) FROM unit WHERE kind = ?", (change.kind,)).fetchone()[0]
    first = max(highest, change.min_id) + 1
    db.executemany(
        "DELETE FROM unit WHERE kind = ? AND unit_id = ?", [(change.kind, int(number)) for number in change.delete_ids]
    )
    rows = rows_of(change, first, at)
    if rows:
        db.executemany(f"INSERT INTO unit ({COLUMNS}) VALUES ({', '.join('?' * len(rows[0]))})", rows)
    unit_vectors.put(db, model, embedded(change, first))
    put_setting(db, change.setting, change.after(first))
    return True


def setting(db: sqlite3.Connection, name: str) -> JSONValue | None:
    """A setting of the bank; None where it is not set."""
    row = db.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
    value: JSONValue | None = None if row is None else json.loads(row[0])
    return value


def put_setting(db: sqlite3.Connection, name: str, value: JSONValue | None) -> None:
    """Keep one setting; None removes it."""
    if value is None:
        db.execute("DELETE FROM setting WHERE name = ?", (name,))
    else:
        db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, as_json(value)))


def read(db: sqlite3.Connection, condition: str, values: Sequence[object] = ()) -> list[Unit]:
    """The units for which a condition holds, by kind and id."""
    rows = db.execute(f"SELECT {COLUMNS} FROM unit WHERE {condition} ORDER BY kind, unit_id", values).fetchall()
    return [unit(row) for row in rows]


def links(db: sqlite3.Connection, seqs: Sequence[int]) -> list[UnitRef]:
    """In short the units that may derive from these lines (ascending), and those that took the place of another."""
    rows = db.execute(
        f"SELECT {LINK} FROM unit WHERE supersedes IS NOT NULL OR (first_seq <= ? AND last_seq >= ?)",
        (seqs[-1], seqs[0]),
    )
    return [UnitRef(kind, number, first, last, before, bool(live)) for kind, number, first, last, before, live in rows]


def retract(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """Retract what derives from lines, each retracted at its time; what derives from several, at the first's."""
    seqs = sorted(times)
    every = links(db, seqs)
    gone = affected([link for link in every if link.live], seqs)
    _unlink(db, every, gone)
    for link in gone:
        at = min(times[seq] for seq in seqs[bisect_left(seqs, link.first) : bisect_right(seqs, link.last)])
        db.execute("DELETE FROM unit_vector WHERE kind = ? AND unit_id = ?", link.key)
        db.execute(
            "UPDATE unit SET retracted_at = ?, supersedes = NULL WHERE kind = ? AND unit_id = ?", (at, *link.key)
        )


def forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove what derives from any of these lines (ascending)."""
    every = links(db, seqs)
    gone = affected(every, seqs)
    _unlink(db, every, gone)
    db.executemany("DELETE FROM unit WHERE kind = ? AND unit_id = ?", [link.key for link in gone])


def forget_one(db: sqlite3.Connection, kind: str, number: int) -> list[int]:
    """Remove a unit and those whose place it took; their ids."""
    rows = db.execute(f"SELECT {LINK} FROM unit WHERE kind = ?", (kind,))
    every = [UnitRef(of, name, first, last, before, bool(live)) for of, name, first, last, before, live in rows]
    gone = history(every, kind, number)
    _unlink(db, every, gone)
    db.executemany("DELETE FROM unit WHERE kind = ? AND unit_id = ?", [link.key for link in gone])
    return [link.id for link in gone]


def _unlink(db: sqlite3.Connection, every: Sequence[UnitRef], gone: Sequence[UnitRef]) -> None:
    moved, freed = unlinked(every, gone)
    db.executemany(
        "UPDATE unit SET supersedes = ? WHERE kind = ? AND unit_id = ?", [(to, *key) for key, to in moved.items()]
    )
    db.executemany("UPDATE unit SET valid_to = NULL WHERE kind = ? AND unit_id = ?", list(freed))


# --------------------------------------------------------------------- a scribe's work


def queue(db: sqlite3.Connection, work: ScribeJob) -> None:
    """Keep work that a scribe is to do, or what has changed of it."""
    db.execute(
        f"""INSERT INTO work ({WORK}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
            last_seq = excluded.last_seq, tries = excluded.tries, error = excluded.error""",
        work_row(work),
    )


def summarised(db: sqlite3.Connection, seqs: Sequence[int]) -> set[str]:
    """The sessions with a current summary that may derive from these lines (ascending)."""
    rows = db.execute(
        """SELECT metadata FROM unit WHERE kind = 'summary' AND valid_to IS NULL AND retracted_at IS NULL
           AND first_seq <= ? AND last_seq >= ?""",
        (seqs[-1], seqs[0]),
    )
    return {session for (metadata,) in rows if (session := session_of(metadata)) is not None}


def summarise(db: sqlite3.Connection, sessions: Collection[str], at: datetime) -> None:
    """Queue a summary of what is left of each of these sessions."""
    for session in sorted(sessions):
        first, last = db.execute(
            """SELECT min(seq), max(seq) FROM line WHERE retracted_at IS NULL
               AND session = (SELECT number FROM session WHERE session_id = ?)""",
            (session,),
        ).fetchone()
        if first is not None:
            queue(db, ScribeJob("summary", session, first, last, at))


def work(row: tuple[Any, ...]) -> ScribeJob:
    """A row of WORK."""
    kind, session, first, last, queued_at, tries, error = row
    return ScribeJob(kind, session, first, last, moment(queued_at), tries, error)


def work_row(work: ScribeJob) -> tuple[Any, ...]:
    """The same, the other way round."""
    return work.kind, work.session, work.first_seq, work.last_seq, micros(work.queued_at), work.tries, work.error


def work_key(work: ScribeJob) -> tuple[str, str, int]:
    """What tells one work from another."""
    return work.kind, work.session, work.first_seq
