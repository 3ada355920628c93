"""Repeated kill -9: every acknowledged line is stored exactly once, and the bank is sound.

A child observes lines, one by one or in batches, or observes and forgets them. It prints what it is about to forget and
what it has done. It is killed at a random moment, and the bank is compared with its output. The next child is started
meanwhile, because starting takes longest.

    PYTHONPATH=tests python -m hardship.kill --rounds 300
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from everthread import Memory, NewLine
from everthread.testing import HashEmbedder
from hardship.python import start_python

MODES = ("single", "many", "forget")
MAX_LIFE_S = 0.12  # after the child has acknowledged its random number of lines
MAX_LINES = 6  # acknowledged before the time of MAX_LIFE_S begins
ROUNDS_PER_BANK = 25  # checking takes longer as a bank grows


def open_memory(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder())


# ---------------------------------------------------------------------------- the child


def say(*words: object) -> None:
    print(*words, flush=True)


def child(mode: str, folder: Path, number: int) -> None:
    """Write until killed, as soon as a line is received."""
    chance = random.Random(number)
    texts = (f"zq{number}x{n}end is what was said, {'blah ' * chance.randrange(60)}indeed" for n in count())
    say("ready")
    sys.stdin.readline()
    with open_memory(folder) as memory:
        while True:
            if mode == "many":
                batch = [
                    NewLine(next(texts), key=f"{number}-{chance.random()}") for _ in range(chance.randrange(1, 20))
                ]
                for line in memory.observe_many(batch):
                    say("kept", line.seq, line.text)
                continue
            line = memory.observe(next(texts))
            say("kept", line.seq, line.text)
            if mode == "forget" and line.seq % 2:
                say("forgetting", line.seq, line.text)
                memory.forget(seq=line.seq)
                say("forgot", line.seq, line.text)


# --------------------------------------------------------------------------- the parent


@dataclass
class Reported:
    """The lines that the children of one bank have reported, by number."""

    kept: dict[int, str] = field(default_factory=dict)
    forgetting: dict[int, str] = field(default_factory=dict)
    forgot: dict[int, str] = field(default_factory=dict)

    def add_output(self, output: str) -> int:
        """Record the output of one child, without an incomplete last line; return the number of lines it stored."""
        lines = [line for line in output.splitlines(keepends=True) if line.endswith("\n")]
        for line in lines:
            what, seq, text = line.rstrip("\n").split(" ", 2)
            assert int(seq) not in getattr(self, what), f"line {seq} was numbered twice"
            getattr(self, what)[int(seq)] = text
        return len([line for line in lines if line.startswith("kept")])


@dataclass
class Outcome:
    """The results of all rounds."""

    rounds: int = 0
    acknowledged: int = 0
    unacknowledged: int = 0  # stored, but the child was killed before it reported them
    forgotten: int = 0
    idle: int = 0  # rounds in which the child was killed before its first line


def start(mode: str, folder: Path, number: int) -> subprocess.Popen[str]:
    return start_python(__file__, "--child", mode, folder, number, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def kill(process: subprocess.Popen[str], lines: int, life: float) -> str:
    """Let the child write, and kill it `life` seconds after it reported `lines` lines; return its output."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        said = "".join(process.stdout.readline() for _ in range(lines))
        time.sleep(life)
        process.kill()
        return said + process.stdout.read()


def compare(folder: Path, reported: Reported, number: int) -> None:
    """Compare the bank with the reports of its children."""
    with open_memory(folder) as memory:
        lines = {line.seq: line.text for line in memory.lines()}
        assert len(set(lines.values())) == len(lines), "a line is there twice"
        missing = {seq: text for seq, text in reported.kept.items() if lines.get(seq) != text}
        assert missing.keys() <= reported.forgetting.keys(), f"lost: {missing}"
        gaps = set(range(1, max(lines, default=0) + 1)) - set(lines)
        assert gaps <= reported.forgetting.keys(), f"gaps: {gaps}"
        assert not reported.forgot.keys() & lines.keys(), "a forgotten line is there"
        assert memory.store.check("alice") == []
        mine = [seq for seq, text in lines.items() if text.startswith(f"zq{number}x")]
        for seq in (*mine[:1], *mine[-1:]):
            hits = [hit.line.seq for hit in memory.recall(lines[seq].split()[0], 5)]
            assert seq in hits, f"line {seq} is not recalled: {hits}"
        stored_bytes = b"".join(path.read_bytes() for path in folder.iterdir())
        remains = [
            text
            for seq, text in reported.forgetting.items()
            if seq not in lines and text.split()[0].encode() in stored_bytes
        ]
        assert remains == [], "bytes of a forgotten line are left"


def run(rounds: int, folder: Path, seed: int = 0) -> Outcome:
    """Kill a child `rounds` times, in banks below the folder."""
    chance, outcome, reported = random.Random(seed), Outcome(), Reported()
    banks = [folder / f"{number // ROUNDS_PER_BANK}" for number in range(rounds + 1)]
    waiting = start(MODES[0], banks[0], 0)
    for number in range(rounds):
        process, waiting = waiting, start(MODES[(number + 1) % len(MODES)], banks[number + 1], number + 1)
        if number and banks[number] != banks[number - 1]:
            reported = Reported()
        before = len(reported.kept)
        acknowledged = reported.add_output(kill(process, chance.randrange(MAX_LINES), chance.uniform(0, MAX_LIFE_S)))
        compare(banks[number], reported, number)
        assert len(reported.kept) == before + acknowledged
        outcome.rounds += 1
        outcome.acknowledged += acknowledged
        outcome.idle += acknowledged == 0
        with open_memory(banks[number]) as memory:  # lines of this round that the child did not report
            unsaid = {line.seq: line.text for line in memory.lines() if line.seq not in reported.kept}
        outcome.unacknowledged += len(unsaid)
        reported.kept.update(unsaid)
        outcome.forgotten += len([text for text in reported.forgot.values() if text.startswith(f"zq{number}x")])
    kill(waiting, 0, 0)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=3, metavar=("MODE", "FOLDER", "NUMBER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], Path(given.child[1]), int(given.child[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        outcome = run(given.rounds, Path(folder), given.seed)
        print(f"{outcome} in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
