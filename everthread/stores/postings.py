"""The words of a bank inside SQLite: for each term, blocks of the lines in which it stands.

FTS5 would count only whole documents; here the counts of single lines are kept, so that a line, its window and its
session can all be scored from the same few records by arithmetic on seq. A block is one row of packed records.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from everthread.stores.base import POSTING, Entry, Postings

BLOCK = 256  # records a row: 2 KB, so that adding to a block dirties one page
LARGEST = 65_535  # of a count in a record

Records = npt.NDArray[np.void]  # (n,) of POSTING


def by_term(entries: Iterable[tuple[int, Entry]]) -> dict[str, list[tuple[int, int, int]]]:
    """The records of some lines, gathered by term, ascending by seq."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for seq, entry in entries:
        for term, (tf, head) in entry.words.terms.items():
            found.setdefault(term, []).append((seq, min(tf, LARGEST), min(head, LARGEST)))
    return found


def add(db: sqlite3.Connection, terms: Mapping[str, list[tuple[int, int, int]]]) -> None:
    """Append records behind those that are there."""
    full: list[tuple[str, int, int, bytes]] = []
    for term, records in terms.items():
        new = np.array(records, POSTING)
        last = db.execute(
            "SELECT rowid, count, data FROM posting WHERE kind = 'line' AND term = ? ORDER BY first DESC LIMIT 1",
            (term,),
        ).fetchone()
        if last and last[1] < BLOCK:
            room, new = new[: BLOCK - last[1]], new[BLOCK - last[1] :]
            db.execute(
                "UPDATE posting SET count = ?, data = ? WHERE rowid = ?",
                (last[1] + len(room), last[2] + room.tobytes(), last[0]),
            )
        full += [_row(term, new[at : at + BLOCK]) for at in range(0, len(new), BLOCK)]
    db.executemany("INSERT INTO posting (term, first, count, data) VALUES (?, ?, ?, ?)", full)


def _row(term: str, records: Records) -> tuple[str, int, int, bytes]:
    return term, int(records[0]["seq"]), len(records), records.tobytes()


def remove(db: sqlite3.Connection, terms: Mapping[str, Sequence[int]]) -> None:
    """Take the records of these seqs (ascending) out of each term's blocks; an empty block goes."""
    for term, seqs in terms.items():
        gone = np.array(seqs, np.uint32)
        blocks = db.execute(
            """SELECT rowid, data FROM posting WHERE kind = 'line' AND term = ?1 AND first <= ?3 AND first >= coalesce(
               (SELECT max(first) FROM posting WHERE kind = 'line' AND term = ?1 AND first <= ?2), 0)""",
            (term, int(gone[0]), int(gone[-1])),
        ).fetchall()
        for rowid, data in blocks:
            records = np.frombuffer(data, POSTING)
            kept = records[~np.isin(records["seq"], gone)]
            if not len(kept):
                db.execute("DELETE FROM posting WHERE rowid = ?", (rowid,))
            elif len(kept) < len(records):
                _, first, count, packed = _row(term, kept)
                db.execute(
                    "UPDATE posting SET first = ?, count = ?, data = ? WHERE rowid = ?", (first, count, packed, rowid)
                )


def read(db: sqlite3.Connection, terms: Sequence[str], rarest: int, most: int) -> dict[str, Postings]:
    """The records of the rarest terms; a term that would pass `most` records in all is only counted. As many
    that stand nowhere are told too."""
    counts = {
        term: int(
            db.execute("SELECT total(count) FROM posting WHERE kind = 'line' AND term = ?", (term,)).fetchone()[0]
        )
        for term in dict.fromkeys(terms)
    }
    unknown = [term for term, df in counts.items() if not df][:rarest]
    found = {term: Postings(0, np.empty(0, POSTING)) for term in unknown}
    for term, df in sorted(((term, df) for term, df in counts.items() if df), key=lambda item: item[1])[:rarest]:
        most -= df
        found[term] = Postings(df, _records(db, term) if most >= 0 else np.empty(0, POSTING))
    return found


def _records(db: sqlite3.Connection, term: str) -> Records:
    blocks = db.execute("SELECT data FROM posting WHERE kind = 'line' AND term = ? ORDER BY first", (term,))
    return np.frombuffer(b"".join(data for (data,) in blocks), POSTING)
