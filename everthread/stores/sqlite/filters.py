"""Translates a `Filter` into SQL over the tables `line`, `session` and `speaker`, and into a filter over columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime

from everthread.common.keys import META_UNDATED
from everthread.common.timestamps import to_micros
from everthread.stores.conditions import ValueGroups
from everthread.stores.filters import allowed_names, allows_only_units
from everthread.stores.json_text import canonical_json
from everthread.stores.line_columns import ColumnFilter
from everthread.stores.sql_filters import HAS_WORDS, NOT_RETRACTED, FilterTranslator, SQLCondition, join_any
from everthread.types import Comparison, Filter, JSONValue

LIVE = f"{NOT_RETRACTED} AND {HAS_WORDS}"


class SQLiteTranslator(FilterTranslator):
    """Translates filters for SQLite. A JSON value is a row of json_each."""

    dated_at = f"""CASE WHEN line.metadata = '{{}}' OR json_extract(line.metadata, '$."{META_UNDATED}"') IS NOT 1
        THEN line.said_at END"""

    def test_times(self, where: Filter, as_of: datetime | None) -> Iterator[SQLCondition]:
        for column, comparison, at in (
            (self.dated_at, ">=", where.since),
            (self.dated_at, "<", where.until),
            ("line.said_at", "<=", as_of),
        ):
            if at is not None:
                yield f"{column} {comparison} ?", [to_micros(at)]

    def test_entry(self, name: str, value: JSONValue) -> SQLCondition:
        json = canonical_json(value)
        return (
            "EXISTS (SELECT 1 FROM json_each(line.metadata) AS pair WHERE pair.key = ? AND pair.type IS json_type(?)"
            " AND pair.value IS json_extract(?, '$'))",
            [name, json, json],
        )

    def test_key_range(self, first: str, end: str | None) -> SQLCondition:
        if end is None:
            return "line.seq IN (SELECT seq FROM line WHERE key >= ?)", [first]
        return "line.seq IN (SELECT seq FROM line WHERE key >= ? AND key < ?)", [first, end]

    def test_metadata(self, path: list[str], comparison: Comparison) -> SQLCondition:
        tables = ["json_each(line.metadata) AS field0"]
        for level in range(1, len(path)):
            outer = f"field{level - 1}"
            inner = f"CASE {outer}.type WHEN 'object' THEN {outer}.value ELSE '{{}}' END"
            tables.append(f"json_each({inner}) AS field{level}")
        names = " AND ".join(f"field{level}.key = ?" for level in range(len(path)))
        test, values = self.test_json(f"field{len(path) - 1}", comparison)
        return f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {names} AND ({test}))", [*path, *values]

    def test_membership(self, column: str, wanted: Sequence[str | int]) -> SQLCondition:
        return f"{column} IN (SELECT value FROM json_each(?))", [canonical_json(wanted)]

    def test_substring(self, column: str, value: object) -> SQLCondition:
        return f"instr({column}, ?) > 0", [value]

    def test_order(self, column: str, op: str, value: object) -> SQLCondition:
        return f"{column} {op} ?", [value]

    def test_json_equality(self, field: str, wanted: ValueGroups) -> SQLCondition:
        tests: list[SQLCondition] = []
        for types, values in (
            ("('text')", wanted.texts),
            ("('integer', 'real')", wanted.numbers),
            ("('array', 'object')", wanted.documents),
        ):
            if values:
                test = f"{field}.type IN {types} AND {field}.value IN (SELECT value FROM json_each(?))"
                tests.append((test, [canonical_json(values)]))
        if wanted.constants:
            tests.append((f"{field}.type IN (SELECT value FROM json_each(?))", [canonical_json(wanted.constants)]))
        return join_any(tests)

    def test_json_element(self, field: str, wanted: ValueGroups) -> SQLCondition:
        test, values = self.test_json_equality("element", wanted)
        elements = f"json_each(CASE {field}.type WHEN 'array' THEN {field}.value ELSE '[]' END) AS element"
        return f"EXISTS (SELECT 1 FROM {elements} WHERE {test})", values

    def test_json_substring(self, field: str, value: str) -> SQLCondition:
        return f"{field}.type = 'text' AND instr({field}.value, ?) > 0", [value]

    def test_json_order(self, field: str, op: str, value: str | float) -> SQLCondition:
        types = "('text')" if isinstance(value, str) else "('integer', 'real')"
        return f"{field}.type IN {types} AND {field}.value {op} ?", [value]


build_condition = SQLiteTranslator().build_condition


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
