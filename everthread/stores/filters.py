"""Checks the values of a `Filter`. Each store translates the checked filter into its own queries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import get_args

from everthread.common.timestamps import to_micros
from everthread.errors import BadQuery
from everthread.stores.conditions import check_condition, check_json_value
from everthread.stores.limits import check_storable
from everthread.types import Filter, Role

MAX_CODE_POINT = 0x10FFFF


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
        check_json_value(value, "a value of where.metadata")
    if where.condition is not None:
        check_condition(where.condition)
    if where.key_prefix is not None:
        check_key_prefix(where.key_prefix)
    return where


def check_key_prefix(prefix: str) -> None:
    """Check the prefix of keys in a filter.

    Raises:
        BadQuery: it is not a str, or is empty, or no key can begin with it.
    """
    if not isinstance(prefix, str) or not prefix:
        raise BadQuery(f"invalid where.key_prefix: got {prefix!r}, expected a str of at least one character")
    check_storable(prefix, "where.key_prefix")


def allows_only_units(where: Filter) -> bool:
    """Return whether a valid filter allows units and no line."""
    return where.category is not None or (where.kind is not None and "line" not in allowed_names(where.kind, "kind"))


def allowed_names(wanted: object, name: str) -> list[str]:
    """Return the names that a field of a filter allows.

    Raises:
        BadQuery: the field is neither a str nor a tuple or a list of them.
    """
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    label = f"where.{name.rpartition('.')[2]}"
    if not all(isinstance(item, str) for item in names):
        raise BadQuery(f"{label} must be a str or a tuple of them, got {wanted!r}")
    return [check_storable(str(item), label) for item in names]


def key_range(prefix: str) -> tuple[str, str | None]:
    """Return the range of the keys that begin with a prefix: the first, and the end, which is exclusive.

    None: the range has no end. Databases order keys by code point.
    """
    stem = prefix.rstrip(chr(MAX_CODE_POINT))
    if not stem:
        return prefix, None
    next_point = ord(stem[-1]) + 1
    return prefix, stem[:-1] + chr(0xE000 if next_point == 0xD800 else next_point)  # skips the surrogates
