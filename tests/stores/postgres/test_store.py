"""Errors of the Postgres store about its server, row-level security, and the structure of its tables.

`test_congruence` compares its results with SQLite's, and `test_hardship` covers crashes and concurrency.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from hardship import PATIENCE, postgres
from psycopg import sql

from everthread import Filter, Memory
from everthread.common.installation import upgrade_command
from everthread.errors import BadQuery, BankTooNew, ConfigError, EverthreadError, StoreUnavailable
from everthread.stores.postgres import connections, schema
from everthread.stores.postgres.connections import Connection, Database, DatabaseRefused
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder

SECRET = "zqxsecret"


def opened(store: str | PostgresStore, bank: str = "alice") -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


def accepts_login(url: str) -> bool:
    """Return whether the server accepts the user's login."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def alter_database(url: str, setting: str) -> None:
    """Change a setting of the database for all later connections."""
    with psycopg.connect(url, autocommit=True) as db:
        name = sql.Identifier(db.info.dbname)
        db.execute(sql.SQL("ALTER DATABASE {} SET {}").format(name, sql.SQL(setting)))


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as made:
        yield made


def assert_refused(store: str | PostgresStore, kind: type[EverthreadError], words: str) -> None:
    """Check the error of opening a bank, which must not show the password or leave threads."""
    began, threads = time.monotonic(), set(threading.enumerate())
    with pytest.raises(kind) as error, opened(store):
        pass
    assert type(error.value) is kind or kind is StoreUnavailable
    assert re.search(words, str(error.value)), str(error.value)
    assert SECRET not in str(error.value)
    assert time.monotonic() - began < PATIENCE
    assert set(threading.enumerate()) <= threads


# ------------------------------------------------------------------------ what can be wrong


def test_a_wrong_password_is_a_configuration_error() -> None:
    assert issubclass(DatabaseRefused, ConfigError)
    with postgres.Own() as own:
        rules = own.folder / "pg_hba.conf"
        rules.write_text(f"local all ann scram-sha-256\nlocal all bob reject\n{rules.read_text()}")
        run(own.url, "CREATE ROLE ann LOGIN PASSWORD 'right'", "CREATE ROLE bob LOGIN")
        run(own.url, "SELECT pg_reload_conf()")
        while accepts_login(postgres.build_url(own.url, user="bob")):
            time.sleep(0.02)
        for password in (SECRET, ""):
            wrong = postgres.build_url(own.url, user="ann", password=password)
            words = r"postgresql://ann@.*pass.*; check the user and the password of the URL"
            assert_refused(wrong, DatabaseRefused, words)
            with closing(PostgresStore(wrong, timeout_s=2 * PATIENCE)) as store:  # a retry would not help
                assert_refused(store, DatabaseRefused, "check the user and the password of the URL")
        assert_refused(
            postgres.build_url(own.url, user="bob"), DatabaseRefused, "allow this user in the server's pg_hba.conf"
        )
        assert_refused(
            postgres.build_url(own.url, user="carl"), DatabaseRefused, 'role "carl" does not exist; check the user'
        )


def test_a_missing_database_is_reported_with_the_command_that_creates_it(postgres_server: str) -> None:
    assert_refused(
        postgres.build_url(postgres_server, dbname="nowhere"),
        DatabaseRefused,
        '"nowhere" does not exist; create it with: c',
    )


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("@/db?host=/nowhere", r"can't be reached: .*No such file.*\. Check that it runs"),
        ("@127.0.0.1:1/db", r"can't be reached: .*refused.*\. Check that it runs"),
        ("@nohost.invalid/db", r"failed to resolve host 'nohost\.invalid': .*; check the host in the URL, and the net"),
    ],
)
def test_a_missing_server_is_reported_within_seconds(place: str, words: str) -> None:
    assert_refused(PostgresStore(f"postgresql://ann:{SECRET}{place}", timeout_s=1), StoreUnavailable, words)


def test_a_call_that_is_repeated_for_long_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SILENT_RETRIES_S", 0.2)
    store = PostgresStore(f"postgresql://ann:{SECRET}@127.0.0.1:1/db", timeout_s=1)
    assert_refused(store, StoreUnavailable, "refused")
    (record,) = caplog.records
    assert record.getMessage().endswith("refused. Check that it runs; trying again for 1 s")
    assert SECRET not in record.getMessage()


