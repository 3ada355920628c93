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
from everthread.server.metrics import MULTIPROC_DIR_VARIABLE
from everthread.server.problems import Problem

try:
    import fcntl
except ImportError:  # Windows, which has no such sockets either
    fcntl = None  # type: ignore[assignment]

SOCKET_DIR = "workers"  # the folder of the sockets, in that of the numbers
MAX_SOCKET_PATH_BYTES = 100  # bytes of a socket's path; macOS takes 103, Linux 107
ACQUIRE_TIMEOUT_S = 1.0  # seconds to wait for a claim: most are given back within milliseconds
RETRY_DELAY_S = 0.05  # seconds between two tries


def create_socket_folder(folder: str) -> None:
    """Have the workers that are to come know of each other, where the system can. ConfigError for a folder whose name
    is too long for sockets in it."""
    if fcntl is None or not hasattr(socket, "AF_UNIX"):
        return
    within = Path(folder, SOCKET_DIR)
    if len(os.fsencode(within / "1234567890")) > MAX_SOCKET_PATH_BYTES:
        raise ConfigError(f"the name of {folder} is too long for a socket in it; set TMPDIR to a shorter one, as /tmp")
    within.mkdir(mode=0o700)


def get_socket_path() -> Path | None:
    """The socket of this process, at which its neighbours reach it; None of a process that has none."""
    within = Path(os.environ.get(MULTIPROC_DIR_VARIABLE, ""), SOCKET_DIR)
    return within / str(os.getpid()) if MULTIPROC_DIR_VARIABLE in os.environ and within.is_dir() else None


class BankLeases:
    """Those of one process. Safe from many threads. Where a process is alone, it may have everything, and nothing is
    written."""

    def __init__(self, own_socket: Path | None = None) -> None:
        """own is the process's `place`."""
        self.own_socket = own_socket
        self._held: dict[str, set[Hashable]] = {}  # by bank, and by what it is held
        self._lock = threading.Lock()
        if own_socket is not None:
            self._alive = os.open(_file(own_socket), os.O_CREAT | os.O_RDWR, 0o600)  # until the process ends
            fcntl.flock(self._alive, fcntl.LOCK_EX)

    def find_owner(self, bank: str) -> Path | None:
        """The socket of the other worker that a bank belongs to."""
        name = self._owner_name(bank)
        return (
            None
            if self.own_socket is None or name is None or name == self.own_socket.name
            else self.own_socket.with_name(name)
        )

    def acquire(self, bank: str, by: Hashable, timeout_s: float = ACQUIRE_TIMEOUT_S) -> bool:
        """Have a bank belong to this worker while `by` holds it, or longer where something else does, too. False where
        another worker has it for longer than so many seconds."""
        until = time.monotonic() + timeout_s
        while not self._try_acquire(bank, by):
            if (owner := self.find_owner(bank)) is None or self.reclaim(bank, owner):
                continue
            if time.monotonic() >= until:
                return False
            time.sleep(RETRY_DELAY_S)
        return True

    def release(self, bank: str, by: Hashable) -> None:
        """What held a bank holds it no more."""
        with self._lock:
            held = self._held.get(bank, set())
            held.discard(by)
            if self.own_socket is not None and bank in self._held and not held:
                del self._held[bank]
                with suppress(FileNotFoundError):  # the folder goes when the server has ended
                    if self._owner_name(bank) == self.own_socket.name:
                        os.unlink(self._link_path(self.own_socket, bank))

    @contextmanager
    def hold(self, bank: str, timeout_s: float = ACQUIRE_TIMEOUT_S) -> Iterator[None]:
        """While a bank belongs to this worker. Problem where it is another's for longer than so many seconds."""
        by = object()
        if not self.acquire(bank, by, timeout_s):
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
            if self.find_owner(bank) == owner:
                os.unlink(self._link_path(owner, bank))
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def _try_acquire(self, bank: str, by: Hashable) -> bool:
        if self.own_socket is None:
            return True
        with self._lock:
            if bank not in self._held:
                try:
                    os.symlink(self.own_socket.name, self._link_path(self.own_socket, bank))
                except FileExistsError:
                    if self._owner_name(bank) != self.own_socket.name:  # it may be of one that had our number
                        return False
                self._held[bank] = set()
            self._held[bank].add(by)
        return True

    def _owner_name(self, bank: str) -> str | None:
        if self.own_socket is not None:
            with suppress(FileNotFoundError):
                return os.readlink(self._link_path(self.own_socket, bank))
        return None

    def _link_path(self, own: Path, bank: str) -> Path:
        return own.with_name(sha256(bank.encode("utf-8", "surrogatepass")).hexdigest())


def reply_in_progress() -> Problem:
    """Of a conversation in which nothing else can be begun."""
    return Problem(
        409, "replying", "a reply is running in this conversation; wait for it, or stop it", {"Retry-After": "1"}
    )


def _file(socket: Path) -> Path:
    """The file that a worker locks."""
    return socket.with_suffix(".alive")
