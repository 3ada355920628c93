"""JSON Lines: one line of a bank an object. This is the format that loses nothing.

`write` keeps seq, session, role, speaker, text, said_at with its offset, parent, metadata, key and retracted_at. `read`
is for a bank that numbers lines anew, and takes other files too:

    {"text": "…"}                        and, where known, speaker, role, said_at, session, metadata, key, retracted_at
    {"role": "user", "content": "…"}     as chat APIs write it, perhaps with a name; content may be a list of parts

A field that is none of ours, or a second one of the same meaning, is kept in the line's metadata. So is an id: people
number the lines of each file from 1, so it names a line only together with what was said. It knows nothing of the bank
that the lines go to.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TextIO, cast

from everthread.transfer.dates import parse_moment
from everthread.transfer.files import (
    KeyGenerator,
    check_line,
    file_error,
    hash_parts,
    parse_json,
    read_numbered_lines,
    require_text,
    shorten,
)
from everthread.types import ROLES, JSONValue, Line, Metadata, NewLine, Role

RENAMED: Mapping[object, Role] = {"developer": "system", "function": "tool"}  # chat APIs' other names for two of ours
FIELDS = frozenset(("seq", "session", "role", "said_at", "parent", "metadata", "retracted_at"))
NAMES = frozenset(("text", "content", "speaker", "name", "key"))
CALLS = ("tool_calls", "function_call")  # fields of a message that may have no content
TEXTS = ("text", "input_text", "output_text")  # types of a content part that is text

_EXPORTED = re.compile(r"everthread:(\d{1,18}):[0-9a-f]{64}")


def write(lines: Iterable[Line], file: TextIO) -> int:
    """Write the lines, one JSON object each, and say how many. What a line does not have is left out, but for the key,
    by which its own bank knows it again. What the file's encoding may not hold is escaped."""
    count, escaped = 0, codecs.lookup(file.encoding or "utf-8").name != "utf-8"
    for line in lines:
        file.write(format_line(line, escaped))
        count += 1
    return count


def format_line(line: Line, ascii_only: bool = False) -> str:
    """A line as it is written, with its end; in ASCII, if escaped."""
    return json.dumps(_fields(line), ensure_ascii=ascii_only, allow_nan=False, default=_encode_mapping) + "\n"


def export_key(line: Line) -> str:
    """The line's key, or one made of its number and of what it says."""
    said = (line.seq, line.session, line.said_at.isoformat(), line.role, line.speaker, line.text)
    return line.key or f"everthread:{line.seq}:{hash_parts(*said)}"


def exported_seq(key: str) -> int | None:
    """The number, in the bank that exported it, of the line whose key `export_key` made."""
    made = _EXPORTED.fullmatch(key)
    return int(made[1]) if made else None


def read(
    path: Path, *, tz: tzinfo = UTC, skipped: Counter[str] | None = None, places: dict[str, str] | None = None
) -> Iterator[NewLine]:
    """The lines of the file, ready to be remembered; see `lines`."""
    objects = (
        (f"line {number}", parse_json(text, path, number)) for number, text in read_numbered_lines(path) if text.strip()
    )
    return parse_objects(objects, path, tz=tz, skipped=skipped, places=places)


def parse_objects(
    objects: Iterable[tuple[str, object]],
    path: Path,
    *,
    tz: tzinfo = UTC,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
) -> Iterator[NewLine]:
    """The lines of these objects, each with its place in the file.

    A time without an offset is in tz. A parent is named by its key, since the bank will number the lines anew; one that
    is not among the lines read before, because it was forgotten or not exported, is left out. Skipped and counted are
    messages "without words", as chat APIs write them around the call of a tool or a picture, and what stands beside
    the words of a message: "parts that are no text".
    places takes up where each key of a line's own stands.
    """
    skipped, places = Counter() if skipped is None else skipped, {} if places is None else places
    places.clear()
    key_of = _LineKeys(path, places)
    by_seq: dict[int | None, str] = {}  # the file's seq -> the line's key
    for where, value in objects:
        if not isinstance(value, dict):
            raise file_error(path, where, f"{shorten(value)} is no object", 'write {"text": "…"}')
        value, others = _join_content_parts(value, path, where)
        if _is_wordless(value):
            skipped["without words"] += 1
        else:
            skipped += Counter({"parts that are no text": others})
            line = _build_line(value, path, where, tz)
            key = key_of(line, value.get("id"), where)
            parent = by_seq.get(_optional_seq(value, "parent", path, where))
            if (seq := _optional_seq(value, "seq", path, where)) is not None:
                by_seq[seq] = key
            yield check_line(replace(line, key=key, parent=parent), path, where)


def _join_content_parts(value: Mapping[str, object], path: Path, where: str) -> tuple[Mapping[str, object], int]:
    """The message, its content as one text where it is in parts, and how many of these are none."""
    content = value.get("content")
    if not isinstance(content, list) or value.get("text") is not None:
        return value, 0
    texts = list(_content_texts(content, path, where))
    text = "\n".join(texts)
    return {**value, "content": text if text.strip() else ""}, len(content) - len(texts)