def test_an_unresponsive_server_is_reported_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=2"
        store = PostgresStore(f"postgresql://ann:{SECRET}@{place}", timeout_s=3)
        assert_refused(store, StoreUnavailable, "can't be reached: .*timeout")


def test_a_server_without_pgvector_is_reported_with_the_package_to_install(url: str) -> None:
    alter_database(url, "extension_control_path = '/nowhere'")
    assert_refused(url, StoreUnavailable, r"has no pgvector; install it on the server \(postgresql-18-pgvector\)")


def test_tables_of_an_older_version_must_be_migrated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(url) as memory:
        memory.observe("Written before.")
    colour = "ALTER TABLE everthread.bank ADD COLUMN colour text"
    with monkeypatch.context() as later:
        later.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, (colour,)))
        later.setattr(schema, "VERSION", schema.VERSION + 1)
        assert_refused(url, StoreUnavailable, r"older Everthread .*; update them with: everthread db migrate URL")
        assert schema.migrate(Database(url)) == 1
        assert schema.migrate(Database(url)) == 0
        with opened(url) as memory:
            assert [line.text for line in memory.lines()] == ["Written before."]
    assert_refused(url, BankTooNew, "later Everthread .*; upgrade with: " + re.escape(upgrade_command()))
    with pytest.raises(BankTooNew):
        schema.migrate(Database(url))


def test_a_read_only_server_can_be_read(url: str) -> None:
    with opened(url) as memory:
        memory.observe("The kettle is blue.")
    alter_database(url, "default_transaction_read_only = on")
    with opened(url) as memory:
        assert [hit.line.text for hit in memory.recall("kettle")] == ["The kettle is blue."]
        assert memory.stats().lines == 1
        assert memory.store.check("alice") == []
        for write in (lambda: memory.observe("It is red."), lambda: memory.retract(1), lambda: memory.forget(seq=1)):
            with pytest.raises(StoreUnavailable, match="this server is read-only; give the URL of the primary"):
                write()


def test_no_tables_are_created_on_a_read_only_server(url: str) -> None:
    alter_database(url, "default_transaction_read_only = on")
    assert_refused(url, StoreUnavailable, "this server is read-only; give the URL of the primary")


def test_missing_privileges_are_reported_with_a_remedy(postgres_server: str) -> None:
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        as_role = postgres.build_url(url, user=role, password=SECRET)
        assert_refused(
            as_role, StoreUnavailable, "permission denied .*; grant this user the right, or use the user that ran"
        )
        opened(url).close()
        assert_refused(
            as_role, StoreUnavailable, "permission denied .*; grant this user the right, or use the user that ran"
        )
        run(url, f"GRANT USAGE ON SCHEMA everthread TO {role}", f"GRANT SELECT ON everthread.migration TO {role}")
        assert_refused(
            as_role, StoreUnavailable, "permission denied .*; grant this user the right, or use the user that ran"
        )
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(sql.Identifier(db.info.dbname)))
        assert_refused(
            as_role, StoreUnavailable, "permission denied .*; grant this user the right, or use the user that ran"
        )


def test_dropped_tables_are_reported(url: str) -> None:
    with opened(url) as memory:
        run(url, "DROP SCHEMA everthread CASCADE")
        with pytest.raises(StoreUnavailable, match="create the tables with: everthread db init URL"):
            memory.observe("Is anyone there?")
        run(url, "DROP EXTENSION vector")
        memory.store.close()
        with pytest.raises(StoreUnavailable, match="create the tables with: everthread db init URL"):
            memory.recall("anybody")


def test_an_error_of_one_statement_is_reported_without_a_retry(url: str) -> None:
    """Because the connection is not lost, a retry would not help."""
    with closing(PostgresStore(url, timeout_s=2 * PATIENCE)) as store:
        memory = opened(store)
        run(url, "ALTER TABLE everthread.line ADD CONSTRAINT short CHECK (length(text) < 20)")
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"failed: .*\"short\". Nothing was stored"):
            memory.observe("This is a line of more than twenty characters.")
        assert time.monotonic() - began < PATIENCE
        assert memory.observe("This is shorter.").seq == 1
        assert memory.store.check("alice") == []


@pytest.mark.parametrize("field", ["session", "speaker", "role", "kind"])
def test_an_invalid_filter_is_reported_by_the_name_of_its_field(database: str, field: str) -> None:
    with opened(database) as memory, pytest.raises(BadQuery, match=rf"where\.{field} must be a str or a tuple of them"):
        memory.recall("anything", where=Filter(**{field: 5}))  # type: ignore[arg-type]


