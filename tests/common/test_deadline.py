from __future__ import annotations

import threading

import pytest
from hardship import PATIENCE

from everthread.common.deadline import MAX_CALLS, Deadline


def test_a_call_that_returns_in_time_gives_its_result() -> None:
    deadline = Deadline(PATIENCE)
    assert deadline.call(lambda: "answer", "") == "answer"
    assert not deadline.missed


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


def test_calls_that_hang_leave_no_place_for_another_until_they_end() -> None:
    released = threading.Event()
    for _ in range(MAX_CALLS):
        Deadline(0.005).call(lambda: released.wait(PATIENCE), False)
    hanging = [thread for thread in threading.enumerate() if thread.name == "everthread-deadline"]
    assert len(hanging) <= MAX_CALLS
    blocked = Deadline(0.02)
    while len(hanging) < MAX_CALLS:  # a slow machine may not have had the time to start all of them
        Deadline(0.05).call(lambda: released.wait(PATIENCE), False)
        hanging = [thread for thread in threading.enumerate() if thread.name == "everthread-deadline"]
    assert (blocked.call(lambda: True, False), blocked.missed) == (False, True)
    released.set()
    assert Deadline(PATIENCE).call(lambda: True, False)
    for thread in hanging:
        thread.join(PATIENCE)
