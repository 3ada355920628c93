"""The SQLite tables, as numbered migrations. Each runs once, in order, in the transaction that records it.

One file is one bank, so the tables have no bank_id. Times are microseconds since 1970 in UTC, with the speaker's own
offset from UTC in seconds in another column.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from everthread.errors import StoreUnavailable
from everthread.stores.errors import bank_too_new_error
from everthread.stores.sqlite import reanalysis
from everthread.text.analyzer import ANALYZER_VERSION

_FIRST = """
-- Counts that would take long to compute. stamp counts the changes of blocks and of units' vectors.
CREATE TABLE bank (
    bank_id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, analyser INTEGER NOT NULL,
    last_seq INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0, retracted INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0, head_terms INTEGER NOT NULL DEFAULT 0, stamp INTEGER NOT NULL DEFAULT 0);

CREATE TABLE session (
    number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, started_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, lines INTEGER NOT NULL, terms INTEGER NOT NULL);

-- The relevance buffer of a session; it exists before the session's first line is stored.
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

-- Memory units: summaries, notes, facts.
CREATE TABLE unit (
    kind TEXT NOT NULL, unit_id INTEGER NOT NULL, text TEXT NOT NULL,
    first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, said_at INTEGER NOT NULL,
    valid_from INTEGER, valid_to INTEGER, importance REAL, category TEXT,
    metadata TEXT NOT NULL DEFAULT '{}', retracted_at INTEGER, PRIMARY KEY (kind, unit_id));

-- lines counts the lines with a vector. A number is never used twice: it identifies what other processes have cached.
CREATE TABLE model (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dim INTEGER NOT NULL,
    lines INTEGER NOT NULL DEFAULT 0, UNIQUE (name, dim));

-- Whole vectors, in half precision; their codes are in blocks. For the id, see rows.vector_ids.
CREATE TABLE vector (id INTEGER PRIMARY KEY, data BLOB NOT NULL);

-- Packed columns: see column_blocks.py.
CREATE TABLE block (
    of INTEGER NOT NULL, number INTEGER NOT NULL, stamp INTEGER NOT NULL, mended INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX block_number ON block(of, number);
CREATE INDEX block_stamp ON block(of, stamp);

-- A block of records of one term, see postings.py; first is the seq of its first record.
CREATE TABLE posting (term TEXT NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX posting_term ON posting(term, first, count);
"""


def _create_tables(db: sqlite3.Connection) -> None:
    """Create banks, sessions, lines, units, vectors and postings."""
    _run_script(db, _FIRST)


def _run_script(db: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";\n"):  # not executescript, which would end the transaction
        db.execute(statement)


_SECOND = """
ALTER TABLE session ADD COLUMN ended_at INTEGER;
ALTER TABLE unit ADD COLUMN said_offset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE unit ADD COLUMN supersedes INTEGER;

-- Vectors of units, in half precision, one row per piece. They are few, and compared one by one.
CREATE TABLE unit_vector (
    model INTEGER NOT NULL REFERENCES model(number) ON DELETE CASCADE, kind TEXT NOT NULL, unit_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, kind, unit_id, ordinal),
    FOREIGN KEY (kind, unit_id) REFERENCES unit(kind, unit_id) ON DELETE CASCADE);
CREATE INDEX unit_vector_by_unit ON unit_vector(kind, unit_id);

CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);

-- Queued jobs of scribes.
CREATE TABLE work (
    kind TEXT NOT NULL, session_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    queued_at INTEGER NOT NULL, tries INTEGER NOT NULL, error TEXT, PRIMARY KEY (kind, session_id, first_seq));
