"""Translates a `Filter` or a set of lines into SQL for Postgres. `stores.filters` checks the values for every store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from everthread.common.keys import META_UNDATED
from everthread.common.timestamps import to_micros
from everthread.stores.conditions import ValueGroups
from everthread.stores.json_text import canonical_json
from everthread.stores.sql_filters import FilterTranslator, SQLCondition, join_any
from everthread.types import Comparison, Filter, JSONValue, Seqs

_IS_DATED = f"""line.metadata = '{{}}' OR (line.metadata::json ->> '{META_UNDATED}') IS DISTINCT FROM 'true'"""


class PostgresTranslator(FilterTranslator):
    """Translates filters for Postgres."""

    dated_at = f"(CASE WHEN {_IS_DATED} THEN line.said_at END)"

    def test_times(self, where: Filter, as_of: datetime | None) -> Iterator[SQLCondition]:
        for comparison, at in ((">=", where.since), ("<", where.until), ("<=", as_of)):
            if at is not None:
                yield f"line.said_at {comparison} %s", [to_micros(at)]
        if where.since is not None or where.until is not None:
            yield _IS_DATED, []

    def test_entry(self, name: str, value: JSONValue) -> SQLCondition:
        # The text of a value is stored as canonical_json writes it.
        return "(line.metadata::json -> %s)::text = %s", [name, canonical_json(value)]

    def test_key_range(self, first: str, end: str | None) -> SQLCondition:
        return ("line.key >= %s", [first]) if end is None else ("line.key >= %s AND line.key < %s", [first, end])

    def test_metadata(self, path: list[str], comparison: Comparison) -> SQLCondition:
        test, values = self.test_json("field.json", comparison)
        steps = " -> %s::text" * len(path)
        source = f"(SELECT line.metadata::json{steps} AS json) AS field"
        return f"EXISTS (SELECT 1 FROM {source} WHERE field.json IS NOT NULL AND ({test}))", [*path, *values]

    def test_membership(self, column: str, wanted: Sequence[str | int]) -> SQLCondition:
        return f"{column} = ANY(%s::{'bigint[]' if column == self.dated_at else 'text[]'})", [wanted]

    def test_substring(self, column: str, value: object) -> SQLCondition:
        return f"strpos({column}, %s::text) > 0", [value]

    def test_order(self, column: str, op: str, value: object) -> SQLCondition:
        collation = ' COLLATE "C"' if isinstance(value, str) else ""
        return f"{column}{collation} {op} %s", [value]

    def test_json_equality(self, field: str, wanted: ValueGroups) -> SQLCondition:
        tests: list[SQLCondition] = []
        if wanted.texts:
            tests.append((f"json_typeof({field}) = 'string' AND {field} #>> '{{}}' = ANY(%s::text[])", [wanted.texts]))
        if wanted.numbers:
            numbers = [canonical_json(number) for number in wanted.numbers]
            tests.append((_if_number(field, "= ANY(%s::numeric[])"), [numbers]))
        for types, documents in (("'null', 'boolean'", wanted.constants), ("'array', 'object'", wanted.documents)):
            if documents:
                tests.append((f"json_typeof({field}) IN ({types}) AND {field}::text = ANY(%s::text[])", [documents]))
        return join_any(tests)

    def test_json_element(self, field: str, wanted: ValueGroups) -> SQLCondition:
        test, values = self.test_json_equality("element.json", wanted)
        elements = f"json_array_elements(CASE json_typeof({field}) WHEN 'array' THEN {field} ELSE '[]'::json END)"
        return f"EXISTS (SELECT 1 FROM {elements} AS element(json) WHERE {test})", values

    def test_json_substring(self, field: str, value: str) -> SQLCondition:
        return f"json_typeof({field}) = 'string' AND strpos({field} #>> '{{}}', %s::text) > 0", [value]

    def test_json_order(self, field: str, op: str, value: str | float) -> SQLCondition:
        if isinstance(value, str):
            return f"json_typeof({field}) = 'string' AND ({field} #>> '{{}}') COLLATE \"C\" {op} %s", [value]
        # As text, because the driver would round a float.
        return _if_number(field, f"{op} %s::text::numeric"), [canonical_json(value)]


def _if_number(field: str, comparison: str) -> str:
    """Build a comparison that only numbers are converted for; CASE fixes the order of evaluation."""
    return f"CASE json_typeof({field}) WHEN 'number' THEN ({field} #>> '{{}}')::numeric {comparison} ELSE false END"


build_condition = PostgresTranslator().build_condition


def seq_bitmap(within: Seqs | None) -> tuple[str, tuple[object, ...]]:
    """Build the condition that a row's seq is in `within`, with one bit per seq: 125 KB for a million."""
    if within is None:
        return "", ()
    bits = np.zeros(int(within[-1]) + 1 if len(within) else 1, bool)
    bits[within] = True
    mask = np.packbits(bits, bitorder="little").tobytes()
    return "AND CASE WHEN seq < %s THEN get_bit(%s, seq) = 1 ELSE false END", (len(bits), mask)
