from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hardship import PATIENCE, forked

from everthread.common.deadline import MAX_CALLS, Deadline, begin


def test_a_call_that_returns_in_time_gives_its_result() -> None:
    deadline = Deadline(PATIENCE)
    assert deadline.call(lambda: "answer", "") == "answer"
    assert not deadline.missed


@pytest.mark.parametrize("seconds", [1e30, 10**400])
def test_a_deadline_may_be_later_than_a_thread_can_wait(seconds: float) -> None:
    def answer() -> str:
        time.sleep(0.05)
        return "answer"

    assert Deadline(seconds).call(answer, "") == "answer"


def test_a_late_call_gives_the_other_value_and_ends_in_its_thread() -> None:
    released, ended = threading.Event(), threading.Event()

    def answer() -> str:
        released.wait(PATIENCE)
        ended.set()
        return "late"

    deadline = Deadline(0.02)
    assert (deadline.call(answer, "otherwise"), deadline.missed) == ("otherwise", True)
    released.set()
    assert ended.wait(PATIENCE)


def test_after_the_deadline_nothing_is_called() -> None:
    calls: list[int] = []
    deadline = Deadline(0)
    deadline.call(lambda: calls.append(1), None)
    assert (calls, deadline.missed) == ([], True)


@pytest.mark.parametrize("error", [ValueError("wrong"), TimeoutError("of the model itself")])
def test_the_error_of_a_call_is_raised(error: Exception) -> None:
    def fail() -> None:
        raise error

    deadline = Deadline(PATIENCE)
    with pytest.raises(type(error), match=str(error)):
        deadline.call(fail, None)
    assert not deadline.missed


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Take all places with calls that return when the event is set, at the latest at the end of the test."""
    released = threading.Event()
    taken = threading.Semaphore(0)

    def hang() -> None:
        taken.release()
        released.wait(PATIENCE)

    threads = [threading.Thread(target=Deadline(PATIENCE).call, args=(hang, None)) for _ in range(MAX_CALLS)]
    for thread in threads:
        thread.start()
    assert all(taken.acquire(timeout=PATIENCE) for _ in threads)
    yield released
    released.set()
    for thread in threads:
        thread.join(PATIENCE)


def test_calls_that_hang_leave_no_place_for_another_until_they_end(hanging: threading.Event) -> None:
    deadline = Deadline(0.02)
    assert (deadline.call(lambda: True, False), deadline.missed) == (False, True)
    assert begin(lambda: True) is None
    hanging.set()
    assert Deadline(PATIENCE).call(lambda: True, False)


def test_the_result_of_a_call_that_has_begun_is_awaited_until_the_deadline() -> None:
    released, deadline = threading.Event(), Deadline(0.02)
    late, done = begin(lambda: released.wait(PATIENCE), PATIENCE), begin(lambda: "done", PATIENCE)
    assert late is not None
    assert done is not None
    assert Deadline(PATIENCE).wait_for(done, "") == "done"
    assert (deadline.wait_for(late, False), deadline.missed) == (False, True)
    released.set()


def test_calls_that_hang_take_no_place_in_a_forked_process(hanging: threading.Event) -> None:
    def work() -> None:
        assert Deadline(PATIENCE).call(lambda: True, False)

    assert forked.exits_cleanly(forked.fork_child(work))
