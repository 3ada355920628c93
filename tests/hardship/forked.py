"""A process that forks while it has a bank open: `forked.py STORE WHAT`, where WHAT is one of `WAYS`.

It prints the outcome on one line. A child that hangs is killed after LIMIT seconds, and reported.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from everthread import Chat, Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.sqlite import fork_guard
from everthread.testing import HashEmbedder, ScriptedLLM

LIMIT = 100.0  # seconds; no child works for longer than a few


def open_memory(store: str) -> Memory:
    return Memory.open("alice", store=store, embedder=HashEmbedder())


def fork_child(work: Callable[[], object]) -> int:
    """Fork a child that does the work and exits; return its process ID."""
    if child := os.fork():
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def exits_cleanly(child: int) -> bool:
    """Wait for a child; return whether it exited with status 0."""
    end = time.monotonic() + LIMIT
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return False
        time.sleep(0.01)
    return ended[1] == 0


def beside(store: str) -> None:
    """Write and recall in parent and child at the same time."""

    def work(who: str) -> None:
        for n in range(20):
            line = memory.observe(f"The {who} says {n}.", session=who)
            assert line.text in [hit.line.text for hit in memory.recall(line.text, 50)]

    with open_memory(store) as memory:
        memory.sessions()
        child = fork_child(lambda: work("child"))
        work("parent")
        well = exits_cleanly(child)
        print(len(list(memory.lines())), memory.store.check("alice"), well)


def outlived(store: str) -> None:
    """Write in a child after the parent has closed the bank, and a third process has opened and closed it."""
    closed, told = os.pipe()
    memory = open_memory(store)
    memory.observe("The parent says hello.")

    def work() -> None:
        memory.observe("The child says hello.")
        os.read(closed, 1)
        for n in range(10):
            memory.observe(f"The child says {n}.")

    child = fork_child(work)
    memory.close()
    other = fork_child(lambda: open_memory(store).close())
    well = exits_cleanly(other)
    os.write(told, b"!")
    well = exits_cleanly(child) and well
    with open_memory(store) as memory:
        print(len(list(memory.lines())), memory.store.check("alice"), well)


def crowded(store: str) -> None:
    """Fork children while threads of the parent write and recall."""
    over = threading.Event()
    written = [0, 0, 0]

    def talk(who: int) -> None:
        while not over.is_set():
            memory.observe(f"Thread {who} says {written[who]}.", session=str(who))
            written[who] += 1
            memory.recall("What does it say?", 3)

    def work() -> None:
        line = memory.observe("A child says hello.")
        assert memory.recall(line.text, 3)

    with open_memory(store) as memory:
        threads = [threading.Thread(target=talk, args=(who,)) for who in range(len(written))]
        for thread in threads:
            thread.start()
        well = [exits_cleanly(fork_child(work)) for _ in range(12)]
        over.set()
        for thread in threads:
            thread.join()
        lost = sum(written) + len(well) - len(list(memory.lines()))
        print(lost, memory.store.check("alice"), all(well))


def run_chat(store: str) -> None:
    """Fork a child in the middle of a reply, which the parent reads to its end."""
    parent = ScriptedLLM(["Hello from the parent."])
    with Chat(open_memory(store), llm=parent, scribe=ExtractiveScribe()) as chat:
        reply = chat.reply("My sister Mia moved to Lisbon in May.")
        next(reply)

        def work() -> None:
            chat.responder.llm = ScriptedLLM(["Hello from the child."])
            assert list(reply) == []
            assert "".join(chat.reply("She works there as a nurse.")) == "Hello from the child."
            chat.end(remember=True)
            assert chat.wait(LIMIT)

        well = exits_cleanly(fork_child(work))
        assert "".join(reply)
        lines = list(chat.memory.lines())
        said = [line.text for line in lines if line.role == "assistant"]
        print(sorted(said), len(chat.memory.units("summary")), chat.memory.store.check("alice"), well)


def interrupted(store: str) -> None:
    """Fork a child at every line of the fork guard, because a signal handler may fork at any of them."""
    children: list[int] = []

    def handle(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != fork_guard.__file__:
            return None
        if event == "line":
            children.append(fork_child(lambda: None))
        return handle

    with open_memory(store) as memory:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        sys.settrace(handle)
        memory.observe("The parent says hello.")
        children.append(fork_child(lambda: None))
        sys.settrace(None)
        faulthandler.cancel_dump_traceback_later()
        well = [exits_cleanly(child) for child in children]
        print(len(list(memory.lines())), memory.store.check("alice"), len(well) > 10 and all(well))


WAYS = {way.__name__: way for way in (beside, outlived, crowded, run_chat, interrupted)}

if __name__ == "__main__":
    WAYS[sys.argv[2]](sys.argv[1])
