"""Records which worker holds in-memory state for a bank (leases).

Each worker has a socket and a file in a folder that `runner` creates. A lease is a symbolic link there, named by a
digest of the bank, to the socket of the worker that holds it: creating the link either succeeds or fails with EEXIST if
another worker holds the bank (symlink(2)). A worker locks its file while it lives; a process that can lock the file
knows that the worker has ended, and is alone in removing its leases.
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
except ImportError:  # Windows, which doesn't have such sockets either
    fcntl = None  # type: ignore[assignment]

SOCKET_DIR = "workers"  # the folder of the sockets, in that of the metrics
MAX_SOCKET_PATH_BYTES = 100  # macOS accepts 103, Linux 107
ACQUIRE_TIMEOUT_S = 1.0  # most leases are released within milliseconds
RETRY_DELAY_S = 0.05


def create_socket_folder(folder: str) -> None:
    """Create the folder of the workers' sockets, if the system has such sockets.

    Raises:
        ConfigError: if the path of the folder is too long for sockets in it.
    """
    if fcntl is None or not hasattr(socket, "AF_UNIX"):
        return
    folder_path = Path(folder, SOCKET_DIR)
    if len(os.fsencode(folder_path / "1234567890")) > MAX_SOCKET_PATH_BYTES:
        raise ConfigError(
            f"the path {folder} is too long for a socket in it; set TMPDIR to a shorter one, such as /tmp"
        )
    folder_path.mkdir(mode=0o700)


def get_socket_path() -> Path | None:
    """Return the path of this process's socket, or None if it is the only process."""
    folder_path = Path(os.environ.get(MULTIPROC_DIR_VARIABLE, ""), SOCKET_DIR)
    return folder_path / str(os.getpid()) if MULTIPROC_DIR_VARIABLE in os.environ and folder_path.is_dir() else None


class BankLeases:
    """Acquires and releases the leases of one process. Thread-safe.

    A single process holds every bank without a lease.
    """

    def __init__(self, own_socket: Path | None = None) -> None:
        """Open the folder of the leases.

        Args:
            own_socket: the path of this process's socket; see `get_socket_path`.
        """
        self.own_socket = own_socket
        self._held: dict[str, set[Hashable]] = {}  # the holders, by bank
        self._lock = threading.Lock()
        if own_socket is not None:
            self._lock_fd = os.open(_lock_file(own_socket), os.O_CREAT | os.O_RDWR, 0o600)  # until the process ends
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX)

    def find_owner(self, bank: str) -> Path | None:
        """Return the socket of the other worker that holds a bank, or None."""
        name = self._owner_name(bank)
        return (
            None
            if self.own_socket is None or name is None or name == self.own_socket.name
            else self.own_socket.with_name(name)
        )

    def acquire(self, bank: str, holder: Hashable, timeout_s: float = ACQUIRE_TIMEOUT_S) -> bool:
        """Hold a bank in this worker until each of its holders has released it.

        Args:
            bank: its id.
            holder: what needs the bank, such as the stream of a reply; any hashable object.
            timeout_s: how long to wait if another worker holds the bank.

        Returns:
            True if this worker holds the bank.
        """
        deadline = time.monotonic() + timeout_s
        while not self._try_acquire(bank, holder):
            if (owner := self.find_owner(bank)) is None or self.reclaim(bank, owner):
                continue
            if time.monotonic() >= deadline:
                return False
            time.sleep(RETRY_DELAY_S)
        return True

    def release(self, bank: str, holder: Hashable) -> None:
        """Release a bank for one holder; after the last one, another worker can hold it."""
        with self._lock:
            held = self._held.get(bank, set())
            held.discard(holder)
            if self.own_socket is not None and bank in self._held and not held:
                del self._held[bank]
                with suppress(FileNotFoundError):  # the folder is removed when the server ends
                    if self._owner_name(bank) == self.own_socket.name:
                        os.unlink(self._link_path(self.own_socket, bank))

    @contextmanager
    def hold(self, bank: str, timeout_s: float = ACQUIRE_TIMEOUT_S) -> Iterator[None]:
        """Hold a bank in this worker for the duration of the block.

        Args:
            bank: its id.
            timeout_s: how long to wait if another worker holds the bank.

        Raises:
            Problem: 409 if another worker holds the bank for longer.
        """
        holder = object()
        if not self.acquire(bank, holder, timeout_s):
            raise reply_in_progress()
        try:
            yield
        finally:
            self.release(bank, holder)

    @contextmanager
    def hold_if_free(self, bank: str, turn: AbstractContextManager[object]) -> Iterator[None]:
        """Wait for a turn of background work, and hold the bank during it unless another worker does."""
        holder = object()
        with turn:
            self.acquire(bank, holder, 0)
            try:
                yield
            finally:
                self.release(bank, holder)

    def reclaim(self, bank: str, owner: Path) -> bool:
        """Remove a lease if its worker has ended. Return whether the worker has ended."""
        try:
            lock_fd = os.open(_lock_file(owner), os.O_RDWR)  # a missing file is no evidence
        except OSError:
            return False
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.find_owner(bank) == owner:
                os.unlink(self._link_path(owner, bank))
        except OSError:
            return False
        finally:
            os.close(lock_fd)
        return True

    def _try_acquire(self, bank: str, holder: Hashable) -> bool:
        if self.own_socket is None:
            return True
        with self._lock:
            if bank not in self._held:
                try:
                    os.symlink(self.own_socket.name, self._link_path(self.own_socket, bank))
                except FileExistsError:
                    # The link may be that of an earlier process with the same number as this one.
                    if self._owner_name(bank) != self.own_socket.name:
                        return False
                self._held[bank] = set()
            self._held[bank].add(holder)
        return True

    def _owner_name(self, bank: str) -> str | None:
        if self.own_socket is not None:
            with suppress(FileNotFoundError):
                return os.readlink(self._link_path(self.own_socket, bank))
        return None

    def _link_path(self, worker_socket: Path, bank: str) -> Path:
        return worker_socket.with_name(sha256(bank.encode("utf-8", "surrogatepass")).hexdigest())


def reply_in_progress() -> Problem:
    """Return the problem that a reply is in progress in this conversation."""
    return Problem(
        409, "replying", "a reply is in progress in this conversation; wait for it, or stop it", {"Retry-After": "1"}
    )


def _lock_file(socket: Path) -> Path:
    """Return the file that a worker locks."""
    return socket.with_suffix(".alive")
