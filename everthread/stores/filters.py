"""A `Where` as SQL over the tables `line`, `session` and `speaker`, for SQLite. It checks the filter's values too."""

from __future__ import annotations

import json
from datetime import datetime

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

    where = where or Where()
    for column, wanted in (
        ("session.session_id", where.session),
        ("speaker.name", where.speaker),
        ("speaker.role", where.role),
    ):
        if wanted is not None:
            names = (wanted,) if isinstance(wanted, str) else wanted
            add(f"{column} IN ({', '.join('?' * len(names))})", *names)
    if where.kind is not None and "line" not in ((where.kind,) if isinstance(where.kind, str) else where.kind):
        add("0")
    if where.since is not None:
        add("line.said_at >= ?", micros(where.since, "where.since", BadQuery))
    if where.until is not None:
        add("line.said_at < ?", micros(where.until, "where.until", BadQuery))
    if as_of is not None:
        add("line.said_at <= ?", micros(as_of, "as_of", BadQuery))
    for key, value in where.metadata.items():
        add(
            "EXISTS (SELECT 1 FROM json_each(line.metadata) AS pair WHERE pair.key = ? AND pair.type IS json_type(?)"
            " AND pair.value IS json_extract(?, '$'))",
            *(key, as_json(value), as_json(value)),
        )
    return " AND ".join(parts), values


def as_json(value: JSONValue) -> str:
    """A value as it is kept: keys in order, so that equal values are equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
