"""Parses years, months and days, as statements give the moments of what they state: "2019", "2019-05". Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from everthread.errors import BadInput

_MOMENT = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def read_moment(moment: str, zone: tzinfo | None) -> datetime:
    """Return the beginning of a year, month or day ("2019", "2019-05", "2019-05-04").

    Raises:
        BadInput: it is anything else.
    """
    match = isinstance(moment, str) and _MOMENT.fullmatch(moment)
    try:
        year, month, day = (int(part or 1) for part in match.groups()) if match else (0, 0, 0)
        return datetime(year, month, day, tzinfo=zone)
    except ValueError:
        raise BadInput(
            f"invalid moment: got {moment!r}; expected a year, a month or a day, such as 2019, 2019-05 or 2019-05-04"
        ) from None


def is_moment(moment: str) -> bool:
    """Return whether a text is a year, a month or a day that `read_moment` reads."""
    try:
        read_moment(moment, UTC)
    except BadInput:
        return False
    return True
