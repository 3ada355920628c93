"""Translates Haystack's filters into a `Condition`, which the store evaluates.

{"operator": "AND", "conditions": [{"field": "meta.year", "operator": ">=", "value": 2024}, …]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from reprlib import repr as shortly
from typing import Any, get_args

from haystack.dataclasses import Document
from haystack.errors import FilterError

from everthread.compat.conditions import compare
from everthread.errors import BadQuery
from everthread.stores.conditions import MAX_DEPTH, ORDERINGS, check_condition
from everthread.types import AllOf, AnyOf, Condition, Not, Operator

OPERATORS = tuple(name for name in get_args(Operator) if name not in ("contains", "exists"))
JOINS = ("AND", "OR", "NOT")
DOCUMENT_FIELDS = tuple(field.name for field in fields(Document))


def build_condition(filters: Mapping[str, Any] | None, name: str) -> Condition | None:
    """Return the condition of filters; None if they are empty.

    Args:
        filters: a comparison, or several that are joined.
        name: the name of the document in the metadata of a line.

    Raises:
        FilterError: a part is invalid; the message names it.
    """
    if not filters:
        return None
    condition = _translate(filters, f"metadata.{name}", 1)
    try:
        check_condition(condition)
    except BadQuery as error:
        raise FilterError(str(error)) from None
    return condition


def _translate(part: object, document: str, depth: int) -> Condition:
    if not isinstance(part, Mapping):
        raise FilterError(f"invalid filter: got {shortly(part)}, expected a dict with an operator")
    if depth > MAX_DEPTH:
        raise FilterError(f"invalid filter: nested more than {MAX_DEPTH} deep; simplify it")
    operator = _read(part, "operator")
    if "field" in part:
        return _compare(f"{document}.{_path(part['field'])}", operator, _read(part, "value"))
    conditions = _read(part, "conditions")
    if operator not in JOINS or not isinstance(conditions, list):
        raise FilterError(
            f"invalid filter: got {shortly(part)}, expected the operator {', '.join(JOINS)} with a list of conditions, "
            "or a field with another operator"
        )
    inner = tuple(_translate(condition, document, depth + 1) for condition in conditions)
    if operator == "OR":
        return AnyOf(inner)
    return AllOf(inner) if operator == "AND" else Not(AllOf(inner))


def _read(part: Mapping[str, Any], name: str) -> Any:
    if name not in part:
        raise FilterError(
            f"invalid filter: {shortly(part)} has no {name!r}; give a field, an operator and a value, or an operator "
            "and conditions"
        )
    return part[name]


def _path(field: object) -> str:
    """Return the path of a field in a document. A plain name that no document has is one of its meta."""
    if not isinstance(field, str) or not field:
        raise FilterError(f"invalid field of a filter: got {field!r}, expected a name such as meta.year")
    root = field.split(".")[0]
    if root in DOCUMENT_FIELDS:
        return field
    if root != field:
        raise FilterError(f"unknown field of a filter: got {field!r}; write meta.{field} for a field of the meta")
    return f"meta.{field}"


def _compare(path: str, operator: Any, value: Any) -> Condition:
    if operator not in OPERATORS:
        raise FilterError(f"invalid operator of a filter: got {operator!r}, expected one of {', '.join(OPERATORS)}")
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"the value of {operator!r} must be a list, got {shortly(value)}")
        return compare(path, operator, [_to_text(item) for item in value])
    if operator in ORDERINGS:
        if value is None:
            return AnyOf(())
        _check_order(operator, value)
    return compare(path, operator, _to_text(value))


def _check_order(operator: str, value: object) -> None:
    """Check that a text is a date. Raises FilterError."""
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise FilterError(
                f"the value of {operator!r} must be a number or a date such as 2024-05-01, got {value!r}"
            ) from None


def _to_text(value: Any) -> Any:
    """Return a time as the text that JSON has for it, and any other value unchanged."""
    return value.isoformat() if isinstance(value, datetime) else value
