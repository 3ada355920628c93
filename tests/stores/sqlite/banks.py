"""An empty bank in memory, and a bank as an earlier analyser left it."""

from __future__ import annotations

import sqlite3
from collections import Counter

from everthread.stores.base import LINE_DTYPE
from everthread.stores.postings import group_by_term
from everthread.stores.sqlite import column_blocks, postings, schema
from everthread.text.analyzer import ANALYZER_VERSION, HEAD_CHARS, TermCounts


def new_bank() -> sqlite3.Connection:
    """Create the tables of a bank, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db, "alice", 0)
    return db


def count_words(text: str) -> TermCounts:
    """Count the words of a line as an analyser does that knows neither stems nor function words."""
    counts, head = Counter(text.lower().split()), Counter(text[:HEAD_CHARS].lower().split())
    return TermCounts({word: (n, head[word]) for word, n in counts.items()}, counts.total(), head.total())


def age_bank(db: sqlite3.Connection, analyser: int = ANALYZER_VERSION - 1) -> None:
    """Change a bank as if a version with another analyser had written it."""
    lines = db.execute("SELECT seq, text FROM line WHERE retracted_at IS NULL AND text <> '' ORDER BY seq")
    counts = {seq: count_words(text) for seq, text in lines}
    db.execute("DELETE FROM posting")
    postings.add(db, group_by_term(counts.items()))
    columns = column_blocks.read_all(db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE).copy()
    columns["length"] = [each.length for each in counts.values()]
    columns["head_length"] = [each.head_length for each in counts.values()]
    column_blocks.put(db, column_blocks.LINE_COLUMNS_ID, columns)
    for number, session in db.execute("SELECT DISTINCT session, session FROM line").fetchall():
        terms = int(columns["length"][columns["session"] == session].sum())
        db.execute("UPDATE session SET terms = ? WHERE number = ?", (terms, number))
    db.execute(
        "UPDATE bank SET terms = ?, head_terms = ?, analyser = ?, earlier_last = 0",
        (int(columns["length"].sum()), int(columns["head_length"].sum()), analyser),
    )
