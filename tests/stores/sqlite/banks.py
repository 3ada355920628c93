"""An empty bank in memory."""

from __future__ import annotations

import sqlite3

from everthread.stores.sqlite import schema


def new_bank() -> sqlite3.Connection:
    """Create the tables of a bank, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(db, "alice", 0)
    return db
