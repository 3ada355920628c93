"""Moments as whole numbers: microseconds since 1970 in UTC, beside the speaker's own offset in seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from everthread.errors import BadInput, BadLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def micros(at: datetime, name: str = "said_at", error: type[BadInput] = BadLine) -> int:
    """Return a moment as microseconds since 1970.

    Raises:
        BadInput: as `error`, if it has no time zone or leaves the years 1 to 9999 in UTC.
    """
    if not isinstance(at, datetime):
        raise error(f"{name} must be a datetime, got {at!r}; parse text with datetime.fromisoformat")
    if at.utcoffset() is None:
        raise error(
            f"{name} {at.isoformat()} has no time zone; say which, for example {name}.replace(tzinfo=timezone.utc)"
        )
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise error(f"{name} {at.isoformat()} leaves the years 1 to 9999 in UTC; use a time inside them") from None
    return (at - _EPOCH) // _MICRO


def offset(at: datetime) -> int:
    """Return the moment's distance from UTC, in seconds."""
    apart = at.utcoffset()
    return int(apart.total_seconds()) if apart else 0


def moment(stamp: int, seconds: int = 0) -> datetime:
    """Return the moment of a timestamp, on a clock `seconds` from UTC."""
    return (_EPOCH + stamp * _MICRO).astimezone(timezone(timedelta(seconds=seconds)) if seconds else UTC)
