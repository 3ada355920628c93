"""Priority: replies are prepared before background work."""

from __future__ import annotations

import threading
import time

import pytest
from hardship import PATIENCE

from everthread.server.conversations import priority
from everthread.server.conversations.priority import PriorityGate


def test_replies_beyond_the_limit_wait_to_be_prepared() -> None:
    gate, preparing, max_preparing = PriorityGate(2), 0, 0
    lock = threading.Lock()

    def prepare() -> None:
        nonlocal preparing, max_preparing
        with gate.interactive():
            with lock:
                preparing += 1
                max_preparing = max(max_preparing, preparing)
            time.sleep(0.01)
            with lock:
                preparing -= 1

    threads = [threading.Thread(target=prepare) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert (max_preparing, preparing) == (2, 0)


def test_background_work_waits_until_no_reply_is_being_prepared_or_queued() -> None:
    gate, done = PriorityGate(1), list[str]()
    prepared, go = threading.Event(), threading.Event()

    def prepare(name: str) -> None:
        with gate.interactive():
            prepared.set()
            assert go.wait(PATIENCE)
            done.append(name)

    def embed() -> None:
        with gate.background("embedding"):
            done.append("embedded")

    replies = [threading.Thread(target=prepare, args=(name,)) for name in ("one", "two")]
    for thread in replies:
        thread.start()
    assert prepared.wait(PATIENCE)
    background = threading.Thread(target=embed)
    background.start()
    background.join(0.1)
    assert done == []
    go.set()
    for thread in [*replies, background]:
        thread.join(PATIENCE)
    assert sorted(done[:2]) == ["one", "two"]
    assert done[2] == "embedded"


def test_background_work_proceeds_eventually_under_constant_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MAX_BACKGROUND_WAIT_S", 0.05)
    gate = PriorityGate(1)
    with gate.interactive(), gate.background("embedding"):
        pass


def test_background_work_that_has_waited_for_the_limit_runs_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MAX_BACKGROUND_WAIT_S", 0.05)
    gate, running, done = PriorityGate(1), threading.Lock(), list[bool]()

    def embed() -> None:
        with gate.background("embedding"):
            is_alone = running.acquire(blocking=False)
            time.sleep(0.02)
            done.append(is_alone)
            if is_alone:
                running.release()

    with gate.interactive():
        threads = [threading.Thread(target=embed) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert done == [True] * 8


def test_background_work_that_hangs_does_not_hold_up_the_other_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MAX_HELD_S", 0.05)
    gate, done = PriorityGate(1), threading.Event()

    def embed() -> None:
        with gate.background("embedding"):
            done.set()

    with gate.background("embedding"):
        other = threading.Thread(target=embed)
        other.start()
        assert done.wait(PATIENCE)
    other.join(PATIENCE)
    with gate.background("embedding"):
        pass


def test_embedding_does_not_wait_for_reading_for_facts() -> None:
    gate, done = PriorityGate(1), threading.Event()

    def embed() -> None:
        with gate.background("embedding"):
            done.set()

    with gate.background("facts"):
        other = threading.Thread(target=embed)
        other.start()
        assert done.wait(PATIENCE)
    other.join(PATIENCE)


def test_a_reply_that_fails_during_preparation_frees_its_slot() -> None:
    gate = PriorityGate(1)
    with pytest.raises(ZeroDivisionError), gate.interactive():
        raise ZeroDivisionError
    with gate.interactive():
        pass
    with gate.background("embedding"):
        pass
