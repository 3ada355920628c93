"""Unsuitable databases, migrations while other processes run, and Citus (tested with a fake one)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal

import psycopg
import pytest
from hardship import PATIENCE, postgres
from hardship.citus import FUNCTIONS, Citus
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from everthread import Memory, NewLine
from everthread.common.installation import upgrade_command
from everthread.errors import BankTooNew, ConfigError, StoreUnavailable
from everthread.stores.postgres import schema, vacuum
from everthread.stores.postgres.connections import PLAN_ONCE, Database
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION
from everthread.types import NewUnit, ScribeJob
from stores.aging import age_bank

SECRET = "zqxsecret"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def opened(url: str, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=url, embedder=HashEmbedder(), recipe="default")


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as made:
        yield made


# ------------------------------------------------------------------- databases that don't fit


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_store_every_character_is_rejected(
    postgres_server: str, encoding: Literal["LATIN1", "SQL_ASCII"]
) -> None:
    how = f"ENCODING '{encoding}' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'"
    with postgres.database(postgres_server, how) as url:
        for call in (
            lambda: opened(url),
            lambda: schema.migrate(Database(url)),
            lambda: schema.ensure_tables(Database(url)),
        ):
            with pytest.raises(ConfigError, match=f"stores text as {encoding}, .*createdb -E UTF8 -T template0"):
                call()
        with psycopg.connect(url) as db:
            query = "SELECT count(*) FROM pg_namespace WHERE nspname = 'everthread'"
            assert db.execute(query).fetchone() == (0,)


def test_the_default_client_encoding_does_not_matter(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with opened(f"{url}&client_encoding=LATIN1") as memory:
        memory.observe("A thread \U0001f9f5.")
        assert [line.text for line in memory.lines()] == ["A thread \U0001f9f5."]


def test_pgvector_may_be_in_its_own_schema(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        run(url, 'CREATE SCHEMA "ex tensions"', 'CREATE EXTENSION vector SCHEMA "ex tensions"')
        schema.migrate(Database(url))
        schema.secure(Database(url), role)
        for each in (url, postgres.build_url(url, user=role, password=SECRET)):
            with opened(each, each) as memory:
                memory.observe("The kettle sings.")
                (hit,) = memory.recall("the kettle sings")
                assert hit.signals["cosine"] > 0.5
                assert memory.forget(seq=1).lines == 1


def test_a_search_path_without_the_types_is_tolerated(url: str) -> None:
    schema.migrate(Database(url))
    with psycopg.connect(url, autocommit=True) as db:
        name = sql.Identifier(db.info.dbname)
        db.execute(sql.SQL("ALTER DATABASE {} SET search_path = app").format(name))
    with opened(url) as memory:
        memory.observe("The kettle sings.")
        assert memory.stats().pending == 0
        store = memory.store
        assert isinstance(store, PostgresStore)
        with store.database._get_pool().connection() as connection:  # the next client has its own path
            assert connection.execute("SHOW search_path").fetchone() == ("app",)


def test_an_old_pgvector_is_rejected_with_upgrade_instructions(url: str) -> None:
    schema.migrate(Database(url))
    run(url, "SET allow_system_table_mods = on; UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    for call in (lambda: opened(url), lambda: schema.migrate(Database(url))):
        with pytest.raises(
            StoreUnavailable,
            match=r"has pgvector 0.7.4, but 0.8 or later is required; .*run there: ALTER EXTENSION vector U",
        ):
            call()


# ---------------------------------------------------------------------- tables of two versions


def add_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that a later version has one more table."""
    more = 'CREATE TABLE everthread.more (bank_id text COLLATE "C" PRIMARY KEY)'
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, (more,)))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(schema, "TABLES", (*schema.TABLES, "more"))


def test_an_old_process_neither_reads_nor_writes_migrated_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as memory:
        memory.observe("Written before.")
        with monkeypatch.context() as changed:
            add_migration(changed)
            assert schema.migrate(Database(url)) == 1
        calls = (lambda: memory.observe("Too late."), lambda: memory.recall("before"), lambda: memory.forget(seq=1))
        for call in calls:
            with pytest.raises(BankTooNew, match="later Everthread .*" + re.escape(upgrade_command())):
                call()
    with psycopg.connect(url) as db:
        assert db.execute("SELECT text FROM everthread.line").fetchall() == [("Written before.",)]


