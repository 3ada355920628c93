"""JSON Lines: one object for each line of a bank. The only format that loses nothing.

A line is written with its seq, session, role, speaker, text, said_at with its offset, parent, metadata, key and
retracted_at. A line without a key has a ref instead, by which the exporting bank recognises it, and an undated line
has the time at which it was stored, as stored_at. The other rows of an exported bank are described in `bank_file`.

`read` prepares lines for a bank that assigns its own numbers, and accepts other files too; `build_numbered_line`
prepares a line for a bank that takes the numbers of the file.


    {"text": "…"}                        optionally with speaker, role, said_at, session, metadata, key, retracted_at
    {"role": "user", "content": "…"}     a message of a chat API, optionally with a name; content may be a list of parts

A message may have its time as created_at, createdAt or timestamp, also in seconds since 1970 from the year 2000 on, and
its role, beside a name, as role_type. A line without a time is undated. An unknown field, or a second field of the same
meaning, becomes metadata of the line. An id becomes metadata too: it identifies a line only together with its text,
because many files number their lines from 1.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from itertools import takewhile
from pathlib import Path
from typing import cast

from everthread.bank.line_validation import clean_line
from everthread.common.keys import META_RECALLED, META_REPLACES, META_UNDATED
from everthread.errors import BadFile, BadLine
from everthread.memory import Memory
from everthread.transfer import bank_file
from everthread.transfer.bank_file import Head, SessionLabel, SessionRow, SettingRow
from everthread.transfer.evidence import to_keys
from everthread.transfer.files import (
    PLACEHOLDER_TIME,
    JsonObject,
    KeyGenerator,
    check_line,
    file_error,
    hash_parts,
    optional_seq,
    optional_text,
    optional_time,
    require_text,
    shorten,
)
from everthread.transfer.services.fields import parse_iso, parse_recent_epoch
from everthread.types import ROLES, Filter, JSONValue, Line, Metadata, NewLine, Role, Session, Unit

ROLE_ALIASES: Mapping[object, Role] = {"developer": "system", "function": "tool"}  # chat APIs' names for two roles
LINE_FIELDS = frozenset(("seq", "session", "role", "said_at", "parent", "metadata", "retracted_at"))
ALTERNATIVE_FIELDS = frozenset(("text", "content", "speaker", "name", "key"))
TIME_FIELDS = ("created_at", "createdAt", "timestamp")  # of messages of other programs, without said_at
CALL_FIELDS = ("tool_calls", "function_call")  # fields of a message that may have no content
TEXT_PART_TYPES = ("text", "input_text", "output_text")  # types of a content part that is text

_KINDS: Mapping[type, str] = {Unit: "notes, summaries and facts", SettingRow: "settings"}  # of skipped rows
_EXPORTED = re.compile(r"everthread:(\d{1,18}):[0-9a-f]{64}")


def format_bank(
    memory: Memory, *, session: str | None = None, retracted: bool = False, ascii_only: bool = False
) -> Iterator[tuple[str, int]]:
    """Yield the rows of a bank as text, with the number of lines in each text.

    Args:
        memory: the bank.
        session: only the lines of this session; None: the whole bank.
        retracted: whether retracted lines and units are included. With them, an import of the whole bank into an empty
            one makes an identical one.
        ascii_only: whether other characters are escaped.
    """
    last_seq = memory.store.corpus_stats(memory.bank).last_seq  # later lines are left out
    where = None if session is None else Filter(session=session)
    lines = memory.lines(where, include_retracted=retracted, include_wordless=True)
    for fields in bank_file.list_first_rows(memory, last_seq, retracted) if session is None else ():
        yield _format_row(fields, ascii_only), 0
    for text in format_rows(takewhile(lambda line: line.seq <= last_seq, lines), memory.sessions(), ascii_only):
        yield text, 1
    for fields in bank_file.list_last_rows(memory, last_seq, retracted) if session is None else ():
        yield _format_row(fields, ascii_only), 0


def format_rows(lines: Iterable[Line], sessions: Iterable[Session] = (), ascii_only: bool = False) -> Iterator[str]:
    """Yield the text of each line, which is one row of JSON, or two if it is the first of a session with a label.

    Unset fields are left out.

    Args:
        lines: the lines.
        sessions: the bank's sessions.
        ascii_only: whether other characters are escaped.
    """
    labelled = {session.id: session for session in sessions if session.title or session.metadata or session.ended_at}
    for line in lines:
        session = labelled.pop(line.session, None)
        label = "" if session is None else _format_row(bank_file.format_session(session), ascii_only)
        yield label + _format_row(_build_fields(line), ascii_only)


def _format_row(fields: Mapping[str, object], ascii_only: bool) -> str:
    return json.dumps(fields, ensure_ascii=ascii_only, allow_nan=False, default=_encode_mapping) + "\n"


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
    skipped = Counter() if skipped is None else skipped
    objects = _read_rows(path, {} if sessions is None else sessions, skipped)
    return parse_objects(objects, path, tz=tz, skipped=skipped, places=places, evidence=evidence)


def _read_rows(
    path: Path, sessions: dict[str, SessionLabel], skipped: Counter[str]
) -> Iterator[tuple[str, JsonObject]]:
    """Yield the place and the object of each line; collect the labels of sessions, and count the other rows."""
    head: Head | None = None
    last_seq = 0
    for where, row in bank_file.read_rows(path):
        if isinstance(row, Head):
            head = row
        elif isinstance(row, SessionRow):
            sessions[row.id] = row.label
        elif isinstance(row, Mapping):
            if head is not None:
                last_seq = _check_seq(row, last_seq, head, path, where)
            yield where, row
        else:
            skipped[_KINDS.get(type(row), "jobs")] += 1


def _check_seq(row: JsonObject, previous: int, head: Head, path: Path, where: str) -> int:
    """Return the number of a line of an exported bank. Raises BadFile unless numbers ascend up to the head's last."""
    seq = optional_seq(row, "seq", path, where)
    if seq is None or not previous < seq <= head.last_seq:
        what = f'"seq" is {shorten(seq)}, after {previous} and with {head.last_seq} as the last number of the bank'
        raise file_error(path, where, what, "leave the lines of an export in their order")
    if (parent := optional_seq(row, "parent", path, where)) is not None and parent >= seq:
        raise file_error(path, where, f'"parent" is {parent}, which is not a line before it', "correct or omit it")
    return seq


