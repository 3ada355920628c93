"""The sessions of a bank's file: their order, their end, and their titles and metadata."""

from __future__ import annotations

import sqlite3

from everthread.stores.errors import missing_session_error
from everthread.stores.json_text import canonical_json
from everthread.stores.shared_rows import SESSION_COLUMNS, change_session, parse_session
from everthread.types import Metadata, Session

_SELECT = f"SELECT {SESSION_COLUMNS} FROM session LEFT JOIN session_metadata USING (session_id)"


def read(db: sqlite3.Connection) -> list[Session]:
    """Return the sessions, by the time they began."""
    return list(map(parse_session, db.execute(f"{_SELECT} ORDER BY started_at, first_seq").fetchall()))


def end(db: sqlite3.Connection, bank: str, session: str, at: int) -> None:
    """End a session.

    Args:
        db: a connection in a transaction.
        bank: the bank, for the message.
        session: the session's id.
        at: the time of its end, in microseconds since 1970.

    Raises:
        NotFound: there is no such session.
    """
    if not db.execute("UPDATE session SET ended_at = ? WHERE session_id = ?", (at, session)).rowcount:
        raise missing_session_error(bank, session)


def set_metadata(
    db: sqlite3.Connection, bank: str, session: str, title: str | None, metadata: Metadata | None
) -> Session:
    """Set the title and the metadata of a session; see `stores.base.LineStore.set_session`."""
    row = db.execute(f"{_SELECT} WHERE session_id = ?", (session,)).fetchone()
    if row is None:
        raise missing_session_error(bank, session)
    changed = change_session(parse_session(row), title, metadata)
    db.execute(
        "INSERT OR REPLACE INTO session_metadata VALUES (?, ?, ?)",
        (session, changed.title, canonical_json(changed.metadata)),
    )
    return changed