"""


def _add_unit_vectors(db: sqlite3.Connection) -> None:
    """Add unit vectors, settings, scribe jobs and the end of sessions."""
    _run_script(db, _SECOND)


_THIRD = """
-- The stamp of the change that wrote a row. A deletion increments the bank's stamp, so that caches are refreshed.
ALTER TABLE unit_vector ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
CREATE INDEX unit_vector_stamp ON unit_vector(model, stamp);
CREATE TRIGGER unit_vector_gone AFTER DELETE ON unit_vector BEGIN UPDATE bank SET stamp = stamp + 1; END;
"""


def _add_stamps(db: sqlite3.Connection) -> None:
    """Add change stamps to unit vectors."""
    _run_script(db, _THIRD)


def _add_session_titles(db: sqlite3.Connection) -> None:
    """Add titles and metadata of sessions."""
    db.execute("CREATE TABLE session_metadata (session_id TEXT PRIMARY KEY, title TEXT, metadata TEXT NOT NULL)")


_FIFTH = """
-- Codes of the content words of lines: one row a line, (number of the scheme << 32) + seq, see token_codes.py.
CREATE TABLE token_scheme (number INTEGER PRIMARY KEY, model TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (model, name));
CREATE TABLE token_code (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""


def _add_token_codes(db: sqlite3.Connection) -> None:
    """Add the codes of content words."""
    _run_script(db, _FIFTH)


def _add_earlier_analyser(db: sqlite3.Connection) -> None:
    """Add how far lines have been analysed again after a change of the analyser, see reanalysis.py."""
    db.execute("ALTER TABLE bank ADD COLUMN earlier_last INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE bank ADD COLUMN earlier_analyser INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _create_tables,
    _add_unit_vectors,
    _add_stamps,
    _add_session_titles,
    _add_token_codes,
    _add_earlier_analyser,
)
VERSION = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """Return the number of the last applied migration; 0 for an empty file."""
    has_migrations = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'migration'").fetchone()[0]
    return int(db.execute("SELECT coalesce(max(number), 0) FROM migration").fetchone()[0]) if has_migrations else 0


def check(db: sqlite3.Connection, bank: str) -> None:
    """Check that the tables of a file that can't be written can be read as they are.

    Raises:
        BankTooNew: a later version of Everthread wrote the file.
        StoreUnavailable: an earlier one did, and the tables have to be migrated first.
    """
    applied = _check_version(db, bank)
    if applied < VERSION:
        raise StoreUnavailable(
            f"bank {bank!r} is of an earlier version of Everthread (schema {applied} of {VERSION}), and can't be "
            "updated where it can't be written. Copy the folder to a place that can be written, and read it there"
        )
    _check_analyser(db, bank)


def _check_version(db: sqlite3.Connection, bank: str) -> int:
    if (applied := version(db)) > VERSION:
        raise bank_too_new_error(bank, f"schema {applied}", VERSION)
    return applied


def _check_analyser(db: sqlite3.Connection, bank: str) -> int:
    analyser = int(db.execute("SELECT analyser FROM bank").fetchone()[0])
    if analyser > ANALYZER_VERSION:
        raise bank_too_new_error(bank, f"text analyser {analyser}", ANALYZER_VERSION)
    return analyser


def migrate(db: sqlite3.Connection, bank: str, at: int) -> None:
    """Migrate a bank's file inside the caller's transaction, and record which lines an earlier analyser analysed.

    Args:
        db: a connection in a transaction.
        bank: the bank's id.
        at: the present time, in microseconds since 1970.

    Raises:
        BankTooNew: a later version of Everthread wrote the file, which is left unchanged.
    """
    applied = _check_version(db, bank)
    if applied == 0:
        db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
    for number, apply in enumerate(MIGRATIONS[applied:], applied + 1):
        apply(db)
        db.execute("INSERT INTO migration VALUES (?, ?)", (number, at))
    if applied == 0:
        db.execute("INSERT INTO bank (bank_id, created_at, analyser) VALUES (?, ?, ?)", (bank, at, ANALYZER_VERSION))
    if (analyser := _check_analyser(db, bank)) < ANALYZER_VERSION:
        reanalysis.begin(db, analyser)
