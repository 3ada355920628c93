"""Translates a `Filter` into SQL, as far as SQLite and Postgres agree. Each has its own subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, cast

from everthread.common.timestamps import to_micros
from everthread.stores.conditions import TIME_FIELD, ValueGroups, group_values, metadata_path
from everthread.stores.filters import allowed_names, allows_only_units, check_filter, key_range
from everthread.types import AllOf, AnyOf, Comparison, Condition, Filter, JSONValue, Not

SQLCondition = tuple[str, list[object]]  # its text, and the values of its placeholders

NOT_RETRACTED, HAS_WORDS = "line.retracted_at IS NULL", "line.text <> ''"
COLUMNS = {
    "session": "session.session_id",
    "speaker": "speaker.name",
    "role": "speaker.role",
    "key": "line.key",
}


class FilterTranslator(ABC):
    """Translates filters into SQL over the tables `line`, `session` and `speaker`."""

    dated_at: ClassVar[str]  # the time of a line, in microseconds; NULL for an undated line

    def build_condition(
        self, where: Filter | None, as_of: datetime | None = None, *, retracted: bool = False, wordless: bool = False
    ) -> SQLCondition:
        """Translate a filter into the condition of the lines that it allows.

        Args:
            where: the filter.
            as_of: only lines said by then.
            retracted: retracted lines too.
            wordless: lines without words too.

        Raises:
            BadQuery: a value of the filter is invalid.
        """
        where = check_filter(where, as_of)
        names = {"session": where.session, "speaker": where.speaker, "role": where.role}
        parts: list[SQLCondition] = [
            ("true" if retracted else NOT_RETRACTED, []),
            ("true" if wordless else HAS_WORDS, []),
            *(
                self.test_membership(COLUMNS[name], allowed_names(wanted, name))
                for name, wanted in names.items()
                if wanted is not None
            ),
            *self.test_times(where, as_of),
            *(self.test_entry(key, value) for key, value in where.metadata.items()),
        ]
        if allows_only_units(where):
            parts.append(("false", []))
        if where.condition is not None:
            parts.append(self.translate(where.condition))
        if where.key_prefix is not None:
            parts.append(self.test_key_range(*key_range(where.key_prefix)))
        return join_all(parts)

    def translate(self, condition: Condition) -> SQLCondition:
        """Translate a valid condition into SQL whose result is never NULL."""
        match condition:
            case Comparison(op="exists", value=False):
                return self.translate(Not(replace(condition, value=True)))
            case Comparison(op="!="):
                return self.translate(Not(replace(condition, op="==")))
            case Comparison(op="not in"):
                return self.translate(Not(replace(condition, op="in")))
            case Comparison():
                path = metadata_path(condition)
                return self.test_metadata(path, condition) if path else self._test_column(condition)
            case Not(inner):
                part, values = self.translate(inner)
                return f"NOT ({part})", values
            case AllOf(inner):
                return join_all([self.translate(part) for part in inner])
            case AnyOf(inner):
                return join_any([self.translate(part) for part in inner])

    def _test_column(self, comparison: Comparison) -> SQLCondition:
        op, value = comparison.op, _to_sql(comparison.value)
        column = self.dated_at if comparison.field == TIME_FIELD else COLUMNS[comparison.field]
        if op == "exists":
            return f"{column} IS NOT NULL", []
        if op in ("==", "in"):
            test, compared = self.test_membership(column, [_to_sql(wanted) for wanted in _wanted_values(comparison)])
        elif op == "contains":
            test, compared = self.test_substring(column, value)
        else:
            test, compared = self.test_order(column, op, value)
        return f"coalesce({test}, false)", compared

    def test_json(self, field: str, comparison: Comparison) -> SQLCondition:
        """Build the test of a JSON value that exists; `field` names it in SQL."""
        op, value = comparison.op, cast("Any", comparison.value)
        if op == "exists":
            return "true", []
        if op in ("==", "in"):
            return self.test_json_equality(field, group_values(_wanted_values(comparison)))
        if op == "contains":
            element = self.test_json_element(field, group_values([value]))
            return join_any([element, self.test_json_substring(field, value)]) if isinstance(value, str) else element
        return self.test_json_order(field, op, value)

    @abstractmethod
    def test_times(self, where: Filter, as_of: datetime | None) -> Iterable[SQLCondition]:
        """Build the tests of the times of a filter."""

    @abstractmethod
    def test_entry(self, name: str, value: JSONValue) -> SQLCondition:
        """Build the test that the metadata have this value under a name."""

    @abstractmethod
    def test_key_range(self, first: str, end: str | None) -> SQLCondition:
        """Build the test that a line's key is from `first` to before `end`; None: there is no end."""

    @abstractmethod
    def test_metadata(self, path: list[str], comparison: Comparison) -> SQLCondition:
        """Build the test that a line's metadata has a value at a path and that it passes `test_json`."""

    @abstractmethod
    def test_membership(self, column: str, wanted: Sequence[str | int]) -> SQLCondition:
        """Build the test that a column has one of these values."""

    @abstractmethod
    def test_substring(self, column: str, value: object) -> SQLCondition:
        """Build the test that a column's text contains another."""

    @abstractmethod
    def test_order(self, column: str, op: str, value: object) -> SQLCondition:
        """Build the comparison of a column by < <= > or >=, texts by code point."""

    @abstractmethod
    def test_json_equality(self, field: str, wanted: ValueGroups) -> SQLCondition:
        """Build the test that a JSON value is one of these."""

    @abstractmethod
    def test_json_element(self, field: str, wanted: ValueGroups) -> SQLCondition:
        """Build the test that a JSON value is a list, and an element of it is one of these."""

    @abstractmethod
    def test_json_substring(self, field: str, value: str) -> SQLCondition:
        """Build the test that a JSON value is a text that contains another."""

    @abstractmethod
    def test_json_order(self, field: str, op: str, value: str | float) -> SQLCondition:
        """Build the comparison of a JSON value by < <= > or >=; false for one of another type."""


def join_all(parts: Sequence[SQLCondition]) -> SQLCondition:
    """Join conditions by AND; true without any."""
    return _join(" AND ", "true", parts)


def join_any(parts: Sequence[SQLCondition]) -> SQLCondition:
    """Join conditions by OR; false without any."""
    return _join(" OR ", "false", parts)


def _join(operator: str, empty: str, parts: Sequence[SQLCondition]) -> SQLCondition:
    text = operator.join(f"({part})" for part, _ in parts)
    return text or empty, [value for _, values in parts for value in values]


def _wanted_values(comparison: Comparison) -> Sequence[JSONValue]:
    """Return the values of which a field must equal one."""
    return cast("Sequence[JSONValue]", comparison.value if comparison.op == "in" else [comparison.value])


def _to_sql(value: object) -> Any:
    """Return a time as it is stored, and any other value unchanged."""
    return to_micros(value) if isinstance(value, datetime) else value
