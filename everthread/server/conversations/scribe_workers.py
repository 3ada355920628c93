"""Shares one scribe worker among all conversations of a bank."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary

from everthread.chat.scribe_worker import ScribeWorker
from everthread.memory import Memory
from everthread.recipes.options import identify
from everthread.server.conversations.priority import BackgroundWork, PriorityGate
from everthread.server.services import Services
from everthread.server.workers.bank_leases import BankLeases

MAX_WRITING = 4  # scribes that write at once; replies have priority


class ScribeWorkers:
    """The scribe workers of this process, by bank and recipe. Thread-safe."""

    def __init__(self, services: Services, leases: BankLeases, priority: PriorityGate, lock: threading.Lock) -> None:
        self._services, self._leases, self._priority = services, leases, priority
        self._workers: WeakValueDictionary[tuple[object, ...], ScribeWorker] = WeakValueDictionary()
        self._slots = threading.BoundedSemaphore(MAX_WRITING)
        self._lock = lock

    def get(self, memory: Memory) -> ScribeWorker:
        """Return the worker of a memory, with the scribe from the bank's settings."""
        key, scribe = (memory.bank, identify(memory.recipe)), self._services.get_bank_scribe(memory.bank)
        with self._lock:
            worker = self._workers.get(key)
            if worker is None:
                worker = self._workers[key] = ScribeWorker(
                    memory,
                    scribe,
                    scribe_slot=lambda: self._leases.hold_if_free(memory.bank, self._slots),
                    embedding_slot=lambda: self._background(memory.bank, "embedding"),
                    reading_slot=lambda: self._background(memory.bank, "facts"),
                    writes_titles=self._services.writes_titles,
                )
            worker.scribe = scribe
            return worker

    def close_bank(self, bank: str) -> None:
        """Stop the workers of a bank that is being forgotten, because their writes would create it again."""
        with self._lock:
            workers = [self._workers.pop(key) for key in list(self._workers) if key[0] == bank]
        for worker in workers:
            worker.close(timeout=1.0)

    def close(self, deadline: float) -> None:
        """Stop all workers; each may finish what it is writing until `deadline`, a time.monotonic()."""
        for worker in list(self._workers.values()):
            worker.close(timeout=max(deadline - time.monotonic(), 0.1))

    def _background(self, bank: str, work: BackgroundWork) -> AbstractContextManager[None]:
        """Return a slot for background work in a bank."""
        return self._leases.hold_if_free(bank, self._priority.background(work))
