from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hardship import PATIENCE

from everthread.common.lazy import Lazy


def test_many_threads_create_the_value_once() -> None:
    made: list[int] = []

    def make() -> int:
        time.sleep(0.05)
        made.append(1)
        return len(made)

    lazy = Lazy(make)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: lazy.get(PATIENCE), range(8))) == [1] * 8
    assert lazy.take() == 1
    assert lazy.take() is None
    assert lazy.get(PATIENCE) == 2


def test_waiting_threads_share_the_error_and_the_next_call_tries_again() -> None:
    tried: list[int] = []

    def make() -> int:
        time.sleep(0.5)  # until the others wait for it
        tried.append(1)
        if len(tried) == 1:
            raise OSError("no server")
        return 7

    lazy, together = Lazy(make), threading.Barrier(4)

    def error(_: int) -> str:
        together.wait(PATIENCE)
        with pytest.raises(OSError) as raised:
            lazy.get(PATIENCE)
        return str(raised.value)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(error, range(4))) == ["no server"] * 4
    assert lazy.take() is None
    assert lazy.get(PATIENCE) == 7


def test_waiting_ends_after_the_timeout() -> None:
    begun, end = threading.Event(), threading.Event()

    def make() -> bool:
        begun.set()
        return end.wait(PATIENCE)

    lazy = Lazy(make)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(lazy.get, PATIENCE)
        assert begun.wait(PATIENCE)
        with pytest.raises(TimeoutError):
            lazy.get(0.1)
        assert lazy.take() is None  # a value in creation can't be taken
        end.set()
        assert making.result()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # about other threads, which are tested here
def test_a_process_forked_during_creation_creates_its_own_value() -> None:
    begun, end = threading.Event(), threading.Event()

    def make() -> int:
        begun.set()
        return end.wait(PATIENCE) and os.getpid()

    lazy = Lazy(make)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(lazy.get, PATIENCE)
        assert begun.wait(PATIENCE)
        if (child := os.fork()) == 0:
            end.set()
            os._exit(0 if lazy.get(PATIENCE) == os.getpid() else 1)
        end.set()
        assert making.result() == os.getpid()
    assert os.waitpid(child, 0)[1] == 0
