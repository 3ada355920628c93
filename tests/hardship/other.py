"""Another process that has a bank open. It reads one JSON request per line, and writes one JSON answer per line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from everthread import Memory
from everthread.testing import HashEmbedder
from hardship.python import start_python

PATIENCE = 120.0  # seconds; a busy machine is slow


class Other:
    """The other process, seen from this one."""

    def __init__(self, folder: Path) -> None:
        self._process = start_python(__file__, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def ask(self, what: str, text: str = "") -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, text]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            code = self._process.wait(PATIENCE)
        assert code == 0 or kind is not None


def answer(memory: Memory, what: str, text: str) -> object:
    if what == "observe":
        return memory.observe(text).seq
    if what == "recall":
        return [hit.line.text for hit in memory.recall(text, 50)]
    return [line.text for line in memory.lines(include_retracted=True)]


if __name__ == "__main__":
    with Memory.open("alice", store=sys.argv[1], embedder=HashEmbedder()) as opened:
        for request in sys.stdin:
            print(json.dumps(answer(opened, *json.loads(request))), flush=True)
