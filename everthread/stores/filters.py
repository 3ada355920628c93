"""Checks the values of a `Filter`. Each store translates the checked filter into its own queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from reprlib import repr as shortly
from typing import get_args

from everthread.common.timestamps import to_micros
from everthread.errors import BadInput, BadQuery
from everthread.stores.limits import UNSTORABLE_CHARACTERS
from everthread.types import Filter, JSONValue, Role


def check_filter(where: Filter | None, as_of: datetime | None = None) -> Filter:
    """Check the values of a filter, and return it; None becomes a filter that allows everything.

    Raises:
        BadQuery: a value is invalid; the message names it.
    """
    if not isinstance(where, Filter | None):
        raise BadQuery(f"where must be a Filter, got {where!r}; write for example Filter(speaker='Mia')")
    where = where or Filter()
    for name in ("session", "speaker", "role", "kind", "category"):
        if (wanted := getattr(where, name)) is not None:
            allowed_names(wanted, name)
    for role in () if where.role is None else allowed_names(where.role, "role"):
        if role not in get_args(Role):
            raise BadQuery(f"unknown where.role {role!r}; expected one of {', '.join(get_args(Role))}")
    for name, moment in (("where.since", where.since), ("where.until", where.until), ("as_of", as_of)):
        if moment is not None:
            to_micros(moment, name, BadQuery)
    if not isinstance(where.metadata, Mapping):
        raise BadQuery(f"where.metadata must be a mapping, got {where.metadata!r}")
    for key, value in where.metadata.items():
        if not isinstance(key, str):
            raise BadQuery(f"a key of where.metadata must be a str, got {key!r}")
        check_storable(key, "a key of where.metadata")
        storable_json(value, "where.metadata")
    return where


def allows_only_units(where: Filter) -> bool:
    """Return whether a valid filter allows units and no line."""
    return where.category is not None or (where.kind is not None and "line" not in allowed_names(where.kind, "kind"))


def check_storable(text: str, name: str, error: type[BadInput] = BadQuery) -> str:
    """Check that a bank can store a name or a value, and return it.

    Args:
        text: the text.
        name: its name in messages.
        error: the class of the error to raise.

    Raises:
        BadInput: it contains NUL or half a surrogate pair.
    """
    if UNSTORABLE_CHARACTERS.search(text):
        raise error(
            f"{name} contains NUL or half a surrogate pair, which can't be stored: {shortly(text)}; "
            "use whole characters"
        )
    return text


def allowed_names(wanted: object, name: str) -> list[str]:
    """Return the names that a field of a filter allows.

    Raises:
        BadQuery: the field is neither a str nor a tuple of them.
    """
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    label = f"where.{name.rpartition('.')[2]}"
    if not all(isinstance(each, str) for each in names):
        raise BadQuery(f"{label} must be a str or a tuple of them, got {wanted!r}")
    return [check_storable(str(each), label) for each in names]


def storable_json(value: JSONValue, name: str, error: type[BadInput] = BadQuery) -> str:
    """Serialize a value for storage.

    Args:
        value: the value.
        name: its name in messages.
        error: the class of the error to raise.

    Raises:
        BadInput: it is not JSON-serializable, or contains NUL or half a surrogate pair.
    """
    try:
        written = canonical_json(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise error(f"{name} must be JSON-serializable, got {shortly(value)}: {cause}") from cause
    # Without the escaped backslashes, the escape sequence of NUL is unambiguous.
    check_storable(written.replace(r"\\", "").replace(r"\u0000", "\0"), name, error)
    return written


def canonical_json(value: JSONValue) -> str:
    """Serialize a value for storage. Keys are sorted, so that equal values have equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
