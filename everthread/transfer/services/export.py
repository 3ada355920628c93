"""Opens what a service exported: a file, a zip archive, a folder, or several of them, as one set of files.

Archives are not unpacked, and the names in them are never used as paths. An archive in an archive is read, too, but not
one in that. Files that a computer adds to archives and folders (`__MACOSX`, `._…`) are ignored.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from stat import S_ISDIR
from tempfile import SpooledTemporaryFile
from typing import IO

from everthread.errors import BadFile
from everthread.transfer.encodings import SAMPLE_BYTES, build_error
from everthread.transfer.files import as_utf8, file_error, parse_json, raise_unreadable
from everthread.transfer.services.json_stream import read_elements, read_head, read_members, read_nested

MAX_UNPACKED_BYTES = 20 * 10**9  # of the files of an archive, and of those in it
MAX_RATIO = 200  # of the unpacked size to the archive's; text rarely exceeds 20
MIN_SUSPECT_BYTES = 10**7  # unpacked; a smaller archive may have any ratio
MAX_FILES = 200_000  # of an export: more are not an export, but a disk
MAX_INNER_ARCHIVES = 200  # in an archive
MAX_INNER_BYTES = 2**20  # of an archive in an archive in memory; a larger one is copied to the disk
MAX_FIRST_ROW_BYTES = 2**24  # of the first line of a file, to see whether it is JSON by itself
MAX_VALUE_BYTES = 2**27  # of a row, or of a file that is read at once, in memory
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt", ".af")

Opener = Callable[[], IO[bytes]]


class ExportFile:
    """A file of an export.

    Attributes:
        name: its path in the export, with "/" between folders; the file's name if it was given by itself.
        path: the file on the disk, which may be the archive that has it.
    """

    def __init__(self, name: str, path: Path, opener: Opener) -> None:
        """Describe a file that `opener` opens."""
        self.name, self.path, self._opener = name, path, opener

    @property
    def folder(self) -> str:
        """The name of its folder; of a file that was given by itself, that of its folder on the disk."""
        return self.folder_path.rpartition("/")[2] or self.path.resolve().parent.name

    @property
    def folder_path(self) -> str:
        """The path of its folder in the export; empty for a file in none."""
        return self.name.rpartition("/")[0]

    @property
    def is_archived(self) -> bool:
        """True if the file is in an archive, which is `path`."""
        return self.path.name != self.name.rpartition("/")[2]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file, in UTF-8 and after its byte-order mark.

        Raises:
            BadFile: it can't be read, also while it is read.
        """
        with self._describing_errors(), self._opener() as file, as_utf8(file) as content:
            yield content

    @contextmanager
    def _describing_errors(self) -> Iterator[None]:
        """Raise BadFile for what goes wrong while the file is read."""
        try:
            yield
        except RecursionError:
            raise self._error("unusable JSON (nested too deeply)", "export it again") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise self._error(f"this part of the archive can't be read ({error})", "download it again") from None
        except BadFile:
            raise
        except ValueError as error:
            raise self._error(f"not JSON ({error})", "export it again") from None
        except OSError as error:
            raise_unreadable(self.path, error, self._place)

    @cached_property
    def head(self) -> object:
        """The beginning of JSON.

        Of a list, its first elements; of an object, its members, in which each list is cut after its first element; of
        JSON Lines, the first row. None for a file that is not JSON.
        """
        if not self.name.lower().endswith(_JSON_SUFFIXES) and "." in self.name:
            return None
        try:
            if self.has_rows:
                return next(self.rows())[1]
            with self.open() as file:
                return read_head(file)
        except BadFile:
            return None

    @property
    def first_values(self) -> Sequence[object]:
        """The first elements of a JSON list, as in `head`; of another value, that one alone."""
        return self.head if isinstance(self.head, list) else [self.head]

    @cached_property
    def has_rows(self) -> bool:
        """True for JSON Lines: the first line is an object, and others follow it."""
        with self.open() as file:
            first = file.readline(MAX_FIRST_ROW_BYTES)
            if not first.startswith(b"{") or not (first.endswith(b"\n") or self.name.lower().endswith(".jsonl")):
                return False
            following = file.read(1)
        try:
            return isinstance(json.loads(first), dict) and bool(following or self.name.lower().endswith(".jsonl"))
        except (ValueError, RecursionError):
            return False

    def read_beginning(self, size: int) -> bytes:
        """Return the first bytes; none of a file that can't be read."""
        try:
            with self.open() as file:
                return file.read(size)
        except BadFile:
            return b""

    def items(self, path: str = "") -> Iterator[object]:
        """Yield the elements of a JSON list, each read when it is asked for.

        Args:
            path: the names of the members in which the list is, with dots between them; "" for the file itself.

        Raises:
            BadFile: the file is not JSON, or has no such list.
        """
        with self.open() as file:
            yield from read_elements(file, path)

    def list_values(self, noun: str) -> Iterator[tuple[str, object]]:
        """Yield the place and the value of each element of a JSON list, or of the value that is in place of a list.

        Args:
            noun: what an element is, for the place.

        Raises:
            BadFile: the file is not JSON.
        """
        if isinstance(self.head, list):
            for number, value in enumerate(self.items(), 1):
                yield f"{noun} {number} of {self.name}", value
        else:
            yield self.name, self.load()

    def members(self, *lists: str) -> Iterator[tuple[str, object]]:
        """Yield the name and the value of each member of a JSON object, the elements of some lists one after the other.

        Args:
            lists: the names of the lists; for one in another object, the names of both with a dot between them.

        Raises:
            BadFile: the file is not JSON, or not an object.
        """
        with self.open() as file:
            yield from read_members(file, lists)

    def nested(self, lists: Collection[str], inner: str) -> Iterator[tuple[dict[str, object], Iterator[object]]]:
        """Yield each object of some lists, as its members before a list in it, and the elements of that list.

        Args:
            lists: the paths of lists of objects, names with dots between them.
            inner: the name of the list in each object, whose elements are read before the next object.

        Raises:
            BadFile: the file is not JSON, or not an object.
        """
        with self.open() as file:
            for members, elements in read_nested(file, lists, inner):
                yield members, self._describe_errors_of(elements)

    def _describe_errors_of(self, elements: Iterator[object]) -> Iterator[object]:
        """Yield elements that the caller reads; their errors don't pass through the generator that yields the list."""
        with self._describing_errors():
            yield from elements

    def rows(self) -> Iterator[tuple[str, object]]:
        """Yield the place and the value of each row of JSON Lines; the value of a row that is not JSON is a BadFile.

        Raises:
            BadFile: the file can't be read, or a row is too large.
        """
        with self.open() as file:
            for number in count(1):
                if not (raw := self._read_value(file.readline, f"line {number}")):
                    return
                if raw.strip():
                    yield f"line {number}", self._parse_row(raw, number)

    def load(self) -> object:
        """Return the whole file as one JSON value.

        Raises:
            BadFile: it is not JSON.
        """
        return parse_json(self.read_text(), Path(self.name))

    def read_text(self) -> str:
        """Return the text of the file.

        Raises:
            BadFile: it is not UTF-8, or too large.
        """
        with self.open() as file:
            return self._read_value(file.read).decode()

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of text with their numbers from 1, without line endings. Only \\n and \\r\\n end a line.

        Raises:
            BadFile: the file can't be read, or is not UTF-8.
        """
        offset = 0
        with self.open() as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode()
                except UnicodeDecodeError as error:
                    error.object += file.read(SAMPLE_BYTES)
                    raise build_error(self.path, f"{self.locate(number)}, byte {offset + error.start}", error) from None
                offset += len(raw)
                yield number, line.rstrip("\r\n")

    def locate(self, number: int) -> str:
        """Return the place of a line for a message; of a file in an archive or a folder with its name."""
        return ", ".join(filter(None, (self._place, f"line {number}")))

    def _read_value(self, read: Callable[[int], bytes], row: str = "") -> bytes:
        """Return what is read of a file, a row or all of it. Raises BadFile if it is too large for the memory."""
        raw = read(MAX_VALUE_BYTES + 1)
        if len(raw) > MAX_VALUE_BYTES:
            where = ", ".join(filter(None, (self._place, row)))
            what = f"more than {MAX_VALUE_BYTES:,} bytes in one value"
            raise file_error(self.path, where, what, "divide or remove it")
        return raw

    def _parse_row(self, raw: bytes, number: int) -> object:
        try:
            return parse_json(raw.decode(), Path(self.name), number)
        except UnicodeDecodeError:
            return file_error(Path(self.name), f"line {number}", "not UTF-8", "correct or remove that line")
        except BadFile as error:
            return error

    @property
    def _place(self) -> str:
        """The file in its archive or folder, for messages; "" if it was given by itself."""
        return "" if self.name == self.path.name else self.name

    def _error(self, what: str, remedy: str) -> BadFile:
        return file_error(self.path, self._place, what, remedy)


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an export, in the order of their names.

    Attributes:
        files: the files, also those in archives.
    """

    files: Sequence[ExportFile]

    def named(self, *names: str) -> Iterator[ExportFile]:
        """Yield the files whose last name matches a pattern, such as "conversations*.json"."""
        for file in self.files:
            if any(fnmatchcase(file.name.rpartition("/")[2], name) for name in names):
                yield file


