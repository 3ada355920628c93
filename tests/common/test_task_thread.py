from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable

import pytest
from hardship import PATIENCE, forked

from everthread.common.task_thread import Task, TaskThread
from everthread.errors import StoreUnavailable


class Tasks:
    """Tasks in their order."""

    def __init__(self, *tasks: Task) -> None:
        self.left = list(tasks)

    def find_next(self) -> Task | None:
        return self.left.pop(0) if self.left else None


def hold(begun: threading.Event, go: threading.Event) -> Callable[[], None]:
    """Return a task that sets `begun`, and waits for `go`."""

    def wait() -> None:
        begun.set()
        assert go.wait(PATIENCE)

    return wait


def fail() -> None:
    raise StoreUnavailable("the disk is full")


def test_all_tasks_are_run_in_one_thread_of_that_name() -> None:
    done: list[tuple[int, str, int | None]] = []

    def note(number: int) -> Task:
        return lambda: done.append((number, threading.current_thread().name, threading.get_ident()))

    thread = TaskThread("everthread test", "tests")
    thread.start(Tasks(note(0), note(1)).find_next)
    assert thread.join(PATIENCE)
    assert [(number, name) for number, name, _ in done] == [(0, "everthread test"), (1, "everthread test")]
    assert len({ident for *_, ident in done}) == 1
    assert threading.get_ident() != done[0][2]


def test_no_thread_is_started_without_a_task() -> None:
    thread = TaskThread("everthread test", "tests")
    thread.start(Tasks().find_next)
    assert not thread.is_running
    assert thread.join(0)


def test_tasks_that_are_added_during_another_one_wait_for_it() -> None:
    begun, go, done = threading.Event(), threading.Event(), list[str]()
    tasks, thread = Tasks(hold(begun, go)), TaskThread("everthread test", "tests")
    thread.start(tasks.find_next)
    assert begun.wait(PATIENCE)
    tasks.left.append(lambda: done.append("second"))
    thread.start(tasks.find_next)
    assert (thread.is_running, done) == (True, [])
    assert not thread.join(0)
    go.set()
    assert thread.join(PATIENCE)
    assert done == ["second"]


def test_a_start_after_the_last_task_starts_another_thread() -> None:
    done: list[int | None] = []
    thread = TaskThread("everthread test", "tests")
    for _ in range(100):  # also at the moment when the former thread ends
        before = len(done)
        tasks = Tasks(lambda: done.append(None))
        while tasks.left:
            thread.start(tasks.find_next)
        assert thread.join(PATIENCE)
        assert len(done) == before + 1


def test_a_task_that_fails_is_logged_and_the_next_start_continues(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []
    tasks, thread = Tasks(fail, lambda: done.append("second")), TaskThread("everthread test", "vectors")
    with caplog.at_level(logging.WARNING, logger="everthread"):
        thread.start(tasks.find_next)
        assert thread.join(PATIENCE)
    assert done == []
    assert "vectors are postponed: the disk is full" in caplog.text
    thread.start(tasks.find_next)
    assert thread.join(PATIENCE)
    assert done == ["second"]


def test_an_error_while_the_first_task_is_looked_for_is_raised_and_starts_nothing() -> None:
    thread = TaskThread("everthread test", "tests")
    with pytest.raises(StoreUnavailable):
        thread.start(fail)
    assert not thread.is_running


@pytest.mark.skipif(sys.platform == "win32", reason="Windows doesn't take such a size")
def test_a_thread_that_the_system_refuses_is_started_the_next_time() -> None:
    done: list[str] = []
    thread = TaskThread("everthread test", "tests")
    default = threading.stack_size(1 << 46)  # more than there are addresses
    try:
        with pytest.raises(RuntimeError):
            thread.start(Tasks(lambda: done.append("first")).find_next)
    finally:
        threading.stack_size(default)
    assert thread.join(0)
    thread.start(Tasks(lambda: done.append("second")).find_next)
    assert thread.join(PATIENCE)
    assert done == ["second"]


def test_the_owner_of_the_tasks_can_be_discarded_while_none_runs() -> None:
    begun, go = threading.Event(), threading.Event()
    tasks, thread = Tasks(hold(begun, go)), TaskThread("everthread test", "tests")
    owner = weakref.ref(tasks)
    thread.start(tasks.find_next)
    del tasks
    assert begun.wait(PATIENCE)
    assert owner() is not None
    gc.disable()
    try:
        go.set()
        assert thread.join(PATIENCE)
        for each in threading.enumerate():
            if each.name == "everthread test":
                each.join(PATIENCE)
        assert owner() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_the_task_of_its_parent() -> None:
    begun, go, done = threading.Event(), threading.Event(), list[str]()
    thread = TaskThread("everthread test", "tests")
    thread.start(Tasks(hold(begun, go)).find_next)
    assert begun.wait(PATIENCE)

    def work() -> None:
        assert thread.join(0)
        thread.start(Tasks(lambda: done.append("in the child")).find_next)
        assert thread.join(PATIENCE)
        assert done == ["in the child"]

    assert forked.exits_cleanly(forked.fork_child(work))
    assert thread.is_running
    go.set()
    assert thread.join(PATIENCE)
