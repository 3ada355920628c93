"""Builds conditions over a JSON object in the metadata of lines, from the filters of LangGraph and LangChain.

{"kind": "recipe", "year": {"$gte": 2024}, "$or": [{"author.name": "Ann"}, {"tag": {"$in": ["new", "short"]}}]}
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from reprlib import repr as shortly
from typing import Any

from everthread.bank.line_validation import replace_unstorable
from everthread.errors import BadQuery
from everthread.stores.conditions import MAX_DEPTH, MAX_INTEGER
from everthread.types import AllOf, AnyOf, Comparison, Condition, Not, Operator

OPERATORS: dict[str, Operator] = {
    "$eq": "==",
    "$ne": "!=",
    "$gt": ">",
    "$gte": ">=",
    "$lt": "<",
    "$lte": "<=",
    "$in": "in",
    "$nin": "not in",
}
JOINS: dict[str, type[AllOf | AnyOf]] = {"$and": AllOf, "$or": AnyOf}

_FIELD = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def build_condition(fields: Mapping[str, Any] | None, name: str) -> Condition | None:
    """Return the condition of a filter; None if it is empty.

    Args:
        fields: values of the object, or comparisons with operators, by the name of a field or by its path.
        name: the name of the object in the metadata.

    Raises:
        BadQuery: the filter is invalid; the message names the part.
    """
    return _join_fields(fields, f"metadata.{name}", 1) if fields else None


def _join_fields(fields: object, parent: str, depth: int) -> Condition:
    if not isinstance(fields, Mapping):
        raise BadQuery(f'invalid filter: got {shortly(fields)}, expected a dict such as {{"year": {{"$gte": 2024}}}}')
    if depth > MAX_DEPTH:
        raise BadQuery(f"invalid filter: nested more than {MAX_DEPTH} deep; simplify it")
    return AllOf(tuple(_parse_fields(fields, parent, depth)))


def _parse_fields(fields: Mapping[str, Any], parent: str, depth: int) -> Iterator[Condition]:
    for name, wanted in fields.items():
        if name in JOINS:
            if not isinstance(wanted, list | tuple):
                raise BadQuery(f"invalid filter {name}: got {shortly(wanted)}, expected a list of filters")
            yield JOINS[name](tuple(_join_fields(part, parent, depth + 1) for part in wanted))
            continue
        if str(name).startswith("$"):
            raise BadQuery(f"invalid operator of a filter: got {name!r}, expected {' or '.join(JOINS)}, or a field")
        if not isinstance(name, str) or _FIELD.fullmatch(name) is None:
            raise BadQuery(
                f"Invalid filter key: got {name!r}, expected letters, digits, hyphens and underscores, with dots "
                "between the names of a path"
            )
        path = f"{parent}.{name}"
        if not isinstance(wanted, Mapping):
            yield compare(path, "==", wanted)
        elif any(str(key).startswith("$") for key in wanted):
            yield from (compare(path, _operator(key), value) for key, value in wanted.items())
        else:
            yield _join_fields(wanted, path, depth + 1)


def _operator(name: str) -> Operator:
    if name not in OPERATORS:
        raise BadQuery(f"invalid operator of a filter: got {name!r}, expected one of {', '.join(OPERATORS)}")
    return OPERATORS[name]


def compare(path: str, op: Operator, value: Any) -> Condition:
    """Return a comparison. A field that is missing equals None; a number may be infinite, or not a number.

    Texts are compared as they are stored.

    Args:
        path: the field of a `Comparison`.
        op: how to compare.
        value: a JSON value, or a list of them for `in` and `not in`.
    """
    if op in ("!=", "not in"):
        return Not(compare(path, "==" if op == "!=" else "in", value))
    if op == "in" and isinstance(value, list | tuple):
        known = Comparison(path, "in", tuple(map(_to_storable, filter(_is_comparable, value))))
        return AnyOf((known, compare(path, "==", None))) if None in value else known
    if op == "==" and value is None:
        return AnyOf((Comparison(path, "==", None), Comparison(path, "exists", False)))
    return Comparison(path, op, _to_storable(value)) if _is_comparable(value) else AnyOf(())


def _is_comparable(value: object) -> bool:
    """Return whether any value equals this one, or has an order with it."""
    return not (isinstance(value, float) and math.isnan(value))


def _to_storable(value: Any) -> Any:
    """Return a value as it is stored, with a number in the range that databases compare."""
    if isinstance(value, int | float) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        return float(max(-sys.float_info.max, min(value, sys.float_info.max)))
    return replace_unstorable(value)[0] if isinstance(value, str) else value
