"""Checks the values of a `Filter`. Each store translates the checked filter into its own queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from reprlib import repr as shortly
from typing import get_args

from everthread.common.timestamps import micros
from everthread.errors import BadQuery
from everthread.stores.limits import UNKEEPABLE
from everthread.types import Filter, JSONValue, Role


def checked(where: Filter | None, as_of: datetime | None = None) -> Filter:
    """The filter, its values being sound. BadQuery names the one that is not."""
    if not isinstance(where, Filter | None):
        raise BadQuery(f"where must be a Where, got {where!r}; write for example Where(speaker='Mia')")
    where = where or Filter()
    for name in ("session", "speaker", "role", "kind", "category"):
        if (wanted := getattr(where, name)) is not None:
            any_of(wanted, name)
    for role in () if where.role is None else any_of(where.role, "role"):
        if role not in get_args(Role):
            raise BadQuery(f"where.role {role!r} is unknown; use one of {', '.join(get_args(Role))}")
    for name, at in (("where.since", where.since), ("where.until", where.until), ("as_of", as_of)):
        if at is not None:
            micros(at, name, BadQuery)
    if not isinstance(where.metadata, Mapping):
        raise BadQuery(f"where.metadata must be a mapping, got {where.metadata!r}")
    for key, value in where.metadata.items():
        if not isinstance(key, str):
            raise BadQuery(f"a key of where.metadata must be a str, got {key!r}")
        holdable(key, "a key of where.metadata")
        written = metadata_json(value).replace(r"\\", "")  # of the escapes of JSON, so that NUL's is known
        holdable(written.replace(r"\u0000", "\0"), "where.metadata")
    return where


def of_units(where: Filter) -> bool:
    """Returns whether a sound filter allows units and no line."""
    return where.category is not None or (where.kind is not None and "line" not in any_of(where.kind, "kind"))


def holdable(text: str, name: str) -> str:
    """The text, if a bank can hold it. BadQuery else: in what is kept such characters are replaced."""
    if UNKEEPABLE.search(text):
        raise BadQuery(
            f"{name} {shortly(text)} holds NUL or half a surrogate pair, as no bank can; use whole characters"
        )
    return text


def any_of(wanted: object, name: str) -> list[str]:
    """The names that a field of a filter allows. BadQuery where they are no text."""
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    if not all(isinstance(each, str) for each in names):
        raise BadQuery(f"where.{name.rpartition('.')[2]} must be a str or a tuple of them, got {wanted!r}")
    return [holdable(str(each), f"where.{name.rpartition('.')[2]}") for each in names]


def metadata_json(value: JSONValue) -> str:
    try:
        return as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadQuery(f"where.metadata must hold what JSON can, got {shortly(value)}: {error}") from error


def as_json(value: JSONValue) -> str:
    """A value as it is kept: keys in order, so that equal values are equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
