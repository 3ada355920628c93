"""Translates a `Filter` or a set of lines into SQL for Postgres. `stores.filters` checks the values for every store."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import numpy as np

from everthread.common.keys import META_UNDATED
from everthread.common.timestamps import to_micros
from everthread.stores.conditions import TIME_FIELD, ValueGroups, group_values, metadata_path
from everthread.stores.filters import allowed_names, allows_only_units, check_filter, key_range
from everthread.stores.json_text import canonical_json
from everthread.stores.sql_conditions import COLUMNS, SQLCondition, join_any, to_sql, translate
from everthread.types import Comparison, Filter, Seqs

_IS_DATED = f"""line.metadata = '{{}}' OR (line.metadata::json ->> '{META_UNDATED}') IS DISTINCT FROM 'true'"""


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
    where = check_filter(where, as_of)
    parts: list[str] = ["true" if retracted else "line.retracted_at IS NULL"]
    if not wordless:
        parts.append("line.text <> ''")
    values: list[object] = []
    for name, column, wanted in (
        ("session", "session.session_id", where.session),
        ("speaker", "speaker.name", where.speaker),
        ("role", "speaker.role", where.role),
    ):
        if wanted is not None:
            parts.append(f"{column} = ANY(%s)")
            values.append(allowed_names(wanted, name))
    if allows_only_units(where):
        parts.append("false")
    for comparison, at in ((">=", where.since), ("<", where.until), ("<=", as_of)):
        if at is not None:
            parts.append(f"line.said_at {comparison} %s")
            values.append(to_micros(at))
    if where.since is not None or where.until is not None:
        parts.append(f"({_IS_DATED})")
    for key, value in where.metadata.items():
        parts.append("(line.metadata::json -> %s)::text = %s")  # stored as written by canonical_json
        values += [key, canonical_json(value)]
    if where.condition is not None:
        part, compared = translate(where.condition, _translate_comparison)
        parts.append(f"({part})")
        values += compared
    if where.key_prefix is not None:
        first, end = key_range(where.key_prefix)
        parts.append("line.key >= %s" if end is None else "line.key >= %s AND line.key < %s")
        values += [first] if end is None else [first, end]
    return " AND ".join(parts), values


def _translate_comparison(comparison: Comparison) -> SQLCondition:
    path = metadata_path(comparison)
    if not path:
        column = COLUMNS[comparison.field]
        if comparison.field == TIME_FIELD:
            column = f"(CASE WHEN {_IS_DATED} THEN {column} END)"
        return _translate_column(column, comparison)
    test, values = _test_value("field.json", comparison)
    steps = " -> %s::text" * len(path)
    source = f"(SELECT line.metadata::json{steps} AS json) AS field"
    return f"EXISTS (SELECT 1 FROM {source} WHERE field.json IS NOT NULL AND ({test}))", [*path, *values]


def _translate_column(column: str, comparison: Comparison) -> SQLCondition:
    op, value = comparison.op, cast("Any", comparison.value)
    if op == "exists":
        return f"{column} IS NOT NULL", []
    if op in ("==", "in"):
        wanted = [to_sql(each) for each in (value if op == "in" else [value])]
        kind = "bigint[]" if comparison.field == TIME_FIELD else "text[]"
        return f"coalesce({column} = ANY(%s::{kind}), false)", [wanted]
    if op == "contains":
        return f"coalesce(strpos({column}, %s::text) > 0, false)", [value]
    collation = "" if comparison.field == TIME_FIELD else ' COLLATE "C"'
    return f"coalesce({column}{collation} {op} %s, false)", [to_sql(value)]


def _test_value(field: str, comparison: Comparison) -> SQLCondition:
    """Build the test of a column that contains a JSON value."""
    op, value = comparison.op, cast("Any", comparison.value)
    if op == "exists":
        return "true", []
    if op in ("==", "in"):
        return _test_equality(field, group_values(value if op == "in" else [value]))
    if op == "contains":
        test, values = _test_equality("element.json", group_values([value]))
        elements = (
            f"json_array_elements(CASE json_typeof({field}) WHEN 'array' THEN {field} ELSE '[]'::json END) "
            "AS element(json)"
        )
        tests: list[SQLCondition] = [(f"EXISTS (SELECT 1 FROM {elements} WHERE {test})", values)]
        if isinstance(value, str):
            tests.append((f"json_typeof({field}) = 'string' AND strpos({field} #>> '{{}}', %s::text) > 0", [value]))
        return join_any(tests)
    if isinstance(value, str):
        return f"json_typeof({field}) = 'string' AND ({field} #>> '{{}}') COLLATE \"C\" {op} %s", [value]
    return _if_number(field, f"{op} %s::text::numeric"), [canonical_json(value)]  # the driver would round a float


def _test_equality(field: str, groups: ValueGroups) -> SQLCondition:
    tests: list[SQLCondition] = []
    if groups.texts:
        tests.append((f"json_typeof({field}) = 'string' AND {field} #>> '{{}}' = ANY(%s::text[])", [groups.texts]))
    if groups.numbers:
        numbers = [canonical_json(number) for number in groups.numbers]
        tests.append((_if_number(field, "= ANY(%s::numeric[])"), [numbers]))
    for kinds, wanted in (("'null', 'boolean'", groups.constants), ("'array', 'object'", groups.documents)):
        if wanted:
            tests.append((f"json_typeof({field}) IN ({kinds}) AND {field}::text = ANY(%s::text[])", [wanted]))
    return join_any(tests)


def _if_number(field: str, comparison: str) -> str:
    """Build a comparison that only numbers are converted for; CASE fixes the order of evaluation."""
    return f"CASE json_typeof({field}) WHEN 'number' THEN ({field} #>> '{{}}')::numeric {comparison} ELSE false END"


def array_literal(numbers: Seqs) -> str:
    """Format numbers as a Postgres array literal: six times as fast as the driver formats a list."""
    return "{" + ",".join(map(str, numbers.tolist())) + "}"


def seq_bitmap(within: Seqs | None) -> tuple[str, tuple[object, ...]]:
    """Build the condition that a row's seq is in `within`, with one bit per seq: 125 KB for a million."""
    if within is None:
        return "", ()
    bits = np.zeros(int(within[-1]) + 1 if len(within) else 1, bool)
    bits[within] = True
    mask = np.packbits(bits, bitorder="little").tobytes()
    return "AND CASE WHEN seq < %s THEN get_bit(%s, seq) = 1 ELSE false END", (len(bits), mask)
