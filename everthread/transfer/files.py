"""Reads text and JSON files; every error names the place in the file (`BadFile`).

The module also generates keys for lines that have none, and checks that a bank can store a line.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, NoReturn, cast

from everthread.bank.line_validation import clean_line
from everthread.common.staging import scratch_folder
from everthread.errors import BadFile, BadLine, EverthreadError
from everthread.transfer.dates import parse_moment
from everthread.types import NewLine

JsonObject = Mapping[str, object]

PLACEHOLDER_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # used for "now" when a line is only checked
STANDARD_INPUT = "standard input"
MAX_NAMED_FIELDS = 5  # fields of a JSON object that a message names
_ARCHIVES = {  # by their first bytes; a zip archive without files begins with its end
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
}
TAR_MARK_AT = 257  # the place of the mark of a tar archive, as Skype exports one
COPIED_BYTES = 2**20  # of a file in UTF-16, at a time; a longer copy is on the disk
MAX_SHOWN_CHARS = 60  # characters of a wrong value that a message shows: enough to find it, too few to flood a terminal


def file_error(path: Path, where: str, what: str, remedy: str, reason: str = "") -> BadFile:
    """Build the error of a file from the place in it, the problem, the remedy and the key of the page's text."""
    return BadFile(what, path=path, where=where, remedy=remedy, reason=reason)


def shorten(value: object) -> str:
    """Return the repr of an invalid value, shortened for a message."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"


def describe_json(value: object) -> str:
    """Describe a JSON value for a message."""
    if isinstance(value, dict):
        names = ", ".join(shorten(name) for name in islice(value, MAX_NAMED_FIELDS))
        more = f" and {len(value) - MAX_NAMED_FIELDS:,} more" if len(value) > MAX_NAMED_FIELDS else ""
        return f"an object with {names}{more}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list that begins with {describe_json(value[0])}" if value else "an empty list"
    return shorten(value)


@contextmanager
def as_utf8(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield an open file without its byte-order mark, and one in UTF-16, which Windows writes, as a copy in UTF-8.

    Raises:
        UnicodeDecodeError: a file with the mark of UTF-16 is not UTF-16.
    """
    mark = file.read(len(codecs.BOM_UTF8))
    if mark != codecs.BOM_UTF8:
        file.seek(0)
    if not mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield file
        return
    with SpooledTemporaryFile(COPIED_BYTES) as copy:
        decoder = codecs.getincrementaldecoder("utf-16")()
        for part in iter(partial(file.read, COPIED_BYTES), b""):
            copy.write(decoder.decode(part).encode())
        copy.write(decoder.decode(b"", final=True).encode())
        copy.seek(0)
        yield copy


def read_numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers from 1, without line endings. Only \\n and \\r\\n end a line.

    Raises:
        BadFile: the file can't be read, or is not UTF-8.
    """
    try:
        with path.open("rb") as file, as_utf8(file) as content:
            yield from _number_lines(content, path)
    except OSError as error:
        raise_unreadable(path, error)
    except UnicodeDecodeError as error:
        raise _build_encoding_error(path, error) from None


def _number_lines(file: IO[bytes], path: Path) -> Iterator[tuple[int, str]]:
    offset = 0
    for number, raw in enumerate(file, 1):
        line = _decode(path, raw, number, offset)
        offset += len(raw)
        yield number, line.rstrip("\r\n")


def read_text(path: Path) -> str:
    """Return the text of a file without a byte-order mark.

    Raises:
        BadFile: the file can't be read, or is not UTF-8.
    """
    try:
        with path.open("rb") as file, as_utf8(file) as content:
            return _decode(path, content.read(), None, 0)
    except OSError as error:
        raise_unreadable(path, error)
    except UnicodeDecodeError as error:
        raise _build_encoding_error(path, error) from None


@contextmanager
def spool_input(path: Path, copies_files: bool = False) -> Iterator[Path]:
    """Yield a path that can be read repeatedly: a temporary copy if `path` is a pipe, a terminal or `-` (stdin).

    An error of the block that names the copy is changed to name the original.

    Args:
        path: the file.
        copies_files: whether other files are copied, too, so that they can be changed.
    """
    is_stdin = str(path) == "-"
    if not (is_stdin or path.is_fifo() or path.is_char_device() or (copies_files and path.is_file())):
        yield path
        return
    with scratch_folder() as folder:
        copy = folder / "stdin" / ("stdin" if is_stdin else path.name)  # some services name a chat after its folder
        copy.parent.mkdir()
        try:
            _copy_stream(path, copy)
            yield copy
        except EverthreadError as error:
            if error.path == copy:
                error.path = STANDARD_INPUT if is_stdin else path
            raise


def parse_json(text: str, path: Path, line: int | None = None) -> object:
    """Parse one JSON value.

    Args:
        text: the text.
        path: the file, for the message.
        line: the number of the line, if the text is only that line of the file.

    Raises:
        BadFile: the text is not JSON.
    """
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant)
        return value
    except json.JSONDecodeError as error:
        if not text.strip():
            raise file_error(path, "", "empty", "give a file with content", reason="empty-file") from None
        where = f"line {line or error.lineno}, column {error.colno}"
        is_cut = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        remedy = "correct or remove that line" if line else "correct it"
        remedy = "the file is cut off: download or export it again" if is_cut and not line else remedy
        raise file_error(path, where, f"not JSON ({error.msg})", remedy, "" if line else "damaged-file") from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits, NaN, or deep nesting
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise file_error(path, f"line {line}" if line else "", f"unusable JSON ({reason})", "simplify it") from None


def load_json(path: Path) -> object:
    """Parse a whole file as one JSON value.

    Raises:
        BadFile: the file can't be read, or is not JSON.
    """
    return parse_json(read_text(path), path)


def looks_like_json(path: Path) -> bool:
    """Return whether a file begins like JSON with objects."""
    first = next((line.strip() for _, line in read_numbered_lines(path) if line.strip()), "")
    return first == "[" or first.startswith(("{", "[{"))


def hash_parts(*parts: object) -> str:
    """Return the SHA-256 (hex) of several parts, which are separated unambiguously."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=str).encode()).hexdigest()


