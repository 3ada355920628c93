"""A bank's file: its name, its connections, and what SQLite's errors mean. It knows no table.

A bank id is any text; it becomes a file name by escaping, never a path. Upper-case letters are escaped too, so that
`Alice` and `alice` stay two banks where file names ignore case.
"""

from __future__ import annotations

import errno
import math
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from everthread.errors import BadBankId, BadInput, BankDamaged, BankTooNew, EverthreadError, StoreUnavailable
from everthread.stores.limits import checked
from everthread.stores.sqlite.fork_guard import GUARD

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can't be unlinked at all
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".bank"
LONGEST_NAME = 240  # bytes of a file name; the usual limit is 255, and SQLite adds "-wal"
PATIENCE = 60.0  # seconds a writer waits for others; a write takes milliseconds, so only a stuck process takes so long
OPEN_TIMEOUT_S = 5.0  # seconds that whoever opens a bank waits for others, to finish an erasing that was cut short
MAX_IDLE_READERS = 4  # connections kept open a bank for readers
ERASE_RETRY_S = 60.0  # seconds until an erasing that could not be finished is tried again
ERASE_PENDING = 1  # the file's user_version while it may hold remains of what was forgotten


def file_name(bank: str) -> str:
    """The name of a bank's file. BadBankId for an impossible id, or one too long for a file."""
    checked(bank)
    name = "".join(c if re.match(r"[a-z0-9_-]", c) else "".join(f"%{b:02X}" for b in c.encode()) for c in bank) + SUFFIX
    if len(name) > LONGEST_NAME:
        raise BadBankId(f"bank id {bank[:40]!r}… is {len(name)} bytes once escaped; at most {LONGEST_NAME} are allowed")
    return name


def bank_id(name: str) -> str | None:
    """The id from which `file_name` made this name; None for a name that it would not make."""
    bank = unquote(name.removesuffix(SUFFIX))
    try:
        return bank if file_name(bank) == name else None
    except BadBankId:
        return None


# What SQLite's primary result codes, and the system's error numbers, mean to the user.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_MISMATCH}
_NO_ROOM = {sqlite3.SQLITE_FULL}, {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_FORBIDDEN = (
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH},
    {errno.EACCES, errno.EPERM, errno.EROFS},
)
_HELD = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, {errno.EAGAIN}
_NO_FOLDER: tuple[set[int], set[int]] = set(), {errno.EEXIST, errno.ENOTDIR}


@contextmanager
def map_errors(bank: str, path: Path, kept: str = "") -> Iterator[None]:
    """Turn SQLite's and the system's errors into ours, with the bank, the file, the remedy, and for a call that writes
    what was kept."""
    try:
        yield
    except EverthreadError:
        raise
    except (sqlite3.Error, OSError, OverflowError, ValueError) as error:
        raise _explain(bank, path, error, kept) from error


def _explain(bank: str, path: Path, error: Exception, kept: str) -> EverthreadError:
    why = _said(error)
    place = f"bank {bank!r} ({path})" if bank else str(path)
    if _unfit(error):
        return BadInput(f"no bank can hold this value: {why}; use whole characters, and numbers of 64 bits")
    if _damaged(error):
        return BankDamaged(
            f"{place} is damaged: {why}. Put back a copy, or rescue the lines with: sqlite3 {path} .recover"
        )
    if _is(error, _NO_ROOM) or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreUnavailable(f"no room to write {place}: {why}. {kept}Make room and call again")
    if _is(error, _FORBIDDEN):
        return StoreUnavailable(f"{place} can't be written: {why}. Check the folder's permissions, or name another one")
    if _is(error, _HELD):
        return StoreUnavailable(
            f"{place} was held by another process for over {PATIENCE:.0f} s; try again, or end that process"
        )
    if _is(error, _NO_FOLDER):
        return StoreUnavailable(f"{place} is no folder, but a file ({why}); name a folder for the banks")
    return StoreUnavailable(f"{place} can't be used: {why}. {kept}See that its disk is sound and has room")


def _said(error: Exception) -> str:
    """What went wrong, without the path that the system adds."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _code(error: Exception) -> int | None:
    """SQLite's primary result code; None for what Python's module found wrong by itself."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def _is(error: Exception, kind: tuple[set[int], set[int]]) -> bool:
    return error.errno in kind[1] if isinstance(error, OSError) else _code(error) in kind[0]


