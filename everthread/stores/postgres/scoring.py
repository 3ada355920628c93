"""Reads the columns of lines and sessions by which lines are scored."""

from __future__ import annotations

import numpy as np

from everthread.stores.arrays import is_member, take_records
from everthread.stores.base import LINE_DTYPE, ScoringRows
from everthread.stores.postgres.arrays import IS_IN, SeqArray, read_array, read_bytes
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.postgres.filters import seq_bitmap
from everthread.types import Seqs

_FROM_SESSION = "FROM everthread.session WHERE bank_id = %s"
_OF_SESSION = f"SELECT number, first_seq, last_seq, terms {_FROM_SESSION}"


def read_rows(db: Connection, bank: str, seqs: Seqs, within: Seqs | None) -> ScoringRows:
    """Return the columns of lines (ascending) and of their sessions; see `stores.base.TermIndex.scoring_rows`."""
    wanted = SeqArray(seqs if within is None else seqs[is_member(seqs, within)])
    # Each session is looked up by its key; see rows.LINES_BY_SEQ.
    values: tuple[object, ...] = (bank,)
    talk = f"({_OF_SESSION} AND number = used.session LIMIT 1)"
    if within is not None:
        condition, mask = seq_bitmap(within)
        talk, values = (
            f"""(SELECT used.session, min(seq), max(seq), sum(length)::bigint FROM everthread.line
                WHERE bank_id = %s AND session = used.session AND gist IS NOT NULL {condition})""",
            (bank, *mask),
        )
    db.execute("SET LOCAL enable_sort = off")  # forces the ordered primary key
    found = db.execute(
        f"""WITH found AS MATERIALIZED (SELECT gist, session FROM everthread.line
                WHERE bank_id = %s AND seq {IS_IN} AND gist IS NOT NULL ORDER BY seq)
            SELECT (SELECT string_agg(gist, ''::bytea) FROM found),
                (SELECT array_agg(ARRAY[number, first, last, terms]) FROM (SELECT DISTINCT session FROM found) AS used,
                    LATERAL {talk} AS talk (number, first, last, terms))""",
        (bank, wanted, *values),
        binary=True,
    )
    db.execute("SET LOCAL enable_sort = on")
    return parse_rows(found)


def send_all_rows(db: Connection, bank: str, most: int) -> Cursor:
    """Send the query of all lines and sessions of a bank, if it has numbered at most this many lines."""
    return db.execute(
        f"""SELECT (SELECT string_agg(gist, ''::bytea ORDER BY seq) FROM everthread.line
                WHERE bank_id = %s AND gist IS NOT NULL),
            (SELECT array_agg(ARRAY[number, first_seq, last_seq, terms] ORDER BY number) {_FROM_SESSION})
            FROM everthread.bank WHERE bank_id = %s AND last_seq <= %s""",
        (bank, bank, bank, most),
        binary=True,
    )


def parse_rows(found: Cursor) -> ScoringRows:
    """Return the columns of lines and of sessions that were read."""
    sessions = read_array(found, 1, "i8").reshape(-1, 4)
    return ScoringRows(np.frombuffer(read_bytes(found, 0) or b"", LINE_DTYPE), sessions[np.argsort(sessions[:, 0])])


def select_rows(rows: ScoringRows, seqs: Seqs) -> ScoringRows:
    """Return the columns of some lines (ascending) and of their sessions."""
    lines = rows.lines
    if len(seqs) < len(lines):
        lines = take_records(lines, np.flatnonzero(is_member(rows.seq, seqs)))
    is_used = is_member(rows.sessions[:, 0], np.unique(lines["session"]).astype(np.int64))
    return ScoringRows(lines, rows.sessions[is_used])
