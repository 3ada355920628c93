"""The rows of JSON Lines that are not lines. An exported bank begins with its head:

    {"everthread": 1, "bank": "alice", "last_seq": 812}
    {"setting": "character", "value": {…}}
    {"session": "…", "title": "…", "metadata": {…}, "ended_at": "…"}     before the session's first line
    {"seq": 1, "session": "…", "text": "…", …}                           a line, see `jsonl`
    {"unit": "summary", "id": 1, "text": "…", "first_seq": 1, "last_seq": 40, …}
    {"job": "notes", "session": "…", "first_seq": 41, "last_seq": 60, …}

Files of other programs and of version 0.1.0 have no head, and only lines and sessions. Settings that mean something
only where the bank is are neither written nor read (`portable_settings`), and neither are chunks, which a recipe
computes again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from everthread.bank.settings import check_setting
from everthread.bank.validation import check_job, check_session_metadata, check_title, check_unit
from everthread.common.keys import SETTING_ENTITIES, SETTING_FACTS
from everthread.errors import BadFile, BadInput
from everthread.facts.entity_edits import read_current_edits
from everthread.memory import Memory
from everthread.recipes.goodai.token_stream import get_position
from everthread.stores.limits import MAX_SEQ
from everthread.transfer.files import (
    JsonObject,
    as_utf8,
    file_error,
    optional_seq,
    optional_text,
    optional_time,
    parse_json,
    read_numbered_lines,
    require_text,
    shorten,
)
from everthread.transfer.portable_settings import select_portable
from everthread.types import JSONValue, Metadata, NewUnit, ScribeJob, Session, Unit

HEAD_BYTES = 4096  # of a file in which its head is looked for: a bank's id has at most 200 characters
VERSION = 1  # of the rows; a later one may have rows that this version of Everthread would lose

_SESSION_FIELDS = frozenset(("session", "title", "metadata", "ended_at"))


@dataclass(frozen=True, slots=True)
class Head:
    """The first row of an exported bank. last_seq is the last number that the bank has assigned to a line."""

    bank: str
    last_seq: int


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """The title, the metadata and the end of a session."""

    title: str | None
    metadata: Metadata
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session by its id."""

    id: str
    label: SessionLabel


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting of the bank."""

    name: str
    value: JSONValue


Row = Head | SessionRow | SettingRow | Unit | ScribeJob | JsonObject  # an object is a line, or invalid

# ---------------------------------------------------------------------- writing


def format_session(session: Session) -> dict[str, object]:
    """Return the row of a session that has a title, metadata or an end."""
    ended = {} if session.ended_at is None else {"ended_at": session.ended_at.isoformat()}
    return {"session": session.id, "title": session.title, "metadata": session.metadata, **ended}


def list_first_rows(memory: Memory, last_seq: int, retracted: bool) -> Iterator[dict[str, object]]:
    """Yield the rows before the first line: the head and the settings. `retracted`: retracted units follow, too."""
    yield {"everthread": VERSION, "bank": memory.bank, "last_seq": last_seq}
    if not retracted and SETTING_FACTS in memory.settings():
        memory.read_known(limit=None)  # what follows for a new version of a line from one that is left out
    settings = select_portable(memory.settings())
    if not retracted and SETTING_ENTITIES in settings:
        settings[SETTING_ENTITIES] = read_current_edits(memory.store, memory.bank, settings[SETTING_ENTITIES])
    for name, value in sorted(settings.items()):
        yield {"setting": name, "value": value}


def list_last_rows(memory: Memory, last_seq: int, retracted: bool) -> Iterator[dict[str, object]]:
    """Yield the rows after the last line: units and jobs. `retracted`: retracted units too."""
    for unit in memory.store.units(memory.bank, include_retracted=retracted):
        if unit.last_seq <= last_seq and get_position(unit) is None:
            yield _unit_fields(unit)
    for job in memory.jobs():
        if job.last_seq <= last_seq:
            yield _set_fields(
                job=job.kind,
                session=job.session,
                first_seq=job.first_seq,
                last_seq=job.last_seq,
                queued_at=job.queued_at.isoformat(),
                tries=job.tries or None,
                error=job.error,
            )


def _unit_fields(unit: Unit) -> dict[str, object]:
    return _set_fields(
        unit=unit.kind,
        id=unit.id,
        text=unit.text,
        first_seq=unit.first_seq,
        last_seq=unit.last_seq,
        said_at=unit.said_at.isoformat(),
        valid_from=unit.valid_from.isoformat(),
        valid_to=unit.valid_to and unit.valid_to.isoformat(),
        importance=unit.importance,
        category=unit.category,
        metadata=unit.metadata or None,
        retracted_at=unit.retracted_at and unit.retracted_at.isoformat(),
        supersedes=unit.supersedes,
    )


def _set_fields(**fields: object) -> dict[str, object]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# ---------------------------------------------------------------------- reading


def find_head(path: Path) -> Head | None:
    """Return the head of a file that was read without an error; None unless it is an exported bank."""
    with path.open("rb") as file, as_utf8(file) as content:
        start = content.read(HEAD_BYTES).lstrip()
    if not start.startswith(b"{") or b'"everthread"' not in start:
        return None
    try:
        row = next((row for _, row in read_rows(path)), None)
    except BadFile:  # JSON of another format
        return None
    return row if isinstance(row, Head) else None


def read_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the place and the value of each row of a file, with or without a head.

    Raises:
        BadFile: a row is not JSON, or not valid.
    """
    head: Head | None = None
    is_first = True
    for number, text in read_numbered_lines(path):
        if not text.strip():
            continue
        where, value = f"line {number}", parse_json(text, path, number)
        if _is_head(value):
            if not is_first:
                what = "another export begins here"
                raise file_error(path, where, what, "import each export as a file of its own")
            head = _build_head(value, path, where)
            yield where, head
        else:
            yield where, _build_row(value, head, path, where)
        is_first = False


