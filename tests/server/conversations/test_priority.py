from __future__ import annotations

import threading
import time

import pytest
from hardship import PATIENCE

from everthread.server.conversations import priority
from everthread.server.conversations.priority import PriorityGate


def test_replies_beyond_the_limit_wait_to_be_prepared() -> None:
    turns, inside, most = PriorityGate(2), 0, 0
    lock = threading.Lock()

    def prepare() -> None:
        nonlocal inside, most
        with turns.interactive():
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.01)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=prepare) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert (most, inside) == (2, 0)


def test_background_work_waits_until_no_reply_is_being_prepared_or_queued() -> None:
    turns, done = PriorityGate(1), list[str]()
    prepared, go = threading.Event(), threading.Event()

    def prepare(name: str) -> None:
        with turns.interactive():
            prepared.set()
            assert go.wait(PATIENCE)
            done.append(name)

    def embed() -> None:
        with turns.background():
            done.append("embedded")

    replies = [threading.Thread(target=prepare, args=(name,)) for name in ("one", "two")]
    for each in replies:
        each.start()
    assert prepared.wait(PATIENCE)
    behind = threading.Thread(target=embed)
    behind.start()
    behind.join(0.1)
    assert done == []
    go.set()
    for each in [*replies, behind]:
        each.join(PATIENCE)
    assert sorted(done[:2]) == ["one", "two"]
    assert done[2] == "embedded"


def test_background_work_proceeds_eventually_under_constant_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MAX_BACKGROUND_WAIT_S", 0.05)
    turns = PriorityGate(1)
    with turns.interactive(), turns.background():
        pass


def test_no_background_work_waits_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "MAX_BACKGROUND_WAIT_S", 0.2)
    turns, done = PriorityGate(1), threading.Barrier(9)

    def embed() -> None:
        with turns.background():
            done.wait(PATIENCE)  # one after the other, they would never meet here

    with turns.interactive():
        threads = [threading.Thread(target=embed) for _ in range(8)]
        for each in threads:
            each.start()
        done.wait(PATIENCE)
    for each in threads:
        each.join(PATIENCE)


def test_a_reply_that_fails_during_preparation_frees_its_slot() -> None:
    turns = PriorityGate(1)
    with pytest.raises(ZeroDivisionError), turns.interactive():
        raise ZeroDivisionError
    with turns.interactive():
        pass
    with turns.background():
        pass
