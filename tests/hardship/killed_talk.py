"""Repeated kill -9 in a conversation: its lines are those before or after the interrupted step.

A child talks, regenerates, edits, undoes and branches. Before each step it prints the states that the conversation may
have from then on, in order. It is killed at a random moment.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from everthread import Memory
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.scribes.extractive import ExtractiveScribe
from everthread.testing import HashEmbedder, ScriptedLLM
from hardship.python import start_python

MAX_STEPS = 5
MAX_LIFE_S = 0.25  # after the child has reported its random number of steps
CAPTAIN = Character("Captain", person="Nora")
States = list[list[str]]


def open_memory(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder(64))


def open_chat(memory: Memory, number: int) -> Chat:
    replies = (f"zr{number}x{n} is what I say to you." for n in range(10**6))
    return Chat(memory, CAPTAIN, ScriptedLLM(replies, context=2400), scribe=ExtractiveScribe(), session="s")


# ---------------------------------------------------------------------------- the child


def child(folder: Path, number: int) -> None:
    """Talk until killed, as soon as a line is received."""
    chance = random.Random(number)
    print("ready", flush=True)
    sys.stdin.readline()
    with open_memory(folder) as memory, open_chat(memory, number) as chat:
        for step in range(10**6):
            active = [line.text for line in chat.lines]
            said, place = f"zq{number}x{step} is what I say.", chance.randrange(max(len(active), 1))
            what = chance.choice(["reply", "reply", "reply", "again", "edit", "undo", "branch"]) if active else "reply"
            users = [at for at, line in enumerate(chat.lines) if line.role == "user"]
            ways: dict[str, States] = {
                "reply": [[*active, said], [*active, said, "zr"]],
                "again": [[*(active if users[-1:] == [len(active) - 1] else active[:-1]), "zr"]],
                "edit": [[*active[:place], said], [*active[:place], said, "zr"]],
                "undo": [active[: users[-1]] if users else active],
                "branch": [active[: place + 1]],
            }
            print(json.dumps([active, *ways[what]]), flush=True)
            if what == "reply":
                list(chat.reply(said))
            elif what == "again":
                list(chat.regenerate())
            elif what == "edit":
                list(chat.edit(chat.lines[place].seq, said) or ())
            elif what == "undo":
                chat.undo()
            else:
                chat.branch(chat.lines[place].seq)


# --------------------------------------------------------------------------- the parent


def kill(folder: Path, number: int, steps: int, life: float) -> list[States]:
    """Let a child talk, and kill it `life` seconds after it reported `steps` steps; return the reported states."""
    with start_python(__file__, folder, number, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        reported = "".join(process.stdout.readline() for _ in range(steps))
        time.sleep(life)
        process.kill()
        reported += process.stdout.read()
    return [json.loads(line) for line in reported.splitlines(keepends=True) if line.endswith("\n")]


def compare(folder: Path, last: States, number: int) -> None:
    """Compare the bank with the child's last report, and continue the conversation."""
    with open_memory(folder) as memory:
        assert memory.store.check("alice") == []
        with open_chat(memory, 10**6 + number) as chat:
            active = [line.text for line in chat.lines]
            assert any(_same(active, state) for state in last), (active, last)
            shown = memory.context("What is it that I say to you?", 20_000, gate=False).text
            discarded = {line.text for line in memory.lines(include_retracted=True)} - set(active)
            assert not any(text in shown for text in discarded)
            assert list(chat.reply(f"Are you still there in round {number}?"))
            assert chat.last_reply is not None
            assert chat.last_reply.prompt is not None
            prompt = "\n".join(message.content for message in chat.last_reply.prompt.messages)
            assert not any(text in prompt for text in discarded)
            chat.undo()


def _same(active: list[str], state: list[str]) -> bool:
    """Return whether the lines are this state; of a new reply, only the beginning is known."""
    if len(active) != len(state):
        return False
    return all(
        one == other or (other == "zr" and one.startswith("zr")) for one, other in zip(active, state, strict=True)
    )


def run(rounds: int, folder: Path, seed: int = 0) -> int:
    """Kill a child `rounds` times in one conversation; return the number of steps that were begun."""
    chance, steps = random.Random(seed), 0
    for number in range(rounds):
        reported = kill(folder, number, chance.randrange(MAX_STEPS), chance.uniform(0.02, MAX_LIFE_S))
        if reported:
            compare(folder, reported[-1], number)
        steps += len(reported)
    return steps


if __name__ == "__main__":
    child(Path(sys.argv[1]), int(sys.argv[2]))
