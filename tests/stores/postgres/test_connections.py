"""First calls, and calls of many threads, to a server that is away, deaf or full; and processes that are forked
meanwhile."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from hardship import PATIENCE, SOON, postgres

from everthread.errors import StoreUnavailable
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore


@pytest.fixture(scope="module")
def own() -> Iterator[postgres.Own]:
    """A server that may be killed, and filled."""
    with postgres.Own() as server:
        yield server


@pytest.fixture
def deaf() -> Iterator[str]:
    """The URL of a server that lets everyone in and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        yield f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=2"


def refused(call: Callable[[], object]) -> float:
    """How many seconds it takes until a call is refused."""
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        call()
    return time.monotonic() - began


def asked(server: Database) -> None:
    """As a store asks that has seen the tables before."""

    def once() -> None:
        with server.read_transaction("alice"):
            pass

    server.retry(once)


def test_the_first_call_waits_for_a_starting_server(own: postgres.Own) -> None:
    own.kill()
    starting = threading.Timer(1, own.start)
    starting.start()
    store = PostgresStore(own.url, timeout_s=PATIENCE)
    assert not store.exists("nobody")
    starting.join()
    store.close()


def test_an_unresponsive_server_fails_many_threads_at_once(deaf: str) -> None:
    """Whether its tables have been seen before or not."""
    server, store = Database(deaf, timeout_s=1), PostgresStore(deaf, timeout_s=1)
    for call in (lambda: asked(server), lambda: store.exists("alice")):
        with ThreadPoolExecutor(40) as pool:  # one after the other, they would take a minute
            assert max(pool.map(lambda _, call=call: refused(call), range(40))) < SOON


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of threads beside it, which are what is tested
def test_a_process_forked_while_another_thread_connects_does_not_hang(deaf: str) -> None:
    server = Database(deaf, timeout_s=0.1)
    connecting = threading.Thread(target=refused, args=(lambda: asked(server),))
    connecting.start()
    time.sleep(0.3)
    if (child := os.fork()) == 0:
        os._exit(int(refused(lambda: asked(server)) > SOON))
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
            PostgresStore(own.url, timeout_s=0.5).exists("alice")
        leaving = threading.Timer(1, crowd.close)
        leaving.start()
        store = PostgresStore(own.url)
        assert not store.exists("alice")
        leaving.join()
        store.close()
