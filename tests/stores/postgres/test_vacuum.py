"""Traces of forgotten rows: none in statistics and query results, and after a scrub none in the server's files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from hardship import postgres

from everthread import Memory, NewLine, NewUnit
from everthread.cli.main import main
from everthread.common.keys import SETTING_PERSON_NAMES
from everthread.server import server_tables
from everthread.stores.postgres import schema, vacuum, vector_index
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder

CANARY = "zqxcanary"
SCHEMAS = (schema.SCHEMA, server_tables.SCHEMA)


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url)
    yield made
    made.close()


def opened(store: PostgresStore, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


def run_query(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_stat_force_next_flush()")
        cursor = db.execute(query.encode())
        return cursor.fetchall() if cursor.description else []


@contextmanager
def reader(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Open a transaction that may still read rows that are deleted later. It holds no lock on any table."""
    with psycopg.connect(url) as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT 1")  # takes the snapshot
        yield other


def write_canaries(memory: Memory) -> None:
    """Write the canary into every field of a line, and into a text that is too long for its page."""
    memory.observe(f"The {CANARY} sings.", speaker=CANARY, session=CANARY, key=CANARY, metadata={CANARY: CANARY})
    memory.observe(" ".join(f"{CANARY}{n}" for n in range(2000)), speaker=CANARY, session=CANARY)
    memory.set_session(CANARY, title=CANARY, metadata={CANARY: CANARY})
    memory.context(CANARY, session=CANARY, gate=False)  # fills the session's buffer


# --------------------------------------------------------------------------- statistics


def test_no_statistics_contain_text(url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "EXACT_SEARCH_LIMIT", 1)
    write_canaries(opened(store))
    opened(store).observe_many([NewLine(f"Line {n} of the {CANARY}.", key=f"{CANARY}{n}") for n in range(30)])
    store.build_indexes("alice")
    run_query(url, "ANALYZE")
    rows = run_query(url, "SELECT tablename, attname, pg_stats::text FROM pg_stats WHERE schemaname = 'everthread'")
    assert [(table, column) for table, column, said in rows if CANARY in said] == []
    assert ("code", "code") not in {(table.partition("_")[0], column) for table, column, _ in rows}
    assert ("line", "said_at") in {(table, column) for table, column, _ in rows}


def test_columns_with_user_text_or_vectors_have_no_statistics(url: str, store: PostgresStore) -> None:
    opened(store)
    rows = run_query(
        url,
        """SELECT relname || '.' || attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
           WHERE relnamespace = 'everthread'::regnamespace AND relkind = 'r' AND attnum > 0 AND attname <> 'bank_id'
           AND atttypid::regtype::text IN ('text', 'bytea', 'halfvec') AND attstattarget IS DISTINCT FROM 0""",
    )
    names = {"speaker.role", "unit.kind", "model.name", "receipt.scope", "receipt.seqs", "bank.elsewhere"}
    assert {name for (name,) in rows} == {*names, "token_scheme.model", "token_scheme.name"}


@pytest.mark.parametrize("alone", [True, False])
def test_the_id_of_a_forgotten_bank_leaves_the_statistics(url: str, store: PostgresStore, alone: bool) -> None:
    for bank in (CANARY, "other")[: 1 if alone else 2]:
        opened(store, bank).observe_many([NewLine(f"Line {n}.", session="s") for n in range(30)])
    run_query(url, "ANALYZE")
    found = f"SELECT tablename FROM pg_stats WHERE schemaname = 'everthread' AND pg_stats::text LIKE '%{CANARY}%'"
    assert ("line",) in run_query(url, found)
    opened(store, CANARY).forget(everything=True)
    assert run_query(url, found) == []
    sampled = "SELECT count(*) FROM pg_stats WHERE schemaname = 'everthread' AND tablename = 'line' AND attname = '{}'"
    assert run_query(url, sampled.format("bank_id")) == [(0 if alone else 1,)]
    assert run_query(url, sampled.format("seq")) == [(1,)]


# ------------------------------------------------------------------------------- vacuum