def parse_objects(
    objects: Iterable[tuple[str, object]],
    path: Path,
    *,
    tz: tzinfo = UTC,
    skipped: Counter[str] | None = None,
    places: dict[str, str] | None = None,
    evidence: bool = False,
) -> Iterator[NewLine]:
    """Yield the lines of JSON objects; those without a time are undated.

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
        value, other_parts = _join_content_parts(_take_role_type(value), path, where)
        if _is_wordless(value):
            skipped["without words"] += 1
        else:
            skipped += Counter({"non-text parts": other_parts})
            line = _build_line(value, path, where, tz)
            key = key_of(line, value.get("id"), where)
            parent = by_seq.get(optional_seq(value, "parent", path, where) or 0)
            if (seq := optional_seq(value, "seq", path, where)) is not None:
                by_seq[seq] = key
            metadata = to_keys(line.metadata, by_seq) if evidence else _without_evidence(line.metadata)
            said_at = line.said_at or _find_other_time(value, tz)  # not for the key, which is that of earlier versions
            placed = replace(line, key=key, parent=parent, metadata=metadata, said_at=said_at, undated=said_at is None)
            yield check_line(placed, path, where)


def _take_role_type(value: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message of Zep, whose `role` may be a name and whose role is the `role_type`, with a name and a role."""
    if value.get("role_type") not in ROLES or value.get("role") in (None, *ROLES):
        return value
    return {"name": value["role"], **value, "role": value["role_type"]}


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
            text = part.get("text")
            yield require_text(
                text if isinstance(text, dict) else part, "value" if isinstance(text, dict) else "text", path, where
            )


def _is_wordless(value: Mapping[str, object]) -> bool:
    """Return whether a message has no text, for example because it only calls a tool."""
    has_text = value.get("text") is not None or value.get("content") not in (None, "")
    return not has_text and not {"content", *CALL_FIELDS}.isdisjoint(value)


