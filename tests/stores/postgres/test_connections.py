"""Calls to a server that is stopped, unresponsive or full, and processes that are forked during a call."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import psycopg
import pytest
from hardship import PATIENCE, SOON, postgres
from psycopg.pq import PGconn, PollingStatus

from everthread.errors import ConfigError, StoreUnavailable
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore


@pytest.fixture(scope="module")
def own() -> Iterator[postgres.Own]:
    """Yield a server that tests may kill and fill."""
    with postgres.Own() as server:
        yield server


@pytest.fixture
def deaf() -> Iterator[str]:
    """Yield the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        yield f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=2"


def seconds_until_refused(call: Callable[[], object]) -> float:
    """Return the seconds until a call fails."""
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        call()
    return time.monotonic() - began


def check_tables(server: Database) -> None:
    """Query like a store that has checked the tables before."""

    def once() -> None:
        with server.read_transaction("alice"):
            pass

    server.retry(once)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="not Linux")
def test_a_connection_to_a_machine_that_vanishes_breaks_after_a_minute(deaf: str) -> None:
    connection = PGconn.connect_start(Database(deaf).conninfo.encode())
    while connection.connect_poll() is PollingStatus.WRITING:
        time.sleep(0.01)
    with socket.socket(fileno=os.dup(connection.socket)) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000  # of what is sent
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
    connection.finish()


def test_the_first_call_waits_for_a_starting_server(own: postgres.Own) -> None:
    own.kill()
    starting = threading.Timer(1, own.start)
    starting.start()
    store = PostgresStore(own.url, timeout_s=PATIENCE)
    assert not store.exists("nobody")
    starting.join()
    store.close()


def test_an_unresponsive_server_fails_many_threads_at_once(deaf: str) -> None:
    """Both with and without an earlier check of the tables."""
    server, store = Database(deaf, timeout_s=1), PostgresStore(deaf, timeout_s=1)
    for call in (lambda: check_tables(server), lambda: store.exists("alice")):
        with ThreadPoolExecutor(40) as pool:  # sequentially they would take a minute
            assert max(pool.map(lambda _, call=call: seconds_until_refused(call), range(40))) < SOON


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # about other threads, which are tested here
def test_a_process_forked_while_another_thread_connects_does_not_hang(deaf: str) -> None:
    server = Database(deaf, timeout_s=0.1)
    connecting = threading.Thread(target=seconds_until_refused, args=(lambda: check_tables(server),))
    connecting.start()
    time.sleep(0.3)
    if (child := os.fork()) == 0:
        os._exit(int(seconds_until_refused(lambda: check_tables(server)) > SOON))
    end = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    if ended[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    connecting.join()
    assert ended == (child, 0)


def test_a_call_waits_for_a_full_server_and_then_reports_it(own: postgres.Own) -> None:
    with ExitStack() as crowd:
        try:
            while True:
                crowd.enter_context(psycopg.connect(own.url))
        except psycopg.OperationalError:
            pass
        with pytest.raises(StoreUnavailable, match=r"too many clients.*fewer connections, or put a pooler such as PgB"):
            PostgresStore(own.url, timeout_s=3).exists("alice")
        leaving = threading.Timer(1, crowd.close)
        leaving.start()
        store = PostgresStore(own.url, timeout_s=PATIENCE)
        assert not store.exists("alice")
        leaving.join()
        store.close()


def test_a_login_may_take_as_long_as_the_url_allows(own: postgres.Own) -> None:
    url = f"{own.url}&options=-c%20post_auth_delay%3D3"
    with (
        closing(PostgresStore(f"{url}&connect_timeout=2", timeout_s=1)) as store,
        pytest.raises(StoreUnavailable, match=r"login takes longer than 2 s, raise connect_timeout in the URL"),
    ):
        store.exists("alice")
    with closing(PostgresStore(f"{url}&connect_timeout=60", timeout_s=1)) as store:
        assert not store.exists("alice")


def test_a_connect_timeout_that_is_no_number_is_refused_by_its_value() -> None:
    with pytest.raises(ConfigError, match=r"bad value for connect_timeout: 'soon'"):
        Database("postgresql://ann@localhost/db?connect_timeout=soon")


def test_the_first_calls_use_one_connection(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        for _ in range(3):
            store.banks()
        assert store.database._get_pool().get_stats()["pool_size"] == 1


def test_after_an_error_of_the_reader_statements_stay_prepared(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        for _ in range(10):
            store.settings("alice")
        server = store.database

        def count_prepared() -> int:
            with server._get_pool().connection() as db:
                row = db.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchone()
            assert row is not None
            return int(row[0])

        before = count_prepared()
        with pytest.raises(KeyError), server.read_transaction("alice"):
            raise KeyError("ours")
        store.settings("alice")
        assert count_prepared() >= before > 0


def test_a_statement_that_takes_too_long_is_reported_with_a_remedy(database: str) -> None:
    with closing(PostgresStore(database)) as store:
        store.banks()
        with (
            pytest.raises(StoreUnavailable, match=r"nothing was stored; raise the statement_timeout of this user"),
            store.database.read_transaction(statement_timeout="1ms") as db,
        ):
            db.execute("SELECT pg_sleep(9)")
