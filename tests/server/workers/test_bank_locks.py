"""Locks of banks among several workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everthread.server.problems import Problem
from everthread.server.workers.bank_locks import BankLocks


@contextmanager
def busy(locks: BankLocks, bank: str) -> Iterator[None]:
    """Hold a bank again and again, without a pause between two holders."""
    ended, held = threading.Event(), threading.Event()

    def work() -> None:
        while not ended.is_set():
            with locks.hold(bank, 30):
                held.set()
                time.sleep(0.005)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    held.wait()
    yield
    ended.set()
    for thread in threads:
        thread.join()


def test_a_worker_has_its_turn_while_another_is_busy(tmp_path: Path) -> None:
    with busy(BankLocks(tmp_path), "alice"):
        for _ in range(5):
            with BankLocks(tmp_path).hold("alice", 5):
                pass


def test_one_holder_at_a_time_has_a_bank(tmp_path: Path) -> None:
    one, other = BankLocks(tmp_path), BankLocks(tmp_path)
    with one.hold("alice", 0):
        with pytest.raises(Problem, match="409"), other.hold("alice", 0.01):
            raise AssertionError
        with pytest.raises(Problem, match="409"), one.hold("alice", 0.01):
            raise AssertionError
        with other.hold("bob", 0):
            pass
    with other.hold("alice", 0):
        pass


def test_a_single_process_needs_no_files() -> None:
    locks = BankLocks()
    with locks.hold("alice", 0), locks.hold("alice", 0):
        pass