def test_migration_waits_for_current_writers(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as memory, ThreadPoolExecutor(1) as pool, monkeypatch.context() as changed:
        store = memory.store
        assert isinstance(store, PostgresStore)
        with store.database.write_transaction("alice") as db:
            add_migration(changed)
            renewing = pool.submit(schema.migrate, Database(url))
            time.sleep(0.3)
            assert not renewing.done()
            db.execute("DELETE FROM everthread.buffer")
        assert renewing.result(PATIENCE) == 1


def test_a_secured_role_has_the_same_access_to_tables_of_later_migrations(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        schema.migrate(Database(url))
        schema.secure(Database(url), role)
        add_migration(monkeypatch)
        schema.migrate(Database(url))
        run(url, "INSERT INTO everthread.more VALUES ('alice'), ('bob')")
        store = PostgresStore(postgres.build_url(url, user=role, password=SECRET))
        with store.database.read_transaction("alice") as db:
            assert db.execute("SELECT bank_id FROM everthread.more").fetchall() == [("alice",)]
        store.close()


def use_version(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Create the tables of an earlier version from now on."""
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
    monkeypatch.setattr(schema, "VERSION", version)


def test_tables_of_the_first_version_are_migrated_with_their_rows(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        with monkeypatch.context() as changed:
            use_version(changed, 1)
            changed.setattr(schema, "TABLES", schema.TABLES[:10])
            schema.migrate(Database(url))
            schema.secure(Database(url), role)
        run(
            url,
            f"INSERT INTO everthread.bank (bank_id, created_at, analyser) VALUES ('alice', 7, {ANALYZER_VERSION})",
            "INSERT INTO everthread.buffer VALUES ('alice', 'before', '[[1,2]]')",
        )
        with pytest.raises(StoreUnavailable, match=r"schema 1, this version requires 7.*everthread db migrate URL"):
            opened(url)
        assert schema.migrate(Database(url)) == 6
        assert schema.migrate(Database(url)) == 0
        for each in (url, postgres.build_url(url, user=role, password=SECRET)):
            with opened(each) as memory:
                assert memory.store.buffer("alice", "before") == [(1, 2)]
                line = memory.observe("The kettle sings.", session="s")
                memory.end("s")
                assert memory.set_session("s", title="Tea") == memory.sessions()[0]
                memory.set_setting("voice", "dry")
                memory.enqueue(ScribeJob("notes", "s", line.seq, line.seq, line.said_at))
                assert (
                    memory.add_unit(NewUnit("note", "A kettle.", line.seq, line.seq, line.said_at)).text == "A kettle."
                )
                assert memory.forget(session="s").lines == 1
                assert (memory.units(), memory.jobs(), memory.store.check("alice")) == ([], [], [])


def test_tables_of_version_0_1_0_are_migrated_and_their_sessions_can_have_titles(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        use_version(changed, 2)
        schema.migrate(Database(url))
    run(
        url,
        f"INSERT INTO everthread.bank (bank_id, created_at, analyser) VALUES ('alice', 7, {ANALYZER_VERSION})",
        "INSERT INTO everthread.session VALUES ('alice', 1, 's', 7, 7, 1, 1, 0, 0, NULL)",
    )
    with pytest.raises(StoreUnavailable, match="everthread db migrate URL"):
        opened(url)
    assert schema.migrate(Database(url)) == 5
    with opened(url) as memory:
        assert [(session.id, session.title, session.metadata) for session in memory.sessions()] == [("s", None, {})]
        assert memory.set_session("s", title="Tea").title == "Tea"


# -------------------------------------------------------------------- words of two analysers


def write_kettles(url: str) -> None:
    """Write 30 lines with the same word, and retract one."""
    with opened(url) as memory:
        for n in range(30):
            memory.observe(f"The kettle number {n} sings {'on and on ' * n}.", session=str(n % 3))
        memory.retract(7)


def read_term_rows(url: str) -> list[object]:
    """Return all rows about terms."""
    queries = (
        "SELECT term, first, before, count, data FROM everthread.posting ORDER BY term, first",
        "SELECT number, terms FROM everthread.session ORDER BY number",
        "SELECT seq, length, head_length, gist FROM everthread.line WHERE retracted_at IS NULL ORDER BY seq",
        "SELECT analyser, terms, head_terms FROM everthread.bank",
    )
    with psycopg.connect(url) as db:
        return [db.execute(query).fetchall() for query in queries]


def test_a_read_only_server_answers_from_a_bank_of_an_earlier_analyser(url: str) -> None:
    write_kettles(url)
    with opened(url) as memory:
        age_bank(memory, ANALYZER_VERSION - 1)
        before = read_term_rows(url)
        run(url, f'ALTER DATABASE "{conninfo_to_dict(url)["dbname"]}" SET default_transaction_read_only = on')
    with opened(url) as memory:
        assert memory.stats().outdated == 29
        assert memory.store.check("alice") == []
        assert len(memory.recall("the kettle number 3", 50)) == 29
    assert read_term_rows(url) == before


def test_a_bank_of_a_later_analyser_is_rejected_but_can_be_forgotten(url: str) -> None:
    write_kettles(url)
    with opened(url) as memory:
        run(url, f"UPDATE everthread.bank SET analyser = {ANALYZER_VERSION + 1}")
        before = read_term_rows(url)
        for write in (lambda: memory.observe("Hm."), lambda: memory.retract(1), lambda: memory.forget(seq=1)):
            with pytest.raises(
                BankTooNew, match=rf"bank 'alice' .*\(text analyser {ANALYZER_VERSION + 1}; .*upgrade with: "
            ):
                write()
        with pytest.raises(BankTooNew, match="text analyser"):
            opened(url)
        assert read_term_rows(url) == before
        assert memory.forget(everything=True).lines == 30
    with opened(url) as memory:
        assert memory.observe("Again.").seq == 1


# ---------------------------------------------------------------------------------- Citus


@pytest.fixture
def spread(url: str) -> str:
    """Return the URL of a database with a fake Citus, which records calls and distributes nothing."""
    schema.migrate(Database(url))
    run(url, FUNCTIONS)
    return url


def test_an_interrupted_distribution_is_continued(spread: str) -> None:
    run(spread, "ALTER TABLE pg_dist_partition ADD CHECK (logicalrelid <> 'everthread.speaker'::regclass)")
    with pytest.raises(StoreUnavailable, match="check constraint"):
        schema.distribute(Database(spread))
    run(spread, "ALTER TABLE pg_dist_partition DROP CONSTRAINT pg_dist_partition_logicalrelid_check")
    done = schema.TABLES.index("speaker")
    assert schema.distribute(Database(spread)) == [*schema.DISTRIBUTED[done:], schema.REPLICATED]
    assert schema.distribute(Database(spread)) == []


def test_tables_of_later_migrations_are_distributed_before_their_foreign_keys_exist(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        use_version(changed, 1)
        schema.migrate(Database(url))
        run(url, FUNCTIONS, "ALTER TABLE pg_dist_partition ADD keys int")
        run(
            url,
            """CREATE OR REPLACE FUNCTION public.create_distributed_table(what regclass, by text,
               colocate_with text DEFAULT 'default', shard_count int DEFAULT 32) RETURNS void LANGUAGE sql AS '
               INSERT INTO public.pg_dist_partition SELECT what, count(*) FROM pg_constraint
               WHERE contype = ''f'' AND conrelid = what'""",
        )
        assert len(schema.distribute(Database(url))) == 11
    assert schema.migrate(Database(url)) == 6
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT logicalrelid::text, keys FROM pg_dist_partition").fetchall()
    spread = {name.partition(".")[2]: keys for name, keys in rows}
    assert spread.keys() == {*schema.TABLES, "migration"}
    assert [spread[table] for table in schema.TABLES[10:]] == [0] * 6


@pytest.mark.parametrize("first", ["secure", "distribute"])
def test_a_role_of_one_bank_reads_and_writes_its_bank_in_distributed_tables(
    postgres_server: str, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        schema.migrate(Database(url))
        run(url, FUNCTIONS)
        calls: list[Callable[[], object]] = [
            lambda: schema.secure(Database(url), role),
            lambda: schema.distribute(Database(url)),
        ]
        for call in calls if first == "secure" else reversed(calls):
            call()
        with Citus(postgres.build_url(url, user=role, password=SECRET)) as citus:
            for bank in ("alice", "bob"):
                with opened(citus.url, bank) as memory:
                    memory.observe_many([NewLine(f"The ferry of {bank}."), NewLine("The kettle.")])
                    assert [hit.text for hit in memory.recall("ferry")][:1] == [f"The ferry of {bank}."]
                    assert memory.forget(seq=2).lines == 1
                    assert len(memory.store.receipts(bank)) == 1
                    assert memory.store.check(bank) == []
                    assert memory.store.banks() == ["alice", "bob"][: 1 + (bank == "bob")]
                    memory.store.close()
            server = Database(citus.url)
            with server.read_transaction("bob") as db:
                assert db.execute("SELECT text FROM everthread.line").fetchall() == [("The ferry of bob.",)]
            server.close()
    assert caplog.records == []


def test_the_number_of_shards_is_chosen_once(spread: str) -> None:
    made = schema.distribute(Database(spread), 64)
    assert made[0] == "SELECT create_distributed_table('everthread.bank', 'bank_id', shard_count => 64)"
    assert made[1:-1] == list(schema.DISTRIBUTED[1:])
    assert schema.distribute(Database(spread), 64) == schema.distribute(Database(spread)) == []
    with pytest.raises(ConfigError, match=r"--shards is 128, but the tables of .* have 64 shards each. Omit it, or"):
        schema.distribute(Database(spread), 128)


@pytest.fixture
def citus(spread: str) -> Iterator[str]:
    """Yield the URL of a proxy that rejects the same statements as Citus, in front of the distributed database."""
    schema.distribute(Database(spread))
    with Citus(spread) as made:
        yield made.url


def test_tables_are_created_and_migrated_by_statements_that_citus_accepts(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Citus(url) as citus:
        with monkeypatch.context() as changed:
            use_version(changed, 1)
            assert schema.migrate(Database(citus.url)) == 1
            run(url, FUNCTIONS)
            assert len(schema.distribute(Database(citus.url))) == 11
        assert schema.migrate(Database(citus.url)) == 6
        with psycopg.connect(url) as db:
            assert schema.distributed_tables(db) == {*schema.TABLES, "migration"}


def read_plan_mode(url: str) -> str:
    """Return how statements are planned in a transaction that asks to plan them once."""
    server = Database(url)
    with server.read_transaction("alice", **PLAN_ONCE) as db:
        row = db.execute("SHOW plan_cache_mode").fetchone()
    server.close()
    assert row is not None
    return str(row[0])


def test_statements_are_planned_once(url: str) -> None:
    schema.migrate(Database(url))
    assert read_plan_mode(url) == "force_generic_plan"


def test_citus_plans_statements_with_their_values(citus: str) -> None:
    assert read_plan_mode(citus) == "auto"


def read_settings(url: str, bank: str, trace: IO[bytes]) -> tuple[object, ...]:
    """Return the settings of a transaction, and how often its start waits for the server."""
    server = Database(url, max_connections=1, check=schema.VERSION_CHECK)
    with server._get_pool().connection() as db:
        db.pgconn.trace(trace.fileno())
    with server.write_transaction(bank) as db:
        db.pgconn.untrace()
        names = ("everthread.bank", "jit", "lock_timeout", "idle_in_transaction_session_timeout", "search_path")
        settings = [db.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in names]
    server.close()
    trace.seek(0)
    return trace.read().count(b"\tSync"), *settings


def test_citus_gets_the_settings_in_statements_that_it_passes_on_without_a_further_round_trip(
    citus: str, postgres_server: str, tmp_path: Path
) -> None:
    bank = "Ann's \\ bank"
    with (
        postgres.database(postgres_server) as plain,
        (tmp_path / "a").open("w+b") as a,
        (tmp_path / "b").open("w+b") as b,
    ):
        schema.migrate(Database(plain))
        waits, *settings = read_settings(citus, bank, a)
        assert (waits, *settings) == (1, *settings) == read_settings(plain, bank, b)
        assert b"propagate_set_commands" in (tmp_path / "a").read_bytes()
        assert b"propagate_set_commands" not in (tmp_path / "b").read_bytes()


def test_every_write_locks_its_bank_in_a_way_that_citus_supports(citus: str) -> None:
    with opened(citus) as memory:
        memory.observe_many([NewLine(f"Line {n} of the ferry.", key=f"k{n}", session="s") for n in range(8)])
        memory.correct(1, "The ferry is late.")
        memory.replace_lines([2], [NewLine("Two.", key="k1")], defer_embedding=True)
        memory.backlog.embed_pending()
        memory.retract(3)
        memory.context("Is the ferry late?", session="s", gate=False)
        memory.end("s")
        memory.set_session("s", title="The ferry")
        memory.set_setting("remember", "always")
        unit = memory.add_unit(NewUnit("fact", "There is a ferry.", 4, 4, NOON, sources=(4,)))
        memory.edit_unit("fact", unit.id, "There is a small ferry.")
        memory.forget_unit("fact", 2)
        memory.enqueue(ScribeJob("notes", "s", 4, 5, NOON))
        memory.dequeue(memory.jobs()[0])
        memory.store.reserve_seqs("alice", 20)
        memory.reindex()
        memory.forget(seq=4)
        assert memory.recall("ferry")
        assert memory.store.check("alice") == []
        age_bank(memory, ANALYZER_VERSION - 1)
        memory.store.reanalyze("alice", 2)
        memory.forget(seq=5)
        assert memory.store.check("alice") == []
        memory.forget(everything=True)


def test_local_rows_of_distributed_tables_are_truncated_last_table_first(spread: str) -> None:
    with opened(spread) as memory:
        memory.observe("The ferry is late.")
    made = schema.distribute(Database(spread))
    assert made[: len(schema.TABLES)] == list(schema.DISTRIBUTED)
    with psycopg.connect(spread) as db:
        rows = db.execute("SELECT what::text FROM truncated ORDER BY number").fetchall()
    tables = [name.partition(".")[2] for (name,) in rows]
    assert {"bank", "line", "posting", "vector"} <= set(tables)
    assert tables == [table for table in reversed(schema.TABLES) if table in tables]
    assert len(made) == len(schema.TABLES) + 1 + len(tables)


def test_a_forgetting_vacuums_the_shards_of_its_bank_alone(spread: str, caplog: pytest.LogCaptureFixture) -> None:
    schema.distribute(Database(spread))
    run(spread, "INSERT INTO failing VALUES ('%everthread.vector_%')")
    store = PostgresStore(spread)
    for bank in ("alice", "bob"):
        with Memory.open(bank, store=store, embedder=HashEmbedder()) as memory:
            memory.observe("The ferry is late.")
            memory.forget(seq=1)
    store.close()
    with psycopg.connect(spread) as db:
        rows = db.execute("SELECT command, host FROM asked ORDER BY number").fetchall()
        count = "SELECT sum(vacuum_count) FROM pg_stat_user_tables WHERE schemaname = 'everthread'"
        assert db.execute(count).fetchone() == (0,)
    options = "VACUUM (INDEX_CLEANUP ON, SKIP_LOCKED, VERBOSE)"
    for shard, commands in (("102000", rows[: len(rows) // 2]), ("102001", rows[len(rows) // 2 :])):
        assert {f"{options} everthread.{table}_{shard}" for table in ("line", "posting", "vector")} <= dict(
            commands
        ).keys()
        assert all(command.endswith(f"_{shard}") and host == "worker:5433" for command, host in commands)
    (first, second) = (record.getMessage() for record in caplog.records)
    assert first == second
    assert "not all of their pages are freed" in first
    assert "server worker of the cluster: cancelled" in first


def test_forgotten_rows_are_cleared_on_every_server(spread: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(spread) as memory:
        memory.observe("The ferry is late.")
        schema.distribute(Database(spread))
        memory.forget(everything=True)
        left = vacuum.scrub(Database(spread), [schema.SCHEMA])
    assert left == ["server 2 of the cluster: must be superuser"]
    with psycopg.connect(spread) as db:
        asked = [c for (c,) in db.execute("SELECT command FROM asked WHERE host IS NULL ORDER BY number")]
        db.execute("CREATE TABLE everthread.line_102008 AS SELECT 'alice' AS bank_id")  # the name of a shard
        for clearing in asked[:2]:  # of forgetting, and of the scrub
            db.execute("ANALYZE everthread.line_102008")
            db.execute(clearing.replace("reltuples <= 0", "true").encode())
            assert db.execute("SELECT 1 FROM pg_stats WHERE tablename = 'line_102008'").fetchall() == []
    catalogs = [f"VACUUM (FULL, VERBOSE) {catalog}" for catalog in vacuum.CATALOGS]
    assert asked[2:] == [*catalogs, "CHECKPOINT"]
    assert caplog.records == []
