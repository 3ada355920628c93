"""Checks whether the server can answer requests: whether its store and its keys can be read.

A store waits up to ten seconds for a database, longer than monitors do. So the check goes on in the background, one at
a time, and until it ends, requests get the answer that the server is not ready.
"""

from __future__ import annotations

import asyncio

from starlette.concurrency import run_in_threadpool

from everthread.errors import BankDamaged, BankTooNew, StoreUnavailable
from everthread.server.keys import KeyStore
from everthread.stores.base import Store

PATIENCE_S = 2.0
SAMPLED_BANKS = 5  # the server is ready if one of them can be read


class Readiness:
    """Checks one store and its keys. Used in one event loop."""

    def __init__(self, store: Store, keys: KeyStore) -> None:
        self._store, self._keys = store, keys
        self._running: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Read the store and the keys. A bank that is damaged or can't be opened doesn't affect the others.

        Raises:
            EverthreadError: they can't be read, or not within PATIENCE_S.
        """
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(run_in_threadpool(self._read))
            self._running.add_done_callback(_retrieve_error)
        done, _ = await asyncio.wait([self._running], timeout=PATIENCE_S)
        if not done:
            reason = f"no answer for {PATIENCE_S:g} s"
            raise StoreUnavailable(f"{self._store.location}: {reason}") from TimeoutError(reason)
        self._running.result()

    def _read(self) -> None:
        self._keys.list_keys()
        failures = list[StoreUnavailable]()
        for bank in self._store.banks()[:SAMPLED_BANKS]:
            try:
                self._store.corpus_stats(bank)
                return
            except (BankDamaged, BankTooNew):
                return
            except StoreUnavailable as error:
                if not error.bank:  # the whole store, and not the file of one bank
                    raise
                failures.append(error)
        if failures:
            raise failures[0]


def _retrieve_error(done: asyncio.Future[None]) -> None:
    """Retrieve the error of a check after its request was answered, which asyncio would report."""
    if not done.cancelled():
        done.exception()
