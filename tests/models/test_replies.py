"""Replies that are still on their way when their process ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hardship.llm import Stall, llm_server

from everthread import Memory
from everthread.models.fakes import HashEmbedder

TALK = """
import atexit, sys
from everthread.chat import Chat
from everthread.models.fakes import HashEmbedder
from everthread.models.llm import OpenAICompatible

store, url = sys.argv[1:]
chat = Chat.open("alice", store=store, embedder=HashEmbedder(64), llm=OpenAICompatible(url, "m"))
atexit.register(chat.close)  # before the first reply, so that it is called after all that this registers
print(next(chat.reply("Count.")))
"""


def test_what_came_of_a_reply_is_kept_by_a_chat_that_is_closed_last_of_all(tmp_path: Path) -> None:
    with llm_server(Stall("One two three")) as server:
        command = [sys.executable, "-c", TALK, str(tmp_path), server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "One\n", "")
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        last = list(memory.lines())[-1]
    assert (last.text, last.metadata["partial"]) == ("One", True)
