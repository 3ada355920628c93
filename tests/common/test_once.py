"""A value is computed once, whatever threads need it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from everthread.common.once import once


def test_threads_that_need_a_value_while_it_is_computed_wait_for_it() -> None:
    computed, together = list[int](), threading.Barrier(8)

    @once
    def square(number: int) -> int:
        time.sleep(0.05)
        computed.append(number)
        return number * number

    def ask(number: int) -> int:
        together.wait()
        return square(number)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, [3, 4] * 4)) == [9, 16] * 4
    assert sorted(computed) == [3, 4]


def test_calls_with_the_same_values_by_position_and_by_name_differ() -> None:
    @once
    def join(*words: str, end: str = "") -> str:
        return " ".join(words) + end

    assert (join("a", "b"), join("a", end="b"), join("a", "b", end="!")) == ("a b", "ab", "a b!")


def test_an_error_is_not_cached() -> None:
    answers = iter(["", "ready"])

    @once
    def load() -> str:
        if not (answer := next(answers)):
            raise ValueError("not ready")
        return answer

    with pytest.raises(ValueError, match="not ready"):
        load()
    assert load() == "ready"
