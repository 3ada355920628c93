"""The server's own data in a database, which several servers share."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import date
from pathlib import Path

import psycopg
import pytest
from hardship import PATIENCE, postgres
from hardship.served import wait_until

from everthread.errors import BadInput, BankTooNew, StoreUnavailable
from everthread.server import idempotency, keys, server_tables
from everthread.server.idempotency import IdempotencyStore
from everthread.server.keys import KeyStore
from everthread.server.messaging.message_store import MessageStore
from everthread.server.people import accounts, login_sessions, pending_sign_ins, sign_in_limits
from everthread.server.people.directory import PeopleDirectory
from everthread.server.people.identities import SCHEMA as IDENTITY_SCHEMA
from everthread.server.people.identities import Identities
from everthread.server.people.pending_sign_ins import PendingSignIns
from everthread.server.problems import Problem
from everthread.server.server_db import Location, ServerFile
from everthread.server.server_file_copy import TABLES
from everthread.server.server_tables import ServerTables
from everthread.server.shared_secret import load_secret
from everthread.server.sms_key import load_key
from everthread.server.telegram import chat_store
from everthread.server.telegram.chat_store import ChatStore
from everthread.server.workers.table_locks import TableLocks
from everthread.stores.postgres.connections import Database
from server.people.cheap import PASSWORDS

ADDRESS, PASSWORD = "192.0.2.1", "violet harbour"


@pytest.fixture
def url(postgres_server: str) -> Iterator[str]:
    with postgres.database(postgres_server) as database_url:
        yield database_url


@pytest.fixture(params=["file", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Location]:
    """Return the server's own data of each kind in turn."""
    if request.param == "file":
        yield tmp_path / "server.sqlite"
        return
    with closing(ServerTables(request.getfixturevalue("url"))) as tables:
        yield tables


def fill_file(file: Path) -> None:
    """Create all tables of a file."""
    chats = f"{keys.SCHEMA};{idempotency.SCHEMA};{accounts.SCHEMA};{IDENTITY_SCHEMA};{login_sessions.SCHEMA};"
    others = f"{pending_sign_ins.SCHEMA};{sign_in_limits.SCHEMA};{chat_store.SCHEMA}"
    with closing(ServerFile(file, chats + others)) as database, database.write():
        pass
    for channel in ("sms", "telegram"):
        with closing(MessageStore(file, channel)) as messages:
            messages.opt_in("nobody")
    load_secret(file, "mcp_secret")


# ------------------------------------------------------------- the same as in a file


def test_the_tables_have_the_columns_of_the_file(url: str, tmp_path: Path) -> None:
    fill_file(tmp_path / "server.sqlite")
    with closing(sqlite3.connect(tmp_path / "server.sqlite")) as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        in_file = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in names}
    server_tables.migrate(Database(url))
    with psycopg.connect(url) as db:
        rows = db.execute(
            "SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) FROM information_schema.columns "
            "WHERE table_schema = 'everthread_server' GROUP BY table_name"
        ).fetchall()
    own = {"migration", "server", "claim", "adoption", "sms_secret"}
    assert {name: columns for name, columns in rows if name not in own} == in_file
    assert {*TABLES, "pending_sign_in"} == set(in_file), "sign-ins that have begun last minutes, all others are copied"


def test_keys_are_found_until_they_are_revoked(location: Location) -> None:
    with closing(KeyStore(location)) as store:
        assert store.find("et_unknown") is None
        secret = store.create("phone", ["alice/*"], ["read"])
        with pytest.raises(BadInput, match="there is a key"):
            store.create("phone")
        store.create("Laptop")
        assert (key := store.find(secret)) is not None
        assert (key.name, key.banks, key.verbs) == ("phone", ("alice/*",), ("read",))
        assert [(key.name, type(key.used_on)) for key in store.list_keys()] == [("Laptop", type(None)), ("phone", date)]
        store.revoke("phone")
        assert store.find(secret) is None


