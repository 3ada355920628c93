"""Taking lines out of a bank: out of the index (retract) or out of existence (forget). SQLite's dialect.

SQLite runs with `secure_delete`, so that a removed row's bytes are overwritten; the caller erases what is left of them
between the rows and in the write-ahead log.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from everthread.errors import NotFound
from everthread.stores import postings
from everthread.stores.base import Scope
from everthread.stores.text import words

Ranges = tuple[tuple[int, int], ...]

_OF = {
    "line": "seq = ?",
    "session": "session = (SELECT number FROM session WHERE session_id = ?)",
    "speaker": "speaker IN (SELECT number FROM speaker WHERE name = ?)",
}


def forget(db: sqlite3.Connection, bank: str, scope: Scope, name: str | int | None) -> list[int]:
    """Remove every trace of the lines in scope; their seqs. NotFound if there are none."""
    seqs = [int(seq) for (seq,) in db.execute(f"SELECT seq FROM line WHERE {_OF[scope]} ORDER BY seq", (name,))]
    if not seqs:
        raise NotFound(f"bank {bank!r} has no line of {scope} {name!r}; nothing was forgotten")
    chosen = json.dumps(seqs)
    unindex(db, seqs)
    rows = db.execute("SELECT DISTINCT session FROM line WHERE seq IN (SELECT value FROM json_each(?))", (chosen,))
    touched = json.dumps([number for (number,) in rows])
    db.execute("DELETE FROM line WHERE seq IN (SELECT value FROM json_each(?))", (chosen,))
    db.execute(
        "DELETE FROM unit WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE value BETWEEN first_seq AND last_seq)",
        (chosen,),
    )
    db.execute("DELETE FROM session WHERE number NOT IN (SELECT session FROM line)")
    db.execute("DELETE FROM buffer WHERE session_id NOT IN (SELECT session_id FROM session)")
    db.execute(
        """UPDATE session SET (first_seq, last_seq, started_at, last_at) =
           (SELECT min(seq), max(seq), min(said_at), max(said_at) FROM line WHERE line.session = number)
           WHERE number IN (SELECT value FROM json_each(?))""",
        (touched,),
    )
    db.execute("DELETE FROM speaker WHERE number NOT IN (SELECT speaker FROM line)")
    db.execute("UPDATE bank SET removals = removals + 1")
    return seqs


def unindex(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove the words, vectors and counts of lines."""
    chosen = json.dumps(list(seqs))
    rows = db.execute(
        """SELECT seq, session, text FROM line WHERE retracted_at IS NULL
           AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq""",
        (chosen,),
    ).fetchall()
    by_term: defaultdict[str, list[int]] = defaultdict(list)
    for seq, session, text in rows:
        found = words(text)
        for term in found.terms:
            by_term[term].append(seq)
        db.execute("UPDATE session SET lines = lines - 1, terms = terms - ? WHERE number = ?", (found.length, session))
        db.execute(
            "UPDATE bank SET lines = lines - 1, terms = terms - ?, head_terms = head_terms - ?",
            (found.length, found.head_length),
        )
    db.execute("DELETE FROM gist WHERE seq IN (SELECT value FROM json_each(?))", (chosen,))
    postings.remove(db, by_term)
    db.execute("DELETE FROM vector WHERE kind = 'line' AND unit_id IN (SELECT value FROM json_each(?))", (chosen,))


def ranges(seqs: Sequence[int]) -> Ranges:
    """Ascending numbers as inclusive ranges."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and found[-1][1] == seq - 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return tuple(found)
