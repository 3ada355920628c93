"""Reading text and JSON files so that every fault names its place.

It knows bytes, UTF-8 and JSON; of conversations only that a line must be one that can be kept. It raises BadFile.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn, cast

from everthread.bank.line_validation import clean_line
from everthread.errors import BadFile, BadLine, EverthreadError
from everthread.types import NewLine

JsonObject = Mapping[str, object]

PLACEHOLDER_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # used for "now" when a line is only checked
STANDARD_INPUT = "standard input"
MAX_NAMED_FIELDS = 5  # fields of a JSON object that a message names
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive", b"7z\xbc\xaf": "a 7z archive"}
MAX_SHOWN_CHARS = 60  # characters of a wrong value that a message shows: enough to find it, too few to flood a terminal


def file_error(path: Path, where: str, what: str, remedy: str) -> BadFile:
    """Make the error of a file: the place in it, what is wrong there, and what to do."""
    return BadFile(what, path=path, where=where, remedy=remedy)


def shorten(value: object) -> str:
    """A wrong value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"


def describe_json(value: object) -> str:
    """What there is in a JSON file, in a few words."""
    if isinstance(value, dict):
        names = ", ".join(shorten(name) for name in islice(value, MAX_NAMED_FIELDS))
        more = f" and {len(value) - MAX_NAMED_FIELDS:,} more" if len(value) > MAX_NAMED_FIELDS else ""
        return f"an object with {names}{more}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list that begins with {describe_json(value[0])}" if value else "an empty list"
    return shorten(value)


def read_numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The file's lines with their numbers from 1, without their ends. Only \\n and \\r\\n end a line."""
    offset = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _decode(path, raw, number, offset)
                offset += len(raw)
                yield number, (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n")
    except OSError as error:
        _raise_unreadable(path, error)


def read_text(path: Path) -> str:
    """The file's text, a byte-order mark removed."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        _raise_unreadable(path, error)
    return _decode(path, raw, None, 0).removeprefix("\ufeff")


@contextmanager
def spool_input(path: Path) -> Iterator[Path]:
    """The path; or, where it is a pipe, a terminal or `-` for standard input, a copy of what comes out of it, for a
    file is read repeatedly. What is wrong with the copy is said of the path."""
    piped = str(path) == "-"
    if not (piped or path.is_fifo() or path.is_char_device()):
        yield path
        return
    with TemporaryDirectory(prefix="everthread-") as folder:
        copy = Path(folder, "stdin" if piped else path.name)
        try:
            _copy_stream(path, copy)
            yield copy
        except EverthreadError as error:
            if error.path == copy:
                error.path = STANDARD_INPUT if piped else path
            raise


def parse_json(text: str, path: Path, line: int | None = None) -> object:
    """One JSON value. line is the file's line when the text is only that line."""
    try:
        value: object = json.loads(text, parse_constant=_refuse_constant)
        return value
    except json.JSONDecodeError as error:
        if not text.strip():
            raise file_error(path, "", "empty", "give a file that holds something") from None
        where = f"line {line or error.lineno}, column {error.colno}"
        remedy = "correct or remove that line" if line else "correct it"
        raise file_error(path, where, f"not JSON ({error.msg})", remedy) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, NaN, or endless nesting
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise file_error(
            path, f"line {line}" if line else "", f"JSON that can't be used ({reason})", "simplify it"
        ) from None


def load_json(path: Path) -> object:
    """The whole file as one JSON value."""
    return parse_json(read_text(path), path)


def looks_like_json(path: Path) -> bool:
    """Whether a file begins as JSON that holds objects does, and no text that people write."""
    first = next((line.strip() for _, line in read_numbered_lines(path) if line.strip()), "")
    return first == "[" or first.startswith(("{", "[{"))


def hash_parts(*parts: object) -> str:
    """A key for a line that has no id at its source: SHA-256 over its parts, unmistakably separated."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=str).encode()).hexdigest()


class KeyGenerator:
    """Keys for the messages of a file that brings none: made of what is said, never of what the file is called.

    A message with a time of its own is known by that, its speaker and its words; one without by these and by all that
    was said before it, back to the last message with a time of its own. So a file that is read again, or a copy of it
    under another name, brings nothing new; one that has grown at its end brings what was added; and of two files
    without times nothing is taken for the same but an opening that they share, word for word. Where a line is changed
    or put in between, those behind it that have no time of their own are new.
    """

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._last = ""

    def start_session(self) -> None:
        """Forget what was said before: a dated session stands for itself."""
        self._last = ""

    def next_key(self, *said: object, timed: bool) -> str:
        """The key of the next message; the same one said again has another."""
        name = hash_parts("" if timed else self._last, *said)
        self._times[name] += 1
        self._last = hash_parts(name, self._times[name])
        return self._last


def make_session_id(path: Path, key: str) -> str:
    """A session's id: the file's name without its ending, and the beginning of a message's key."""
    return f"{path.stem[:MAX_SHOWN_CHARS]}-{key[:8]}"


def check_line(line: NewLine, path: Path, where: str) -> NewLine:
    """The line as it is, if a bank would take it: nothing of a file is stored before all of it is known to be good."""
    try:
        clean_line(line, PLACEHOLDER_TIME)
    except BadLine as error:
        raise BadFile(str(error), path=path, where=where) from None
    return line


def require_text(record: JsonObject, field: str, path: Path, where: str) -> str:
    """A field that must be text."""
    value = record.get(field)
    if not isinstance(value, str):
        raise file_error(path, where, f'"{field}" is {shorten(value)}', "it must be a text")
    return value


def require_object(value: object, path: Path, where: str) -> JsonObject:
    """Return a value that must be a JSON object.

    Raises:
        BadFile: it is another value.
    """
    if not isinstance(value, dict):
        raise file_error(path, where, f"{shorten(value)} is no object", "give the file as it was published")
    return cast("JsonObject", value)


def _copy_stream(path: Path, copy: Path) -> None:
    try:
        source = nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")
    except OSError as error:
        _raise_unreadable(path, error)
    with source as stream, copy.open("wb") as file:
        shutil.copyfileobj(stream, file)


def _decode(path: Path, raw: bytes, line: int | None, offset: int) -> str:
    if offset == 0 and (kind := _detect_archive(raw)) is not None:
        raise file_error(path, "", f"this is {kind}, not text", "unpack it and import the file inside")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        number = line or raw.count(b"\n", 0, error.start) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise file_error(path, f"line {number}, byte {offset + error.start}", what, "save the file as UTF-8") from None


def _detect_archive(raw: bytes) -> str | None:
    """Return which kind of archive begins with these bytes, or None. A phone hands out chats as zip archives."""
    return next((kind for magic, kind in _ARCHIVES.items() if raw.startswith(magic)), None)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _raise_unreadable(path: Path, error: OSError) -> NoReturn:
    raise file_error(path, "", f"can't be read ({error.strerror})", "check the path and your rights to it") from None
