"""Processes that fork while a bank's file is open."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hardship import forked

from everthread.stores.sqlite.fork_guard import ForkGuard

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def run_forked(scenario: str, folder: Path) -> str:
    """Return the output of the forked processes of `forked.py`."""
    command = [sys.executable, "-Wignore::DeprecationWarning", forked.__file__, str(folder), scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * forked.LIMIT, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.strip()


def test_parent_and_child_write_side_by_side(tmp_path: Path) -> None:
    assert run_forked("beside", tmp_path) == "40 [] True"


def test_writes_of_a_child_after_its_parent_closed_the_bank_are_stored(tmp_path: Path) -> None:
    assert run_forked("outlived", tmp_path) == "12 [] True"


def test_children_forked_during_writes_and_queries_neither_hang_nor_lose_a_line(tmp_path: Path) -> None:
    assert run_forked("crowded", tmp_path) == "0 [] True"


def test_a_child_forked_during_a_reply_can_chat_and_leaves_the_reply_to_its_parent(tmp_path: Path) -> None:
    said = ["Hello from the child.", "Hello from the parent.", "Hello, I'm Ever. What would you like to talk about?"]
    assert run_forked("run_chat", tmp_path) == f"{said} 1 [] True"


def test_a_signal_handler_that_forks_at_any_moment_does_not_hang(tmp_path: Path) -> None:
    assert run_forked("interrupted", tmp_path) == "1 [] True"


class Closing:
    """An object that must close before a fork."""

    def __init__(self) -> None:
        self.close_count = 0

    def close_idle(self) -> None:
        self.close_count += 1


def test_forks_and_calls_of_other_threads_wait_for_each_other() -> None:
    guard, file = ForkGuard(), Closing()
    guard.register(file)
    inside, leave, forking, over, entered = (threading.Event() for _ in range(5))

    def call() -> None:
        with guard:
            inside.set()
            leave.wait()
            with guard:  # a call may make another, even while a fork waits for it
                assert not forking.is_set()

    def fork() -> None:
        guard.before_fork()
        forking.set()
        over.wait()
        guard.after_fork_in_parent()

    def enter() -> None:
        with guard:
            entered.set()

    caller = threading.Thread(target=call)
    caller.start()
    inside.wait()
    forker = threading.Thread(target=fork)
    forker.start()
    assert not forking.wait(0.05)
    assert file.close_count == 0
    leave.set()
    assert forking.wait(forked.LIMIT)
    assert file.close_count == 1
    newcomer = threading.Thread(target=enter)
    newcomer.start()
    assert not entered.wait(0.05)
    over.set()
    assert entered.wait(forked.LIMIT)
    for thread in (caller, forker, newcomer):
        thread.join()


def test_a_fork_inside_a_call_does_not_deadlock() -> None:
    guard, file, lock = ForkGuard(), Closing(), threading.Lock()
    guard.register(file)
    inside = threading.Event()

    def call() -> None:
        with guard:
            inside.set()
            with lock:
                pass

    with guard, lock:
        caller = threading.Thread(target=call)
        caller.start()
        inside.wait()
        guard.before_fork()
        guard.after_fork_in_parent()
    caller.join()
    guard.before_fork()
    assert file.close_count == 1
    guard.after_fork_in_parent()


def test_a_fork_during_a_waiting_fork_does_not_deadlock() -> None:
    guard = ForkGuard()
    guard.before_fork()
    guard.before_fork()
    guard.after_fork_in_parent()
    entered = threading.Event()

    def call() -> None:
        with guard:
            entered.set()

    caller = threading.Thread(target=call)
    caller.start()
    assert not entered.wait(0.05)
    guard.after_fork_in_parent()
    assert entered.wait(forked.LIMIT)
    caller.join()
