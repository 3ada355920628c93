"""A command in a pseudo-terminal."""

from __future__ import annotations

import codecs
import os
import pty
import select
import signal
import time
from pathlib import Path

from hardship import PATIENCE
from hardship.python import start_python


class Terminal:
    """`everthread chat` in a pseudo-terminal."""

    def __init__(
        self, folder: Path, *options: str, speaker: str = "Alice", imports: bool = False, **settings: str
    ) -> None:
        self.master, slave = pty.openpty()
        command = ("-m", "everthread", "--store", folder, "--embedder", "hash", "chat", "-b", "alice")
        environment = {**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8", **settings}
        self.process = start_python(
            *command, *(("--speaker", speaker) if speaker else ()), *options,
            imports=imports, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""
        self.decoded = codecs.getincrementaldecoder("utf-8")("replace").decode  # a read may end inside a character

    def wait_for(self, text: str, interrupting: bool = False) -> str:
        """Wait for a text; return the output before it. The rest is left for the next call.

        `interrupting` sends SIGINT, as Ctrl-C does, and repeats it: a signal between readline's prompt and its waiting
        for a key is only handled with the next one.
        """
        end = time.monotonic() + PATIENCE
        quiet = True
        while text not in self.seen:
            if interrupting and quiet:
                self.process.send_signal(signal.SIGINT)
            wait = min(2.0, end - time.monotonic()) if interrupting else end - time.monotonic()
            ready, _, _ = select.select([self.master], [], [], max(0.0, wait))
            quiet = not ready
            if quiet and interrupting and time.monotonic() < end:
                continue
            assert ready, f"{text!r} did not come; seen was {self.seen!r}"
            try:
                self.seen += self.decoded(os.read(self.master, 4096)).replace("\r\n", "\n")
            except OSError:  # the other side is closed
                assert text in self.seen, f"{text!r} did not come; seen was {self.seen!r}"
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def close(self) -> int:
        """Wait for the command to end; return its exit status."""
        try:
            return self.process.wait(timeout=PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.master)