class KeyGenerator:
    """Generates keys for the messages of a file that has none, from their contents and never from the file's name.

    The key of a message with its own time depends on the time, the speaker and the text. The key of a message without
    a time also depends on all messages before it, back to the last one with a time. Importing a file again, or a copy
    with another name, therefore adds nothing, and importing a longer version adds the new messages. Two files without
    times share keys only for a common beginning. After an edited or inserted line, the following messages without a
    time are new.
    """

    def __init__(self) -> None:
        self._occurrences: Counter[str] = Counter()
        self._last = ""

    def start_session(self) -> None:
        """Make the following keys independent of the messages before, at the beginning of a dated session."""
        self._last = ""

    def next_key(self, *parts: object, timed: bool) -> str:
        """Return the key of the next message. A repeated message gets another key.

        Args:
            parts: the parts that identify the message.
            timed: whether it has its own time.
        """
        base = hash_parts("" if timed else self._last, *parts)
        self._occurrences[base] += 1
        self._last = hash_parts(base, self._occurrences[base])
        return self._last


def make_session_id(path: PurePath, key: str) -> str:
    """Build a session's id from the file's name, without its suffix, and the beginning of a message's key."""
    return f"{path.stem[:MAX_SHOWN_CHARS]}-{key[:8]}"


def check_line(line: NewLine, path: Path, where: str) -> NewLine:
    """Check that a bank can store a line, and return it.

    Raises:
        BadFile: it can't.
    """
    try:
        clean_line(line, PLACEHOLDER_TIME)
    except BadLine as error:
        raise BadFile(str(error), path=path, where=where) from None
    return line


def require_text(record: JsonObject, field: str, path: Path, where: str) -> str:
    """Return a field that must be text.

    Raises:
        BadFile: it is missing, or another value.
    """
    value = record.get(field)
    if not isinstance(value, str):
        raise file_error(path, where, f'"{field}" is {shorten(value)}', "it must be text")
    return value


def require_object(value: object, path: Path, where: str) -> JsonObject:
    """Return a value that must be a JSON object.

    Raises:
        BadFile: it is another value.
    """
    if not isinstance(value, dict):
        raise file_error(path, where, f"{shorten(value)} is not an object", "give the file as it was published")
    return cast("JsonObject", value)


def optional_text(record: JsonObject, field: str, path: Path, where: str) -> str | None:
    """Return a field that is text with a character that is not blank; None if it is missing.

    Raises:
        BadFile: it is another value.
    """
    if record.get(field) is None:
        return None
    text = require_text(record, field, path, where)
    if not text.strip():
        raise file_error(path, where, f'"{field}" is empty', "fill it in, or omit it")
    return text


def optional_seq(record: JsonObject, field: str, path: Path, where: str) -> int | None:
    """Return a field that is the number of a line or a unit; None if it is missing.

    Raises:
        BadFile: it is another value.
    """
    number = record.get(field)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise file_error(path, where, f'"{field}" is {shorten(number)}', "it must be a line number from 1")
    return number


def optional_time(record: JsonObject, field: str, path: Path, where: str, tz: tzinfo) -> datetime | None:
    """Return a field that is a time; None if it is missing. `tz` is the zone of a time without an offset.

    Raises:
        BadFile: it is another value.
    """
    text = optional_text(record, field, path, where)
    if text is None:
        return None
    try:
        return parse_moment(text, tz)
    except ValueError:
        remedy = "write it as 2024-05-01T10:22:00+02:00"
        raise file_error(path, where, f'"{field}" is {shorten(text)}', remedy) from None


def _copy_stream(path: Path, copy: Path) -> None:
    try:
        source = nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")
    except OSError as error:
        raise_unreadable(path, error)
    with source as stream, copy.open("wb") as file:
        shutil.copyfileobj(stream, file)


def _decode(path: Path, raw: bytes, line: int | None, offset: int) -> str:
    if offset == 0 and (kind := detect_archive(raw)) is not None:
        raise file_error(path, "", f"this is {kind}, not text", "unpack it and import the file inside")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        number = line or raw.count(b"\n", 0, error.start) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise file_error(path, f"line {number}, byte {offset + error.start}", what, "save the file as UTF-8") from None


def _build_encoding_error(path: Path, error: UnicodeDecodeError) -> BadFile:
    return file_error(path, "", f"it begins like UTF-16, but is not ({error.reason})", "save the file as UTF-8")


def detect_archive(raw: bytes) -> str | None:
    """Return which kind of archive begins with these bytes, or None. Phones export chats as zip archives."""
    if raw[TAR_MARK_AT:].startswith(b"ustar"):
        return "a tar archive"
    return next((kind for magic, kind in _ARCHIVES.items() if raw.startswith(magic)), None)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def raise_unreadable(path: Path, error: OSError, place: str = "") -> NoReturn:
    """Raise the error of a file, or of a part of an archive, that the system refuses to read."""
    is_refused = isinstance(error, PermissionError)  # by macOS also to the owner, in some folders
    hint = "; on a Mac, also Full Disk Access for the terminal in System Settings → Privacy & Security"
    remedy = f"check the path and its permissions{hint if is_refused else ''}"
    raise file_error(path, place, f"can't be read ({error.strerror})", remedy) from None
