"""Translates a `Filter` into SQL over the tables `line`, `session` and `speaker`, and into a filter over columns."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from everthread.common.timestamps import to_micros
from everthread.stores.filters import allowed_names, allows_only_units, canonical_json, check_filter
from everthread.stores.sqlite.line_columns import ColumnFilter
from everthread.types import Filter

Condition = tuple[str, list[object]]


def build_condition(where: Filter | None, as_of: datetime | None = None) -> Condition:
    """Translate a filter into a condition (joined by AND, never empty) and its values.

    Raises:
        BadQuery: a value of the filter is invalid.
    """
    parts: list[str] = ["line.retracted_at IS NULL"]
    values: list[object] = []

    def add(part: str, *new_values: object) -> None:
        parts.append(part)
        values.extend(new_values)

    where = check_filter(where, as_of)
    for column, wanted in (
        ("session.session_id", where.session),
        ("speaker.name", where.speaker),
        ("speaker.role", where.role),
    ):
        if wanted is not None:
            add(f"{column} IN (SELECT value FROM json_each(?))", canonical_json(allowed_names(wanted, column)))
    if allows_only_units(where):
        add("0")
    if where.since is not None:
        add("line.said_at >= ?", to_micros(where.since))
    if where.until is not None:
        add("line.said_at < ?", to_micros(where.until))
    if as_of is not None:
        add("line.said_at <= ?", to_micros(as_of))
    for key, value in where.metadata.items():
        add(
            "EXISTS (SELECT 1 FROM json_each(line.metadata) AS pair WHERE pair.key = ? AND pair.type IS json_type(?)"
            " AND pair.value IS json_extract(?, '$'))",
            key,
            canonical_json(value),
            canonical_json(value),
        )
    return " AND ".join(parts), values


def build_column_filter(db: sqlite3.Connection, where: Filter, as_of: datetime | None) -> ColumnFilter:
    """Translate a valid filter without metadata into a filter over columns."""
    sessions = speakers = None
    if where.session is not None:
        sessions = _select_numbers(db, "session WHERE session_id IN (SELECT value FROM json_each(?))", where.session)
    if allows_only_units(where):
        sessions = []
    if where.speaker is not None:
        speakers = _select_numbers(db, "speaker WHERE name IN (SELECT value FROM json_each(?))", where.speaker)
    if where.role is not None:
        with_role = _select_numbers(db, "speaker WHERE role IN (SELECT value FROM json_each(?))", where.role)
        speakers = with_role if speakers is None else sorted({*speakers} & {*with_role})
    ends = [to_micros(where.until)] if where.until is not None else []
    ends += [to_micros(as_of) + 1] if as_of is not None else []
    since = to_micros(where.since) if where.since is not None else None
    return ColumnFilter(sessions, speakers, since, min(ends, default=None))


def _select_numbers(db: sqlite3.Connection, source: str, wanted: object) -> list[int]:
    return [
        number for (number,) in db.execute(f"SELECT number FROM {source}", (canonical_json(allowed_names(wanted, "")),))
    ]