def _unfit(error: Exception) -> bool:
    """Whether the value itself was at fault: half a surrogate pair, a number or a text that is too large."""
    number = isinstance(error, OverflowError) and not _no_date(error)  # Python gives it no code
    return isinstance(error, UnicodeEncodeError) or number or _code(error) == sqlite3.SQLITE_TOOBIG


def _damaged(error: Exception) -> bool:
    """Whether the file is not as we wrote it. A text that can't be decoded, or a table that is missing, has no code of
    its own."""
    code = _code(error)
    missing = code == sqlite3.SQLITE_ERROR and re.match(
        "no such (table|column|index)|malformed|unsupported", str(error)
    )
    garbled = code is None and isinstance(error, ValueError | sqlite3.OperationalError)
    return bool(code in _DAMAGED or missing or garbled or _no_date(error))


def _no_date(error: Exception) -> bool:
    """Whether a moment was read that no calendar has; those that are written are looked at before."""
    return isinstance(error, OverflowError) and "date" in str(error)


Result = TypeVar("Result")
Inode = tuple[int, int]  # device and number: which file it is, whatever its name


def create_private(file: Path) -> None:
    """Make a file that only its owner reads, if there is none; SQLite gives its further files the same mode. One that
    is there is never opened: to close it again would undo all locks that this process has on it (POSIX, fcntl)."""
    with suppress(OSError):  # SQLite says what is wrong, if it can't make one, either
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextmanager
def door(folder: Path, alone: bool = False) -> Iterator[None]:
    """Keep banks of the folder from being opened or closed while another process unlinks one: SQLite finds the log of a
    file by its name, and would take the log of the bank that is going for that of a new one."""
    if not hasattr(fcntl, "flock") or not folder.exists():
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(opened)


def sync(folder: Path) -> None:
    """Have the disk know which files the folder holds: else a power cut brings back what was unlinked."""
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


_NO_SYNC = {errno.EINVAL, errno.ENOTSUP}  # of file systems that know no fsync of folders

LOGS = ("-wal", "-shm")  # what SQLite keeps beside a file in use


def orphans(folder: Path) -> list[Path]:
    """Logs whose bank is not there. A process that was killed while it forgot the bank may leave one, with text."""
    names = set(os.listdir(folder))
    banks = {name: name.removesuffix(end) for name in names for end in LOGS if name.endswith(end)}
    return sorted(folder / name for name, bank in banks.items() if bank not in names and bank_id(bank) is not None)


def sweep(folder: Path) -> None:
    """Remove the logs of banks that are not there, as far as that can be done."""
    with suppress(OSError):
        if orphans(folder):
            with door(folder, alone=True):  # a bank that is being made has its file before its log
                for path in orphans(folder):
                    path.unlink(missing_ok=True)
                sync(folder)


class _Connection(NamedTuple):
    """A connection, and the file that it has open."""

    inode: Inode
    db: sqlite3.Connection


