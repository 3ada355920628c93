"""The words of a bank inside SQLite: for each term, blocks of the lines in which it stands.

FTS5 would count only whole documents; here the counts of single lines are kept, so that a line, its window and its
session can all be scored from the same few records by arithmetic on seq. A block is one row of packed records.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress

import numpy as np
import numpy.typing as npt

from everthread.stores.arrays import member
from everthread.stores.base import POSTING, Postings
from everthread.stores.postings import estimate_df
from everthread.types import Seqs

BLOCK = 256  # records a row: 2 KB, so that adding to a block dirties one page

Records = npt.NDArray[np.void]  # (n,) of POSTING


def add(db: sqlite3.Connection, terms: Mapping[str, list[tuple[int, int, int]]]) -> None:
    """Append records behind those that are there."""
    grown: list[tuple[int, bytes, int]] = []
    full: list[tuple[str, int, int, bytes]] = []
    lasts = _lasts(db, terms)
    for term, records in terms.items():
        new = np.array(records, POSTING)
        last = lasts.get(term)
        if last and last[1] < BLOCK:
            room, new = new[: BLOCK - last[1]], new[BLOCK - last[1] :]
            grown.append((last[1] + len(room), last[2] + room.tobytes(), last[0]))
        full += [_row(term, new[at : at + BLOCK]) for at in range(0, len(new), BLOCK)]
    db.executemany("UPDATE posting SET count = ?, data = ? WHERE rowid = ?", grown)
    db.executemany("INSERT INTO posting (term, first, count, data) VALUES (?, ?, ?, ?)", full)


def _lasts(db: sqlite3.Connection, terms: Iterable[str]) -> dict[str, tuple[int, int, bytes]]:
    """The last block of each term that has any: its row, its count, its data. Asked for at once: each statement more
    lets go of the interpreter and waits for it again."""
    rows = db.execute(
        """SELECT term, posting.rowid, count, data FROM json_each(?) CROSS JOIN posting ON term = value
           AND first = (SELECT max(first) FROM posting WHERE term = value)""",
        (json.dumps(list(terms)),),
    ).fetchall()
    return {term: (rowid, count, data) for term, rowid, count, data in rows}


def _row(term: str, records: Records) -> tuple[str, int, int, bytes]:
    return term, int(records[0]["seq"]), len(records), records.tobytes()


def remove(db: sqlite3.Connection, terms: Mapping[str, Sequence[int]]) -> None:
    """Take the records of these seqs (ascending) out of each term's blocks; an empty block goes."""
    for term, seqs in terms.items():
        gone = np.array(seqs, np.uint32)
        blocks = db.execute(
            """SELECT rowid, data FROM posting WHERE term = ? AND first <= ? AND first >= coalesce(
               (SELECT max(first) FROM posting WHERE term = ? AND first <= ?), 0)""",
            (term, int(gone[-1]), term, int(gone[0])),
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


def read(
    db: sqlite3.Connection, terms: Sequence[str], rarest: int, most: int, among: Seqs | None = None
) -> dict[str, Postings]:
    """The records of the rarest terms; a term that would pass `most` records in all is only counted. As many
    that stand nowhere are told too. With `among` (ascending), the records and counts are of these lines alone."""
    told = db.execute(
        "SELECT term, sum(count) FROM posting WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
        (json.dumps(list(terms)),),
    )
    counts = {**dict.fromkeys(terms, 0), **dict(told)}
    found: dict[str, Postings] = {}
    chosen = sorted(((term, df) for term, df in counts.items() if df), key=lambda item: item[1])[:rarest]
    within = [total <= most for total in accumulate(df for _, df in chosen)]
    data = _blocks(db, list(compress((term for term, _ in chosen), within)))
    for (term, df), reads in zip(chosen, within, strict=True):
        if reads:
            records = np.frombuffer(b"".join(data[term]), POSTING)
            records = records if among is None else records[member(records["seq"], among)]
            found[term] = Postings(len(records), records)
        else:
            found[term] = Postings(df if among is None else _estimate(db, term, among), np.empty(0, POSTING))
    nowhere = [term for term in counts if not counts[term] or (term in found and not found[term].df)]
    unknown = {term: Postings(0, np.empty(0, POSTING)) for term in nowhere[:rarest]}
    return {**unknown, **dict(sorted(found.items(), key=lambda item: item[1].df))}


def _blocks(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, list[bytes]]:
    """The blocks of each term, in the order of the lines."""
    found: dict[str, list[bytes]] = {term: [] for term in terms}
    rows = db.execute(
        "SELECT term, data FROM posting WHERE term IN (SELECT value FROM json_each(?)) ORDER BY term, first",
        (json.dumps(list(terms)),),
    ).fetchall()
    for term, data in rows:
        found[term].append(data)
    return found


def _estimate(db: sqlite3.Connection, term: str, among: Seqs) -> int:
    blocks = db.execute("SELECT first, count FROM posting WHERE term = ? ORDER BY first", (term,)).fetchall()
    first, count = np.array(blocks, np.int64).T  # (B,) each
    return estimate_df(first, count, among)
