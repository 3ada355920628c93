"""Compares the tables of a bank with one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from everthread.stores.postgres import postings
from everthread.stores.postgres.connections import Connection
from everthread.stores.postgres.rows import EARLIER_LAST
from everthread.stores.postings import POSTING_DTYPE
from everthread.stores.shared_rows import LINES_PER_PAGE, describe_miscounts
from everthread.text.analyzer import count_terms, remove_quotes_json


class _LineCounts(NamedTuple):
    """Counts of the lines of a bank."""

    live: int
    retracted: int
    terms: int  # of live lines
    records: int  # of postings, of live lines
    last: int  # the number of the last line


def find_contradictions(db: Connection, bank: str) -> list[str]:
    """Describe contradictions between the tables of a bank."""
    counted = db.execute(
        f"SELECT lines, retracted, terms, last_seq, {EARLIER_LAST} FROM everthread.bank WHERE bank_id = %s", (bank,)
    ).fetchone()
    if counted is None:
        return []
    earlier = int(counted[4])
    counts = _count_lines(db, bank, earlier)
    blocks = _count_records(db, bank)
    sessions = db.execute(
        "SELECT coalesce(sum(lines), 0), coalesce(sum(terms), 0) FROM everthread.session WHERE bank_id = %s", (bank,)
    ).fetchone()
    assert sessions is not None
    problems = describe_miscounts(
        (
            ("lines", counted[0], counts.live),
            ("retracted lines", counted[1], counts.retracted),
            ("terms", counted[2], counts.terms),
            ("word records", blocks[0], counts.records),
            ("bytes of word records", blocks[1], counts.records * POSTING_DTYPE.itemsize),
            ("words counted wrongly", blocks[2], 0),
            ("lines in sessions", int(sessions[0]), counts.live),
            ("terms in sessions", int(sessions[1]), counts.terms),
        )
    )
    orphans = db.execute(
        """SELECT count(*) FROM everthread.vector WHERE bank_id = %s AND NOT EXISTS (SELECT 1 FROM everthread.line
           WHERE line.bank_id = vector.bank_id AND line.seq = vector.seq AND gist IS NOT NULL)""",
        (bank,),
    ).fetchone()
    if orphans and orphans[0]:
        problems.append(f"vectors without a line: {orphans[0]}")
    last = int(counted[3])
    return problems + ([f"the last seq is {last}, but line {counts.last} exists"] if counts.last > last else [])


def _count_lines(db: Connection, bank: str, earlier: int) -> _LineCounts:
    """Count the lines of a bank, and analyse those after the last one of an earlier analyser."""
    live = retracted = total = last = 0
    records = postings.count_records(db, bank, earlier)
    for seq, text, metadata, is_live, length in _read_texts(db, bank):
        last = seq
        if not text:
            continue
        if not is_live:
            retracted += 1
        elif seq <= earlier:  # an earlier analyser can't be asked again, so that its counts are taken as they are
            live, total = live + 1, total + length
        else:
            terms = count_terms(remove_quotes_json(text, metadata))
            live, total, records = live + 1, total + terms.length, records + len(terms.terms)
    return _LineCounts(live, retracted, total, records, last)


def _count_records(db: Connection, bank: str) -> tuple[int, int, int]:
    """Count the records of all terms, their bytes, and the terms whose last block has another count."""
    row = db.execute(
        """SELECT coalesce(sum(records), 0), coalesce(sum(bytes), 0), count(*) FILTER (WHERE records <> recorded)
           FROM (SELECT sum(count) AS records, sum(length(data)) AS bytes,
                 (array_agg(before + count ORDER BY first DESC))[1] AS recorded
                 FROM everthread.posting WHERE bank_id = %s GROUP BY term) AS word""",
        (bank,),
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def _read_texts(db: Connection, bank: str) -> Iterator[tuple[int, str, str, bool, int]]:
    """Iterate over seq, text, metadata of every line, whether it is live, and its length in terms; reads in pages."""
    after = 0
    while rows := db.execute(
        """SELECT seq, text, metadata, retracted_at IS NULL, length FROM everthread.line
           WHERE bank_id = %s AND seq > %s ORDER BY seq LIMIT %s""",
        (bank, after, LINES_PER_PAGE),
    ).fetchall():
        yield from rows
        after = rows[-1][0]
