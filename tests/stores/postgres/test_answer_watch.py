"""Calls to a server that is suspended end, and calls that take long on one that answers do not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hardship import PATIENCE, postgres

from everthread import Memory
from everthread.errors import StoreUnavailable
from everthread.stores.postgres import answer_watch
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder


@pytest.fixture(scope="module")
def own() -> Iterator[postgres.Own]:
    """Yield a server that tests may suspend."""
    with postgres.Own() as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_watch, "PATIENCE_S", 0.2)
    monkeypatch.setattr(answer_watch, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(answer_watch, "CONNECT_TIMEOUT_S", 2)


def test_a_call_to_a_suspended_server_ends_and_stores_nothing(own: postgres.Own) -> None:
    with (
        closing(PostgresStore(f"{own.url}&connect_timeout=2", timeout_s=0.5)) as store,
        ThreadPoolExecutor() as threads,
    ):
        memory = Memory.open("suspended", store=store, embedder=HashEmbedder())
        memory.observe("Tea is at four.")
        with own.suspended():
            begun = threads.submit(memory.observe, "The boat leaves at six.")
            with pytest.raises(StoreUnavailable, match="Nothing was stored"):
                begun.result(PATIENCE)
        assert memory.observe("Supper is at eight.").seq == 2
        assert [line.text for line in memory.lines()] == ["Tea is at four.", "Supper is at eight."]


def test_a_closed_store_leaves_no_thread(own: postgres.Own) -> None:
    before = set(threading.enumerate())
    with closing(PostgresStore(own.url)) as store:
        for _ in range(3):
            assert not store.exists("closed")
            store.close()
            assert set(threading.enumerate()) <= before


def test_a_call_that_takes_long_is_not_ended(own: postgres.Own) -> None:
    with closing(PostgresStore(own.url)) as store:
        store.exists("slow")
        began = time.monotonic()
        with store.database.read_transaction() as db:
            assert db.execute("SELECT 1 FROM pg_sleep(1.5)").fetchone() == (1,)
        assert time.monotonic() - began > 1.5


def test_a_call_that_takes_long_is_not_ended_because_logins_take_as_long_as_the_url_allows(own: postgres.Own) -> None:
    url = f"{own.url}&options=-c%20post_auth_delay%3D3&connect_timeout=30"
    with closing(PostgresStore(url)) as store, store.database.read_transaction() as db:
        assert db.execute("SELECT 1 FROM pg_sleep(4)").fetchone() == (1,)
