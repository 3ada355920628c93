"""Analyses the lines of a bank in SQLite again after the analyser has changed, a batch at a time, the newest first.

`bank.analyser` is the version that analyses new lines. Lines up to `bank.earlier_last` are as an earlier version, at
least `bank.earlier_analyser`, analysed them. The records of such a line can't be found by its words, so that every
record of the bank is compared; a line is therefore analysed again before it is removed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from everthread.stores.base import LINE_DTYPE
from everthread.stores.postings import compare_records, group_by_term
from everthread.stores.shared_rows import GLOSSED_MODEL, GLOSSED_SINCE
from everthread.stores.sqlite import column_blocks, postings
from everthread.stores.sqlite import rows as bank_rows
from everthread.text.analyzer import ANALYZER_VERSION, TermCounts, count_terms, remove_quotes_json
from everthread.text.gloss import is_glossed

_SELECT = "SELECT seq, text, metadata FROM line WHERE retracted_at IS NULL AND text <> '' AND seq <= ?"


def begin(db: sqlite3.Connection, analyser: int) -> None:
    """Record that an earlier version, `analyser`, analysed the lines of the bank so far."""
    if analyser < GLOSSED_SINCE:
        units = [key for *key, text in db.execute("SELECT kind, unit_id, text FROM unit") if is_glossed(text)]
        of_unit = "kind = ? AND unit_id = ? AND model IN (SELECT number FROM model WHERE name = ?)"
        db.executemany(f"DELETE FROM unit_vector WHERE {of_unit}", [(*key, GLOSSED_MODEL) for key in units])
    db.execute(
        """UPDATE bank SET analyser = ?, earlier_last = last_seq,
           earlier_analyser = iif(earlier_last > 0, earlier_analyser, analyser)""",
        (ANALYZER_VERSION,),
    )


def earlier_last(db: sqlite3.Connection) -> int:
    """Return the number of the last line that is as an earlier version analysed it; 0 for none."""
    last = "SELECT iif(analyser < ?, last_seq, earlier_last) FROM bank"  # if it can't be written, `begin` wasn't called
    return int(db.execute(last, (ANALYZER_VERSION,)).fetchone()[0])


def count_earlier(db: sqlite3.Connection) -> int:
    """Count the lines that are as an earlier version analysed them."""
    last = earlier_last(db)
    return int(db.execute(f"SELECT count(*) FROM ({_SELECT})", (last,)).fetchone()[0]) if last else 0


def advance(db: sqlite3.Connection, limit: int) -> bool:
    """Analyse the next lines again, at most `limit`; return whether more are left."""
    rows = db.execute(f"{_SELECT} ORDER BY seq DESC LIMIT ?", (earlier_last(db), limit)).fetchall()
    _analyze(db, rows[::-1])
    last = rows[-1][0] - 1 if len(rows) == limit else 0
    db.execute("UPDATE bank SET earlier_last = ?", (last,))
    return bool(last)


def analyze(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Analyse those of these lines again that are as an earlier version analysed them."""
    last = earlier_last(db)
    if any(seq <= last for seq in seqs):
        chosen = f"{_SELECT} AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
        _analyze(db, db.execute(chosen, (last, json.dumps(list(seqs)))).fetchall())


def _analyze(db: sqlite3.Connection, rows: Sequence[tuple[int, str, str]]) -> None:
    """Analyse lines (seq, text and metadata, ascending) again: replace their records and counts.

    Vectors of texts are dropped that are embedded by a gloss since.
    """
    if not rows:
        return
    analysed = {seq: count_terms(remove_quotes_json(text, metadata)) for seq, text, metadata in rows}
    stored = postings.find(db, np.array(list(analysed)))
    removed, added = compare_records(stored, group_by_term(analysed.items()))
    postings.remove(db, removed)
    postings.insert_among(db, added)
    _put_lengths(db, analysed)
    if db.execute("SELECT earlier_analyser FROM bank").fetchone()[0] < GLOSSED_SINCE:
        bank_rows.remove_vectors(db, [seq for seq, text, _ in rows if is_glossed(text)], GLOSSED_MODEL)


def _put_lengths(db: sqlite3.Connection, analysed: dict[int, TermCounts]) -> None:
    """Update the term counts of lines, their sessions and the bank."""
    old = column_blocks.read(db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE, np.array(list(analysed)))
    new = old.copy()
    new["length"] = [counts.length for counts in analysed.values()]
    new["head_length"] = [counts.head_length for counts in analysed.values()]
    if not len(changed := new[new != old]):
        return
    column_blocks.put(db, column_blocks.LINE_COLUMNS_ID, changed)
    longer, longer_head = (  # (R,)
        new[name].astype(np.int64) - old[name].astype(np.int64) for name in ("length", "head_length")
    )
    sessions, index = np.unique(new["session"], return_inverse=True)
    by_session = np.bincount(index, longer, len(sessions)).astype(np.int64)
    db.executemany(
        "UPDATE session SET terms = terms + ? WHERE number = ?",
        zip(by_session.tolist(), sessions.tolist(), strict=True),
    )
    db.execute(
        "UPDATE bank SET terms = terms + ?, head_terms = head_terms + ?", (int(longer.sum()), int(longer_head.sum()))
    )
