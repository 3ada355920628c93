"""kill -9 in the middle of a conversation, over and over: what stands is what stood before the step, or after it.

A child talks, regenerates, edits, takes back, branches and ends; before each step it tells what may stand once that is
done, in the order in which it may come to stand, and after it that it is done. It is killed at a random moment.
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

MOST_STEPS = 5
LONGEST_LIFE = 0.25  # seconds after the child has told of as many steps as it may before
CAPTAIN = Character("Captain", person="Nora")
States = list[list[str]]


def opened(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder(64))


def talking(memory: Memory, number: int) -> Chat:
    replies = (f"zr{number}x{n} is what I say to you." for n in range(10**6))
    return Chat(memory, CAPTAIN, ScriptedLLM(replies, context=2400), scribe=ExtractiveScribe(), session="s")


# ---------------------------------------------------------------------------- the child


def child(folder: Path, number: int) -> None:
    """Talk until killed, from the moment that a line comes in."""
    chance = random.Random(number)
    print("ready", flush=True)
    sys.stdin.readline()
    with opened(folder) as memory, talking(memory, number) as chat:
        for step in range(10**6):
            stands = [line.text for line in chat.lines]
            said, place = f"zq{number}x{step} is what I say.", chance.randrange(max(len(stands), 1))
            what = chance.choice(["reply", "reply", "reply", "again", "edit", "undo", "branch"]) if stands else "reply"
            users = [at for at, line in enumerate(chat.lines) if line.role == "user"]
            ways: dict[str, States] = {
                "reply": [[*stands, said], [*stands, said, "zr"]],
                "again": [[*(stands if users[-1:] == [len(stands) - 1] else stands[:-1]), "zr"]],
                "edit": [[*stands[:place], said], [*stands[:place], said, "zr"]],
                "undo": [stands[: users[-1]] if users else stands],
                "branch": [stands[: place + 1]],
            }
            print(json.dumps([stands, *ways[what]]), flush=True)
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
    """Let a child go, and kill it once it has told of some steps and lived for some seconds more; what it said of each
    step."""
    command = [sys.executable, __file__, str(folder), str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        told = "".join(process.stdout.readline() for _ in range(steps))
        time.sleep(life)
        process.kill()
        told += process.stdout.read()
    return [json.loads(line) for line in told.splitlines(keepends=True) if line.endswith("\n")]


def compare(folder: Path, last: States, number: int) -> None:
    """Hold the bank against what the child said last; and go on talking."""
    with opened(folder) as memory:
        assert memory.store.check("alice") == []
        with talking(memory, 10**6 + number) as chat:
            stands = [line.text for line in chat.lines]
            assert any(_same(stands, state) for state in last), (stands, last)
            shown = memory.context("What is it that I say to you?", 20_000, gate=False).text
            gone = {line.text for line in memory.lines(retracted=True)} - set(stands)
            assert not any(text in shown for text in gone)
            assert list(chat.reply(f"Are you still there in round {number}?"))
            assert chat.last_reply is not None
            assert chat.last_reply.prompt is not None
            whole = "\n".join(message.content for message in chat.last_reply.prompt.messages)
            assert not any(text in whole for text in gone)
            chat.undo()


def _same(stands: list[str], state: list[str]) -> bool:
    """Whether this is the state; of a new reply only its beginning is known."""
    if len(stands) != len(state):
        return False
    return all(
        one == other or (other == "zr" and one.startswith("zr")) for one, other in zip(stands, state, strict=True)
    )


def run(rounds: int, folder: Path, seed: int = 0) -> int:
    """So many kills in one conversation; how many steps were begun."""
    chance, steps = random.Random(seed), 0
    for number in range(rounds):
        told = kill(folder, number, chance.randrange(MOST_STEPS), chance.uniform(0.02, LONGEST_LIFE))
        if told:
            compare(folder, told[-1], number)
        steps += len(told)
    return steps


if __name__ == "__main__":
    child(Path(sys.argv[1]), int(sys.argv[2]))