def _content_texts(content: list[object], path: Path, where: str) -> Iterator[str]:
    for part in content:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise file_error(path, where, f"the content part {shorten(part)} has no type", "name it, as chat APIs do")
        if part["type"] in TEXTS:
            yield require_text(part, "text", path, where)


def _is_wordless(value: Mapping[str, object]) -> bool:
    """Whether it is a message without words, as those are that only call a tool."""
    told = value.get("text") is not None or value.get("content") not in (None, "")
    return not told and not {"content", *CALLS}.isdisjoint(value)


class _LineKeys:
    """Keys for the lines of one file: their own, or made ones."""

    def __init__(self, path: Path, own: dict[str, str]) -> None:
        self._path = path
        self._given = own  # key -> where it was used
        self._made = KeyGenerator()

    def __call__(self, line: NewLine, number: object, where: str) -> str:
        if line.key is None:
            at = line.said_at and line.said_at.isoformat()
            said = (line.session, at, line.speaker, line.role, line.text, *([] if number is None else [number]))
            return self._made.next_key(*said, timed=at is not None)
        if line.key in self._given:
            what = f"the key {shorten(line.key)} was already used on {self._given[line.key]}"
            raise file_error(self._path, where, what, "give each line a key of its own, or none")
        self._given[line.key] = where
        return line.key


def _fields(line: Line) -> dict[str, object]:
    fields = {
        "seq": line.seq,
        "session": line.session,
        "role": line.role,
        "speaker": line.speaker,
        "text": line.text,
        "said_at": line.said_at.isoformat(),
        "parent": line.parent,
        "metadata": line.metadata or None,
        "key": export_key(line),
        "retracted_at": line.retracted_at.isoformat() if line.retracted_at else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _encode_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON value: {shorten(value)}")


def _build_line(value: Mapping[str, object], path: Path, where: str, tz: tzinfo) -> NewLine:
    """The line of an object, as yet without a parent."""
    text, speaker = _choose_name(value, "text", "content"), _choose_name(value, "speaker", "name")
    role = _role(value, path, where)
    return NewLine(
        text=_text(value, text, path, where),
        speaker=_optional_text(value, speaker, path, where) or role,
        role=role,
        said_at=_optional_time(value, "said_at", path, where, tz),
        session=_optional_text(value, "session", path, where),
        metadata=_metadata(value, {text, speaker, "key"}, path, where),
        key=_optional_text(value, "key", path, where),
        retracted_at=_optional_time(value, "retracted_at", path, where, tz),
    )


def _choose_name(value: Mapping[str, object], name: str, other: str) -> str:
    """Which of two names of one field is used."""
    return other if value.get(name) is None and value.get(other) is not None else name


def _text(value: Mapping[str, object], name: str, path: Path, where: str) -> str:
    if name not in value:
        raise file_error(path, where, 'neither "text" nor "content"', "give the line's text")
    text = require_text(value, name, path, where)
    if not text.strip():
        raise file_error(path, where, "the text is empty", "remove the line, or say what was said")
    return text


def _role(value: Mapping[str, object], path: Path, where: str) -> Role:
    role = value.get("role", "user")
    if not isinstance(role, str) or role not in (*ROLES, *RENAMED):
        raise file_error(path, where, f'"role" is {shorten(role)}', f"it must be one of {', '.join(ROLES)}")
    return RENAMED.get(role) or cast("Role", role)


def _optional_text(value: Mapping[str, object], name: str, path: Path, where: str) -> str | None:
    if value.get(name) is None:
        return None
    text = require_text(value, name, path, where)
    if not text.strip():
        raise file_error(path, where, f'"{name}" is empty', "fill it, or leave it out")
    return text


def _optional_seq(value: Mapping[str, object], name: str, path: Path, where: str) -> int | None:
    number = value.get(name)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise file_error(path, where, f'"{name}" is {shorten(number)}', "it must be a line number from 1")
    return number


def _optional_time(value: Mapping[str, object], name: str, path: Path, where: str, tz: tzinfo) -> datetime | None:
    text = _optional_text(value, name, path, where)
    if text is None:
        return None
    try:
        return parse_moment(text, tz)
    except ValueError:
        raise file_error(path, where, f'"{name}" is {shorten(text)}', "write it as 2024-05-01T10:22:00+02:00") from None


def _metadata(value: Mapping[str, object], used: set[str], path: Path, where: str) -> Metadata:
    metadata = value.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise file_error(path, where, f'"metadata" is {shorten(metadata)}', "it must be an object")
    unused = {name for name in (*NAMES, "id") if value.get(name) is None}
    extra = {name: item for name, item in value.items() if name not in FIELDS | used | unused}
    if twice := sorted(extra.keys() & metadata.keys()):
        raise file_error(path, where, f'"{twice[0]}" stands in "metadata" and beside it', "keep one of them")
    return cast("dict[str, JSONValue]", {**extra, **metadata})
