"""Reads the fields of exported JSON. An absent field and null mean the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo

from everthread.errors import BadFile
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import JsonObject, shorten

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def get_text(record: JsonObject, name: str) -> str:
    """Return a text field; empty if it is absent.

    Raises:
        BadFile: it is another value.
    """
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadFile(f'"{name}" is {shorten(value)}; expected text')
    return value


def get_object(record: JsonObject, name: str) -> JsonObject:
    """Return a field that is an object; an empty one if it is absent.

    Raises:
        BadFile: it is another value.
    """
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadFile(f'"{name}" is {shorten(value)}; expected an object')
    return value


def get_objects(record: JsonObject, name: str) -> list[JsonObject]:
    """Return a field that is a list of objects; an empty one if it is absent.

    Raises:
        BadFile: it is another value.
    """
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadFile(f'"{name}" is {shorten(value)}; expected a list of objects')
    return value


def parse_time(value: object, tz: tzinfo = UTC) -> datetime | None:
    """Return the time of a field that is a text, such as ISO 8601; None if it is absent or has no known form.

    Args:
        value: the field.
        tz: the zone of a time without an offset.
    """
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        return parse_moment(value, tz)
    except ValueError:
        return None


def parse_epoch(value: object, *, per_second: int = 1) -> datetime | None:
    """Return the time of a field that counts from 1970, as a number or its digits; None if it is absent or no time.

    Args:
        value: the field.
        per_second: 1 for seconds, 1000 for milliseconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value) / per_second
        return _EPOCH + timedelta(seconds=seconds) if math.isfinite(seconds) and seconds else None
    except (ValueError, OverflowError):
        return None