class BankFile:
    """The connections to one bank's file: one for writing, a few for reading, each used by one thread at a time.

    The file may be unlinked by another process at any moment (that is how a bank is forgotten). So each connection is
    kept with the file that it has open, and is let go when that is no longer the file on the disk. `prepare` is called
    inside the first transaction on a file, to make or mend the tables.
    """

    def __init__(self, bank: str, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self.bank, self.path = bank, path
        self._prepare = prepare
        self._writing = threading.Lock()
        self._writer: _Connection | None = None
        self._idle: list[_Connection] = []
        self._ready: Inode | None = None  # the file whose tables are known to be there
        self._again = math.inf  # when to try again to finish an erasing
        self._closed = False
        GUARD.closes(self)

    def _connect(self) -> _Connection:
        """A new connection, with everything open that it will ever open by name."""
        with door(self.path.parent):
            self._see()
            create_private(self.path)
            db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten, in this file and in its log
                _retry_busy(db, "PRAGMA journal_mode = WAL")
                db.execute("PRAGMA cache_size = -16000")  # KB; a batch of lines touches a page for each of its words
                db.execute("PRAGMA synchronous = FULL")  # a line is on the disk when observe returns
                found = self.path.stat()
            except BaseException:
                db.close()
                raise
        return _Connection((found.st_dev, found.st_ino), db)

    def _see(self) -> None:
        """See that the file was not cut off: SQLite would take an empty one for new, and remove its log."""
        if self.empty and (log := _size(self._beside("-wal"))):
            raise BankDamaged(
                f"bank {self.bank!r} ({self.path}) is damaged: it has 0 bytes, and its log has {log:,}. Put back a copy"
            )

    @property
    def empty(self) -> bool:
        """Whether there is a file without a byte. One that is being made is so for a moment."""
        return self.path.exists() and not _size(self.path)

    def _disconnect(self, connection: _Connection) -> None:
        """Close it. The last to close a bank takes the log away, by its name."""
        with door(self.path.parent):
            connection.db.close()

    def _on_disk(self) -> Inode | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for reading, to which the bank stands still until the block ends."""
        with self.read_with_inode() as (_, db):
            yield db

    @contextmanager
    def read_once(self) -> Iterator[sqlite3.Connection]:
        """A connection for a single statement, whose rows are all fetched: alone it sees the bank standing still, and
        is spared a transaction."""
        with GUARD, map_errors(self.bank, self.path):
            reader = self._reader()
            try:
                yield reader.db
            finally:
                self._release(reader)

    @contextmanager
    def read_with_inode(self) -> Iterator[_Connection]:
        """The same as `reading`, and which file it is that is read."""
        with GUARD, map_errors(self.bank, self.path):
            reader = self._reader()
            try:
                reader.db.execute("BEGIN")
                yield reader
            finally:
                self._release(reader)

    def _reader(self) -> _Connection:
        """A reader's connection to the file that is on the disk now, its tables made."""
        while True:
            ready, reader = self._ready, None
            if not self._is_current(self._on_disk()):
                with self._transaction():  # makes the tables
                    ready, reader = self._ready, self._connect()  # here, as a closed file lets go of all behind it
            reader = reader or self._acquire() or self._connect()
            if reader.inode == ready:
                return reader
            self._disconnect(reader)

    def _is_current(self, inode: Inode | None) -> bool:
        """Whether this file's tables are known to be there, and no erasing waits to be finished now."""
        return inode is not None and inode == self._ready and time.monotonic() < self._again

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
        if self._closed:  # asked last: another thread may be closing it now
            self._drop_readers()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction: committed when the block ends, undone when it raises."""
        with GUARD, map_errors(self.bank, self.path, "Nothing of this call was kept. "), self._transaction() as db:
            yield db

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            db = self._begin()
            try:
                yield db
                if db.in_transaction:
                    db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            finally:
                if self._closed:
                    self._drop_writer()

    def _begin(self) -> sqlite3.Connection:
        """The writer's connection, in a transaction, on the file that is on the disk now."""
        while True:
            writer = self._writer = self._writer or self._connect()
            writer.db.execute("BEGIN IMMEDIATE")
            if writer.inode != self._on_disk():  # another process unlinked the file while we waited for its lock
                self._drop_writer()
                self._drop_readers()
            elif self._is_current(writer.inode):
                return writer.db
            else:
                self._make_ready(writer)

    def _make_ready(self, writer: _Connection) -> None:
        """Make the tables, in the transaction that was begun, and finish an erasing that was cut short."""
        try:
            self._prepare(writer.db)
            writer.db.execute("COMMIT")
            self._again = math.inf
            if writer.db.execute("PRAGMA user_version").fetchone()[0] == ERASE_PENDING:
                self._finish(writer.db)
        except BaseException:
            self._drop_writer()
            raise
        self._ready = writer.inode  # not before: a reader must find the tables

    def _finish(self, db: sqlite3.Connection) -> None:
        """Erase what is left of what was forgotten; without room, or with a reader in the way, a little later: the
        bank is sound meanwhile."""
        try:
            with _hurried(db):
                _erase(db, OPEN_TIMEOUT_S)
        except sqlite3.OperationalError:
            self._again = time.monotonic() + ERASE_RETRY_S

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._disconnect(self._writer)
        self._writer, self._ready = None, None

    def _drop_readers(self) -> None:
        while (reader := self._acquire()) is not None:
            self._disconnect(reader)

    def erase(self) -> None:
        """Leave no byte of what was removed. The removing transaction has marked the file as UNERASED: if this fails,
        or never happens, whoever opens the bank next tries again."""
        with GUARD, self._writing:
            try:
                db = self._begin()
                db.execute("COMMIT")
                _erase(db)
            except BaseException as error:
                self._drop_writer()
                if not isinstance(error, EverthreadError | sqlite3.Error | OSError):
                    raise
                raise StoreUnavailable(
                    f"what was to be forgotten is gone from bank {self.bank!r} and from recall, but bytes of it may be "
                    f"left in {self.path}: {_said(error)}. Make room on the disk and end whoever holds the bank; "
                    "using it again, or everthread doctor, then finishes the erasing"
                ) from error
            finally:
                if self._closed:
                    self._drop_writer()

    def size(self) -> int:
        """Bytes on the disk: the file, and what SQLite keeps beside it."""
        return sum(map(_size, self._files()))

    def _files(self) -> list[Path]:
        return [self.path, *(self._beside(end) for end in LOGS)]

    def _beside(self, end: str) -> Path:
        return self.path.with_name(self.path.name + end)

    def close(self) -> None:
        """Close every connection that is not in use; those in use close when they are given back. Who still has the
        file in hand may go on using it: it is opened for each use."""
        self._closed = True
        with GUARD:
            with self._writing:
                self._drop_writer()
            self._drop_readers()

    def let_go(self) -> None:
        """Close the connections that are not in use, as the process is to be forked."""
        if self._writing.acquire(blocking=False):  # else this very thread is in the middle of a write
            try:
                self._drop_writer()
            finally:
                self._writing.release()
        self._drop_readers()

    def unlink(self, last: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Remove the file and what SQLite keeps beside it, while no one else can write to it. Returns what `last` reads
        of it before, or None if it can't be read any more: a damaged bank must be removable.

        When this returns, no power cut can bring anything back. A process killed in the middle leaves the whole bank or
        no byte of it: the log is emptied before, and the file goes first, for others look whether it is there.
        """
        with GUARD, map_errors(self.bank, self.path):
            with self._writing:
                try:
                    result = self._read_last(last)
                    with door(self.path.parent, alone=True):
                        for path in self._files():
                            path.unlink(missing_ok=True)
                        for path in orphans(self.path.parent):
                            with suppress(OSError):  # of another bank, which the doctor names
                                path.unlink()
                        sync(self.path.parent)
                finally:
                    self._drop_writer()
            self._drop_readers()
        return result

    def _read_last(self, last: Callable[[sqlite3.Connection], Result]) -> Result | None:
        try:
            with map_errors(self.bank, self.path):
                return last(self._begin_without_log())
        except (BankDamaged, BankTooNew):
            return None

    def _begin_without_log(self) -> sqlite3.Connection:
        """The same as `_begin`, with all that was in the log in the file. Where a reader or other writers are in the
        way for long, some of it may be left; `sweep` then removes it, should this process not."""
        end = time.monotonic() + OPEN_TIMEOUT_S
        while True:
            db = self._begin()
            if not _size(self._beside("-wal")) or time.monotonic() > end:
                return db
            db.execute("COMMIT")
            with _hurried(db):
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _size(path: Path) -> int:
    """Bytes of a file; 0 if it is not there, as another process may be forgetting the bank."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _hurried(db: sqlite3.Connection) -> Iterator[None]:
    """Others are waited for only BRIEFLY."""
    db.execute(f"PRAGMA busy_timeout = {OPEN_TIMEOUT_S * 1000:.0f}")
    try:
        yield
    finally:
        db.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


def _erase(db: sqlite3.Connection, patience: float = PATIENCE) -> None:
    """Rewrite the file from what is left in it, and empty the write-ahead log.

    `secure_delete` overwrites a removed row, but not the copies that SQLite leaves in the gaps of a page when it moves
    rows from page to page: in one bank of three, some word or key was still there.
    """
    db.execute("VACUUM")
    end = time.monotonic() + patience
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > end:
            raise sqlite3.OperationalError("a reader keeps the old pages alive")
        time.sleep(0.01)
    db.execute("PRAGMA user_version = 0")


def _retry_busy(db: sqlite3.Connection, statement: str) -> None:
    """Run a statement that SQLite refuses at once, without its usual wait, while another process opens the file."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            db.execute(statement).fetchall()  # to its end, which may fail: it is then that it is written
            return
        except sqlite3.OperationalError as error:
            if not _is(error, _HELD) or time.monotonic() > end:
                raise
            time.sleep(0.005)
