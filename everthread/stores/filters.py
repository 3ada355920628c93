"""A `Where` as SQL over the tables `line`, `session` and `speaker`, for SQLite. It checks the filter's values too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from reprlib import repr as shortly

from everthread.errors import BadQuery
from everthread.stores.times import micros
from everthread.types import JSONValue, Where

Clause = tuple[str, list[object]]


def clause(where: Where | None, as_of: datetime | None = None) -> Clause:
    """The condition (joined by AND, never empty) and its values."""
    parts: list[str] = ["line.retracted_at IS NULL"]
    values: list[object] = []

    def add(part: str, *these: object) -> None:
        parts.append(part)
        values.extend(these)

    if not isinstance(where, Where | None):
        raise BadQuery(f"where must be a Where, got {where!r}; write for example Where(speaker='Mia')")
    where = where or Where()
    for column, wanted in (
        ("session.session_id", where.session),
        ("speaker.name", where.speaker),
        ("speaker.role", where.role),
    ):
        if wanted is not None:
            add(f"{column} IN (SELECT value FROM json_each(?))", _value(_any_of(wanted, column)))
    if where.kind is not None and "line" not in _any_of(where.kind, "kind"):
        add("0")
    if where.since is not None:
        add("line.said_at >= ?", micros(where.since, "where.since", BadQuery))
    if where.until is not None:
        add("line.said_at < ?", micros(where.until, "where.until", BadQuery))
    if as_of is not None:
        add("line.said_at <= ?", micros(as_of, "as_of", BadQuery))
    if not isinstance(where.metadata, Mapping):
        raise BadQuery(f"where.metadata must be a mapping, got {where.metadata!r}")
    for key, value in where.metadata.items():
        add(
            "EXISTS (SELECT 1 FROM json_each(line.metadata) AS pair WHERE pair.key = ? AND pair.type IS json_type(?)"
            " AND pair.value IS json_extract(?, '$'))",
            *(key, _value(value), _value(value)),
        )
    return " AND ".join(parts), values


def _any_of(wanted: object, name: str) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    if not all(isinstance(each, str) for each in names):
        raise BadQuery(f"where.{name.rpartition('.')[2]} must be a str or a tuple of them, got {wanted!r}")
    return [str(each) for each in names]


def _value(value: JSONValue) -> str:
    try:
        return as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadQuery(f"where.metadata must hold what JSON can, got {shortly(value)}: {error}") from error


def as_json(value: JSONValue) -> str:
    """A value as it is kept: keys in order, so that equal values are equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
