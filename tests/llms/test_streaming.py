"""Replies that are closed, or whose process ends, before they are complete."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hardship import PATIENCE
from hardship.llm import Reply, Stall, llm_server

from everthread import Memory
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.testing import HashEmbedder

TALK = """
import atexit, sys
from everthread.chat.chat import Chat
from everthread.testing import HashEmbedder
from everthread.llms.openai_compatible import OpenAICompatible

store, url = sys.argv[1:]
chat = Chat.open("alice", store=store, embedder=HashEmbedder(64), llm=OpenAICompatible(url, "m"))
atexit.register(chat.close)  # registered before the first reply, so that it runs after all later registrations
print(next(chat.reply("Count.")))
"""


PLAIN = """
import sys
from everthread.llms.openai_compatible import OpenAICompatible

llm = OpenAICompatible(sys.argv[1], "m")
for _ in range(3):
    print("".join(llm.stream([])))
"""


def test_a_program_that_has_read_its_replies_exits_quietly() -> None:
    with llm_server("Four.") as server:
        command = [sys.executable, "-Wdefault", "-c", PLAIN, server.url]
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "Four.\n" * 3, "")


FORK = """
import gc, os, sys
from everthread.llms.openai_compatible import OpenAICompatible

llm = OpenAICompatible(sys.argv[1], "m")
unread = llm.stream([])
print(llm.complete([]), flush=True)
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    print(llm.complete([]), "".join(unread))
else:
    del unread
    gc.collect()
    print(llm.complete([]), "".join(llm.stream([])), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_streams_without_affecting_its_parent() -> None:
    script = Reply("One two three.", delay=0.3), "Four.", "Five.", "Six.", "Seven."
    with llm_server(*script) as server:
        command = [sys.executable, "-Wignore::DeprecationWarning", "-c", FORK, server.url]
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert result.stdout.splitlines() == ["Four.", "Five. Six.", "Seven. One two three."]
    assert (result.returncode, result.stderr) == (0, "")


CLOSED_IN_A_CHILD = """
import os, sys, threading
from everthread.llms.openai_compatible import OpenAICompatible

url, readers = sys.argv[1], int(sys.argv[2])
stream = OpenAICompatible(url, "m", timeout=120).stream([])
read = [next(stream)]
reader = threading.Thread(target=lambda: read.extend(stream))
if readers:
    reader.start()
    while not stream._reading.locked():
        pass
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    if not readers:
        reader.start()
    reader.join()
    print("".join(read))
else:
    stream.close()
    print(list(stream), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("readers", [0, 1])
def test_closing_a_reply_in_a_forked_process_does_not_affect_the_parent(readers: int) -> None:
    """With one reader, the parent waits for a piece during the fork."""
    with llm_server(Reply("One two three.", delay=0.3)) as server:
        command = [sys.executable, "-Wignore::DeprecationWarning", "-c", CLOSED_IN_A_CHILD, server.url, str(readers)]
        result = run_command(command)
    assert result == (0, "[]\nOne two three.\n", "")


CLOSED_LAST = """
import sys
from everthread.llms.openai_compatible import OpenAICompatible

class Owner:
    def __init__(self, stream):
        self.stream = stream
    def __del__(self):
        self.stream.close()
        print("closed", sys.is_finalizing(), flush=True)

owner = Owner(OpenAICompatible(sys.argv[1], "m").stream([]))
print(next(owner.stream), flush=True)
"""


def test_closing_a_reply_at_exit_does_not_block_the_interpreter() -> None:
    with llm_server(Stall("One two")) as server:
        result = run_command([sys.executable, "-Wdefault", "-c", CLOSED_LAST, server.url])
    assert result == (0, "One\nclosed True\n", "")


def run_command(command: list[str]) -> tuple[int, str, str]:
    """Return the result of a command; on a timeout it is killed with all of its child processes."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as process:
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, stdout, stderr


def test_a_chat_closed_at_exit_saves_the_received_part_of_a_reply(tmp_path: Path) -> None:
    with llm_server(Stall("One two three")) as server:
        command = [sys.executable, "-c", TALK, str(tmp_path), server.url]
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "One\n", "")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        last = list(memory.lines())[-1]
    assert (last.text, last.metadata["partial"]) == ("One", True)


def test_closing_a_reply_ends_all_its_readers() -> None:
    with llm_server(Stall("One two")) as server:
        stream = OpenAICompatible(server.url, "m", timeout=120).stream([])
        assert next(stream) == "One"
        readers = [threading.Thread(target=list, args=(stream,), daemon=True) for _ in range(3)]
        for reader in readers:
            reader.start()
        time.sleep(0.3)  # until the readers wait
        stream.close()
        for reader in readers:
            reader.join(PATIENCE / 2)  # shorter than the timeout of a silent server
        assert not any(reader.is_alive() for reader in readers)
