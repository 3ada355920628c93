"""The server as people start it, `everthread serve`: started, stopped, killed, and measured from outside (Linux)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from everthread.bench.loopback import HOST, wait_for_server

STOP_TIMEOUT_S = 120.0  # running replies are finished first
LLM_TIMEOUT_S = 4  # seconds that the model may be silent
EXIT_STATUSES = (0, -signal.SIGTERM)  # of a graceful stop


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of the processes of the server at one moment: resident memory in bytes, and open descriptors."""

    memory: int
    descriptors: int


@dataclass
class ServerProcess:
    """One server at one port, as a sequence of processes.

    Attributes:
        store: a folder or the URL of a database.
        model_url: the server of the language model.
        folder: for its log and its temporary files.
        embedder: name of the embedder; None: the configured one.
        workers: number of processes.
        started_at: when it last started, by `time.monotonic`.
    """

    store: str
    model_url: str
    folder: Path
    embedder: str | None = None
    workers: int = 1
    started_at: float = 0.0
    port: int = field(default_factory=lambda: _find_port())
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def log_path(self) -> Path:
        """The file with its log."""
        return self.folder / "server.log"

    @property
    def temporary_folder(self) -> Path:
        """The folder of its temporary files."""
        return self.folder / "temporary"

    def start(self) -> None:
        """Start it, and wait until it answers. Raises ModelError if it doesn't."""
        self.temporary_folder.mkdir(exist_ok=True)
        embedder = [] if self.embedder is None else ["--embedder", self.embedder]
        command = [sys.executable, "-m", "everthread", "--store", self.store, *embedder, "serve"]
        command += ["--port", str(self.port), "--model", f"{self.model_url}#m", "--workers", str(self.workers)]
        environ = {"TMPDIR": str(self.temporary_folder), "EVERTHREAD_LLM_TIMEOUT": str(LLM_TIMEOUT_S)}
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--log-level", "warning"],
                env={**os.environ, **environ},
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # a group of its own, to be killed with its workers
            )
        wait_for_server(self.port)
        self.started_at = time.monotonic()

    def stop(self) -> int:
        """Stop it gracefully; return its exit status. Raises TimeoutExpired if it doesn't stop."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(STOP_TIMEOUT_S)

    def kill(self) -> None:
        """Kill all its processes at once, if it runs."""
        assert self._process is not None
        with suppress(ProcessLookupError):  # it has ended, and its workers with it
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_worker(self, rng: Random) -> None:
        """Kill one worker, which the server replaces; the server itself if it has none."""
        workers = [pid for pid in self._processes()[1:] if b"spawn_main" in _read_command(pid)]
        if not workers:
            self.kill()
            self.start()
            return
        with suppress(ProcessLookupError):
            os.kill(rng.choice(workers), signal.SIGKILL)

    def usage(self) -> Usage:
        """Return what its processes hold."""
        pids = self._processes()
        return Usage(sum(map(_read_memory, pids)), sum(map(_count_descriptors, pids)))

    def _processes(self) -> list[int]:
        """Return the server's process and those that it started."""
        pids = [] if self._process is None or self._process.poll() is not None else [self._process.pid]
        for pid in pids:  # grows meanwhile
            with suppress(OSError):
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return pids


def _find_port() -> int:
    """Return a port that is free now."""
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def _read_command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _read_memory(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _count_descriptors(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0
