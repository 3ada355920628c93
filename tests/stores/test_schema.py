import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from everthread import Memory
from everthread.errors import BankTooNew
from everthread.models.fakes import HashEmbedder
from everthread.stores.schema import MIGRATIONS, VERSION, migrate, version

TABLES = {
    "migration": "number applied_at",
    "bank": "bank_id created_at recipe settings analyser last_seq lines terms head_terms removals",
    "session": "number session_id started_at last_at ended_at consent summary_state first_seq last_seq lines terms",
    "buffer": "session_id spans",
    "speaker": "number name role",
    "line": "seq session parent_seq speaker said_at said_offset retracted_at key metadata text",
    "gist": "seq data",
    "unit": "kind unit_id text first_seq last_seq said_at valid_from valid_to importance category"
    " metadata retracted_at",
    "model": "number name dim",
    "vector": "id model kind unit_id ordinal code data",
    "posting": "kind term first count data",
}
INDEXES = {"line_by_session", "line_by_time", "line_by_speaker", "vector_code", "posting_term"}


def new_file() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_tables_are_these() -> None:
    with closing(new_file()) as db:
        migrate(db, "alice", 1)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = {
            name: " ".join(row[1] for row in db.execute(f"PRAGMA table_info({name})"))
            for name in names
            if not name.startswith("sqlite_")
        }
        indexes = {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL")
        }
    assert tables == TABLES
    assert indexes == INDEXES


def test_every_migration_is_recorded_with_its_time() -> None:
    with closing(new_file()) as db:
        assert version(db) == 0
        migrate(db, "alice", 1234)
        assert version(db) == VERSION
        assert db.execute("SELECT number, applied_at FROM migration ORDER BY number").fetchall() == [
            (number, 1234) for number in range(1, len(MIGRATIONS) + 1)
        ]


def test_a_bank_that_is_up_to_date_is_left_as_it_is() -> None:
    with closing(new_file()) as db:
        migrate(db, "alice", 1)
        before = list(db.iterdump())
        migrate(db, "alice", 2)
        assert list(db.iterdump()) == before


def test_the_bank_knows_its_own_name() -> None:
    with closing(new_file()) as db:
        migrate(db, "alice/captain-nemo", 7)
        assert db.execute("SELECT bank_id, created_at FROM bank").fetchall() == [("alice/captain-nemo", 7)]


def test_a_bank_of_a_later_version_is_refused_and_left_untouched(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("Kept for the version that can read it.")
    path = tmp_path / "alice.bank"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO migration VALUES (?, 0)", (VERSION + 41,))
    before = digest(path)
    for _ in range(2):
        with pytest.raises(
            BankTooNew, match=rf"bank 'alice' was written by a later .*schema {VERSION + 41}.*pip install --upgrade"
        ):
            Memory.open("alice", store=tmp_path, embedder=HashEmbedder())
    assert digest(path) == before
    assert [each.name for each in tmp_path.iterdir()] == ["alice.bank"]