def _is_head(value: Any) -> bool:
    return isinstance(value, dict) and "everthread" in value and {"text", "content", "seq"}.isdisjoint(value)


def _build_head(value: Any, path: Path, where: str) -> Head:
    version, last_seq = value["everthread"], value.get("last_seq")
    if type(version) is int and version > VERSION:
        what = f"a later version of Everthread wrote this export (its rows are of version {version}, not {VERSION})"
        raise file_error(path, where, what, "update Everthread to import it")
    if version != VERSION or type(last_seq) is not int or not 0 <= last_seq <= MAX_SEQ:
        remedy = 'write {"everthread": 1, "bank": "…", "last_seq": 1}, or remove that line'
        raise file_error(path, where, f"{shorten(value)} is not the head of an export", remedy)
    return Head(require_text(value, "bank", path, where), last_seq)


def _build_row(value: Any, head: Head | None, path: Path, where: str) -> Row:
    """Build a row. Only an exported bank has units, settings and jobs; elsewhere such names are fields of a line."""
    if not isinstance(value, dict):
        raise file_error(path, where, f"{shorten(value)} is not an object", 'write {"text": "…"}')
    if {"session", "title"} <= value.keys() <= _SESSION_FIELDS:
        return _build_session(value, path, where)
    if head is not None and "seq" not in value:
        for field, build in (("unit", _build_unit), ("setting", _build_setting), ("job", _build_job)):
            if field in value:
                return _check_row(build, value, head, path, where)
    return cast("JsonObject", value)


def _check_row(build: Any, value: JsonObject, head: Head, path: Path, where: str) -> Row:
    try:
        row: Row = build(value, path, where)
    except BadInput as error:
        raise file_error(path, where, str(error), "correct or remove that line") from None
    if isinstance(row, Unit | ScribeJob) and row.last_seq > head.last_seq:
        what = f'"last_seq" is {row.last_seq}, but the last line of the bank was {head.last_seq}'
        raise file_error(path, where, what, "correct or remove that line")
    return row


def _build_session(value: JsonObject, path: Path, where: str) -> SessionRow:
    title, metadata = (cast("Any", value.get(name)) for name in ("title", "metadata"))
    try:
        label = (check_title(title), check_session_metadata(metadata) or {})
    except BadInput as error:
        raise file_error(path, where, str(error), "correct or remove that line") from None
    ended_at = optional_time(value, "ended_at", path, where, UTC)
    return SessionRow(require_text(value, "session", path, where), SessionLabel(*label, ended_at))


def _build_setting(value: JsonObject, path: Path, where: str) -> SettingRow:
    row = SettingRow(require_text(value, "setting", path, where), cast("JSONValue", value.get("value")))
    check_setting(row.name, row.value)
    return row


def _build_unit(value: JsonObject, path: Path, where: str) -> Unit:
    fields: dict[str, Any] = {
        "kind": value.get("unit"),
        **{name: value.get(name) for name in ("text", "first_seq", "last_seq", "importance", "category")},
        "metadata": value.get("metadata", {}),
        "said_at": _require_time(value, "said_at", path, where),
    }
    new = check_unit(NewUnit(**fields))
    number = _require_id(value, path, where)
    supersedes = optional_seq(value, "supersedes", path, where)
    if supersedes is not None and supersedes >= number:
        what = f'"supersedes" is {supersedes}, which is not the id of a unit before {number}'
        raise file_error(path, where, what, "correct or remove that line")
    return Unit(
        id=number,
        kind=new.kind,
        text=new.text,
        first_seq=new.first_seq,
        last_seq=new.last_seq,
        said_at=new.said_at,
        valid_from=_require_time(value, "valid_from", path, where),
        valid_to=optional_time(value, "valid_to", path, where, UTC),
        importance=new.importance,
        category=new.category,
        metadata=new.metadata,
        retracted_at=optional_time(value, "retracted_at", path, where, UTC),
        supersedes=supersedes,
    )


def _build_job(value: JsonObject, path: Path, where: str) -> ScribeJob:
    fields: dict[str, Any] = {
        "kind": value.get("job"),
        **{name: value.get(name) for name in ("session", "first_seq", "last_seq")},
        "queued_at": _require_time(value, "queued_at", path, where),
        "tries": value.get("tries", 0),
        "error": optional_text(value, "error", path, where),
    }
    return check_job(ScribeJob(**fields))


def _require_id(value: JsonObject, path: Path, where: str) -> int:
    number = optional_seq(value, "id", path, where)
    if number is None or number > MAX_SEQ:
        raise file_error(path, where, f'"id" is {shorten(number)}', "it must be a number from 1")
    return number


def _require_time(value: Mapping[str, object], field: str, path: Path, where: str) -> datetime:
    moment = optional_time(value, field, path, where, UTC)
    if moment is None:
        raise file_error(path, where, f'"{field}" is missing', "write it as 2024-05-01T10:22:00+02:00")
    return moment
