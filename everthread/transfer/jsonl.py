"""JSON Lines: one object for each line of a bank. The only format that loses nothing.

`write` stores seq, session, role, speaker, text, said_at with its offset, parent, metadata, key and retracted_at.
An object with the title and the metadata of a session, if it has any, comes before its first line:

    {"session": "…", "title": "…", "metadata": {…}}

`read` prepares lines for a bank that assigns its own numbers, and accepts other files too:

    {"text": "…"}                        optionally with speaker, role, said_at, session, metadata, key, retracted_at
    {"role": "user", "content": "…"}     a message of a chat API, optionally with a name; content may be a list of parts

An unknown field, or a second field of the same meaning, becomes metadata of the line. An id becomes metadata too: it
identifies a line only together with its text, because many files number their lines from 1.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, TextIO, TypeGuard, cast

from everthread.bank.validation import check_session_metadata, check_title
from everthread.common.keys import META_RECALLED
from everthread.errors import BadInput
from everthread.transfer.dates import parse_moment
from everthread.transfer.evidence import to_keys
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
from everthread.types import ROLES, JSONValue, Line, Metadata, NewLine, Role, Session

ROLE_ALIASES: Mapping[object, Role] = {"developer": "system", "function": "tool"}  # chat APIs' names for two roles
LINE_FIELDS = frozenset(("seq", "session", "role", "said_at", "parent", "metadata", "retracted_at"))
ALTERNATIVE_FIELDS = frozenset(("text", "content", "speaker", "name", "key"))
CALL_FIELDS = ("tool_calls", "function_call")  # fields of a message that may have no content
TEXT_PART_TYPES = ("text", "input_text", "output_text")  # types of a content part that is text

_EXPORTED = re.compile(r"everthread:(\d{1,18}):[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """The title and the metadata of a session."""

    title: str | None
    metadata: Metadata


def write(lines: Iterable[Line], file: TextIO, sessions: Iterable[Session] = ()) -> int:
    """Write lines and their sessions as JSON objects, and return the number of lines.

    Characters that the file's encoding can't represent are escaped.
    """
    count, escaped = 0, codecs.lookup(file.encoding or "utf-8").name != "utf-8"
    for text in format_rows(lines, sessions, escaped):
        file.write(text)
        count += 1
    return count


def format_rows(lines: Iterable[Line], sessions: Iterable[Session] = (), ascii_only: bool = False) -> Iterator[str]:
    """Yield the text of each line, which is one row of JSON, or two if it is the first of a session with a label.

    Unset fields are left out, except the key, by which the exporting bank recognises the line.

    Args:
        lines: the lines.
        sessions: the bank's sessions.
        ascii_only: whether other characters are escaped.
    """
    labelled = {session.id: session for session in sessions if session.title or session.metadata}
    for line in lines:
        rows = [_fields(line)]
        if (session := labelled.pop(line.session, None)) is not None:
            rows.insert(0, {"session": session.id, "title": session.title, "metadata": session.metadata})
        yield "".join(f"{_format_row(row, ascii_only)}\n" for row in rows)


def _format_row(fields: dict[str, object], ascii_only: bool) -> str:
    return json.dumps(fields, ensure_ascii=ascii_only, allow_nan=False, default=_encode_mapping)


def export_key(line: Line) -> str:
    """Return the line's key, or one made from its number and a hash of its contents."""
    parts = (line.seq, line.session, line.said_at.isoformat(), line.role, line.speaker, line.text)
    return line.key or f"everthread:{line.seq}:{hash_parts(*parts)}"


def exported_seq(key: str) -> int | None:
    """Return the number of the line for which `export_key` made this key; None for another key."""
    match = _EXPORTED.fullmatch(key)
    return int(match[1]) if match else None


def read(
    path: Path,
    *,
    tz: tzinfo = UTC,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
    sessions: dict[str, SessionLabel] | None = None,
    evidence: bool = False,
) -> Iterator[NewLine]:
    """Yield the lines of a file; see `parse_objects`. `sessions` is filled with the labels of sessions, by id."""
    objects = _read_rows(path, {} if sessions is None else sessions)
    return parse_objects(objects, path, tz=tz, skipped=skipped, places=places, evidence=evidence)


def _read_rows(path: Path, sessions: dict[str, SessionLabel]) -> Iterator[tuple[str, object]]:
    """Yield the place and the value of each row, except those of sessions, whose labels are collected."""
    for number, text in read_numbered_lines(path):
        if text.strip():
            where, value = f"line {number}", parse_json(text, path, number)
            if _is_session(value):
                sessions[require_text(value, "session", path, where)] = _build_label(value, path, where)
            else:
                yield where, value


def _is_session(value: object) -> TypeGuard[Mapping[str, object]]:
    """Return whether an object is a session: it has a title, and no field of a line."""
    return isinstance(value, dict) and {"session", "title"} <= value.keys() <= {"session", "title", "metadata"}


def _build_label(value: Mapping[str, object], path: Path, where: str) -> SessionLabel:
    try:
        title, metadata = (cast("Any", value.get(name)) for name in ("title", "metadata"))
        return SessionLabel(check_title(title), check_session_metadata(metadata) or {})
    except BadInput as error:
        raise file_error(path, where, str(error), "correct or remove that line") from None