@contextmanager
def open_export(paths: Sequence[Path], left_out: Collection[Path] = ()) -> Iterator[Export]:
    """Open files, archives and folders as one export.

    Args:
        paths: the files, archives and folders.
        left_out: files and archives among them that are not opened.

    Raises:
        BadFile: one can't be read, or an archive is damaged, encrypted or suspiciously large.
    """
    with ExitStack() as stack:
        files = [file for path in paths for file in _list_path(path, left_out, stack)]
        if len(files) > MAX_FILES:
            what = f"it contains {len(files):,} files, and an export at most {MAX_FILES:,}"
            raise file_error(paths[0], "", what, "choose the folder of the export alone")
        yield Export(files)


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip archive, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _list_path(path: Path, left_out: Collection[Path], stack: ExitStack) -> Iterator[ExportFile]:
    """Yield the files of a path, whose archives stay open as long as the stack."""
    if path in left_out:
        return
    try:
        if is_folder := S_ISDIR(path.stat().st_mode):
            os.scandir(path).close()  # `os.walk` takes a folder that can't be read for an empty one
    except OSError as error:
        raise_unreadable(path, error)
    if not is_folder:
        is_zip = is_archive(path) or path.suffix.lower() == ".zip"  # a damaged one
        yield from _list_archive(path, path, stack) if is_zip else [plain_file(path.name, path)]
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            inner = file.relative_to(path).as_posix()
            if file in left_out or _is_noise(inner) or not file.is_file():
                continue
            yield from _list_archive(file, file, stack, f"{inner}/") if is_archive(file) else [plain_file(inner, file)]


