"""The keyword index of a bank in SQLite: for each term, blocks of records of the lines that contain it.

FTS5 counts whole documents only. These records count single lines, so a line, its window and its session are all
scored from the same few records by arithmetic on seq. A block is one row of packed records.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from everthread.stores.arrays import is_member
from everthread.stores.postings import (
    POSTING_DTYPE,
    Postings,
    Records,
    TermRecords,
    choose_terms,
    estimate_df,
    find_records,
    merge_blocks,
    order_by_rarity,
    select_records,
)
from everthread.types import Seqs

BLOCK_RECORDS = 256  # records per row: 2 KB, so that adding to a block dirties one page
BLOCKS_AT_ONCE = 10_000  # compared together by `find`, at most 20 MB

_INSERT = "INSERT INTO posting (term, first, count, data) VALUES (?, ?, ?, ?)"


def add(db: sqlite3.Connection, terms: Mapping[str, list[tuple[int, int, int]]]) -> None:
    """Append records (ascending by seq, after the stored ones) to the blocks of each term."""
    grown: list[tuple[int, bytes, int]] = []
    full: list[tuple[str, int, int, bytes]] = []
    last_blocks = _read_last_blocks(db, terms)
    for term, records in terms.items():
        new = np.array(records, POSTING_DTYPE)
        last = last_blocks.get(term)
        if last and last[1] < BLOCK_RECORDS:
            fitting, new = new[: BLOCK_RECORDS - last[1]], new[BLOCK_RECORDS - last[1] :]
            grown.append((last[1] + len(fitting), last[2] + fitting.tobytes(), last[0]))
        full += [_block_row(term, new[start : start + BLOCK_RECORDS]) for start in range(0, len(new), BLOCK_RECORDS)]
    db.executemany("UPDATE posting SET count = ?, data = ? WHERE rowid = ?", grown)
    db.executemany(_INSERT, full)


def _read_last_blocks(db: sqlite3.Connection, terms: Iterable[str]) -> dict[str, tuple[int, int, bytes]]:
    """Return the rowid, count and data of each term's last block.

    One statement reads them all, because each further one would release the interpreter lock and wait for it again.
    """
    rows = db.execute(
        """SELECT term, posting.rowid, count, data FROM json_each(?) CROSS JOIN posting ON term = value
           AND first = (SELECT max(first) FROM posting WHERE term = value)""",
        (json.dumps(list(terms)),),
    ).fetchall()
    return {term: (rowid, count, data) for term, rowid, count, data in rows}


def _block_row(term: str, records: Records) -> tuple[str, int, int, bytes]:
    return term, int(records[0]["seq"]), len(records), records.tobytes()


def remove(db: sqlite3.Connection, terms: Mapping[str, Sequence[int]]) -> None:
    """Remove records from the index; blocks that become empty are deleted.

    Args:
        db: A connection in a transaction.
        terms: term -> the seqs (ascending) whose records are removed.
    """
    for term, seqs in terms.items():
        removed = np.array(seqs, np.int64)
        for rowid, data in _affected_blocks(db, term, seqs[0], seqs[-1]):
            records = np.frombuffer(data, POSTING_DTYPE)
            remaining = records[~is_member(records["seq"], removed)]
            if not len(remaining):
                db.execute("DELETE FROM posting WHERE rowid = ?", (rowid,))
            elif len(remaining) < len(records):
                _, first, count, packed = _block_row(term, remaining)
                db.execute(
                    "UPDATE posting SET first = ?, count = ?, data = ? WHERE rowid = ?", (first, count, packed, rowid)
                )


def find(db: sqlite3.Connection, seqs: Seqs) -> dict[str, list[tuple[int, int, int]]]:
    """Find the records of lines (ascending) by comparing all records of the bank; see `find_records`."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    blocks = db.execute("SELECT term, data FROM posting WHERE first <= ?", (int(seqs[-1]),))
    while some := blocks.fetchmany(BLOCKS_AT_ONCE):
        for term, records in find_records(some, seqs).items():
            found.setdefault(term, []).extend(records)
    return found


def count_records(db: sqlite3.Connection, last: int) -> int:
    """Count the records of the lines up to a number."""
    blocks = db.execute("SELECT data FROM posting WHERE first <= ?", (last,))
    return sum(int((np.frombuffer(data, POSTING_DTYPE)["seq"] <= last).sum()) for (data,) in blocks)


def insert_among(db: sqlite3.Connection, terms: TermRecords) -> None:
    """Insert records (ascending by seq) of lines that have none, among the stored ones of each term."""
    for term, records in terms.items():
        blocks = _affected_blocks(db, term, records[0][0], records[-1][0])
        merged = merge_blocks([data for _, data in blocks], records, BLOCK_RECORDS)
        db.executemany("DELETE FROM posting WHERE rowid = ?", [(rowid,) for rowid, _ in blocks])
        db.executemany(_INSERT, [_block_row(term, block) for block in merged])


def _affected_blocks(db: sqlite3.Connection, term: str, low: int, high: int) -> list[tuple[int, bytes]]:
    """Return rowid and data of the blocks of a term in which records of lines from `low` to `high` are, or belong."""
    return db.execute(
        """SELECT posting.rowid, data FROM posting, (SELECT coalesce(
               (SELECT max(first) FROM posting WHERE term = :term AND first <= :low),
               (SELECT min(first) FROM posting WHERE term = :term)) AS start)
           WHERE term = :term AND first BETWEEN start AND max(start, :high) ORDER BY first""",
        {"term": term, "low": low, "high": high},
    ).fetchall()


def read(
    db: sqlite3.Connection, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None = None
) -> dict[str, Postings]:
    """Return the records of the rarest terms; see `stores.base.TermIndex.postings`."""
    rows = db.execute(
        "SELECT term, sum(count) FROM posting WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
        (json.dumps(list(terms)),),
    )
    counts: dict[str, int] = dict(rows)
    chosen, readable = choose_terms(terms, counts, max_terms, limit)
    data = _read_blocks(db, readable)
    if within is not None:
        counts |= {term: _estimate_df(db, term, within) for term in chosen if term not in data}
    selected: dict[str, Postings] = {}
    for term in chosen:
        records = np.frombuffer(b"".join(data[term]), POSTING_DTYPE) if term in data else None
        selected[term] = select_records(records, counts[term], within)
    return order_by_rarity(terms, counts, selected, max_terms)


def _read_blocks(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, list[bytes]]:
    """Return the data of each term's blocks, ascending by seq."""
    blocks: dict[str, list[bytes]] = {term: [] for term in terms}
    rows = db.execute(
        "SELECT term, data FROM posting WHERE term IN (SELECT value FROM json_each(?)) ORDER BY term, first",
        (json.dumps(list(terms)),),
    ).fetchall()
    for term, data in rows:
        blocks[term].append(data)
    return blocks


def _estimate_df(db: sqlite3.Connection, term: str, within: Seqs) -> int:
    blocks = db.execute("SELECT first, count FROM posting WHERE term = ? ORDER BY first", (term,)).fetchall()
    first, count = np.array(blocks, np.int64).T  # (B,) each
    return estimate_df(first, count, within)
