"""The sessions of a bank on Postgres: their order, their end, and their titles and metadata."""

from __future__ import annotations

from everthread.stores.errors import missing_session_error
from everthread.stores.json_text import canonical_json
from everthread.stores.postgres.connections import Connection
from everthread.stores.shared_rows import SESSION_COLUMNS, change_session, parse_session
from everthread.types import Metadata, Session

_SELECT = f"""SELECT {SESSION_COLUMNS} FROM everthread.session
    LEFT JOIN everthread.session_metadata USING (bank_id, session_id) WHERE bank_id = %s"""


def read(db: Connection, bank: str) -> list[Session]:
    """Return the sessions, by the time they began."""
    return list(map(parse_session, db.execute(f"{_SELECT} ORDER BY started_at, first_seq", (bank,)).fetchall()))


def end(db: Connection, bank: str, session: str, at: int) -> None:
    """End a session.

    Args:
        db: a connection in a transaction.
        bank: the bank.
        session: the session's id.
        at: the time of its end, in microseconds since 1970.

    Raises:
        NotFound: there is no such session.
    """
    query = "UPDATE everthread.session SET ended_at = %s WHERE bank_id = %s AND session_id = %s"
    if not db.execute(query, (at, bank, session)).rowcount:
        raise missing_session_error(bank, session)


def set_metadata(db: Connection, bank: str, session: str, title: str | None, metadata: Metadata | None) -> Session:
    """Set the title and the metadata of a session; see `stores.base.LineStore.set_session`."""
    row = db.execute(f"{_SELECT} AND session_id = %s", (bank, session)).fetchone()
    if row is None:
        raise missing_session_error(bank, session)
    changed = change_session(parse_session(row), title, metadata)
    db.execute(
        """INSERT INTO everthread.session_metadata (bank_id, session_id, title, metadata) VALUES (%s, %s, %s, %s)
           ON CONFLICT (bank_id, session_id) DO UPDATE SET title = excluded.title, metadata = excluded.metadata""",
        (bank, session, changed.title, canonical_json(changed.metadata)),
    )
    return changed