def parse_objects(
    objects: Iterable[tuple[str, object]],
    path: Path,
    *,
    tz: tzinfo = UTC,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
    evidence: bool = False,
) -> Iterator[NewLine]:
    """Yield the lines of JSON objects.

    A parent is given by its key, because the bank assigns new numbers. A parent that is not among the lines before,
    because it was forgotten or not exported, is left out.

    Args:
        objects: place in the file and value of each object.
        path: the file, for messages.
        tz: the zone of times without an offset.
        skipped: counts messages "without words", such as tool calls and pictures, and "non-text parts".
        places: filled with the place of each line with its own key, by key.
        evidence: whether lines have the evidence of replies, which names lines by their keys (`to_keys`).

    Raises:
        BadFile: a value is invalid.
    """
    skipped, places = Counter() if skipped is None else skipped, {} if places is None else places
    places.clear()
    key_of = _LineKeys(path, places)
    by_seq: dict[int, str] = {}  # the file's seq -> the line's key
    for where, value in objects:
        if not isinstance(value, dict):
            raise file_error(path, where, f"{shorten(value)} is not an object", 'write {"text": "…"}')
        value, other_parts = _join_content_parts(value, path, where)
        if _is_wordless(value):
            skipped["without words"] += 1
        else:
            skipped += Counter({"non-text parts": other_parts})
            line = _build_line(value, path, where, tz)
            key = key_of(line, value.get("id"), where)
            parent = by_seq.get(_optional_seq(value, "parent", path, where) or 0)
            if (seq := _optional_seq(value, "seq", path, where)) is not None:
                by_seq[seq] = key
            metadata = to_keys(line.metadata, by_seq) if evidence else _without_evidence(line.metadata)
            yield check_line(replace(line, key=key, parent=parent, metadata=metadata), path, where)


def _join_content_parts(value: Mapping[str, object], path: Path, where: str) -> tuple[Mapping[str, object], int]:
    """Join the text parts of a message's content; return the message and the number of other parts."""
    content = value.get("content")
    if not isinstance(content, list) or value.get("text") is not None:
        return value, 0
    texts = list(_content_texts(content, path, where))
    text = "\n".join(texts)
    return {**value, "content": text if text.strip() else ""}, len(content) - len(texts)


def _content_texts(content: list[object], path: Path, where: str) -> Iterator[str]:
    for part in content:
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise file_error(path, where, f"the content part {shorten(part)} has no type", "add it, as chat APIs do")
        if part["type"] in TEXT_PART_TYPES:
            yield require_text(part, "text", path, where)


def _is_wordless(value: Mapping[str, object]) -> bool:
    """Return whether a message has no text, for example because it only calls a tool."""
    has_text = value.get("text") is not None or value.get("content") not in (None, "")
    return not has_text and not {"content", *CALL_FIELDS}.isdisjoint(value)


class _LineKeys:
    """Returns the key of each line of a file: the given one, or a generated one."""

    def __init__(self, path: Path, places: dict[str, str]) -> None:
        self._path = path
        self._places = places  # key -> place of the line that has it
        self._generator = KeyGenerator()

    def __call__(self, line: NewLine, number: object, where: str) -> str:
        if line.key is None:
            said_at = line.said_at and line.said_at.isoformat()
            parts = (line.session, said_at, line.speaker, line.role, line.text, *([] if number is None else [number]))
            return self._generator.next_key(*parts, timed=said_at is not None)
        if line.key in self._places:
            what = f"the key {shorten(line.key)} was already used on {self._places[line.key]}"
            raise file_error(self._path, where, what, "give each line a unique key, or none")
        self._places[line.key] = where
        return line.key


def _fields(line: Line) -> dict[str, object]:
    fields = {
        "seq": line.seq,
        "session": line.session,
        "role": line.role,
        "speaker": line.speaker,
        "text": line.text,
        "said_at": None if line.is_undated else line.said_at.isoformat(),
        "parent": line.parent,
        "metadata": line.metadata or None,
        "key": export_key(line),
        "retracted_at": line.retracted_at.isoformat() if line.retracted_at else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _encode_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"not a JSON value: {shorten(value)}")


def _build_line(value: Mapping[str, object], path: Path, where: str, tz: tzinfo) -> NewLine:
    """Build the line of an object, without its parent."""
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


def _without_evidence(metadata: Metadata) -> Metadata:
    return {name: value for name, value in metadata.items() if name != META_RECALLED}


def _choose_name(value: Mapping[str, object], name: str, other: str) -> str:
    """Return which of two names of one field the object uses."""
    return other if value.get(name) is None and value.get(other) is not None else name


def _text(value: Mapping[str, object], name: str, path: Path, where: str) -> str:
    if name not in value:
        raise file_error(path, where, 'neither "text" nor "content"', "give the line's text")
    text = require_text(value, name, path, where)
    if not text.strip() and not (text == "" and value.get("metadata")):
        raise file_error(path, where, "the text is empty", "remove the line, or give its text")
    return text


def _role(value: Mapping[str, object], path: Path, where: str) -> Role:
    role = value.get("role", "user")
    if not isinstance(role, str) or role not in (*ROLES, *ROLE_ALIASES):
        raise file_error(path, where, f'"role" is {shorten(role)}', f"it must be one of {', '.join(ROLES)}")
    return ROLE_ALIASES.get(role) or cast("Role", role)


def _optional_text(value: Mapping[str, object], name: str, path: Path, where: str) -> str | None:
    if value.get(name) is None:
        return None
    text = require_text(value, name, path, where)
    if not text.strip():
        raise file_error(path, where, f'"{name}" is empty', "fill it in, or omit it")
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
    unused = {name for name in (*ALTERNATIVE_FIELDS, "id") if value.get(name) is None}
    extra = {name: item for name, item in value.items() if name not in LINE_FIELDS | used | unused}
    if duplicates := sorted(extra.keys() & metadata.keys()):
        raise file_error(path, where, f'"{duplicates[0]}" is both in "metadata" and outside it', "remove one of them")
    return cast("dict[str, JSONValue]", {**extra, **metadata})
