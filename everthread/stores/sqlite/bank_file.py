"""The file of one bank: its name, its connections and its erasure; not its tables.

A bank id is any text; it is escaped into a file name and never becomes a path. Upper-case letters are escaped too, so
that `Alice` and `alice` are two banks on file systems that ignore case.
"""

from __future__ import annotations

import errno
import math
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from everthread.common.file_owner import give_to_owner
from everthread.common.undo import undo_on_error
from everthread.errors import BadBankId, BankDamaged, BankMoved, BankTooNew, EverthreadError, NotFound, StoreUnavailable
from everthread.stores.errors import ForgettingUnfinished, forgotten_bank_error
from everthread.stores.limits import check_bank_id
from everthread.stores.sqlite import moved_file, read_only_file
from everthread.stores.sqlite.file_errors import LOCK_TIMEOUT_S, error_text, lacks_room_for_index, map_errors
from everthread.stores.sqlite.fork_guard import FORK_GUARD
from everthread.stores.sqlite.write_ahead_log import use_write_ahead_log

try:
    import fcntl
except ImportError:  # Windows, which has no such locks
    fcntl = None  # type: ignore[assignment]

BANK_SUFFIX = ".bank"
_DEVICE_NAMES = re.compile(r"con|prn|aux|nul|(com|lpt)\d")  # also before a suffix; other cases are escaped
MAX_FILE_NAME_BYTES = 240  # bytes of a file name; the usual limit is 255, and SQLite adds "-wal"
SYNCHRONOUS = "FULL"  # of SQLite: a line is on disk when observe returns
OPEN_TIMEOUT_S = 5.0  # opening a bank waits this long for other processes, to finish an interrupted erasure
MAX_IDLE_READERS = 4  # open connections per bank
ERASE_RETRY_S = 60.0  # delay before an unfinished erasure is tried again
ERASE_PENDING = 1  # the file's user_version while it may contain bytes of forgotten lines


def file_name(bank: str) -> str:
    """Return the name of a bank's file.

    Raises:
        BadBankId: the id is invalid, too long for a file name, or on Windows the name of a device.
    """
    check_bank_id(bank)
    if sys.platform == "win32" and _DEVICE_NAMES.fullmatch(bank):
        raise BadBankId(f"Windows takes a file of the name {bank!r} for a device; choose another bank id")
    name = (
        "".join(c if re.match(r"[a-z0-9_-]", c) else "".join(f"%{b:02X}" for b in c.encode()) for c in bank)
        + BANK_SUFFIX
    )
    if len(name) > MAX_FILE_NAME_BYTES:
        raise BadBankId(
            f"bank id {bank[:40]!r}… is {len(name)} bytes once escaped; at most {MAX_FILE_NAME_BYTES} are allowed"
        )
    return name


def bank_id(name: str) -> str | None:
    """Return the bank id of a file name; None for a name that `file_name` does not produce."""
    bank = unquote(name.removesuffix(BANK_SUFFIX))
    try:
        return bank if file_name(bank) == name else None
    except BadBankId:
        return None


Result = TypeVar("Result")
Recorded = TypeVar("Recorded")
Inode = tuple[int, int]  # device and inode number: identifies a file independently of its name
NO_INODE = (-1, -1)  # of a bank in memory


def create_private(file: Path) -> None:
    """Create a file that only its owner can read, unless it exists. SQLite creates its other files with the same mode.

    An existing file is never opened: closing it would release all locks of this process on it (POSIX, fcntl).
    """
    with suppress(OSError):  # SQLite reports the error if it can't create the file either
        created = os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        give_to_owner(created, file.parent)
        os.close(created)


@contextmanager
def folder_lock(folder: Path, exclusive: bool = False) -> Iterator[None]:
    """Lock the folder, shared to open or close a bank, exclusive to unlink one.

    SQLite finds the log of a file by its name, and would take the log of a deleted bank for that of a new one.
    """
    if not hasattr(fcntl, "flock") or not folder.exists():
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(opened)


