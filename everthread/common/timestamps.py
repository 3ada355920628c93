"""Converts times to microseconds since 1970 in UTC and an offset in seconds, and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from everthread.errors import BadInput, BadLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def to_micros(at: datetime, name: str = "said_at", error: type[BadInput] = BadLine) -> int:
    """Convert a time to microseconds since 1970 in UTC.

    Args:
        at: the time, with a time zone.
        name: its name in messages.
        error: the class of the error to raise.

    Raises:
        BadInput: the time is not a datetime, has no time zone, or is outside the years 1 to 9999 in UTC.
    """
    if not isinstance(at, datetime):
        raise error(f"{name} must be a datetime, got {at!r}; parse text with datetime.fromisoformat")
    if at.utcoffset() is None:
        raise error(
            f"{name} {at.isoformat()} has no time zone; set one, for example with .replace(tzinfo=timezone.utc)"
        )
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise error(f"{name} {at.isoformat()} is outside the years 1 to 9999 in UTC; use a time within them") from None
    return (at - _EPOCH) // _MICRO


def utc_offset_s(at: datetime) -> int:
    """Return the time's offset from UTC in seconds."""
    offset = at.utcoffset()
    return int(offset.total_seconds()) if offset else 0


def from_micros(micros: int, offset_s: int = 0) -> datetime:
    """Convert microseconds since 1970 to a time with an offset from UTC in seconds."""
    return (_EPOCH + micros * _MICRO).astimezone(_build_zone(offset_s) if offset_s else UTC)


@lru_cache(maxsize=256)
def _build_zone(offset_s: int) -> timezone:
    """Return the time zone of an offset; a bank has few of them, and each of its lines one."""
    return timezone(timedelta(seconds=offset_s))