def _find_other_time(value: Mapping[str, object], tz: tzinfo) -> datetime | None:
    """Return the time of a message that has it under another name than said_at; None without one."""
    times = (parse_iso(value.get(name), tz) or parse_recent_epoch(value.get(name)) for name in TIME_FIELDS)
    return next((time for time in times if time is not None), None)


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


def _build_fields(line: Line) -> dict[str, object]:
    fields = {
        "seq": line.seq,
        "session": line.session,
        "role": line.role,
        "speaker": line.speaker,
        "text": line.text,
        "stored_at" if line.is_undated else "said_at": line.said_at.isoformat(),
        "parent": line.parent,
        "metadata": line.metadata or None,
        "key": line.key,
        "ref": export_key(line) if line.key is None else None,
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
    role, ref = _read_role(value, path, where), _read_exported_key(value)
    time = "stored_at" if _is_undated(value) and value.get("said_at") is None else "said_at"
    used = {text, speaker, time, "key", *(["ref"] if ref else [])}
    return NewLine(
        text=_read_text(value, text, path, where),
        speaker=optional_text(value, speaker, path, where) or role,
        role=role,
        said_at=optional_time(value, time, path, where, tz),
        session=optional_text(value, "session", path, where),
        metadata=_read_metadata(value, used, path, where),
        key=optional_text(value, "key", path, where) or ref,
        retracted_at=optional_time(value, "retracted_at", path, where, tz),
    )


def _is_undated(value: Mapping[str, object]) -> bool:
    """Return whether a line was said at an unknown time. An exported one has the time at which it was stored."""
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and metadata.get(META_UNDATED) is True


def _read_exported_key(value: Mapping[str, object]) -> str | None:
    """Return the key that a bank made for a line without one when it exported it."""
    ref = value.get("ref")
    return ref if isinstance(ref, str) and _EXPORTED.fullmatch(ref) else None


def build_numbered_line(value: JsonObject, path: Path, where: str) -> tuple[int, NewLine]:
    """Return the number of a line of an exported bank, and the line as it was there.

    Its parent and the numbers in its metadata are those of the file.

    Raises:
        BadFile: a value is invalid.
    """
    line = replace(
        _build_line(value, path, where, UTC),
        key=optional_text(value, "key", path, where),
        parent=optional_seq(value, "parent", path, where),
    )
    try:
        cleaned = clean_line(line, PLACEHOLDER_TIME)
    except BadLine as error:
        raise BadFile(str(error), path=path, where=where) from None
    replaced = line.metadata.get(META_REPLACES)
    kept = {META_REPLACES: replaced} if replaced is not None else {}  # a bank's own; `clean_line` removes it
    return optional_seq(value, "seq", path, where) or 0, replace(cleaned, metadata={**cleaned.metadata, **kept})


def _without_evidence(metadata: Metadata) -> Metadata:
    return {name: value for name, value in metadata.items() if name != META_RECALLED}


def _choose_name(value: Mapping[str, object], name: str, other: str) -> str:
    """Return which of two names of one field the object uses."""
    return other if value.get(name) is None and value.get(other) is not None else name


def _read_text(value: Mapping[str, object], name: str, path: Path, where: str) -> str:
    if name not in value:
        raise file_error(path, where, 'neither "text" nor "content"', "give the line's text")
    text = require_text(value, name, path, where)
    if not text.strip() and not (text == "" and value.get("metadata")):
        raise file_error(path, where, "the text is empty", "remove the line, or give its text")
    return text


def _read_role(value: Mapping[str, object], path: Path, where: str) -> Role:
    role = value.get("role", "user")
    if not isinstance(role, str) or role not in (*ROLES, *ROLE_ALIASES):
        raise file_error(path, where, f'"role" is {shorten(role)}', f"it must be one of {', '.join(ROLES)}")
    return ROLE_ALIASES.get(role) or cast("Role", role)


def _read_metadata(value: Mapping[str, object], used: set[str], path: Path, where: str) -> Metadata:
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
