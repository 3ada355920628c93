"""Writes the body of a request to a temporary file, which is removed when the request has been answered.

The file is in a temporary folder that is locked until then. A folder that is not locked was left by a process that was
killed; the next server removes it when it starts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from everthread.errors import EverthreadError, StoreUnavailable
from everthread.types import now

try:
    import fcntl
except ImportError:  # Windows, which removes no files that are open
    fcntl = None  # type: ignore[assignment]

FOLDER_PREFIX = "everthread-upload-"  # of the folders' names
LOCK_NAME = ".lock"
MAX_STEM_CHARS = 80  # characters of a file's name without its extension; its path has them twice
UNSAFE = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]+')  # characters that no name of a file has on Windows
DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)\d) *(\.|\Z)", re.IGNORECASE)  # names of devices on Windows
RAW_CONTENT = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: where it is stored, and the SHA-256 of its content."""

    path: Path
    digest: str
    began_at: datetime  # when its first byte was awaited


@asynccontextmanager
async def receive_upload(request: Request, name: str) -> AsyncIterator[Upload]:
    """Write the body of a request to a file of a similar name. `request_guard` limits its size.

    The file's folder has that name, too: some services name a chat after its folder.
    """
    with ExitStack() as stack:
        with map_temporary_errors():
            folder = stack.enter_context(_locked_folder())
            filename = safe_filename(name)
            began_at, digest = now(), hashlib.sha256()
            path = folder / Path(filename).stem / filename
            path.parent.mkdir()
            with path.open("wb") as file:
                async for part in request.stream():
                    digest.update(part)
                    await run_in_threadpool(file.write, part)
        yield Upload(path, digest.hexdigest(), began_at)


@contextmanager
def map_temporary_errors() -> Iterator[None]:
    """Translate errors of the temporary folder. The cause names the folder for the log. Raises StoreUnavailable."""
    try:
        yield
    except OSError as error:
        reason = f"{error.strerror} in the temporary folder {tempfile.gettempdir()}"
        remedy = "free space there, or name another folder in TMPDIR and restart the server"
        raise StoreUnavailable(reason, remedy=remedy) from OSError(error.errno, f"{reason}; {remedy}")


@contextmanager
def _locked_folder() -> Iterator[Path]:
    """Yield a new folder that is locked during the block, and removed afterwards."""
    while True:
        with TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True) as folder:
            lock = os.open(Path(folder, LOCK_NAME), os.O_CREAT | os.O_RDWR, 0o600)
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if Path(folder, LOCK_NAME).exists():  # otherwise `remove_stale_uploads` removed it before it was locked
                    yield Path(folder)
                    return
            finally:
                os.close(lock)


def remove_stale_uploads() -> None:
    """Remove the folders of uploads that killed processes of this user have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        with suppress(OSError):  # it belongs to another user, is in use, or was removed
            if not hasattr(fcntl, "flock"):
                remove_unopened(folder)
            elif folder.lstat().st_uid == os.getuid():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    lock = os.open(folder / LOCK_NAME, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)


def remove_unopened(folder: Path) -> None:
    """Remove a folder on Windows. Raises OSError if a process uses it, which keeps its lock file open."""
    (folder / LOCK_NAME).unlink()
    shutil.rmtree(folder)


def safe_filename(name: str) -> str:
    """Return a safe file name for a name that a client sent, without its path. Titles of chats are read from it."""
    stem, dot, extension = name.rpartition(".")
    if not dot or not re.fullmatch(r"[A-Za-z]{1,8}", extension):
        stem, extension = name, "txt"
    plain = UNSAFE.sub("_", stem.rpartition("/")[2]).strip(" .")[:MAX_STEM_CHARS]
    if DEVICE.match(plain):
        plain = f"_{plain}"
    return f"{plain.encode()[:200].decode(errors='ignore').rstrip(' .') or 'file'}.{extension.lower()}"


@contextmanager
def name_in_errors(path: Path, name: str) -> Iterator[None]:
    """Replace the path of an uploaded file in errors by the name that the client gave it."""
    try:
        yield
    except EverthreadError as error:
        if error.path == path:
            error.path = name
        raise
