"""Taking lines out of a bank: out of the index (retract) or out of existence (forget). SQLite's dialect.

SQLite runs with `secure_delete`, so that a removed row's bytes are overwritten; the caller erases what is left of them
between the rows and in the write-ahead log.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from everthread.common.keys import SETTING_PINNED
from everthread.errors import NotFound
from everthread.stores import pinned
from everthread.stores.base import LINE_DTYPE, Scope
from everthread.stores.sqlite import column_blocks, postings, units
from everthread.stores.sqlite import rows as records
from everthread.text.analyzer import count_terms, without_quotes_json
from everthread.types import now

_OF = {
    "line": "seq = ?",
    "session": "session = (SELECT number FROM session WHERE session_id = ?)",
    "speaker": "speaker IN (SELECT number FROM speaker WHERE name = ?)",
}


def retract(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """Take these lines out of the index for good, each at its time, with what follows from it; their text stays."""
    with followed(db, sorted(times)):
        withdraw(db, times)


def withdraw(db: sqlite3.Connection, times: Mapping[int, int]) -> None:
    """The same without what follows from it."""
    unindex(db, sorted(times))
    db.execute("UPDATE bank SET retracted = retracted + ?", (len(times),))
    for seq, at in times.items():
        db.execute("UPDATE line SET retracted_at = ? WHERE seq = ?", (at, seq))
    units.retract(db, times)


def forget(db: sqlite3.Connection, bank: str, scope: Scope, name: str | int | None) -> list[int]:
    """Remove every trace of the lines in scope; their seqs. NotFound if there are none."""
    seqs = [int(seq) for (seq,) in db.execute(f"SELECT seq FROM line WHERE {_OF[scope]} ORDER BY seq", (name,))]
    if not seqs:
        raise NotFound(f"bank {bank!r} has no {scope} {name!r}; nothing was forgotten")
    with followed(db, seqs):
        _forget(db, seqs)
    return seqs


@contextmanager
def followed(db: sqlite3.Connection, seqs: Sequence[int]) -> Iterator[dict[int, int]]:
    """A block that takes lines (ascending) out, and what follows from it: summaries that go with them are queued to be
    written again, of what is left of their sessions, and the lines are pinned no more. The block may put into the
    mapping which new lines correct which of them: those are pinned instead."""
    heirs: dict[int, int] = {}
    before = units.sessions_with_summary(db, seqs) if seqs else set()
    yield heirs
    if before:
        units.queue_summaries(db, before - units.sessions_with_summary(db, seqs), now())
    if seqs and (kept := units.get_setting(db, SETTING_PINNED)) is not None:
        units.put_setting(db, SETTING_PINNED, pinned.without(kept, seqs, heirs))


def _forget(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    chosen = json.dumps(seqs)
    sessions = _touched(db, "session", chosen)
    speakers = _touched(db, "speaker", chosen)
    unindex(db, seqs)
    db.execute(
        f"UPDATE bank SET retracted = retracted - (SELECT count(retracted_at) FROM line WHERE {_CHOSEN})", (chosen,)
    )
    db.execute(f"DELETE FROM line WHERE {_CHOSEN}", (chosen,))
    units.forget(db, seqs)
    gone = db.execute(
        f"""DELETE FROM session WHERE {_TOUCHED} AND NOT EXISTS (SELECT 1 FROM line WHERE session = number)
            RETURNING session_id""",
        (sessions,),
    ).fetchall()
    for table in ("buffer", "work"):
        db.executemany(f"DELETE FROM {table} WHERE session_id = ?", gone)
    db.execute(
        f"""UPDATE session SET (first_seq, last_seq, started_at, last_at) =
           (SELECT min(seq), max(seq), min(said_at), max(said_at) FROM line WHERE line.session = number)
           WHERE {_TOUCHED}""",
        (sessions,),
    )
    db.execute(
        f"DELETE FROM speaker WHERE {_TOUCHED} AND NOT EXISTS (SELECT 1 FROM line WHERE speaker = number)", (speakers,)
    )


_CHOSEN = "seq IN (SELECT value FROM json_each(?))"
_TOUCHED = "number IN (SELECT value FROM json_each(?))"


def _touched(db: sqlite3.Connection, column: str, chosen: str) -> str:
    rows = db.execute(f"SELECT DISTINCT {column} FROM line WHERE {_CHOSEN}", (chosen,))
    return json.dumps([number for (number,) in rows])


def unindex(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove the words, vectors and counts of lines."""
    by_term: defaultdict[str, list[int]] = defaultdict(list)
    by_session: defaultdict[int, list[int]] = defaultdict(list)  # number -> terms of each line
    head_terms = 0
    rows = db.execute(
        f"SELECT seq, session, text, metadata FROM line WHERE retracted_at IS NULL AND {_CHOSEN} ORDER BY seq",
        (json.dumps(list(seqs)),),
    )
    for seq, session, text, metadata in rows:
        found = count_terms(without_quotes_json(text, metadata))
        by_session[session].append(found.length)
        head_terms += found.head_length
        for term in found.terms:
            by_term[term].append(seq)
    db.executemany(
        "UPDATE session SET lines = lines - ?, terms = terms - ? WHERE number = ?",
        [(len(terms), sum(terms), session) for session, terms in by_session.items()],
    )
    db.execute(
        "UPDATE bank SET lines = lines - ?, terms = terms - ?, head_terms = head_terms - ?",
        (sum(map(len, by_session.values())), sum(map(sum, by_session.values())), head_terms),
    )
    postings.remove(db, by_term)
    column_blocks.remove(db, column_blocks.LINES, LINE_DTYPE, np.array(seqs, np.int64))
    records.remove_vectors(db, seqs)
