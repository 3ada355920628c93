"""Copies the server's own data from a file into the tables of a database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from everthread.errors import NotFound, StoreUnavailable
from everthread.server.server_db import Transaction
from everthread.server.sms_key import KEY_FILE, KEY_TABLE, read_key

TABLES = (
    "key",
    "once",
    "account",
    "identity",
    "login_session",
    "failed_sign_in",
    "sms_answered",
    "sms_stopped",
    "telegram_answered",
    "telegram_stopped",
    "telegram_invitations",
    "telegram_chats",
    "telegram_moved",
    "telegram_topics",
    "telegram_sent",
    "mcp_secret",
)


def copy_file(file: Path, target: Transaction) -> int:
    """Copy all rows that the target doesn't have, and the key of telephone numbers next to the file.

    Args:
        file: server.sqlite.
        target: a transaction on tables with the same columns.

    Returns:
        The number of rows copied.

    Raises:
        NotFound: the file is missing.
        StoreUnavailable: the file can't be read.
    """
    if not file.exists():
        raise NotFound(f"there is no file {file}; name the server.sqlite of the folder that was served")
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as source:
            copied = sum(_copy_table(source, table, target) for table in TABLES)
        if (key_file := file.with_name(KEY_FILE)).exists():
            statement = f"INSERT INTO {KEY_TABLE} VALUES (1, ?) ON CONFLICT DO NOTHING"
            copied += target.execute(statement, (read_key(key_file),)).rowcount
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(f"cannot read {file}: {error}; nothing was copied") from error
    return copied


def _copy_table(source: sqlite3.Connection, table: str, target: Transaction) -> int:
    """Copy a table, which an earlier version may not have had. Return the number of rows copied."""
    if not source.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchone():
        return 0
    rows = source.execute(f"SELECT * FROM {table}")
    columns = [column[0] for column in rows.description]
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"
    )
    return sum(target.execute(statement, row).rowcount for row in rows)
