"""Opens SQLite databases of an export for reading. Neither a database nor its folder is changed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from everthread.common.staging import scratch_folder
from everthread.errors import BadFile
from everthread.transfer.files import file_error
from everthread.transfer.services.export import Export, ExportFile, plain_file

MAGIC = b"SQLite format 3\0"
PAGE_SIZE_BYTES = 2  # after it, the number of bytes in a page
MAX_PAGE_BYTES = 2**16  # the size for which the number is 1
CHANGE_SUFFIXES = ("-wal", "-journal")  # of files beside a database with changes that it does not have yet
DAMAGES = (sqlite3.Error, UnicodeDecodeError)  # the second for a message of SQLite that quotes damaged text
MAX_COPIES = 3  # of a database that another program changes while it is copied


def is_database(file: ExportFile) -> bool:
    """Return whether a file begins like a database."""
    try:
        with file.open() as opened:
            return opened.read(len(MAGIC)) == MAGIC
    except BadFile:
        return False


@contextmanager
def open_database(file: ExportFile, export: Export) -> Iterator[sqlite3.Connection]:
    """Open a database for reading. One in an archive, or with changes beside it, is copied to a temporary folder.

    Args:
        file: the database.
        export: the export that has it.

    Raises:
        BadFile: it is damaged, or can't be read; also while it is used.
    """
    changes = list(_find_changes(file, export))
    with ExitStack() as stack:
        if changes or file.is_archived:
            path = _copy([file, *changes], stack.enter_context(scratch_folder()))
            address = path.as_uri()
        else:
            path = file.path.resolve()
            address = f"{path.as_uri()}?mode=ro&immutable=1"  # creates no files beside it
        try:
            _check_size(path)
            # A generator that reads it may be closed in another thread.
            db = stack.enter_context(closing(sqlite3.connect(address, uri=True, check_same_thread=False)))
            db.text_factory = partial(str, encoding="utf-8", errors="replace")
            db.execute("PRAGMA trusted_schema = OFF")  # the file may be from anywhere
            yield db
        except DAMAGES as error:
            what = f"the database is damaged or not complete ({error})"
            remedy = "copy it again, together with the file of its name that ends with -wal"
            raise file_error(file.path, file.name if file.is_archived else "", what, remedy) from None


def _check_size(path: Path) -> None:
    """Check that a database ends with a whole page; SQLite takes the rest of the last one for zeros.

    Raises:
        sqlite3.DatabaseError: it does not.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(len(MAGIC) + PAGE_SIZE_BYTES)[len(MAGIC) :], "big")
    if path.stat().st_size % (MAX_PAGE_BYTES if size <= 1 else size):
        raise sqlite3.DatabaseError("it is cut off in a page")


def _find_changes(file: ExportFile, export: Export) -> Iterator[ExportFile]:
    """Yield the files beside a database with changes that it does not have yet."""
    for suffix in CHANGE_SUFFIXES:
        if file.is_archived:
            names = file.path, f"{file.name}{suffix}"
            yield from (each for each in export.files if (each.path, each.name) == names)
        elif (path := file.path.with_name(f"{file.path.name}{suffix}")).is_file() and path.stat().st_size:
            yield plain_file(path.name, path)


def _copy(files: Sequence[ExportFile], folder: Path) -> Path:
    """Copy a database and its changes into a folder, and return the path of the copy.

    Raises:
        BadFile: a file can't be read, or another program changes it all the time.
    """
    names = [file.name.rpartition("/")[2] for file in files]
    for _ in range(MAX_COPIES):
        before = _list_states(files)
        for file, name in zip(files, names, strict=True):
            with file.open() as source, (folder / name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
        if _list_states(files) == before:
            return folder / names[0]
    what, remedy = "another program is writing to this database", "quit that program, and import it again"
    raise file_error(files[0].path, "", what, remedy)


def _list_states(files: Sequence[ExportFile]) -> list[tuple[int, int]]:
    """Return the time of the last change and the size of each file."""
    return [((state := file.path.stat()).st_mtime_ns, state.st_size) for file in files]