def plain_file(name: str, path: Path) -> ExportFile:
    """Describe a file on the disk, outside of archives."""
    return ExportFile(name, path, lambda: path.open("rb"))


def _list_archive(
    source: Path | IO[bytes], path: Path, stack: ExitStack, prefix: str = "", outer_sizes: list[int] | None = None
) -> Iterator[ExportFile]:
    """Yield the files of an archive, and of the archives in it.

    Args:
        source: the archive.
        path: the file on the disk, for messages.
        stack: closes the archives.
        prefix: begins the names of its files.
        outer_sizes: if it is in another archive, the unpacked sizes of that one and of the archives in it so far.
            Archives in it are not opened then.
    """
    try:
        archive = stack.enter_context(zipfile.ZipFile(source))
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError) as error:
        place = "" if source is path else prefix.rstrip("/")
        what, remedy = f"not a readable zip archive ({error})", "download it again, or give the files that were in it"
        raise file_error(path, place, what, remedy, reason="damaged-file") from None
    entries = sorted((entry for entry in archive.infolist() if not entry.is_dir()), key=lambda entry: entry.filename)
    sizes = [] if outer_sizes is None else outer_sizes
    sizes.append(sum(entry.file_size for entry in entries))
    _check_sizes(path, prefix, sizes)
    for entry in entries:
        name = f"{prefix}{entry.filename}"
        if _is_noise(entry.filename):
            continue
        if entry.flag_bits & 1:
            remedy = "unpack it with its password, and import that"
            raise file_error(path, entry.filename, "this is encrypted", remedy, reason="encrypted-file")
        if entry.filename.lower().endswith(".zip") and outer_sizes is None:
            yield from _list_archive(_copy_inner(archive, entry, path, stack), path, stack, f"{name}/", sizes)
        else:
            yield ExportFile(name, path, partial(archive.open, entry))


def _copy_inner(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, stack: ExitStack) -> IO[bytes]:
    """Return a copy of an archive in an archive, in which one can seek."""
    copy = stack.enter_context(SpooledTemporaryFile(MAX_INNER_BYTES))  # noqa: SIM115 (the stack closes it)
    with ExportFile(entry.filename, path, partial(archive.open, entry)).open() as file:
        shutil.copyfileobj(file, copy)
    return copy


def _check_sizes(path: Path, prefix: str, sizes: Sequence[int]) -> None:
    """Check that an archive, with those in it, does not unpack to far more than its own size.

    Args:
        path: the archive.
        prefix: begins the names of the files in the archive that was opened last.
        sizes: the unpacked sizes of the archive and of those in it so far.

    Raises:
        BadFile: it does.
    """
    packed, unpacked, where = path.stat().st_size, sum(sizes), prefix.rstrip("/")
    if unpacked > MAX_UNPACKED_BYTES or (unpacked > MIN_SUSPECT_BYTES and unpacked > MAX_RATIO * packed):
        what = f"the archive has {packed:,} bytes and unpacks to {unpacked:,}, which no export does"
        raise file_error(path, where, what, "import the files in it that you need")
    if len(sizes) > MAX_INNER_ARCHIVES + 1:
        what = f"the archive contains more than {MAX_INNER_ARCHIVES} archives"
        raise file_error(path, where, what, "unpack it, and import the folder")


def _is_noise(name: str) -> bool:
    """Return whether a computer added the file to the archive or the folder."""
    parts = name.split("/")
    return "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1] == ".DS_Store"
