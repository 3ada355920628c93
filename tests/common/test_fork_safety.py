"""Locks and embedders in a process that was forked."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
from hardship import forked, loopback

from everthread.common.fork_safety import Lock
from everthread.embedders.onnx import OnnxEmbedder
from everthread.embedders.remote import RemoteEmbedder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings(
        "ignore:.*fork:DeprecationWarning"
    ),  # of forking with other threads running, which is what is tested
]


def in_a_child(works: Callable[[], bool]) -> bool:
    """Return whether a function works in a forked child; a child that hangs is killed."""

    def work() -> None:
        assert works()

    return forked.exits_cleanly(forked.fork_child(work))


def test_a_lock_that_another_thread_holds_is_free_in_a_forked_child() -> None:
    lock, held, over = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_a_child(lambda: lock.acquire())
    assert not lock.acquire(timeout=0.01)
    over.set()
    thread.join()
    assert lock.acquire(timeout=forked.LIMIT)
    lock.release()


def test_a_thread_that_forks_while_holding_a_lock_continues_in_the_child() -> None:
    lock = Lock()

    def works() -> bool:
        with lock:
            pass
        lock.release()  # as at the end of a `with` block that forked
        with lock:
            return not lock.acquire(timeout=0.01)

    with lock:
        assert in_a_child(works)
        assert not lock.acquire(timeout=0.01)
    assert lock.acquire(timeout=forked.LIMIT)
    lock.release()


def test_the_shipped_model_works_in_a_child_forked_during_embedding() -> None:
    embedder, over = OnnxEmbedder(), threading.Event()
    wanted = embedder.embed(["The cat sleeps."])

    def read() -> None:
        while not over.is_set():
            embedder.embed([f"The dog barks {os.urandom(4).hex()}."])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()

    def works() -> bool:
        return np.allclose(embedder.embed(["A bird sings.", "The cat sleeps."])[1], wanted[0])

    assert [in_a_child(works) for _ in range(4)] == [True] * 4
    over.set()
    for reader in readers:
        reader.join()


def test_a_forked_child_uses_its_own_connection_to_a_remote_embedder() -> None:
    ports: list[int] = []

    class Ones(loopback.Quiet):
        """Embeds every text as ones."""

        protocol_version = "HTTP/1.1"  # keeps connections open

        def do_POST(self) -> None:
            ports.append(self.client_address[1])
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = json.dumps({"data": [{"embedding": [1.0, 1.0]} for _ in asked["input"]]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

    with loopback.serve_handler(Ones) as url:
        embedder = RemoteEmbedder(url, "ones", timeout=forked.LIMIT)
        embedder.embed(["before"])
        assert in_a_child(lambda: len(embedder.embed(["in the child"])) == 1)
        embedder.embed(["after"])
    parent, child, parent_again = ports
    assert parent == parent_again != child
