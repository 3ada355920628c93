"""Changes banks as if a version with another analyser had written them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from everthread import Memory
from everthread.stores.base import LINE_DTYPE, Store
from everthread.stores.postgres import postings as postgres_postings
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.postings import group_by_term
from everthread.stores.sqlite import column_blocks
from everthread.stores.sqlite import postings as sqlite_postings
from everthread.stores.sqlite.store import SQLiteStore
from everthread.text.analyzer import HEAD_CHARS, TermCounts


def count_words(text: str) -> TermCounts:
    """Count the words of a line as an analyser does that knows neither stems nor function words."""
    counts, head = Counter(text.lower().split()), Counter(text[:HEAD_CHARS].lower().split())
    return TermCounts({word: (n, head[word]) for word, n in counts.items()}, counts.total(), head.total())


def age_bank(memory: Memory, analyser: int) -> None:
    """Change a bank as if a version with this analyser had written it, and close its store.

    This process then opens the bank again, like a new one.
    """
    (_age_sqlite_bank if isinstance(memory.store, SQLiteStore) else _age_postgres_bank)(memory, analyser)
    memory.store.close()


def _age_sqlite_bank(memory: Memory, analyser: int) -> None:
    counts = {line.seq: count_words(line.text) for line in memory.lines()}
    memory.store.close()
    with closing(sqlite3.connect(Path(memory.store.location) / f"{memory.bank}.bank")) as db, db:
        db.execute("DELETE FROM posting")
        sqlite_postings.add(db, group_by_term(counts.items()))
        columns = _set_lengths(column_blocks.read_all(db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE), counts)
        column_blocks.put(db, column_blocks.LINE_COLUMNS_ID, columns)
        sessions: npt.NDArray[np.int32] = columns["session"]
        lengths: npt.NDArray[np.int32] = columns["length"]
        for (session,) in db.execute("SELECT number FROM session").fetchall():
            terms = int(lengths[sessions == session].sum())
            db.execute("UPDATE session SET terms = ? WHERE number = ?", (terms, session))
        db.execute(
            "UPDATE bank SET terms = ?, head_terms = ?, analyser = ?, earlier_last = 0",
            (int(lengths.sum()), int(columns["head_length"].sum()), analyser),
        )


def _age_postgres_bank(memory: Memory, analyser: int) -> None:
    counts = {line.seq: count_words(line.text) for line in memory.lines()}
    bank, terms = memory.bank, group_by_term(counts.items())
    assert isinstance(memory.store, PostgresStore)
    with memory.store.database.write_transaction(bank) as db:
        db.execute("DELETE FROM everthread.posting WHERE bank_id = %s", (bank,))
        postgres_postings.add(db, bank, terms, {})
        query = "SELECT seq, gist FROM everthread.line WHERE bank_id = %s AND gist IS NOT NULL ORDER BY seq"
        gists = [gist for _, gist in db.execute(query, (bank,)).fetchall()]
        columns = _set_lengths(np.frombuffer(b"".join(gists), LINE_DTYPE), counts)
        for row in columns:
            db.execute(
                """UPDATE everthread.line SET length = %s, head_length = %s, gist = %s
                   WHERE bank_id = %s AND seq = %s""",
                (int(row["length"]), int(row["head_length"]), row.tobytes(), bank, int(row["seq"])),
            )
        db.execute(
            """UPDATE everthread.session SET terms = (SELECT coalesce(sum(length), 0) FROM everthread.line
               WHERE line.bank_id = %s AND session = number AND gist IS NOT NULL) WHERE bank_id = %s""",
            (bank, bank),
        )
        db.execute(
            """UPDATE everthread.bank SET terms = %s, head_terms = %s, analyser = %s, earlier_last = 0
               WHERE bank_id = %s""",
            (int(columns["length"].sum()), int(columns["head_length"].sum()), analyser, bank),
        )


def set_columns(store: Store, bank: str, values: dict[str, int]) -> None:
    """Set columns of a bank's own row."""
    changes = ", ".join(f"{name} = {value}" for name, value in values.items())
    if isinstance(store, PostgresStore):
        with store.database.write_transaction(bank) as on_server:
            on_server.execute(f"UPDATE everthread.bank SET {changes} WHERE bank_id = %s", (bank,))
    else:
        with closing(sqlite3.connect(Path(store.location) / f"{bank}.bank")) as db, db:
            db.execute(f"UPDATE bank SET {changes}")


def _set_lengths(
    columns: np.ndarray[tuple[int], np.dtype[np.void]], counts: dict[int, TermCounts]
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    changed = columns.copy()
    changed["length"] = [each.length for each in counts.values()]
    changed["head_length"] = [each.head_length for each in counts.values()]
    return changed
