"""An empty bank in memory, and a bank as an earlier version left it."""

from __future__ import annotations

import sqlite3

from everthread.stores.sqlite import schema


def new_bank() -> sqlite3.Connection:
    """Create the tables of a bank, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db, "alice", 0)
    return db


def drop_later_tables(db: sqlite3.Connection) -> None:
    """Drop the tables and columns that the fourth and later schemas added."""
    for table in ("session_metadata", "token_scheme", "token_code"):
        db.execute(f"DROP TABLE {table}")
    for column in ("earlier_last", "earlier_analyser"):
        db.execute(f"ALTER TABLE bank DROP COLUMN {column}")
