"""What is sent as the bytes of a file: written, as it comes, to a file of its own that goes when it was answered.

The file is in a temporary folder that is locked meanwhile. A folder that is not locked was left by a process that was
killed; the next server removes it when it starts.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from everthread.errors import EverthreadError

try:
    import fcntl
except ImportError:  # Windows, which removes no files that are open
    fcntl = None  # type: ignore[assignment]

PREFIX = "everthread-upload-"  # of the folders' names
LOCK = ".lock"
LONGEST = 60  # characters of a file's name that are kept: sessions are named after it
RAW = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent, where it is now, and the SHA-256 of what is in it."""

    path: Path
    digest: str


@asynccontextmanager
async def received(request: Request, name: str) -> AsyncIterator[Upload]:
    """The body of a request as a file called nearly so. How large it may be, `guard` knows."""
    with _locked() as folder:
        path, digest = folder / safe_filename(name), hashlib.sha256()
        with path.open("wb") as file:
            async for part in request.stream():
                digest.update(part)
                await run_in_threadpool(file.write, part)
        yield Upload(path, digest.hexdigest())


@contextmanager
def _locked() -> Iterator[Path]:
    """A folder that is locked while it is used, and removed afterwards."""
    while True:
        with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
            lock = os.open(Path(folder, LOCK), os.O_CREAT | os.O_RDWR, 0o600)
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                if Path(folder, LOCK).exists():  # `sweep` may have come between the two
                    yield Path(folder)
                    return
            finally:
                os.close(lock)


def sweep() -> None:
    """Removes the folders of uploads that killed processes of this user have left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is another user's, in use, or gone by now
            lock = os.open(folder / LOCK, os.O_RDWR)
            try:
                if fcntl is not None and folder.lstat().st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
            finally:
                os.close(lock)


def safe_filename(name: str) -> str:
    """A name from outside as that of a file in a folder of its own: letters, digits and a known ending, no path."""
    stem, dot, ending = name.rpartition(".")
    plain = re.sub(r"[^\w-]+", "_", (stem if dot else name).rpartition("/")[2])[:LONGEST].strip("_")
    known = ending.lower() if dot and re.fullmatch(r"[A-Za-z]{1,8}", ending) else "txt"
    return f"{plain.encode()[:200].decode(errors='ignore') or 'file'}.{known}"


@contextmanager
def naming(path: Path, name: str) -> Iterator[None]:
    """Name an uploaded file in errors as its sender knows it."""
    try:
        yield
    except EverthreadError as error:
        if error.path == path:
            error.path = name
        raise
