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

MAX_LIMIT, DEFAULT_LIMIT = 500, 50  # items of a page
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items of a page.")]
After = Annotated[str | None, Query(max_length=1000, description="The `next` of the previous page.")]


def encode_cursor(position: list[Any]) -> str:
    """Encode a position in a list as the cursor of the next page."""
    return urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def decode_cursor(after: str | None, kinds: tuple[type, ...]) -> list[Any] | None:
    """Decode a cursor.

    Args:
        after: the cursor; None for the beginning of the list.
        kinds: the types of its parts.

    Raises:
        BadQuery: if it is not a cursor of this list.
    """
    if after is None:
        return None
    try:
        position = json.loads(urlsafe_b64decode(after + "=" * (-len(after) % 4)))
    except (ValueError, RecursionError):
        position = None
    if not isinstance(position, list) or [type(part) for part in position] != list(kinds):
        raise BadQuery(f"invalid after: got {after[:40]!r}, expected the `next` of the previous page of this list")
    return position


def build_page(items: Iterable[Item], limit: int, get_position: Callable[[Item], list[Any]]) -> dict[str, Any]:
    """Return the first `limit` items, and the cursor of the next page if there are more."""
    first_items = list(islice(items, limit + 1))
    next_cursor = encode_cursor(get_position(first_items[limit - 1])) if len(first_items) > limit else None
    return {"items": first_items[:limit], "next": next_cursor}