def sync_folder(folder: Path) -> None:
    """Flush the folder's entries to disk; otherwise a power failure could restore unlinked files."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows, where a folder can't be opened
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(opened)


_NO_SYNC = {errno.EINVAL, errno.ENOTSUP}  # file systems without fsync of folders

LOG_SUFFIXES = (read_only_file.LOG_SUFFIX, read_only_file.LOG_INDEX_SUFFIX)


def find_orphan_logs(folder: Path) -> list[Path]:
    """Find logs without a bank. A process killed while it forgot or moved the bank may leave one, with text."""
    names = set(os.listdir(folder))
    banks = {name: name.removesuffix(end) for name in names for end in LOG_SUFFIXES if name.endswith(end)}
    return sorted(
        folder / name
        for name, bank in banks.items()
        if bank_id(bank) is not None and (bank not in names or moved_file.is_note(folder / bank))
    )


def remove_orphan_logs(folder: Path) -> None:
    """Remove the logs of missing banks; errors are ignored."""
    with suppress(OSError):
        if find_orphan_logs(folder):
            with folder_lock(folder, exclusive=True):  # a new bank has its file before its log
                for path in find_orphan_logs(folder):
                    path.unlink(missing_ok=True)
                sync_folder(folder)


class _Connection(NamedTuple):
    """A connection, and the inode of its file."""

    inode: Inode
    db: sqlite3.Connection


class BankFile:
    """The connections to one bank's file: one writer and a few readers, each used by one thread at a time.

    Another process may unlink the file at any time, because a bank is forgotten that way. Each connection is therefore
    stored with the inode of its file, and closed when the file on disk has another inode. `prepare` is called in the
    first transaction on a file, to create or migrate the tables. A file that can't be written is only read; `check` is
    called for each connection to it, and raises if its tables can't be read as they are. Only writers create a file:
    where it is missing, readers find a bank in memory, without lines, whose tables `create_tables` creates.
    """

    def __init__(
        self,
        bank: str,
        path: Path,
        prepare: Callable[[sqlite3.Connection], None],
        check: Callable[[sqlite3.Connection], None],
        create_tables: Callable[[sqlite3.Connection], None],
    ) -> None:
        self.bank, self.path = bank, path
        self._prepare, self._check, self._create_tables = prepare, check, create_tables
        self._writing = threading.Lock()
        self._writer: _Connection | None = None
        self._idle: list[_Connection] = []
        self._ready: Inode | None = None  # the file whose tables are known to be current
        self._next_erasure_at = math.inf  # monotonic time of the next attempt of an unfinished erasure
        self._closed = False
        FORK_GUARD.register(self)

    def _connect(self, create: bool = True) -> _Connection:
        """Open a connection, including every file that SQLite opens by name. Takes the same as `write_transaction`."""
        with folder_lock(self.path.parent):
            moved_file.check_here(self.bank, self.path)
            self._check_not_truncated()
            if create:
                create_private(self.path)
            elif not self.path.exists():
                raise forgotten_bank_error(self.bank)
            db = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            with undo_on_error(db.close):
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA secure_delete = ON")  # deleted bytes are overwritten, in the file and in its log
                use_write_ahead_log(db, LOCK_TIMEOUT_S)
                db.execute("PRAGMA cache_size = -16000")  # KB; a batch of lines touches a page per word
                db.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
                status = self.path.stat()
        return _Connection((status.st_dev, status.st_ino), db)

    def _connect_read_only(self, connect: Callable[[], sqlite3.Connection]) -> _Connection:
        """Open a connection to a file that can't be written. It is used once, because the file may be replaced."""
        with folder_lock(self.path.parent):
            moved_file.check_here(self.bank, self.path)
            self._check_not_truncated()
            status = self.path.stat()
            db = connect()
        with undo_on_error(db.close):
            self._check(db)
        return _Connection((status.st_dev, status.st_ino), db)

    def _connect_on_full_disk(self, reason: sqlite3.Error) -> _Connection:
        """Open a connection for reading where there is no room to open one as usual, which is the reason of the error.

        The reason is raised if the tables have to be created or migrated.
        """
        with self._writing:
            self._drop_writer()  # its shared lock would keep others out
        self._drop_readers()
        try:
            return self._connect_read_only(lambda: read_only_file.connect_on_full_disk(self.path))
        except StoreUnavailable:
            raise reason from None

    def _check_not_truncated(self) -> None:
        """Check that the file was not truncated: SQLite would take an empty file for a new one, and delete its log."""
        if self.is_empty and (log := _get_size(self._sibling("-wal"))):
            raise BankDamaged(
                f"bank {self.bank!r} ({self.path}) is damaged: it has 0 bytes, and its log has {log:,}. Restore a copy"
            )

    @property
    def is_empty(self) -> bool:
        """True if the file exists and has 0 bytes, as a new file has for a moment."""
        return self.path.exists() and not _get_size(self.path)

    def _disconnect(self, connection: _Connection) -> None:
        """Close a connection. SQLite deletes the log, by its name, with the last connection."""
        with folder_lock(self.path.parent):
            connection.db.close()

    def _current_inode(self) -> Inode | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def create(self) -> None:
        """Create the file and its tables, unless it exists."""
        with FORK_GUARD, map_errors(self.bank, self.path):
            if not self.path.exists():
                with self._transaction():
                    pass

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that sees one snapshot of the bank until the block ends."""
        with self.read_with_inode() as (_, db):
            yield db

    @contextmanager
    def read_once(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for a single statement whose rows are all fetched: it sees one snapshot by itself."""
        with FORK_GUARD, map_errors(self.bank, self.path):
            reader = self._reader()
            try:
                yield reader.db
            finally:
                self._release(reader)

    @contextmanager
    def read_with_inode(self) -> Iterator[_Connection]:
        """Yield the connection of `read_transaction` with the inode of its file."""
        with FORK_GUARD, map_errors(self.bank, self.path):
            reader = self._reader()
            try:
                reader.db.execute("BEGIN")
                yield reader
            finally:
                self._release(reader)

    def _reader(self) -> _Connection:
        """Return a reader's connection to the current file, whose tables are current."""
        while True:
            ready, reader = self._ready, None
            inode = self._current_inode()
            if inode is None and self.path.parent.is_dir():
                return self._connect_empty()
            if not self._is_current(inode):
                if read_only_file.is_write_protected(self.path):
                    return self._connect_read_only(lambda: read_only_file.connect(self.bank, self.path))
                try:
                    # Creates or migrates the tables; its end closes all connections of a closed bank.
                    with self._transaction(create=inode is None):
                        ready, reader = self._ready, self._connect()
                except NotFound:  # the bank was forgotten
                    continue
                except sqlite3.Error as error:
                    if not lacks_room_for_index(error):
                        raise
                    return self._connect_on_full_disk(error)
            reader = reader or self._acquire() or self._connect_existing()
            if reader is None:
                continue
            if reader.inode == ready:
                return reader
            self._disconnect(reader)

    def _connect_existing(self) -> _Connection | None:
        try:
            return self._connect(create=False)
        except NotFound:  # another process has forgotten the bank
            return None

    def _connect_empty(self) -> _Connection:
        """Open a bank without lines in memory, for reading where there is no file: reading creates none."""
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with undo_on_error(db.close):
            self._create_tables(db)
        return _Connection(NO_INODE, db)

    def _is_current(self, inode: Inode | None) -> bool:
        """Return whether the file's tables are known to be current, and no unfinished erasure is due."""
        return inode is not None and inode == self._ready and time.monotonic() < self._next_erasure_at

    def _acquire(self) -> _Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _release(self, reader: _Connection) -> None:
        if reader.db.in_transaction:
            reader.db.execute("ROLLBACK")
        if reader.inode != self._ready or len(self._idle) >= MAX_IDLE_READERS:
            self._disconnect(reader)
        else:
            self._idle.append(reader)
        if self._closed:  # checked last: another thread may close the bank now
            self._drop_readers()

    @contextmanager
    def write_transaction(self, create: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction: committed when the block ends, rolled back when it raises.

        Args:
            create: whether to create a file that is missing. Checked while nothing deletes the file.

        Raises:
            NotFound: the file is missing, and is not to be created.
        """
        with FORK_GUARD, map_errors(self.bank, self.path, "Nothing was stored. "), self._transaction(create) as db:
            yield db

    @contextmanager
    def _transaction(self, create: bool = True) -> Iterator[sqlite3.Connection]:
        with self._writing:
            try:
                db = self._begin(create)
                yield db
                if db.in_transaction:
                    db.execute("COMMIT")
            finally:
                self._roll_back()  # the caller's block has failed, the commit, or an interrupt came
                if self._closed:
                    self._drop_writer()

    def _roll_back(self) -> None:
        if self._writer is not None and self._writer.db.in_transaction:
            self._writer.db.execute("ROLLBACK")

    def _begin(self, create: bool = True) -> sqlite3.Connection:
        """Begin a transaction on the current file, and return the writer's connection."""
        self._roll_back()  # an interrupt may come just before the rollback of the transaction before
        while True:
            writer = self._writer = self._writer or self._connect(create)
            writer.db.execute("BEGIN IMMEDIATE")
            if writer.inode != self._current_inode():  # another process unlinked the file while we waited for its lock
                self._drop_writer()
                self._drop_readers()
            elif self._is_current(writer.inode):
                return writer.db
            else:
                self._make_ready(writer)

    def _make_ready(self, writer: _Connection) -> None:
        """Create or migrate the tables in the open transaction, and finish an interrupted erasure."""
        with undo_on_error(self._drop_writer):  # the next use checks tables and erasure again
            self._prepare(writer.db)
            writer.db.execute("COMMIT")
            self._next_erasure_at = math.inf
            if writer.db.execute("PRAGMA user_version").fetchone()[0] == ERASE_PENDING:
                self._finish_erasing(writer.db)
        self._ready = writer.inode  # only now: a reader must find the tables

    def _finish_erasing(self, db: sqlite3.Connection) -> None:
        """Erase the remaining bytes of forgotten lines; retry later if the disk is full or a reader blocks it.

        The bank is usable in the meantime.
        """
        try:
            with _short_busy_timeout(db):
                _erase(db, OPEN_TIMEOUT_S)
        except sqlite3.OperationalError:
            self._next_erasure_at = time.monotonic() + ERASE_RETRY_S

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._disconnect(self._writer)
        self._writer, self._ready = None, None

    def _drop_readers(self) -> None:
        while (reader := self._acquire()) is not None:
            self._disconnect(reader)

    def erase(self, finish: Callable[[sqlite3.Connection], None] = lambda db: None) -> None:
        """Erase the bytes of deleted rows.

        The deleting transaction has set user_version to `ERASE_PENDING`. If this fails, or the process ends before it,
        the next process that opens the bank tries again.

        Args:
            finish: changes the bank in a transaction before that.

        Raises:
            ForgettingUnfinished: bytes may remain in the file.
        """
        with FORK_GUARD, self._writing:
            try:
                with undo_on_error(self._drop_writer):
                    db = self._begin(create=False)
                    finish(db)
                    db.execute("COMMIT")
                    _erase(db, LOCK_TIMEOUT_S)
            except (BankMoved, NotFound):
                pass  # the file that had these bytes is deleted
            except (EverthreadError, sqlite3.Error, OSError) as error:
                raise ForgettingUnfinished(
                    f"the lines are deleted from bank {self.bank!r}, but bytes of them may remain in {self.path}: "
                    f"{error_text(error)}. Free disk space and end other processes that use the bank; the next use "
                    "of the bank, or everthread doctor, then erases them",
                    self.bank,
                ) from error
            finally:
                if self._closed:
                    self._drop_writer()

    def size(self) -> int:
        """Return the size on disk in bytes, including SQLite's other files."""
        return sum(map(_get_size, self._list_files()))

    def _list_files(self) -> list[Path]:
        return [self.path, *(self._sibling(end) for end in LOG_SUFFIXES)]

    def _sibling(self, end: str) -> Path:
        return self.path.with_name(self.path.name + end)

    def close(self) -> None:
        """Close all idle connections; connections in use are closed when they are released.

        A later use opens new ones.
        """
        self._closed = True
        with FORK_GUARD:
            with self._writing:
                self._drop_writer()
            self._drop_readers()

    def close_idle(self) -> None:
        """Close idle connections before a fork."""
        if self._writing.acquire(blocking=False):  # otherwise this thread is in the middle of a write
            try:
                self._drop_writer()
            finally:
                self._writing.release()
        self._drop_readers()

    def unlink(
        self, read_last: Callable[[sqlite3.Connection], Result], record: Callable[[Result | None], Recorded]
    ) -> Recorded:
        """Delete the file and SQLite's other files, while no other process can write to them.

        When this returns, a power failure can't restore anything. A process killed in the middle leaves the whole bank
        or no byte of it: the log is emptied before, and the file, whose existence other processes check, is deleted
        first.

        Args:
            read_last: reads from the bank before it is deleted.
            record: called with the result before the bank is deleted; None if it is too damaged to be read.

        Returns:
            The result of `record`.
        """
        with FORK_GUARD, map_errors(self.bank, self.path):
            with self._writing:
                try:
                    recorded = record(self._read_last(read_last))
                    self._unlink_files()
                finally:
                    self._drop_writer()
            self._drop_readers()
        return recorded

    def put(self, path: Path, replace: bool) -> bool:
        """Move a file that is not in use into the place of this one; see `SQLiteStore.put_file`.

        The log is emptied before, because SQLite would apply it to the new file.
        """
        with FORK_GUARD, map_errors(self.bank, self.path, "Nothing was restored. "), self._writing:
            try:
                if replace and self.path.exists():
                    self._read_last(lambda db: None)
                return self._replace_files(path, replace)
            finally:
                self._drop_writer()
                self._drop_readers()

    def _replace_files(self, path: Path, replace: bool = True) -> bool:
        with folder_lock(self.path.parent, exclusive=True):
            if self.path.exists() and not replace:
                return False
            self._change_entry(lambda: path.replace(self.path))
            for log in LOG_SUFFIXES:
                self._sibling(log).unlink(missing_ok=True)
            sync_folder(self.path.parent)
        return True

    @contextmanager
    def hold(self) -> Iterator[tuple[sqlite3.Connection, Callable[[Path], bool]]]:
        """Keep others from writing while the block runs, and empty the log.

        Yields:
            A connection, and a function that moves a file into the place of this one.
        """
        with FORK_GUARD:
            with self._writing:
                try:
                    with map_errors(self.bank, self.path):
                        db = self._begin_without_log()
                    yield db, self._replace_files
                finally:
                    self._drop_writer()
            self._drop_readers()

    def _unlink_files(self) -> None:
        with folder_lock(self.path.parent, exclusive=True):
            self._change_entry(lambda: self.path.unlink(missing_ok=True))
            for end in LOG_SUFFIXES:
                self._sibling(end).unlink(missing_ok=True)
            for path in find_orphan_logs(self.path.parent):
                with suppress(OSError):  # a log of another bank; the doctor reports it
                    path.unlink()
            sync_folder(self.path.parent)

    def _change_entry(self, change: Callable[[], object]) -> None:
        """Delete or replace the file.

        Windows refuses this while the file is open. There it is closed before, and other threads and processes get
        time to close it. It has then no lock, so that nothing is changed if it is written meanwhile.
        """
        if hasattr(fcntl, "flock"):
            change()
            return
        written = self._describe_content()
        deadline = time.monotonic() + OPEN_TIMEOUT_S
        self._drop_writer()
        self._drop_readers()
        while True:
            try:
                change()
                return
            except PermissionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
                if self._describe_content() != written:
                    raise

    def _describe_content(self) -> tuple[int, int, int]:
        """Return what differs once the file is written: its size, its time and the size of its log."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return status.st_size, status.st_mtime_ns, _get_size(self._sibling("-wal"))

    def _read_last(self, read_last: Callable[[sqlite3.Connection], Result]) -> Result | None:
        try:
            with map_errors(self.bank, self.path):
                return read_last(self._begin_without_log())
        except (BankDamaged, BankTooNew):
            return None

    def _begin_without_log(self) -> sqlite3.Connection:
        """Begin a transaction with an empty log.

        If readers or writers block the checkpoint too long, a part of the log may remain. `remove_orphan_logs` deletes
        it if this process does not.
        """
        deadline = time.monotonic() + OPEN_TIMEOUT_S
        while True:
            db = self._begin()
            if not _get_size(self._sibling("-wal")) or time.monotonic() > deadline:
                return db
            db.execute("COMMIT")
            with _short_busy_timeout(db):
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _get_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it is missing, as another process may forget the bank."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _short_busy_timeout(db: sqlite3.Connection) -> Iterator[None]:
    """Wait for locks of other processes for `OPEN_TIMEOUT_S` at most."""
    db.execute(f"PRAGMA busy_timeout = {OPEN_TIMEOUT_S * 1000:.0f}")
    try:
        yield
    finally:
        db.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_S * 1000:.0f}")


def _erase(db: sqlite3.Connection, timeout_s: float) -> None:
    """Rewrite the file from its live rows, and empty the write-ahead log.

    `secure_delete` overwrites a deleted row, but not the copies that SQLite leaves in gaps of a page when it moves rows
    between pages: without this, one bank in three still contained a forgotten word or key.
    """
    db.execute("VACUUM")
    deadline = time.monotonic() + timeout_s
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError("a reader still uses the old pages")
        time.sleep(0.01)
    db.execute("PRAGMA user_version = 0")
