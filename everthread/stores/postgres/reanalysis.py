"""Analyses the lines of a bank on Postgres again after the analyser has changed; see `stores.sqlite.reanalysis`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from everthread.stores.base import LINE_DTYPE
from everthread.stores.postgres import bank_cache, postings
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.connections import Connection
from everthread.stores.postings import compare_records, group_by_term
from everthread.stores.shared_rows import GLOSSED_MODEL, GLOSSED_SINCE
from everthread.text.analyzer import TermCounts, count_terms, remove_quotes_json
from everthread.text.gloss import is_glossed

_SELECT = """SELECT seq, text, metadata, gist FROM everthread.line
    WHERE bank_id = %s AND gist IS NOT NULL AND seq <= %s"""


def advance(db: Connection, bank: str, limit: int) -> bool:
    """Analyse the next lines of a locked bank again, at most `limit`; return whether more are left."""
    last, analyser = _read_earlier(db, bank)
    rows = db.execute(f"{_SELECT} ORDER BY seq DESC LIMIT %s", (bank, last, limit), binary=True).fetchall()
    _analyze(db, bank, rows[::-1], analyser)
    last = rows[-1][0] - 1 if len(rows) == limit else 0
    db.execute("UPDATE everthread.bank SET earlier_last = %s WHERE bank_id = %s", (last, bank))
    return bool(last)


def analyze(db: Connection, bank: str, seqs: Sequence[int]) -> None:
    """Analyse those of these lines again that are as an earlier version analysed them."""
    last, analyser = _read_earlier(db, bank)
    if any(seq <= last for seq in seqs):
        query = f"{_SELECT} AND seq = ANY(%s) ORDER BY seq"
        _analyze(db, bank, db.execute(query, (bank, last, list(seqs)), binary=True).fetchall(), analyser)


def _read_earlier(db: Connection, bank: str) -> tuple[int, int]:
    """Return the last line that is as an earlier version analysed it, 0 for none, and this version."""
    query = "SELECT earlier_last, earlier_analyser FROM everthread.bank WHERE bank_id = %s"
    row = db.execute(query, (bank,)).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _analyze(db: Connection, bank: str, rows: Sequence[tuple[Any, ...]], analyser: int) -> None:
    """Analyse lines (seq, text, metadata and gist, ascending) again: replace their records and counts.

    Vectors of texts are dropped that are embedded by a gloss since.
    """
    if not rows:
        return
    analysed = {seq: count_terms(remove_quotes_json(text, metadata)) for seq, text, metadata, _ in rows}
    stored = postings.find(db, bank, np.array(list(analysed)))
    removed, added = compare_records(stored, group_by_term(analysed.items()))
    postings.remove(db, bank, removed)
    postings.insert_among(db, bank, added)
    _put_lengths(db, bank, np.frombuffer(b"".join(gist for *_, gist in rows), LINE_DTYPE), analysed)
    if analyser < GLOSSED_SINCE:
        glossed = [seq for seq, text, *_ in rows if is_glossed(text)]
        bank_rows.remove_vectors(db, bank, glossed, GLOSSED_MODEL)


def _put_lengths(
    db: Connection, bank: str, old: np.ndarray[Any, np.dtype[np.void]], analysed: dict[int, TermCounts]
) -> None:
    """Update the term counts of lines, their sessions and the bank."""
    new = old.copy()
    new["length"] = [counts.length for counts in analysed.values()]
    new["head_length"] = [counts.head_length for counts in analysed.values()]
    changed = new[new != old]
    if not len(changed):
        return
    longer, longer_head = (  # (R,)
        new[name].astype(np.int64) - old[name].astype(np.int64) for name in ("length", "head_length")
    )
    sessions, index = np.unique(new["session"], return_inverse=True)
    by_session = np.bincount(index, longer, len(sessions)).astype(np.int64)
    with db.pipeline():
        db.execute(
            """UPDATE everthread.line SET length = now.length, head_length = now.head_length, gist = now.gist
               FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::bytea[]) AS now (seq, length, head_length, gist)
               WHERE bank_id = %s AND line.seq = now.seq""",
            (
                *(changed[name].tolist() for name in ("seq", "length", "head_length")),
                [packed.tobytes() for packed in changed],
                bank,
            ),
        )
        db.execute(
            """UPDATE everthread.session SET terms = session.terms + longer.terms
               FROM unnest(%s::int[], %s::bigint[]) AS longer (number, terms)
               WHERE bank_id = %s AND session.number = longer.number""",
            (sessions.tolist(), by_session.tolist(), bank),
        )
        db.execute(
            """UPDATE everthread.bank SET terms = terms + %s, head_terms = head_terms + %s, revision = %s
               WHERE bank_id = %s""",
            (int(longer.sum()), int(longer_head.sum()), bank_cache.new_revision(), bank),
        )