def test_people_sign_in_until_they_are_locked(location: Location) -> None:
    with closing(PeopleDirectory(location)) as people:
        people.passwords = PASSWORDS
        nora = people.create("nora", PASSWORD, is_administrator=True, banks=["shared"])
        assert (nora.is_administrator, nora.is_locked, nora.banks) == (True, False, ("nora", "shared"))
        with pytest.raises(BadInput, match="belongs to the account"):
            people.create("mia", PASSWORD, banks=["shared/notes"])
        for strange in ("n\0ora", "\ud800", "x" * 1000):
            with pytest.raises(Problem, match="wrong"):
                people.sign_in(strange, PASSWORD, ADDRESS)
        _, token = people.sign_in("NORA", PASSWORD, ADDRESS)
        account = people.sessions.find_account(token)
        assert account is not None
        assert account.name == "nora"
        for _ in range(20):
            with pytest.raises(Problem):
                people.sign_in("nora", "wrong", "192.0.2.2")
        with pytest.raises(Problem, match="429"):
            people.sign_in("nora", PASSWORD, "192.0.2.2")
        people.set_locked(account, True)
        assert people.sessions.find_account(token) is None


def test_identities_and_sign_ins_that_have_begun(location: Location) -> None:
    with closing(PeopleDirectory(location)) as people, closing(Identities(location)) as identities:
        nora, mia = (people.create(name, None) for name in ("nora", "mia"))
        for _ in range(2):
            identities.link(nora, "https://id.example", "7")
        with pytest.raises(BadInput, match="belongs to the account"):
            identities.link(mia, "https://id.example", "7")
        assert identities.find_account("https://id.example", "7") == people.accounts.get("nora")
        with closing(PendingSignIns(location)) as pending:
            token, secrets = pending.begin()
            assert (pending.take(token), pending.take(token)) == (secrets, None)


def test_a_request_is_done_once(location: Location) -> None:
    database = ServerFile(location, idempotency.SCHEMA) if isinstance(location, Path) else location
    with closing(IdempotencyStore(database)) as records:
        assert records.begin("k", "r", safe=False) is None
        with pytest.raises(Problem, match="409"):
            records.begin("k", "r", safe=False)
        assert records.begin("k", "r", safe=True) is None
        records.complete("k", {"lines": [1]})
        assert records.begin("k", "r", safe=False) == ({"lines": [1]},)
        with pytest.raises(Problem, match="422"):
            records.begin("k", "other", safe=False)
        assert records.begin("l", "r", safe=False) is None
        records.discard("l")
        assert records.begin("l", "r", safe=False) is None


def test_a_message_is_answered_once(location: Location) -> None:
    with closing(MessageStore(location, "sms")) as messages:
        assert (messages.lease("m"), messages.lease("m")) == (True, False)
        messages.save_answer("m", [("line", 3)])
        assert messages.lease("m") == (("line", 3),)
        assert not messages.has_opted_out("p")
        for _ in range(2):
            messages.opt_out("p")
        assert messages.has_opted_out("p")
        messages.opt_in("p")
        assert not messages.has_opted_out("p")


def test_the_state_of_a_bot(location: Location) -> None:
    with closing(ChatStore(location)) as chats:
        code = chats.invite()
        assert (chats.claim(-100, code), chats.claim(-100, code), chats.is_claimed(-100)) == (True, False, True)
        chats.move(-100, -(10**12))
        assert (chats.find_home(-(10**12)), chats.find_successor(-100)) == (-100, -(10**12))
        for topic in (1, 2):
            chats.set_topic(-100, topic)
        assert chats.get_topic(-100) == 2
        chats.set_pending(-100, 7)
        assert chats.list_pending() == [(-100, 7)]
        for kind in ("reply", "correct"):
            chats.save_sent(-100, [5, 6], 3, kind)
        assert (chats.list_sent(-100, 3), chats.find_line(-100, 6, "correct")) == ([], 3)
        chats.save_sent(-100, [8], 4)
        chats.release(-100, [4])
        assert chats.list_free(-100) == [8]
        chats.remove_sent(-100, [8])
        assert chats.list_free(-100) == []


# ------------------------------------------------------------------- several servers


@contextmanager
def two_servers(url: str) -> Iterator[tuple[ServerTables, ServerTables]]:
    with closing(ServerTables(url)) as one, closing(ServerTables(url)) as other:
        yield one, other