def vacuum_counts(url: str) -> dict[str, int]:
    """Return the number of times that each table was vacuumed."""
    query = "SELECT relname, vacuum_count FROM pg_stat_user_tables WHERE schemaname = 'everthread' AND vacuum_count > 0"
    return dict(run_query(url, query))


def test_only_the_tables_that_lost_rows_are_vacuumed(url: str, store: PostgresStore) -> None:
    memory = opened(store)
    write_canaries(memory)
    memory.observe("Hello.", speaker="Ann", session=CANARY)
    memory.set_setting(SETTING_PERSON_NAMES, ["Ann", CANARY])
    memory.forget(seq=1)
    assert vacuum_counts(url) == {"line": 1, "posting": 1, "vector": 1, "token_code": 1}
    memory.forget(speaker=CANARY)
    store.close()
    assert vacuum_counts(url) == {"line": 2, "posting": 2, "vector": 2, "token_code": 2, "speaker": 1, "setting": 1}
    memory.forget(session=CANARY)
    store.close()
    assert [vacuum_counts(url)[table] for table in ("session", "buffer", "session_metadata")] == [1, 1, 1]


def test_the_lines_are_vacuumed_if_a_forgotten_unit_was_recalled_for_one(url: str, store: PostgresStore) -> None:
    memory, expected = opened(store), {}
    for seq in (1, 2):
        line = memory.observe("Hello.")
        unit = memory.add_unit(NewUnit("summary", "A greeting.", seq, seq, line.said_at))
        if seq == 2:
            memory.store.set_records(memory.bank, {seq: {"hits": [{"kind": "summary", "id": unit.id, "score": 2.5}]}})
            expected["line"] = 1
        memory.forget_unit("summary", unit.id)
        store.close()
        assert vacuum_counts(url) == {"unit": seq, "unit_vector": seq, **expected}


