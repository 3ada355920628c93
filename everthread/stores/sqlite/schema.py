"""The tables, as numbered migrations. Each runs once, in order, in the transaction that records it.

The file of a bank is the bank, so the embedded tables carry no bank_id; a store that holds many banks in one
database puts `bank_id` first in every key. Times are microseconds since 1970 in UTC, beside the speaker's own
offset from UTC in seconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from everthread.stores.problems import bank_too_new
from everthread.stores.sqlite import rows
from everthread.text.analyzer import ANALYSER

_FIRST = """
-- Counts that would take long to make. stamp counts the changes of blocks and of units' vectors.
CREATE TABLE bank (
    bank_id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, analyser INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0, retracted INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0, head_terms INTEGER NOT NULL DEFAULT 0, stamp INTEGER NOT NULL DEFAULT 0);

CREATE TABLE session (
    number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, started_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, lines INTEGER NOT NULL, terms INTEGER NOT NULL);

-- The relevance buffer of a session, which begins before its first line is kept.
CREATE TABLE buffer (session_id TEXT PRIMARY KEY, spans TEXT NOT NULL);

CREATE TABLE speaker (number INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, UNIQUE (name, role));

-- text comes last: a row's small columns are then read without touching the pages of a long text.
CREATE TABLE line (
    seq INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(number),
    parent_seq INTEGER, speaker INTEGER NOT NULL REFERENCES speaker(number),
    said_at INTEGER NOT NULL, said_offset INTEGER NOT NULL, retracted_at INTEGER,
    key TEXT UNIQUE, metadata TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX line_by_session ON line(session, seq);
CREATE INDEX line_by_speaker ON line(speaker);

-- What was written about lines: summaries, notes, facts.
CREATE TABLE unit (
    kind TEXT NOT NULL, unit_id INTEGER NOT NULL, text TEXT NOT NULL,
    first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, said_at INTEGER NOT NULL,
    valid_from INTEGER, valid_to INTEGER, importance REAL, category TEXT,
    metadata TEXT NOT NULL DEFAULT '{}', retracted_at INTEGER, PRIMARY KEY (kind, unit_id));

-- lines counts those that have a vector. A number is never used twice: it names what others hold in memory.
CREATE TABLE model (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dim INTEGER NOT NULL,
    lines INTEGER NOT NULL DEFAULT 0, UNIQUE (name, dim));

-- Whole vectors, in half precision; their codes are in blocks. An id is made of model, seq and ordinal: see records.py.
CREATE TABLE vector (id INTEGER PRIMARY KEY, data BLOB NOT NULL);

-- Packed columns: see blocks.py.
CREATE TABLE block (
    of INTEGER NOT NULL, number INTEGER NOT NULL, stamp INTEGER NOT NULL, mended INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX block_number ON block(of, number);
CREATE INDEX block_stamp ON block(of, stamp);

-- A block of at most postings.BLOCK records of one term; first is the first record's seq.
CREATE TABLE posting (term TEXT NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX posting_term ON posting(term, first, count);
"""


def _first(db: sqlite3.Connection) -> None:
    """Banks, sessions, lines, units, vectors, postings."""
    for statement in _FIRST.split(";\n"):  # not executescript, which would end the transaction
        db.execute(statement)


_SECOND = """
ALTER TABLE session ADD COLUMN ended_at INTEGER;
ALTER TABLE unit ADD COLUMN said_offset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE unit ADD COLUMN supersedes INTEGER;

-- Vectors of units, in half precision, a row a piece. They are few, and compared one by one.
CREATE TABLE unit_vector (
    model INTEGER NOT NULL REFERENCES model(number) ON DELETE CASCADE, kind TEXT NOT NULL, unit_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, kind, unit_id, ordinal),
    FOREIGN KEY (kind, unit_id) REFERENCES unit(kind, unit_id) ON DELETE CASCADE);
CREATE INDEX unit_vector_by_unit ON unit_vector(kind, unit_id);

CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);

-- What a scribe is still to write.
CREATE TABLE work (
    kind TEXT NOT NULL, session_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    queued_at INTEGER NOT NULL, tries INTEGER NOT NULL, error TEXT, PRIMARY KEY (kind, session_id, first_seq));
"""


def _second(db: sqlite3.Connection) -> None:
    """Units with vectors, settings, a scribe's work, ended sessions."""
    for statement in _SECOND.split(";\n"):
        db.execute(statement)


_THIRD = """
-- The stamp of the change with which a row was put. One that goes raises the bank's: what others hold, they look at.
ALTER TABLE unit_vector ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
CREATE INDEX unit_vector_stamp ON unit_vector(model, stamp);
CREATE TRIGGER unit_vector_gone AFTER DELETE ON unit_vector BEGIN UPDATE bank SET stamp = stamp + 1; END;
"""


def _third(db: sqlite3.Connection) -> None:
    """What has changed of units' vectors."""
    for statement in _THIRD.split(";\n"):
        db.execute(statement)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _second, _third)
VERSION = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """The number of the last migration applied; 0 for an empty file."""
    known = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'migration'").fetchone()[0]
    return int(db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]) if known else 0


def migrate(db: sqlite3.Connection, bank: str, at: int) -> None:
    """Bring a bank's file up to date, inside the caller's transaction; its words too, where the analyser has changed.

    Raises BankTooNew where a later Everthread wrote it; such a file is left as it is.
    """
    have = version(db)
    if have > VERSION:
        raise bank_too_new(bank, f"schema {have}", VERSION)
    if have == 0:
        db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, apply in enumerate(MIGRATIONS[have:], have + 1):
        apply(db)
        db.execute("INSERT INTO migration VALUES (?, ?)", (number, at))
    if have == 0:
        db.execute("INSERT INTO bank (bank_id, created_at, analyser) VALUES (?, ?, ?)", (bank, at, ANALYSER))
    analyser = db.execute("SELECT analyser FROM bank").fetchone()[0]
    if analyser > ANALYSER:
        raise bank_too_new(bank, f"text analyser {analyser}", ANALYSER)
    if analyser < ANALYSER:
        rows.reanalyse(db)
        db.execute("UPDATE bank SET analyser = ?", (ANALYSER,))
