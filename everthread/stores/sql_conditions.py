"""Translates conditions of a `Filter` into SQL as far as SQLite and Postgres agree: columns, and logical operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from everthread.common.timestamps import to_micros
from everthread.stores.conditions import TIME_FIELD
from everthread.types import AllOf, AnyOf, Comparison, Condition, Not

SQLCondition = tuple[str, list[object]]  # its text, and the values of its placeholders

COLUMNS = {
    "session": "session.session_id",
    "speaker": "speaker.name",
    "role": "speaker.role",
    "key": "line.key",
    TIME_FIELD: "line.said_at",
}


def translate(condition: Condition, translate_comparison: Callable[[Comparison], SQLCondition]) -> SQLCondition:
    """Translate a valid condition, whose result is never NULL.

    Args:
        condition: the condition.
        translate_comparison: translates a comparison by an operator that is not negated.
    """
    match condition:
        case Comparison(op="exists", value=False):
            return translate(Not(replace(condition, value=True)), translate_comparison)
        case Comparison(op="!="):
            return translate(Not(replace(condition, op="==")), translate_comparison)
        case Comparison(op="not in"):
            return translate(Not(replace(condition, op="in")), translate_comparison)
        case Comparison():
            return translate_comparison(condition)
        case Not(inner):
            part, values = translate(inner, translate_comparison)
            return f"NOT ({part})", values
        case AllOf(inner):
            return join_all(translate(part, translate_comparison) for part in inner)
        case AnyOf(inner):
            return join_any(translate(part, translate_comparison) for part in inner)


def join_all(parts: Iterable[SQLCondition]) -> SQLCondition:
    """Join conditions by AND; true without any."""
    return _join(" AND ", "true", list(parts))


def join_any(parts: Iterable[SQLCondition]) -> SQLCondition:
    """Join conditions by OR; false without any."""
    return _join(" OR ", "false", list(parts))


def _join(operator: str, empty: str, parts: list[SQLCondition]) -> SQLCondition:
    text = operator.join(f"({part})" for part, _ in parts)
    return text or empty, [value for _, values in parts for value in values]


def to_sql(value: object) -> Any:
    """Return a time as it is stored, and any other value unchanged."""
    return to_micros(value) if isinstance(value, datetime) else value