def test_a_process_vacuums_immediately_but_not_again_within_the_pause(url: str, store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe_many([NewLine(f"Line {n}.") for n in range(20)])
    store.close()  # without scheduled tables nothing is vacuumed, and no pause begins
    for seq in range(1, 11):
        memory.forget(seq=seq)
    assert vacuum_counts(url)["line"] == 1
    store.close()
    assert vacuum_counts(url)["line"] == 2
    store.close()
    assert vacuum_counts(url)["line"] == 2
    quick = vacuum.Vacuum(store.database, pause_s=0)
    for _ in range(3):
        quick.schedule("alice", ["line"], whole_bank=False)
    assert vacuum_counts(url)["line"] == 5


def test_the_indexes_are_cleaned_of_even_a_single_line(url: str, store: PostgresStore) -> None:
    """By default Postgres would not clean the indexes for one row of 400."""
    memory = opened(store)
    memory.observe_many([NewLine(f"Line {n}. " + "garden " * 200) for n in range(400)])
    memory.forget(seq=200)
    said: list[str] = []
    with psycopg.connect(url, autocommit=True) as db:
        db.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        db.execute("VACUUM (VERBOSE) everthread.line")
    assert re.search(r"index scan not needed: .* had 0 dead item identifiers removed", said[1]), said[1]


def test_a_table_in_use_is_reported(url: str, store: PostgresStore, caplog: pytest.LogCaptureFixture) -> None:
    memory = opened(store)
    memory.observe("A slip.")
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE everthread.posting IN SHARE UPDATE EXCLUSIVE MODE")
        memory.forget(seq=1)
    (record,) = caplog.records
    assert 'skipping vacuum of "posting" --- lock not available' in record.getMessage()
    assert record.getMessage().startswith(
        "forgotten lines are deleted from the tables, but not all of their pages are freed"
    )


def test_rows_that_a_transaction_may_still_read_are_reported(
    url: str, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened(store)
    memory.observe("A slip.")
    with reader(url):
        memory.forget(seq=1)
    (record,) = caplog.records
    assert "1 rows of line may still be read by an open transaction" in record.getMessage()


def test_a_server_that_stops_after_the_deletion_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    gone = vacuum.Vacuum(Database("postgresql://ann@/db?host=/nowhere"))
    gone.schedule("alice", ["line"], whole_bank=False)
    (record,) = caplog.records
    assert "can't be reached" in record.getMessage()


# -------------------------------------------------------------------------------- scrub


def files_containing(folder: Path, words: bytes) -> list[str]:
    """Return the files of a server that contain these bytes, except the write-ahead log."""
    files = (path for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts)
    return [str(path.relative_to(folder)) for path in files if words in path.read_bytes()]


@pytest.mark.parametrize("what", [{"session": CANARY}, {"everything": True}])
def test_a_scrub_leaves_no_forgotten_byte_in_the_servers_files(what: dict[str, Any]) -> None:
    with postgres.Own() as own, postgres.database(own.url) as url:
        store = PostgresStore(url)
        alice, bob = opened(store, f"alice {CANARY}" if what == {"everything": True} else "alice"), opened(store, "bob")
        write_canaries(alice)
        alice.observe("I live in Zqxcanary.", session=CANARY)
        assert alice.correct_fact(alice.facts()[0].id, f"{CANARY} Hill").holds
        alice.observe("Something else.", speaker="Ann", session="s")
        bob.observe_many([NewLine(f"Line {n} of Bob's.") for n in range(300)])
        run_query(url, "ANALYZE")
        run_query(url, "CHECKPOINT")
        alice.forget(**what)
        assert files_containing(own.folder, CANARY.encode()) != []
        assert vacuum.scrub(Database(url), SCHEMAS) == []
        assert files_containing(own.folder, CANARY.encode()) == []
        assert store.check("alice") == store.check("bob") == []
        assert bob.recall("line 7 Bob")[0].line.seq == 8
        store.close()


def test_a_scrub_leaves_nothing_of_what_the_server_has_deleted_in_its_tables() -> None:
    with postgres.Own() as own, postgres.database(own.url) as url:
        server_tables.migrate(Database(url))
        run_query(url, f"INSERT INTO everthread_server.account VALUES ('1', '{CANARY}', '', 0, '', 0, '', NULL)")
        run_query(url, "ANALYZE")
        run_query(url, "CHECKPOINT")
        run_query(url, "DELETE FROM everthread_server.account")
        assert files_containing(own.folder, CANARY.encode()) != []
        assert vacuum.scrub(Database(url), SCHEMAS) == []
        assert files_containing(own.folder, CANARY.encode()) == []


def test_a_scrub_waits_for_a_transaction_that_ends_soon(url: str, store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe("A slip.")
    with reader(url) as other:
        memory.forget(seq=1)
        end = Timer(1.0, other.rollback)
        end.start()
        done = CliRunner().invoke(main, ["db", "scrub", url])
        end.join()
    assert (done.exit_code, done.stdout) == (0, f"{url}: rewritten; nothing forgotten is left in its files\n")


def test_a_scrub_reports_rows_that_it_could_not_remove(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(store)
    memory.observe("A slip.")
    with reader(url):
        memory.forget(seq=1)
        with monkeypatch.context() as impatient:
            impatient.setattr(vacuum, "SCRUB_RETRIES", 1)
            left = CliRunner().invoke(main, ["db", "scrub", url])
    assert left.exit_code == 1
    assert "1 rows of line may still be read by an open transaction" in left.stdout.splitlines()
    done = CliRunner().invoke(main, ["db", "scrub", url])
    assert (done.exit_code, done.stdout) == (0, f"{url}: rewritten; nothing forgotten is left in its files\n")


def test_a_scrub_reports_tables_for_which_the_role_lacks_the_privilege(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        schema.migrate(Database(url))
        schema.secure(Database(url), role)
        left = vacuum.scrub(Database(postgres.build_url(url, user=role, password="zqxsecret")), SCHEMAS)
        assert [line for line in left if "permission denied" in line and "pg_statistic" in line]
        assert "CHECKPOINT requires membership in pg_checkpoint; wait for the server's next checkpoint" in left
        assert not [line for line in left if '"line"' in line]  # the role may maintain Everthread's tables
