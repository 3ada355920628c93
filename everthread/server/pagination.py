"""Splits long lists into pages. A cursor encodes where a page ended; its content is opaque to clients."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Any, TypeVar

from fastapi import Query

from everthread.errors import BadQuery

Item = TypeVar("Item")

MOST, DEFAULT_LIMIT = 500, 50  # items of a page
Limit = Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")]
After = Annotated[str | None, Query(max_length=1000, description="Where the page before ended: its `next`.")]


def cursor(place: list[Any]) -> str:
    """Encode a place in a list as the cursor of the next page."""
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def place(after: str | None, kinds: tuple[type, ...]) -> list[Any] | None:
    """Decode a cursor.

    Args:
        after: the cursor; None for the beginning of the list.
        kinds: the types of its parts.

    Raises:
        BadQuery: if it is no cursor of this list.
    """
    if after is None:
        return None
    try:
        found = json.loads(urlsafe_b64decode(after + "=" * (-len(after) % 4)))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or [type(each) for each in found] != list(kinds):
        raise BadQuery(f"after={after[:40]!r} is no cursor of this list; give the `next` of the page before")
    return found


def page(items: Iterable[Item], limit: int, key: Callable[[Item], list[Any]]) -> dict[str, Any]:
    """Return the first `limit` items, and the cursor of the next page if there are more."""
    found = list(islice(items, limit + 1))
    more = cursor(key(found[limit - 1])) if len(found) > limit else None
    return {"items": found[:limit], "next": more}
