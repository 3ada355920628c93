"""Claims: which of several workers a bank belongs to, while something of it is in the memory of one alone.

A worker has a socket and a file in the folder that `serving` makes for all of them. A claim is a symbolic link there,
named by a digest of the bank, to the socket of the worker that has claimed it: to make one either succeeds or tells
that another has it (symlink(2), EEXIST). The file is locked for as long as its worker lives, so whoever can lock it
knows that the worker is gone, and is alone in removing what it claimed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from everthread.errors import ConfigError
from everthread.server.metrics import FOLDER
from everthread.server.problems import Problem

try:
    import fcntl
except ImportError:  # Windows, which has no such sockets either
    fcntl = None  # type: ignore[assignment]

SOCKET_DIR = "workers"  # the folder of the sockets, in that of the numbers
LONGEST = 100  # bytes of a socket's path; macOS takes 103, Linux 107
PATIENCE = 1.0  # seconds to wait for a claim: most are given back within milliseconds
AGAIN = 0.05  # seconds between two tries


def create_socket_folder(folder: str) -> None:
    """Have the workers that are to come know of each other, where the system can. ConfigError for a folder whose name
    is too long for sockets in it."""
    if fcntl is None or not hasattr(socket, "AF_UNIX"):
        return
    within = Path(folder, SOCKET_DIR)
    if len(os.fsencode(within / "1234567890")) > LONGEST:
        raise ConfigError(f"the name of {folder} is too long for a socket in it; set TMPDIR to a shorter one, as /tmp")
    within.mkdir(mode=0o700)


def place() -> Path | None:
    """The socket of this process, at which its neighbours reach it; None of a process that has none."""
    within = Path(os.environ.get(FOLDER, ""), SOCKET_DIR)
    return within / str(os.getpid()) if FOLDER in os.environ and within.is_dir() else None


class BankLeases:
    """Those of one process. Safe from many threads. Where a process is alone, it may have everything, and nothing is
    written."""

    def __init__(self, own: Path | None = None) -> None:
        """own is the process's `place`."""
        self.own = own
        self._held: dict[str, set[Hashable]] = {}  # by bank, and by what it is held
        self._lock = threading.Lock()
        if own is not None:
            self._alive = os.open(_file(own), os.O_CREAT | os.O_RDWR, 0o600)  # until the process ends
            fcntl.flock(self._alive, fcntl.LOCK_EX)

    def owner(self, bank: str) -> Path | None:
        """The socket of the other worker that a bank belongs to."""
        name = self._whose(bank)
        return None if self.own is None or name is None or name == self.own.name else self.own.with_name(name)

    def acquire(self, bank: str, by: Hashable, patience: float = PATIENCE) -> bool:
        """Have a bank belong to this worker while `by` holds it, or longer where something else does, too. False where
        another worker has it for longer than so many seconds."""
        until = time.monotonic() + patience
        while not self._taken(bank, by):
            if (owner := self.owner(bank)) is None or self.reclaim(bank, owner):
                continue
            if time.monotonic() >= until:
                return False
            time.sleep(AGAIN)
        return True

    def release(self, bank: str, by: Hashable) -> None:
        """What held a bank holds it no more."""
        with self._lock:
            held = self._held.get(bank, set())
            held.discard(by)
            if self.own is not None and bank in self._held and not held:
                del self._held[bank]
                with suppress(FileNotFoundError):  # the folder goes when the server has ended
                    if self._whose(bank) == self.own.name:
                        os.unlink(self._link(self.own, bank))

    @contextmanager
    def holding(self, bank: str, patience: float = PATIENCE) -> Iterator[None]:
        """While a bank belongs to this worker. Problem where it is another's for longer than so many seconds."""
        by = object()
        if not self.acquire(bank, by, patience):
            raise reply_in_progress()
        try:
            yield
        finally:
            self.release(bank, by)

    @contextmanager
    def try_holding(self, bank: str, turn: AbstractContextManager[object]) -> Iterator[None]:
        """While what nobody waits for takes its turn: the bank belongs to this worker, if it is no other's."""
        by = object()
        with turn:
            self.acquire(bank, by, 0)
            try:
                yield
            finally:
                self.release(bank, by)

    def reclaim(self, bank: str, owner: Path) -> bool:
        """Take a bank from a worker that is gone. False where it isn't."""
        try:
            file = os.open(_file(owner), os.O_RDWR)  # one that isn't there tells nothing
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.owner(bank) == owner:
                os.unlink(self._link(owner, bank))
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def _taken(self, bank: str, by: Hashable) -> bool:
        if self.own is None:
            return True
        with self._lock:
            if bank not in self._held:
                try:
                    os.symlink(self.own.name, self._link(self.own, bank))
                except FileExistsError:
                    if self._whose(bank) != self.own.name:  # it may be of one that had our number
                        return False
                self._held[bank] = set()
            self._held[bank].add(by)
        return True

    def _whose(self, bank: str) -> str | None:
        if self.own is not None:
            with suppress(FileNotFoundError):
                return os.readlink(self._link(self.own, bank))
        return None

    def _link(self, own: Path, bank: str) -> Path:
        return own.with_name(sha256(bank.encode("utf-8", "surrogatepass")).hexdigest())


def reply_in_progress() -> Problem:
    """Of a conversation in which nothing else can be begun."""
    return Problem(
        409, "replying", "a reply is running in this conversation; wait for it, or stop it", {"Retry-After": "1"}
    )


def _file(socket: Path) -> Path:
    """The file that a worker locks."""
    return socket.with_suffix(".alive")
