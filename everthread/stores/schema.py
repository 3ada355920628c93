"""The tables, as numbered migrations. Each runs once, in order, in the transaction that records it.

The file of a bank is the bank, so the embedded tables carry no bank_id; a store that holds many banks in one
database puts `bank_id` first in every key. Times are microseconds since 1970 in UTC, beside the speaker's own
offset from UTC in seconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from everthread.errors import BankTooNew
from everthread.stores.text import ANALYSER


def _first(db: sqlite3.Connection) -> None:
    """Banks, sessions, lines, units, vectors, postings."""
    db.execute(
        """CREATE TABLE bank (
            bank_id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, recipe TEXT NOT NULL DEFAULT 'default',
            settings TEXT NOT NULL DEFAULT '{}', analyser INTEGER NOT NULL,
            last_seq INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0, terms INTEGER NOT NULL DEFAULT 0,
            head_terms INTEGER NOT NULL DEFAULT 0, removals INTEGER NOT NULL DEFAULT 0)"""
    )
    db.execute(
        """CREATE TABLE session (
            number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE,
            started_at INTEGER NOT NULL, last_at INTEGER NOT NULL, ended_at INTEGER, consent TEXT, summary_state TEXT,
            first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
            lines INTEGER NOT NULL, terms INTEGER NOT NULL)"""
    )
    # The relevance buffer of a session, which begins before its first line is kept.
    db.execute("CREATE TABLE buffer (session_id TEXT PRIMARY KEY, spans TEXT NOT NULL)")
    db.execute(
        "CREATE TABLE speaker (number INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, UNIQUE (name, role))"
    )
    # text comes last: a row's small columns are then read without touching the pages of a long text.
    db.execute(
        """CREATE TABLE line (
            seq INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(number),
            parent_seq INTEGER, speaker INTEGER NOT NULL REFERENCES speaker(number),
            said_at INTEGER NOT NULL, said_offset INTEGER NOT NULL, retracted_at INTEGER,
            key TEXT UNIQUE, metadata TEXT NOT NULL, text TEXT NOT NULL)"""
    )
    # What scoring needs of a line, packed (stores.base.LINE), in a table of its own so that its pages are few.
    db.execute("CREATE TABLE gist (seq INTEGER PRIMARY KEY, data BLOB NOT NULL)")
    db.execute("CREATE INDEX line_by_session ON line(session, seq)")
    db.execute("CREATE INDEX line_by_time ON line(said_at)")
    db.execute("CREATE INDEX line_by_speaker ON line(speaker)")
    db.execute(
        """CREATE TABLE unit (
            kind TEXT NOT NULL, unit_id INTEGER NOT NULL, text TEXT NOT NULL,
            first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, said_at INTEGER NOT NULL,
            valid_from INTEGER, valid_to INTEGER, importance REAL, category TEXT,
            metadata TEXT NOT NULL DEFAULT '{}', retracted_at INTEGER, PRIMARY KEY (kind, unit_id))"""
    )
    db.execute(
        "CREATE TABLE model (number INTEGER PRIMARY KEY, name TEXT NOT NULL, dim INTEGER NOT NULL, UNIQUE (name, dim))"
    )
    # A line is a unit of its own: kind 'line', unit_id = seq. code is the sign of each dimension, one bit each; the
    # index holds it, so that a search over the codes reads none of the pages of data. An id is never used twice, so
    # that an index in memory knows by the greatest id what it has not seen.
    db.execute(
        """CREATE TABLE vector (
            id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL REFERENCES model(number),
            kind TEXT NOT NULL DEFAULT 'line', unit_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
            code BLOB NOT NULL, data BLOB NOT NULL)"""
    )
    db.execute("CREATE UNIQUE INDEX vector_code ON vector(model, kind, unit_id, ordinal, code)")
    # A block of at most BLOCK records of one term; first is the first record's unit.
    db.execute(
        """CREATE TABLE posting (
            kind TEXT NOT NULL DEFAULT 'line', term TEXT NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
            data BLOB NOT NULL)"""
    )
    db.execute("CREATE UNIQUE INDEX posting_term ON posting(kind, term, first, count)")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first,)
VERSION = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """The number of the last migration applied; 0 for an empty file."""
    known = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'migration'").fetchone()[0]
    return int(db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]) if known else 0


def migrate(db: sqlite3.Connection, bank: str, at: int) -> None:
    """Bring a bank's file up to date, inside the caller's transaction.

    Raises BankTooNew where a later Everthread wrote it; such a file is left as it is.
    """
    have = version(db)
    if have > VERSION:
        raise BankTooNew(
            f"bank {bank!r} was written by a later version of Everthread (schema {have}, this one knows {VERSION}); "
            "upgrade with: pip install --upgrade everthread"
        )
    if have == 0:
        db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, apply in enumerate(MIGRATIONS[have:], have + 1):
        apply(db)
        db.execute("INSERT INTO migration VALUES (?, ?)", (number, at))
    if have == 0:
        db.execute("INSERT INTO bank (bank_id, created_at, analyser) VALUES (?, ?, ?)", (bank, at, ANALYSER))