# ----------------------------------------------------------------------- row-level security


@pytest.fixture
def secured(postgres_server: str) -> Iterator[tuple[str, str]]:
    """Yield the URLs of the tables' owner and of a role that sees one bank at a time."""
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as url:
        schema.migrate(Database(url))
        schema.secure(Database(url), role)
        schema.secure(Database(url), role)  # a second call changes nothing
        yield url, postgres.build_url(url, user=role, password=SECRET)


def test_a_secured_role_can_use_every_method_of_a_memory(secured: tuple[str, str]) -> None:
    owner, role = secured
    with opened(owner, "bob") as bob, opened(role) as alice:
        bob.observe("Bob's garden is full of ferns.")
        for n in range(4):
            alice.observe(f"Alice's garden has {n} ferns.", session=f"{n % 2}", key=f"k{n}", speaker="Alice")
        assert alice.observe("Again.", key="k1").seq == 2
        assert [hit.line.seq for hit in alice.recall("2 ferns", 1)] == [3]
        assert "ferns" in alice.context("garden ferns", session="0", gate=False).text
        assert alice.retract(1).retracted_at is not None
        assert alice.forget(seq=2).lines == 1
        assert alice.forget(session="1").lines == 1
        assert alice.stats().lines == 1
        assert [session.id for session in alice.sessions()] == ["0"]
        assert alice.reindex() == 0
        assert alice.store.banks() == ["alice", "bob"]
        assert alice.store.check("alice") == []
        assert alice.forget(everything=True).lines == 2
        assert not alice.store.exists("alice")
        assert bob.stats().lines == 1
        with bob.store.database.dedicated_connection() as db:  # type: ignore[attr-defined]
            assert db.execute("SELECT count(*) FROM everthread.receipt").fetchone() == (3,)


def test_even_a_wrong_query_of_a_secured_role_sees_only_one_bank(secured: tuple[str, str]) -> None:
    owner, role = secured
    for bank in ("alice", "bob"):
        with opened(owner, bank) as memory:
            memory.observe(f"{bank} likes ferns.", session="garden")
            memory.context("ferns", session="garden", gate=False)
            memory.forget(seq=memory.observe("A slip.").seq)
    store = PostgresStore(role)
    for table in (each for each in schema.TABLES if each != "receipt"):
        wrong = f"SELECT DISTINCT bank_id FROM everthread.{table}"
        with store.database.read_transaction("alice") as db:
            assert {bank for (bank,) in db.execute(wrong)} <= {"alice"}, table
        with store.database.read_transaction() as db:
            assert db.execute(wrong).fetchall() == [], table
    with store.database.read_transaction("alice") as db:
        assert db.execute("SELECT * FROM everthread.receipt").fetchall() == []
        assert db.execute("SELECT text FROM everthread.line").fetchall() == [("alice likes ferns.",)]
    with store.database.write_transaction("alice") as db:
        assert db.execute("DELETE FROM everthread.line").rowcount == 1
    with pytest.raises(StoreUnavailable, match="row-level security"), store.database.write_transaction("alice") as db:
        db.execute("INSERT INTO everthread.buffer VALUES ('bob', 'garden', '[]')")
    with store.database.read_transaction(**schema.LISTING_SETTINGS) as db:  # listing banks shows only their ids
        assert db.execute("SELECT bank_id FROM everthread.bank ORDER BY 1").fetchall() == [("alice",), ("bob",)]
        assert db.execute("SELECT * FROM everthread.line").fetchall() == []
    store.close()
    with opened(owner, "bob") as memory:
        assert [line.text for line in memory.lines()] == ["bob likes ferns."]


