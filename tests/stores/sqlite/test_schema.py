import hashlib
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from everthread import Memory
from everthread.errors import BankTooNew
from everthread.stores.sqlite import schema
from everthread.stores.sqlite.schema import MIGRATIONS, VERSION, migrate, version
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION
from everthread.types import NewUnit
from stores.sqlite.banks import drop_later_tables

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
TABLES = {
    "migration": "number applied_at",
    "bank": "bank_id created_at analyser last_seq lines retracted terms head_terms stamp earlier_last earlier_analyser",
    "session": "number session_id started_at last_at first_seq last_seq lines terms ended_at",
    "session_metadata": "session_id title metadata",
    "buffer": "session_id spans",
    "speaker": "number name role",
    "line": "seq session parent_seq speaker said_at said_offset retracted_at key metadata text",
    "unit": "kind unit_id text first_seq last_seq said_at valid_from valid_to importance category"
    " metadata retracted_at said_offset supersedes",
    "unit_vector": "model kind unit_id ordinal data stamp",
    "setting": "name value",
    "work": "kind session_id first_seq last_seq queued_at tries error",
    "model": "number name dim lines",
    "vector": "id data",
    "block": "of number stamp mended data",
    "posting": "term first count data",
    "token_scheme": "number model name",
    "token_code": "id data",
}
INDEXES = {
    *("line_by_session", "line_by_speaker", "block_number", "block_stamp", "posting_term"),
    *("unit_vector_by_unit", "unit_vector_stamp"),
}
TRIGGERS = {"unit_vector_gone"}


def new_file() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_schema_has_exactly_these_tables() -> None:
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
        triggers = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    assert tables == TABLES
    assert indexes == INDEXES
    assert triggers == TRIGGERS


def test_every_migration_is_recorded_with_its_time() -> None:
    with closing(new_file()) as db:
        assert version(db) == 0
        migrate(db, "alice", 1234)
        assert version(db) == VERSION
        assert db.execute("SELECT number, applied_at FROM migration ORDER BY number").fetchall() == [
            (number, 1234) for number in range(1, len(MIGRATIONS) + 1)
        ]


def test_a_current_bank_is_not_changed() -> None:
    with closing(new_file()) as db:
        migrate(db, "alice", 1)
        before = list(db.iterdump())
        migrate(db, "alice", 2)
        assert list(db.iterdump()) == before


def test_the_bank_stores_its_own_id() -> None:
    with closing(new_file()) as db:
        migrate(db, "alice/captain-nemo", 7)
        assert db.execute("SELECT bank_id, created_at FROM bank").fetchall() == [("alice/captain-nemo", 7)]


def test_a_bank_of_a_later_version_is_rejected_and_not_changed(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("Kept for the version that can read it.")
    path = tmp_path / "alice.bank"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO migration VALUES (?, 0)", (VERSION + 41,))
    before = digest(path)
    for _ in range(2):
        with pytest.raises(
            BankTooNew, match=rf"bank 'alice' was written by a later .*schema {VERSION + 41}.*upgrade with: "
        ):
            Memory.open("alice", store=tmp_path, embedder=HashEmbedder())
    assert digest(path) == before
    assert [each.name for each in tmp_path.iterdir()] == ["alice.bank"]


def test_a_bank_of_a_later_analyser_is_rejected(tmp_path: Path) -> None:
    with closing(new_file()) as db:
        migrate(db, "alice", 1)
        db.execute("UPDATE bank SET analyser = ?", (ANALYZER_VERSION + 1,))
        with pytest.raises(BankTooNew, match=rf"later version of Everthread \(text analyser {ANALYZER_VERSION + 1}"):
            migrate(db, "alice", 2)


def test_a_bank_of_the_first_schema_is_migrated_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "alice.bank"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE migration (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
        schema._create_tables(db)
        db.execute("INSERT INTO migration VALUES (1, 7)")
        db.execute("INSERT INTO bank (bank_id, created_at, analyser) VALUES ('alice', 7, ?)", (ANALYZER_VERSION,))
        db.execute("INSERT INTO buffer VALUES ('before', '[[1,2]]')")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.store.buffer("alice", "before") == [(1, 2)]
        line = memory.observe("The kettle sings.", session="s")
        memory.end("s")
        memory.add_unit(NewUnit("note", "A kettle.", 1, 1, line.said_at))
        assert memory.recall("kettle")[0].line == line
        assert memory.store.check("alice") == []
    with closing(sqlite3.connect(path)) as db:
        assert [row[0] for row in db.execute("SELECT number FROM migration ORDER BY number")] == [
            *range(1, VERSION + 1)
        ]


def test_a_migrated_bank_of_the_second_schema_finds_old_and_new_units(tmp_path: Path) -> None:
    path, embedder = tmp_path / "alice.bank", HashEmbedder(64)
    facts = [NewUnit("fact", text, 1, 1, NOON) for text in ("A kettle sings.", "The ferry is late.")]
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory:
        memory.observe("The kettle sings.", session="s")
        memory.add_unit(facts[0])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER unit_vector_gone")
        db.execute("DROP INDEX unit_vector_stamp")
        db.execute("ALTER TABLE unit_vector DROP COLUMN stamp")
        drop_later_tables(db)
        db.execute("DELETE FROM migration WHERE number >= 3")
    query = embedder.embed_query("kettle")
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory:
        near = memory.store.unit_cosines("alice", embedder.name, query, ())
        assert [each[:2] for each in near] == [("fact", 1)]
        memory.add_unit(facts[1])
        assert memory.store.unit_cosines("alice", embedder.name, query, ())[:1] == near
        assert len(memory.store.unit_cosines("alice", embedder.name, query, ())) == 2
        memory.retract(1)
        assert memory.store.unit_cosines("alice", embedder.name, query, ()) == []
        assert memory.store.check("alice") == []
    with closing(sqlite3.connect(path)) as db:
        assert version(db) == VERSION


def test_a_migrated_bank_of_version_0_1_0_can_have_titles(tmp_path: Path) -> None:
    path = tmp_path / "alice.bank"
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        line = memory.observe("The kettle sings.", session="s")
    with closing(sqlite3.connect(path)) as db, db:  # its schema was the third
        drop_later_tables(db)
        db.execute("DELETE FROM migration WHERE number >= 4")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert list(memory.lines()) == [line]
        assert [(session.id, session.title, session.metadata) for session in memory.sessions()] == [("s", None, {})]
        assert memory.set_session("s", title="Tea").title == "Tea"
        assert memory.store.check("alice") == []
