"""Translates a `Filter` into SQL over the tables `line`, `session` and `speaker`, and into a filter over columns."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any, cast

from everthread.common.keys import META_UNDATED
from everthread.common.timestamps import to_micros
from everthread.stores.conditions import TIME_FIELD, ValueGroups, group_values, metadata_path
from everthread.stores.filters import allowed_names, allows_only_units, check_filter, key_range
from everthread.stores.json_text import canonical_json
from everthread.stores.sql_conditions import COLUMNS, SQLCondition, join_any, to_sql, translate
from everthread.stores.sqlite.line_columns import ColumnFilter
from everthread.types import Comparison, Filter

_NOT_RETRACTED, _HAS_WORDS = "line.retracted_at IS NULL", "line.text <> ''"
LIVE = f"{_NOT_RETRACTED} AND {_HAS_WORDS}"

# NULL for an undated line.
_DATED_AT = f"""CASE WHEN line.metadata = '{{}}' OR json_extract(line.metadata, '$."{META_UNDATED}"') IS NOT 1
    THEN line.said_at END"""


def build_condition(
    where: Filter | None, as_of: datetime | None = None, *, retracted: bool = False, wordless: bool = False
) -> SQLCondition:
    """Translate a filter into a condition (joined by AND, never empty) and its values.

    Args:
        where: the filter.
        as_of: only lines said by then.
        retracted: retracted lines too.
        wordless: lines without words too.

    Raises:
        BadQuery: a value of the filter is invalid.
    """
    parts: list[str] = ["1" if retracted else _NOT_RETRACTED, "1" if wordless else _HAS_WORDS]
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
        add(f"{_DATED_AT} >= ?", to_micros(where.since))
    if where.until is not None:
        add(f"{_DATED_AT} < ?", to_micros(where.until))
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
    if where.condition is not None:
        part, compared = translate(where.condition, _translate_comparison)
        add(f"({part})", *compared)
    if where.key_prefix is not None:
        first, end = key_range(where.key_prefix)
        if end is None:
            add("line.seq IN (SELECT seq FROM line WHERE key >= ?)", first)
        else:
            add("line.seq IN (SELECT seq FROM line WHERE key >= ? AND key < ?)", first, end)
    return " AND ".join(parts), values


def _translate_comparison(comparison: Comparison) -> SQLCondition:
    path = metadata_path(comparison)
    if not path:
        column = _DATED_AT if comparison.field == TIME_FIELD else COLUMNS[comparison.field]
        return _translate_column(column, comparison)
    tables = ["json_each(line.metadata) AS field0"]
    for level in range(1, len(path)):
        outer = f"field{level - 1}"
        tables.append(f"json_each(CASE {outer}.type WHEN 'object' THEN {outer}.value ELSE '{{}}' END) AS field{level}")
    names = " AND ".join(f"field{level}.key = ?" for level in range(len(path)))
    test, values = _test_value(f"field{len(path) - 1}", comparison)
    return f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {names} AND ({test}))", [*path, *values]


def _translate_column(column: str, comparison: Comparison) -> SQLCondition:
    op, value = comparison.op, cast("Any", comparison.value)
    if op == "exists":
        return f"{column} IS NOT NULL", []
    if op in ("==", "in"):
        wanted = [to_sql(each) for each in (value if op == "in" else [value])]
        return f"coalesce({column} IN (SELECT value FROM json_each(?)), 0)", [canonical_json(wanted)]
    if op == "contains":
        return f"coalesce(instr({column}, ?) > 0, 0)", [value]
    return f"coalesce({column} {op} ?, 0)", [to_sql(value)]


def _test_value(field: str, comparison: Comparison) -> SQLCondition:
    """Build the test of a JSON value, given as a row of json_each."""
    op, value = comparison.op, cast("Any", comparison.value)
    if op == "exists":
        return "1", []
    if op in ("==", "in"):
        return _test_equality(field, group_values(value if op == "in" else [value]))
    if op == "contains":
        test, values = _test_equality("element", group_values([value]))
        elements = f"json_each(CASE {field}.type WHEN 'array' THEN {field}.value ELSE '[]' END) AS element"
        tests: list[SQLCondition] = [(f"EXISTS (SELECT 1 FROM {elements} WHERE {test})", values)]
        if isinstance(value, str):
            tests.append((f"{field}.type = 'text' AND instr({field}.value, ?) > 0", [value]))
        return join_any(tests)
    kinds = "('text')" if isinstance(value, str) else "('integer', 'real')"
    return f"{field}.type IN {kinds} AND {field}.value {op} ?", [value]


def _test_equality(field: str, groups: ValueGroups) -> SQLCondition:
    tests: list[SQLCondition] = []
    for kinds, wanted in (
        ("('text')", groups.texts),
        ("('integer', 'real')", groups.numbers),
        ("('array', 'object')", groups.documents),
    ):
        if wanted:
            test = f"{field}.type IN {kinds} AND {field}.value IN (SELECT value FROM json_each(?))"
            tests.append((test, [canonical_json(wanted)]))
    if groups.constants:
        tests.append((f"{field}.type IN (SELECT value FROM json_each(?))", [canonical_json(groups.constants)]))
    return join_any(tests)


def needs_rows(where: Filter) -> bool:
    """Return whether a filter compares what is not in the columns."""
    return bool(where.metadata) or where.condition is not None or where.key_prefix is not None


def build_column_filter(db: sqlite3.Connection, where: Filter, as_of: datetime | None) -> ColumnFilter:
    """Translate a valid filter for which `needs_rows` is false into a filter over columns."""
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
    only_dated = where.since is not None or where.until is not None
    return ColumnFilter(sessions, speakers, since, min(ends, default=None), only_dated)


def _select_numbers(db: sqlite3.Connection, source: str, wanted: object) -> list[int]:
    return [
        number for (number,) in db.execute(f"SELECT number FROM {source}", (canonical_json(allowed_names(wanted, "")),))
    ]
