"""Tasks of one person run in order, and those of several people at once."""

import threading
from collections.abc import Callable

import pytest
from hardship import PATIENCE

from everthread.server.messaging.person_queues import PersonQueues


def appender(done: list[str], name: str, after: threading.Event | None = None) -> Callable[[], None]:
    def task() -> None:
        assert after is None or after.wait(PATIENCE)
        done.append(name)

    return task


def test_tasks_of_one_person_run_in_order_and_do_not_delay_those_of_others() -> None:
    queues, done, may_end, others_ended = PersonQueues("test"), list[str](), threading.Event(), threading.Event()
    queues.enqueue("ann", appender(done, "ann 1", may_end))
    queues.enqueue("ann", appender(done, "ann 2"))
    queues.enqueue("bob", appender(done, "bob 1"))
    queues.enqueue("bob", others_ended.set)
    assert others_ended.wait(PATIENCE)
    assert done == ["bob 1"]
    may_end.set()
    queues.close()
    assert done == ["bob 1", "ann 1", "ann 2"]


def test_an_urgent_task_does_not_wait_for_earlier_ones() -> None:
    queues, done, urgent_ended = PersonQueues("test"), list[str](), threading.Event()
    queues.enqueue("ann", appender(done, "ann 1", urgent_ended))
    queues.run(urgent_ended.set)
    queues.close()
    assert done == ["ann 1"]


def test_a_task_that_fails_is_logged_by_its_type_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("secret")

    queues, done = PersonQueues("test"), list[str]()
    queues.enqueue("ann", fail)
    queues.enqueue("ann", appender(done, "ann 2"))
    queues.close()
    assert done == ["ann 2"]
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text
