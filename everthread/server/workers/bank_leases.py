"""Records which worker holds in-memory state for a bank (leases).

Each worker has a socket and a file in a folder that `runner` creates. A lease is a symbolic link there, named by a
digest of the bank, to the socket of the worker that holds it: creating the link either succeeds or fails with EEXIST if
another worker holds the bank (symlink(2)). A worker locks its file while it lives; a process that can lock the file
knows that the worker has ended, and is alone in removing its leases. Processes of other machines, which serve the same
database, are excluded by claims (`bank_claims`).
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

from everthread.errors import ConfigError, StoreUnavailable
from everthread.server.metrics import MULTIPROC_DIR_VARIABLE
from everthread.server.problems import Problem
from everthread.server.workers.bank_claims import BankClaims

try:
    import fcntl
except ImportError:  # Windows, which doesn't have such sockets either
    fcntl = None  # type: ignore[assignment]

SOCKET_DIR = "workers"  # the folder of the sockets, in that of the metrics
MAX_SOCKET_PATH_BYTES = 100  # macOS accepts 103, Linux 107
ACQUIRE_TIMEOUT_S = 1.0  # most leases are released within milliseconds
RETRY_DELAY_S = 0.05
LOCKS = 64  # so that one bank rarely waits for the database because of another


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

    A single process holds every bank without a lease. Beside leases there are claims if several machines may serve the
    same database; then a method raises StoreUnavailable if the database can't be used.
    """

    def __init__(self, own_socket: Path | None = None, claims: BankClaims | None = None) -> None:
        """Open the folder of the leases.

        Args:
            own_socket: the path of this process's socket; see `get_socket_path`.
            claims: those of this process; None if all banks are in files.
        """
        self.own_socket, self.claims = own_socket, claims
        self._held: dict[str, set[Hashable]] = {}  # the holders, by bank
        self._locks = tuple(threading.Lock() for _ in range(LOCKS))  # each for some of the banks
        if own_socket is not None:
            self._lock_fd = os.open(_lock_file(own_socket), os.O_CREAT | os.O_RDWR, 0o600)  # until the process ends
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX)

    @property
    def are_shared(self) -> bool:
        """True if another process may hold a bank."""
        return self.own_socket is not None or self.claims is not None

    def find_owner(self, bank: str) -> Path | None:
        """Return the socket of the other worker of this machine that holds a bank, or None."""
        name = self._owner_name(bank)
        return (
            None
            if self.own_socket is None or name is None or name == self.own_socket.name
            else self.own_socket.with_name(name)
        )

    def acquire(self, bank: str, holder: Hashable, timeout_s: float = ACQUIRE_TIMEOUT_S) -> bool:
        """Hold a bank in this process until each of its holders has released it.

        Args:
            bank: its id.
            holder: what needs the bank, such as the stream of a reply; any hashable object.
            timeout_s: how long to wait if another process holds the bank.

        Returns:
            True if this process holds the bank.
        """
        deadline = time.monotonic() + timeout_s
        while not self._try_acquire(bank, holder):
            owner = self.find_owner(bank)
            if (owner is None and self.claims is None) or (owner is not None and self.reclaim(bank, owner)):
                continue
            if time.monotonic() >= deadline:
                return False
            time.sleep(RETRY_DELAY_S)
        return True

    def release(self, bank: str, holder: Hashable) -> None:
        """Release a bank for one holder; after the last one, another process can hold it."""
        with self._lock_of(bank):
            held = self._held.get(bank, set())
            held.discard(holder)
            if self.are_shared and bank in self._held and not held:
                del self._held[bank]
                if self.claims is not None:
                    self.claims.release(bank)
                self._unlink(bank)

    def wait_until_free(self, bank: str, timeout_s: float = ACQUIRE_TIMEOUT_S) -> bool:
        """Wait until no process of another machine holds a bank. Return whether that is so within the time."""
        if self.claims is None:
            return True
        deadline = time.monotonic() + timeout_s
        while self.claims.is_held_elsewhere(bank):
            if time.monotonic() >= deadline:
                return False
            time.sleep(RETRY_DELAY_S)
        return True

    def close(self) -> None:
        """Give up all claims, at the end of the process."""
        if self.claims is not None:
            self.claims.close()

    @contextmanager
    def hold(self, bank: str, timeout_s: float = ACQUIRE_TIMEOUT_S) -> Iterator[None]:
        """Hold a bank in this process for the duration of the block.

        Args:
            bank: its id.
            timeout_s: how long to wait if another process holds the bank.

        Raises:
            Problem: 409 if another process holds the bank for longer.
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
        """Wait for a turn of background work, and hold the bank during it unless another process does."""
        holder = object()
        with turn:
            with suppress(StoreUnavailable):  # the work itself reports it
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
        if not self.are_shared:
            return True
        with self._lock_of(bank):
            if bank not in self._held and not self._link(bank):
                return False
            is_claimed = False
            try:
                # Also of a bank that is held: its claim may have lapsed.
                is_claimed = self.claims is None or self.claims.acquire(bank)
            finally:
                if not is_claimed and bank not in self._held:
                    self._unlink(bank)
            if is_claimed:
                self._held.setdefault(bank, set()).add(holder)
            return is_claimed

    def _link(self, bank: str) -> bool:
        """Exclude the other workers of this machine. Return whether that succeeds."""
        if self.own_socket is None:
            return True
        try:
            os.symlink(self.own_socket.name, self._link_path(self.own_socket, bank))
        except FileExistsError:
            # The link may be that of an earlier process with the same number as this one.
            return self._owner_name(bank) == self.own_socket.name
        return True

    def _unlink(self, bank: str) -> None:
        if self.own_socket is not None:
            with suppress(FileNotFoundError):  # the folder is removed when the server ends
                if self._owner_name(bank) == self.own_socket.name:
                    os.unlink(self._link_path(self.own_socket, bank))

    def _lock_of(self, bank: str) -> threading.Lock:
        return self._locks[hash(bank) % LOCKS]

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


def reply_elsewhere() -> Problem:
    """Return the problem that only another server can answer."""
    return Problem(
        409,
        "elsewhere",
        "another server replies in this bank, or has an incognito conversation of it; try again there, or in a moment",
        {"Retry-After": "1"},
    )


def _lock_file(socket: Path) -> Path:
    """Return the file that a worker locks."""
    return socket.with_suffix(".alive")