def test_all_servers_have_the_same_keys_and_secrets(url: str) -> None:
    with two_servers(url) as (one, other):
        secret = KeyStore(one).create("phone")
        assert KeyStore(other).find(secret) is not None
        KeyStore(other).revoke("phone")
        assert KeyStore(one).find(secret) is None
        assert load_key(one) == load_key(other)
        assert load_secret(one, "mcp_secret") == load_secret(other, "mcp_secret") != load_key(one)


def test_of_many_copies_of_a_request_one_is_done(url: str) -> None:
    with two_servers(url) as servers:
        barrier, begun = threading.Barrier(8), list[bool]()

        def begin(tables: ServerTables) -> None:
            barrier.wait()
            try:
                begun.append(IdempotencyStore(tables).begin("k", "r", safe=False) is None)
            except Problem:
                begun.append(False)

        threads = [threading.Thread(target=begin, args=(servers[number % 2],)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(begun) == [False] * 7 + [True]


def test_a_lock_is_held_by_one_server_at_a_time(url: str) -> None:
    with two_servers(url) as servers:
        one, other = map(TableLocks, servers)
        with one.hold("alice", PATIENCE):
            with pytest.raises(Problem, match="409"), other.hold("alice", 0.01):
                raise AssertionError
            with other.hold("bob", PATIENCE):
                pass
        with other.hold("alice", PATIENCE):
            pass


def test_a_lock_is_free_once_the_connection_of_its_holder_is_closed(url: str) -> None:
    with two_servers(url) as servers, ExitStack() as holding:
        holding.enter_context(pytest.raises(StoreUnavailable))
        holding.enter_context(TableLocks(servers[0]).hold("alice", PATIENCE))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        with TableLocks(servers[1]).hold("alice", PATIENCE):
            pass


# --------------------------------------------------------------- from a file, and versions


def test_the_first_server_copies_the_data_of_its_file_once(url: str, tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite"
    fill_file(file)
    with closing(KeyStore(file)) as old:
        secret = old.create("phone")
    key = load_key(file)
    with closing(PeopleDirectory(file)) as people:
        people.passwords = PASSWORDS
        people.create("nora", PASSWORD)
    with closing(ServerTables(url, file)) as tables:
        assert KeyStore(tables).find(secret) is not None
        assert [account.name for account in PeopleDirectory(tables).accounts.list_accounts()] == ["nora"]
        assert load_key(tables) == key
        KeyStore(tables).revoke("phone")
    with closing(ServerTables(url, file)) as tables:
        assert KeyStore(tables).find(secret) is None, "a revoked key does not return with the next start"


def test_a_file_that_appears_later_is_not_copied(url: str, tmp_path: Path) -> None:
    with closing(ServerTables(url, tmp_path / "server.sqlite")) as tables:
        assert KeyStore(tables).list_keys() == []
    with closing(KeyStore(tmp_path / "server.sqlite")) as old:
        old.create("phone")
    with closing(ServerTables(url, tmp_path / "server.sqlite")) as tables:
        assert KeyStore(tables).list_keys() == []


def test_tables_of_other_versions_are_refused(url: str) -> None:
    with closing(ServerTables(url)) as tables, psycopg.connect(url, autocommit=True) as db:
        KeyStore(tables).create("phone")
        db.execute("INSERT INTO everthread_server.migration VALUES (1000, now())")
        with pytest.raises(BankTooNew, match="a later Everthread"):
            KeyStore(tables).create("laptop")
        db.execute("DELETE FROM everthread_server.migration")
        db.execute("INSERT INTO everthread_server.migration VALUES (0, now())")
        with pytest.raises(StoreUnavailable, match="everthread db migrate"):
            KeyStore(tables).create("laptop")


def test_a_server_goes_on_after_its_database_was_unreachable(postgres_server: str, url: str) -> None:
    with closing(ServerTables(url, timeout_s=1)) as tables:
        secret = KeyStore(tables).create("phone")
        with postgres.unreachable(postgres_server, url), pytest.raises(StoreUnavailable):
            KeyStore(tables).find(secret)

        def is_found() -> bool:
            try:
                return KeyStore(tables).find(secret) is not None
            except StoreUnavailable:
                return False

        wait_until(is_found)
