"""A process that forks while it has a bank open: `forked.py STORE`. Parent and child write and ask at the same time."""

import os
import sys

from everthread import Memory
from everthread.models.fakes import HashEmbedder


def work(memory: Memory, who: str) -> None:
    for n in range(20):
        line = memory.observe(f"The {who} says {n}.", session=who)
        assert line.text in [hit.line.text for hit in memory.recall(line.text, 50)]


if __name__ == "__main__":
    with Memory.open("alice", store=sys.argv[1], embedder=HashEmbedder()) as opened:
        opened.sessions()
        if child := os.fork():
            work(opened, "parent")
            sound = os.waitpid(child, 0)[1] == 0
            print(len(list(opened.lines())), opened.store.check("alice"), sound)
        else:
            work(opened, "child")
            os._exit(0)
