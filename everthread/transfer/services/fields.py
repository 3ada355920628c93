"""Reads fields of JSON whose values may be of any type, and the forms in which services write times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from everthread.errors import BadFile
from everthread.transfer.files import describe_json

Record = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_RECENT = datetime(2000, 1, 1, tzinfo=UTC)
_NOTHING: Record = {}
_MAX_EPOCH_S = 10**11  # a later time is in milliseconds


def get_record(value: object, *names: str) -> Record:
    """Return the object in these members of one another; an empty one without it."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else _NOTHING


def get_list(record: Record, name: str) -> Sequence[object]:
    """Return a member that is a list; an empty one if it is something else."""
    value = record.get(name)
    return value if isinstance(value, list) else ()


def get_records(record: Record, name: str) -> list[Record]:
    """Return the objects in a member that is a list; its other elements are left out."""
    return [element for element in get_list(record, name) if isinstance(element, dict)]


def get_text(record: Record, *names: str) -> str:
    """Return the first of these members that is text and not blank; "" if there is no such member."""
    return next((text for name in names if isinstance(text := record.get(name), str) and text.strip()), "")


def require_record(value: object, *names: str) -> Record:
    """Return an object that has members of these names.

    Raises:
        BadFile: it is something else, or lacks one.
    """
    if not isinstance(value, dict):
        raise BadFile(f"expected an object, got {describe_json(value)}")
    if missing := [name for name in names if name not in value]:
        raise BadFile(f"it has no {' and no '.join(map(repr, missing))}: {describe_json(value)}")
    return value


def parse_epoch(value: object, per_second: int = 1) -> datetime | None:
    """Return the time of a number, or a text of one, since 1970; None for another value.

    Args:
        value: the number.
        per_second: the units in a second, such as 1000 for milliseconds.
    """
    if isinstance(value, str):
        try:
            value = int(value) if value.strip().lstrip("-").isdecimal() else float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        is_exact = isinstance(value, int)
        micros = value * (1_000_000 // per_second) if is_exact else round(value * (1_000_000 / per_second))
        return _EPOCH + timedelta(microseconds=micros) if micros > 0 else None
    except (OverflowError, ValueError):  # too large, infinite, or NaN
        return None


def parse_recent_epoch(value: object) -> datetime | None:
    """Return the time of a number of seconds since 1970, or of milliseconds if it is large; None for another value.

    A number that would be a time before 2000 is another value, such as the seconds since the beginning of a recording.
    """
    is_large = isinstance(value, int | float) and value > _MAX_EPOCH_S
    moment = parse_epoch(value, per_second=1000 if is_large else 1)
    return moment if moment is not None and moment >= _FIRST_RECENT else None


def parse_iso(value: object, tz: tzinfo = UTC) -> datetime | None:
    """Return the time of an ISO 8601 text; None for another value.

    Args:
        value: the text.
        tz: the zone of a time without one.
    """
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=tz)
