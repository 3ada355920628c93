"""A full disk, and a folder without write permission; the outcome is printed as JSON."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from everthread import Memory, NewLine
from everthread.errors import EverthreadError
from everthread.testing import HashEmbedder

UNPRIVILEGED_UID = 65_534  # without rights


def open_memory(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder())


def full(folder: Path, batch: int) -> dict[str, object]:
    """Write until files have reached a limit of 300 KB, then once more without the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    kept: list[int] = []
    with open_memory(folder) as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        try:
            while True:
                start = kept[-1] if kept else 0
                lines = [NewLine(f"Line {start + n} {os.urandom(600).hex()}.") for n in range(1, batch + 1)]
                kept += [line.seq for line in memory.observe_many(lines)]
        except EverthreadError as error:
            failure = [type(error).__name__, str(error)]
        readable = len(memory.recall("Line 1", 5))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        after = memory.observe("There is room again.").seq
    return {"kept": kept, "error": failure, "readable": readable, "after": after}


def full_opened(folder: Path) -> dict[str, object]:
    """Open a bank on a full disk, read it in several threads, and write to it; then once more with room."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    failure = None
    with open_memory(folder) as memory, ThreadPoolExecutor(4) as threads:
        lines = [line.text for line in memory.lines()]
        recalled = [hits[0].line.text for hits in threads.map(memory.recall, ["harbour"] * 8)]
        context, faults = memory.context("harbour").text, memory.store.check("alice")
        try:
            memory.observe("There is no room.")
        except EverthreadError as error:
            failure = [type(error).__name__, str(error)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        after = memory.observe("There is room again.").seq
    read = {"lines": lines, "recalled": recalled, "context": context, "faults": faults}
    return read | {"error": failure, "after": after}


def forget(folder: Path) -> dict[str, object]:
    """Forget a line with room to remove it, but not to rewrite the file; then check the bank without the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    failure = None
    with open_memory(folder) as memory:
        memory.observe_many([NewLine(f"Line {n} {os.urandom(600).hex()}.") for n in range(400)])
        seq = memory.observe("The zqxcanary sings.").seq
    with open_memory(folder) as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
        try:
            memory.forget(seq=seq)
        except EverthreadError as error:
            failure = [type(error).__name__, str(error)]
        shown = [hit.line.text for hit in memory.recall("zqxcanary sings") if "zqxcanary" in hit.line.text]
        unsound = memory.store.check("alice")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    with open_memory(folder) as memory:
        sound = memory.store.check("alice")
    return {"error": failure, "shown": shown, "unsound": unsound, "sound": sound}


def readonly(folder: Path) -> dict[str, object]:
    """Read a bank as a user who may only read, and write to it."""
    os.environ["XDG_CONFIG_HOME"] = str(folder)  # may not be read, either
    if os.geteuid() == 0:
        os.setuid(UNPRIVILEGED_UID)
    report: dict[str, object] = {"error": None}
    try:
        with open_memory(folder) as memory:
            report["lines"] = [line.text for line in memory.lines()]
            report["recalled"] = [hit.line.text for hit in memory.recall("harbour", 1)]
            report["outdated"] = memory.stats().outdated
            report["faults"] = memory.store.check("alice")
            memory.observe("Can't be.")
    except EverthreadError as error:
        report["error"] = [type(error).__name__, str(error)]
    return report


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "full":
        print(json.dumps(full(place, int(sys.argv[3]))))
    else:
        actions = {"forget": forget, "full_opened": full_opened, "readonly": readonly}
        print(json.dumps(actions[sys.argv[1]](place)))