def test_a_secured_role_frees_the_pages_of_forgotten_rows(
    secured: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    owner, role = secured
    with opened(role) as memory:
        memory.forget(seq=memory.observe("A slip.").seq)
    assert postgres.read_statistics(owner, "line", "vacuum_count") == 1
    assert caplog.records == []


def test_a_role_exempt_from_row_level_security_is_rejected(url: str) -> None:
    server = Database(url)
    schema.migrate(server)
    with pytest.raises(ConfigError, match="has no role 'missing role'; create it with: CREATE ROLE"):
        schema.secure(server, "missing role")
    with server.dedicated_connection() as db:
        owner = db.info.user
    with pytest.raises(ConfigError, match="would see every bank; name another role"):
        schema.secure(server, owner)


# ------------------------------------------------------------------------------ the tables


INDEXES = """SELECT indrelid::regclass::text, indexrelid::regclass::text, (SELECT attname FROM pg_attribute
    WHERE attrelid = indrelid AND attnum = indkey[0]) FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid WHERE relnamespace = 'everthread'::regnamespace {}"""


@pytest.fixture(scope="module")
def tables(database: str) -> Iterator[Connection]:
    schema.migrate(Database(database))
    with psycopg.connect(database, autocommit=True) as db:
        yield db


def test_every_index_begins_with_the_bank(tables: Connection) -> None:
    """Citus requires the distribution column in primary keys and unique indexes. All indexes begin with it here."""
    for table, index, first in tables.execute(INDEXES.format("").encode()):
        assert first == ("number" if table == "everthread.migration" else "bank_id"), index
    keys = {table for table, _, _ in tables.execute(INDEXES.format("AND indisprimary").encode())}
    assert keys == {f"everthread.{table}" for table in (*schema.TABLES, "migration")}


def test_every_foreign_key_has_the_bank_in_the_same_position_on_both_sides(tables: Connection) -> None:
    """Citus requires the distribution column at the same position on both sides, and colocated tables."""
    keys = tables.execute(
        """SELECT conrelid::regclass::text, confrelid::regclass::text,
           (SELECT array_agg(attname::text ORDER BY place) FROM unnest(conkey) WITH ORDINALITY AS k (num, place)
            JOIN pg_attribute ON attrelid = conrelid AND attnum = num),
           (SELECT array_agg(attname::text ORDER BY place) FROM unnest(confkey) WITH ORDINALITY AS k (num, place)
            JOIN pg_attribute ON attrelid = confrelid AND attnum = num)
           FROM pg_constraint WHERE contype = 'f' AND connamespace = 'everthread'::regnamespace"""
    ).fetchall()
    assert len(keys) >= 8
    for table, other, ours, theirs in keys:
        assert ours[0] == theirs[0] == "bank_id", (table, other)
        assert {table, other} <= {f"everthread.{each}" for each in schema.TABLES}


def test_the_bank_has_one_type_and_collation_and_no_default_everywhere(tables: Connection) -> None:
    """Citus colocates tables only if their distribution columns have one type and one collation."""
    rows = tables.execute(
        """SELECT table_name::text, data_type::text, collation_name::text, column_default, is_nullable
           FROM information_schema.columns WHERE table_schema = 'everthread' AND column_name = 'bank_id'"""
    ).fetchall()
    assert {table for table, *_ in rows} == set(schema.TABLES)
    assert {tuple(rest) for _, *rest in rows} == {("text", "C", None, "NO")}


def test_nothing_needs_a_sequence_a_trigger_or_a_generated_column(tables: Connection) -> None:
    for query in (
        "SELECT relname FROM pg_class WHERE relnamespace = 'everthread'::regnamespace AND relkind NOT IN ('r', 'i')",
        "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal "
        "AND relnamespace = 'everthread'::regnamespace",
        "SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
        "WHERE relnamespace = 'everthread'::regnamespace AND (attgenerated <> '' OR attidentity <> '')",
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'everthread' "
        "AND column_default LIKE '%(%'",
    ):
        assert tables.execute(query.encode()).fetchall() == []


def test_every_table_is_distributed_once_and_colocated_with_the_banks(tables: Connection) -> None:
    named = [re.findall(r"everthread\.(\w+)", statement) for statement in schema.DISTRIBUTED]
    assert [names[0] for names in named] == list(schema.TABLES)
    assert named[0] == ["bank"]
    assert all(names[1:] == ["bank"] for names in named[1:])
    rows = tables.execute("SELECT tablename::text FROM pg_tables WHERE schemaname = 'everthread'").fetchall()
    assert {name for (name,) in rows} == {*schema.TABLES, "migration"}
    places = {table: at for at, table in enumerate(schema.TABLES)}
    pairs = tables.execute(
        "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = 'everthread'::regnamespace"
    )
    for table, other in pairs:  # referenced tables are distributed first
        assert places[other.partition(".")[2]] < places[table.partition(".")[2]]


def test_without_citus_nothing_is_distributed(url: str) -> None:
    schema.migrate(Database(url))
    with pytest.raises(StoreUnavailable, match="has no Citus; install it there with: CREATE EXTENSION citus"):
        schema.distribute(Database(url))
