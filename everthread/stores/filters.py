"""A `Where` as SQL over the tables `line`, `session` and `speaker`, and as a choice over the columns in memory.

It checks the filter's values too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from reprlib import repr as shortly
from typing import get_args

from everthread.common.timestamps import micros
from everthread.errors import BadQuery
from everthread.stores.limits import UNKEEPABLE
from everthread.stores.line_columns import ColumnFilter
from everthread.types import Filter, JSONValue, Role

Clause = tuple[str, list[object]]


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
        written = _value(value).replace(r"\\", "")  # of the escapes of JSON, so that NUL's is known
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


def clause(where: Filter | None, as_of: datetime | None = None) -> Clause:
    """The condition (joined by AND, never empty) and its values."""
    parts: list[str] = ["line.retracted_at IS NULL"]
    values: list[object] = []

    def add(part: str, *these: object) -> None:
        parts.append(part)
        values.extend(these)

    where = checked(where, as_of)
    for column, wanted in (
        ("session.session_id", where.session),
        ("speaker.name", where.speaker),
        ("speaker.role", where.role),
    ):
        if wanted is not None:
            add(f"{column} IN (SELECT value FROM json_each(?))", _value(any_of(wanted, column)))
    if of_units(where):
        add("0")
    if where.since is not None:
        add("line.said_at >= ?", micros(where.since))
    if where.until is not None:
        add("line.said_at < ?", micros(where.until))
    if as_of is not None:
        add("line.said_at <= ?", micros(as_of))
    for key, value in where.metadata.items():
        add(
            "EXISTS (SELECT 1 FROM json_each(line.metadata) AS pair WHERE pair.key = ? AND pair.type IS json_type(?)"
            " AND pair.value IS json_extract(?, '$'))",
            *(key, _value(value), _value(value)),
        )
    return " AND ".join(parts), values


def choice(db: sqlite3.Connection, where: Filter, as_of: datetime | None) -> ColumnFilter:
    """The same filter over columns, for a `where` whose values are sound and which asks for no metadata."""
    sessions = speakers = None
    if where.session is not None:
        sessions = _numbers(db, "session WHERE session_id IN (SELECT value FROM json_each(?))", where.session)
    if of_units(where):
        sessions = []
    if where.speaker is not None:
        speakers = _numbers(db, "speaker WHERE name IN (SELECT value FROM json_each(?))", where.speaker)
    if where.role is not None:
        speaking = _numbers(db, "speaker WHERE role IN (SELECT value FROM json_each(?))", where.role)
        speakers = speaking if speakers is None else sorted({*speakers} & {*speaking})
    ends = [micros(where.until)] if where.until is not None else []
    ends += [micros(as_of) + 1] if as_of is not None else []
    since = micros(where.since) if where.since is not None else None
    return ColumnFilter(sessions, speakers, since, min(ends, default=None))


def _numbers(db: sqlite3.Connection, these: str, wanted: object) -> list[int]:
    return [number for (number,) in db.execute(f"SELECT number FROM {these}", (_value(any_of(wanted, "")),))]


def any_of(wanted: object, name: str) -> list[str]:
    """The names that a field of a filter allows. BadQuery where they are no text."""
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    if not all(isinstance(each, str) for each in names):
        raise BadQuery(f"where.{name.rpartition('.')[2]} must be a str or a tuple of them, got {wanted!r}")
    return [holdable(str(each), f"where.{name.rpartition('.')[2]}") for each in names]


def _value(value: JSONValue) -> str:
    try:
        return as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadQuery(f"where.metadata must hold what JSON can, got {shortly(value)}: {error}") from error


def as_json(value: JSONValue) -> str:
    """A value as it is kept: keys in order, so that equal values are equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
