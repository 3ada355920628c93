"""JSON Lines: one line of a bank an object. This is the format that loses nothing.

`write` keeps seq, session, role, speaker, text, said_at with its offset, parent, metadata, key and retracted_at, and
`read_lines` gives the same lines back. `read` is for a bank that numbers lines anew, and takes other files too:

    {"text": "…"}                        and, where known, speaker, role, said_at, session, metadata, key or id
    {"role": "user", "content": "…"}     as chat APIs write it; content may be a list of {"type": "text"} parts

A field that is none of ours is kept in the line's metadata. It knows nothing of the bank that the lines go to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TextIO, cast, get_args

from everthread.transfer.dates import moment
from everthread.transfer.files import bad, digest, keepable, numbered, parse, shown, text_of
from everthread.types import JSONValue, Line, Metadata, NewLine, Role

ROLES = get_args(Role)
FIELDS = frozenset(
    (
        "seq",
        "session",
        "role",
        "speaker",
        "name",
        "text",
        "content",
        "said_at",
        "parent",
        "metadata",
        "key",
        "id",
        "retracted_at",
    )
)


def write(lines: Iterable[Line], file: TextIO) -> int:
    """Write the lines, one JSON object each, and say how many. What a line does not have is left out."""
    count = 0
    for line in lines:
        file.write(json.dumps(_fields(line), ensure_ascii=False, allow_nan=False, default=_plain) + "\n")
        count += 1
    return count


def read(path: Path, *, tz: tzinfo = UTC) -> Iterator[NewLine]:
    """Every line that has not been retracted, ready to be remembered.

    A time without an offset is in tz. A parent is named by its key, since the bank will number the lines anew; one that
    is not among the lines read before, because it was retracted or forgotten, is left out.
    """
    keys = _Keys()
    by_seq: dict[int, str] = {}  # the file's seq -> the line's key
    for record in _records(path, tz):
        if record.retracted_at is not None:
            continue
        parent = None if record.parent is None else by_seq.get(record.parent)
        key = keys.of(record)
        if record.seq is not None:
            by_seq[record.seq] = key
        yield keepable(record.new(parent, key), path, record.where)


def read_lines(path: Path, *, tz: tzinfo = UTC) -> Iterator[Line]:
    """The lines exactly as `write` wrote them, the retracted ones too."""
    seen: dict[int, int] = {}
    for record in _records(path, tz):
        if record.seq is None or record.session is None or record.said_at is None:
            raise bad(path, record.where, "an exported line has seq, session and said_at", "import the file instead")
        if record.seq in seen:
            what = f'"seq" {record.seq} was already on line {seen[record.seq]}'
            raise bad(path, record.where, what, "number each line once")
        seen[record.seq] = record.number
        yield record.line(record.seq, record.session, record.said_at)


@dataclass(frozen=True, slots=True)
class _Record:
    """One object of the file, checked."""

    path: Path
    number: int  # of the line in the file
    text: str
    role: Role
    speaker: str
    seq: int | None = None
    said_at: datetime | None = None
    session: str | None = None
    parent: int | None = None
    metadata: Metadata = field(default_factory=dict)
    key: str | None = None
    retracted_at: datetime | None = None

    @property
    def where(self) -> str:
        return f"line {self.number}"

    def new(self, parent: str | None, key: str) -> NewLine:
        return NewLine(self.text, self.speaker, self.role, self.said_at, self.session, self.metadata, parent, key)

    def line(self, seq: int, session: str, said_at: datetime) -> Line:
        return Line(
            seq,
            session,
            self.role,
            self.speaker,
            self.text,
            said_at,
            self.parent,
            self.metadata,
            self.key,
            self.retracted_at,
        )


class _Keys:
    """Keys for the lines of one file: their own, or one made of what they say and how often that was said before."""

    def __init__(self) -> None:
        self._own: dict[str, int] = {}
        self._made: Counter[str] = Counter()

    def of(self, record: _Record) -> str:
        if record.key is None:
            said_at = record.said_at.isoformat() if record.said_at else None
            parts = digest(record.session, said_at, record.speaker, record.role, record.text)
            self._made[parts] += 1
            return digest(parts, self._made[parts])
        if record.key in self._own:
            what = f"the key {shown(record.key)} was already used on line {self._own[record.key]}"
            raise bad(record.path, record.where, what, "give each line a key of its own, or none")
        self._own[record.key] = record.number
        return record.key


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
        "key": line.key,
        "retracted_at": line.retracted_at.isoformat() if line.retracted_at else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON value: {shown(value)}")


def _records(path: Path, tz: tzinfo) -> Iterator[_Record]:
    for number, text in numbered(path):
        if text.strip():
            yield _record(path, number, parse(text, path, number), tz)


def _record(path: Path, number: int, value: object, tz: tzinfo) -> _Record:
    where = f"line {number}"
    if not isinstance(value, dict):
        raise bad(path, where, f"{shown(value)} is no object", 'write {"text": "…"}')
    role = _role(value, path, where)
    return _Record(
        path=path,
        number=number,
        text=_text(value, path, where),
        role=role,
        speaker=_optional(value, "speaker", path, where) or _optional(value, "name", path, where) or role,
        seq=_number(value, "seq", path, where),
        said_at=_time(value, "said_at", path, where, tz),
        session=_optional(value, "session", path, where),
        parent=_number(value, "parent", path, where),
        metadata=_metadata(value, path, where),
        key=_key(value, path, where),
        retracted_at=_time(value, "retracted_at", path, where, tz),
    )


def _text(value: Mapping[str, object], path: Path, where: str) -> str:
    if "text" in value:
        text = text_of(value, "text", path, where)
    elif isinstance(value.get("content"), list):
        text = "\n".join(_parts(cast("list[object]", value["content"]), path, where))
    elif "content" in value:
        text = text_of(value, "content", path, where)
    else:
        raise bad(path, where, 'neither "text" nor "content"', "give the line's text")
    if not text.strip():
        raise bad(path, where, "the text is empty", "remove the line, or say what was said")
    return text


def _parts(content: list[object], path: Path, where: str) -> Iterator[str]:
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text":
            raise bad(
                path, where, f"the content part {shown(part)} is no text", "replace it by a text that describes it"
            )
        yield text_of(part, "text", path, where)


def _role(value: Mapping[str, object], path: Path, where: str) -> Role:
    role = value.get("role", "user")
    if role not in ROLES:
        raise bad(path, where, f'"role" is {shown(role)}', f"it must be one of {', '.join(ROLES)}")
    return cast("Role", role)


def _key(value: Mapping[str, object], path: Path, where: str) -> str | None:
    """The "key", else the "id": people number their lines, too."""
    if "key" in value or not isinstance(value.get("id"), int) or isinstance(value.get("id"), bool):
        return _optional(value, "key", path, where) or _optional(value, "id", path, where)
    return str(value["id"])


def _optional(value: Mapping[str, object], name: str, path: Path, where: str) -> str | None:
    if value.get(name) is None:
        return None
    text = text_of(value, name, path, where)
    if not text.strip():
        raise bad(path, where, f'"{name}" is empty', "fill it, or leave it out")
    return text


def _number(value: Mapping[str, object], name: str, path: Path, where: str) -> int | None:
    number = value.get(name)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise bad(path, where, f'"{name}" is {shown(number)}', "it must be a line number from 1")
    return number


def _time(value: Mapping[str, object], name: str, path: Path, where: str, tz: tzinfo) -> datetime | None:
    text = _optional(value, name, path, where)
    if text is None:
        return None
    try:
        return moment(text, tz)
    except ValueError:
        raise bad(path, where, f'"{name}" is {shown(text)}', "write it as 2024-05-01T10:22:00+02:00") from None


def _metadata(value: Mapping[str, object], path: Path, where: str) -> Metadata:
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad(path, where, f'"metadata" is {shown(metadata)}', "it must be an object")
    extra = {name: item for name, item in value.items() if name not in FIELDS}
    merged = {**extra, **(metadata or {})}
    return cast("dict[str, JSONValue]", merged)
