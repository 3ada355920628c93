"""Checks, parses and evaluates the conditions of a `Filter`. Each store translates checked ones into its own queries.

As JSON a condition is {"field": …, "op": …, "value": …}, {"all": […]}, {"any": […]} or {"not": …}; the operator
`exists` needs no value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from reprlib import repr as shortly
from typing import Any, cast, get_args

from everthread.common.keys import META_PREFIX
from everthread.common.timestamps import to_micros
from everthread.errors import BadQuery
from everthread.stores.json_text import canonical_json, storable_json
from everthread.stores.limits import check_storable
from everthread.types import ROLES, AllOf, AnyOf, Comparison, Condition, JSONValue, Not, Operator

TEXT_FIELDS = ("session", "speaker", "role", "key")
TIME_FIELD = "said_at"
METADATA_PREFIX = "metadata."
ORDERINGS = ("<", "<=", ">", ">=")
MAX_DEPTH = 20  # of nested conditions, and names in a path
MAX_STEPS = 100  # comparisons, joins, and names in paths: each is evaluated for every line
MAX_VALUES = 500  # of all comparisons, because databases limit the size of a query
MAX_INTEGER = 2**63 - 1  # databases compare greater whole numbers inexactly


@dataclass(frozen=True, slots=True)
class ValueGroups:
    """Values by the way in which databases compare them."""

    texts: list[str] = field(default_factory=list)
    numbers: list[int | float] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)  # "null", "true" and "false"
    documents: list[str] = field(default_factory=list)  # lists and objects, as canonical JSON


def group_values(values: Sequence[JSONValue]) -> ValueGroups:
    """Group JSON values by the way in which databases compare them."""
    groups = ValueGroups()
    for value in values:
        if value is None or isinstance(value, bool):
            groups.constants.append(canonical_json(value))
        elif isinstance(value, str):
            groups.texts.append(value)
        elif isinstance(value, int | float):
            groups.numbers.append(value)
        else:
            groups.documents.append(canonical_json(value))
    return groups


def metadata_path(comparison: Comparison) -> list[str]:
    """Return the names in the path of a field of the metadata; empty for another field.

    The names that Everthread reserves (`common.keys`) have a dot themselves.
    """
    if not comparison.field.startswith(METADATA_PREFIX):
        return []
    path = comparison.field.removeprefix(METADATA_PREFIX)
    first, *further = path.removeprefix(META_PREFIX).split(".")
    return [f"{META_PREFIX}{first}" if path.startswith(META_PREFIX) else first, *further]


# --------------------------------------------------------------------- checking


def check_condition(condition: object) -> None:
    """Check a condition and all conditions in it.

    Raises:
        BadQuery: a part is invalid; the message names it.
    """
    pending, steps, values = [(condition, 1)], 0, 0
    while pending:
        part, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise BadQuery(f"invalid condition: nested more than {MAX_DEPTH} deep; simplify it")
        steps += 1
        if isinstance(part, Comparison):
            values += _check_comparison(part)
            steps += len(metadata_path(part))
        else:
            pending += [(inner, depth + 1) for inner in _inner_conditions(part)]
        if steps > MAX_STEPS:
            raise BadQuery(f"invalid condition: more than {MAX_STEPS} comparisons and names in paths; simplify it")
        if values > MAX_VALUES:
            raise BadQuery(f"invalid condition: more than {MAX_VALUES} values; filter by fewer, in several queries")


def _inner_conditions(part: object) -> Sequence[object]:
    if isinstance(part, AllOf | AnyOf) and isinstance(part.conditions, tuple | list):
        return part.conditions
    if isinstance(part, AllOf | AnyOf):
        name = type(part).__name__
        raise BadQuery(
            f"the conditions of {name} must be a tuple, got {shortly(part.conditions)}; write {name}((first, second))"
        )
    if isinstance(part, Not):
        return (part.condition,)
    raise BadQuery(
        f"invalid condition: got {shortly(part)}, expected a Comparison, AllOf, AnyOf or Not; write for example "
        "Comparison('metadata.year', '>', 2020)"
    )


def _check_comparison(comparison: Comparison) -> int:
    """Check a comparison, and return the number of its values."""
    name, op, value = comparison.field, comparison.op, comparison.value
    if not isinstance(name, str) or not (
        name in (*TEXT_FIELDS, TIME_FIELD) or (name.startswith(METADATA_PREFIX) and all(name.split(".")))
    ):
        raise BadQuery(
            f"invalid field of a condition: got {shortly(name)}, expected "
            f"{', '.join((*TEXT_FIELDS, TIME_FIELD))} or a path such as metadata.source.id"
        )
    if len(metadata_path(comparison)) > MAX_DEPTH:
        raise BadQuery(f"invalid field of a condition: {shortly(name)} has more than {MAX_DEPTH} names")
    check_storable(name, "the field of a condition")
    if op not in get_args(Operator):
        raise BadQuery(f"invalid op of a condition: got {op!r}, expected one of {', '.join(get_args(Operator))}")
    label = f"the value of {name} {op}"
    if op == "exists":
        if not isinstance(value, bool):
            raise BadQuery(f"{label} must be True or False, got {shortly(value)}")
        return 1
    if op in ("in", "not in") and not isinstance(value, list | tuple):
        raise BadQuery(f"{label} must be a tuple or list of values, got {shortly(value)}")
    values = list(cast("Sequence[Any]", value)) if op in ("in", "not in") else [value]
    for compared in values:
        _check_value(name, op, compared, label)
    return len(values)


def _check_value(name: str, op: str, value: Any, label: str) -> None:
    if name == TIME_FIELD:
        if op == "contains":
            raise BadQuery("said_at contains nothing; compare it by == != < <= > >= or in")
        to_micros(value, label, BadQuery)
        return
    if name in TEXT_FIELDS:
        if not isinstance(value, str):
            raise BadQuery(f"{label} must be a str, got {shortly(value)}")
        if name == "role" and op != "contains" and value not in ROLES:
            raise BadQuery(f"{label} must be one of {', '.join(ROLES)}, got {value!r}")
    elif op in ORDERINGS and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise BadQuery(f"{label} must be a number or a str, which have an order, got {shortly(value)}")
    check_json_value(value, label)


def check_json_value(value: JSONValue, label: str) -> None:
    """Check a value that is compared with metadata. Raises BadQuery."""
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise BadQuery(f"{label} must be within 64 bits, got one of {value.bit_length():,} bits")
    storable_json(value, label)


def find_comparisons(condition: Condition) -> Iterator[Comparison]:
    """Iterate over the comparisons in a checked condition."""
    match condition:
        case Comparison():
            yield condition
        case Not(inner):
            yield from find_comparisons(inner)
        case AllOf(inner) | AnyOf(inner):
            for part in inner:
                yield from find_comparisons(part)


# ------------------------------------------------------------------------- JSON


def parse_condition(value: object) -> Condition:
    """Parse the JSON of a condition, and check it.

    Raises:
        BadQuery: a part is invalid; the message names it.
    """
    condition = _parse(value, 1)
    check_condition(condition)
    return condition


def parse_condition_text(text: str) -> Condition:
    """Parse a condition in JSON text, and check it. Raises BadQuery."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadQuery(f"invalid condition: {shortly(text)} is not JSON: {error}") from None
    return parse_condition(value)


def _parse(value: object, depth: int) -> Condition:
    if depth > MAX_DEPTH:
        raise BadQuery(f"invalid condition: nested more than {MAX_DEPTH} deep; simplify it")
    match value:
        case {"all": list() as inner, **rest} if not rest:
            return AllOf(tuple(_parse(part, depth + 1) for part in inner))
        case {"any": list() as inner, **rest} if not rest:
            return AnyOf(tuple(_parse(part, depth + 1) for part in inner))
        case {"not": inner, **rest} if not rest:
            return Not(_parse(inner, depth + 1))
        case {"field": str() as name, "op": str() as op, "value": compared, **rest} if not rest:
            if name == TIME_FIELD and op != "exists":
                compared = (
                    [_parse_time(time) for time in compared] if isinstance(compared, list) else _parse_time(compared)
                )
            return Comparison(name, cast("Operator", op), cast("JSONValue", compared))
        case {"field": str() as name, "op": "exists", **rest} if not rest:
            return Comparison(name, "exists")
    raise BadQuery(
        f'invalid condition: got {shortly(value)}, expected {{"field": …, "op": …, "value": …}}, {{"all": […]}}, '
        '{"any": […]} or {"not": …}'
    )


def _parse_time(value: object) -> datetime:
    try:
        return datetime.fromisoformat(cast("str", value))
    except (TypeError, ValueError):
        raise BadQuery(
            f"invalid time in a condition: got {shortly(value)}, expected a time like 2024-05-01T18:30+02:00"
        ) from None


def condition_to_json(condition: Condition) -> dict[str, Any]:
    """Return the JSON of a condition, as `parse_condition` reads it."""
    match condition:
        case AllOf(inner):
            return {"all": [condition_to_json(part) for part in inner]}
        case AnyOf(inner):
            return {"any": [condition_to_json(part) for part in inner]}
        case Not(inner):
            return {"not": condition_to_json(inner)}
        case Comparison(name, op, value):
            return {"field": name, "op": op, "value": _time_to_json(value)}


def _time_to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return [_time_to_json(item) for item in value] if isinstance(value, list | tuple) else value


# ------------------------------------------------------------- evaluation of units

MISSING = object()  # the value of a field that a unit lacks


def evaluate(condition: Condition, get: Callable[[Comparison], object]) -> bool:
    """Evaluate a checked condition in Python, for values that are in no table of lines.

    Args:
        condition: the condition.
        get: returns the value of a comparison's field, or `MISSING`.
    """
    match condition:
        case AllOf(inner):
            return all(evaluate(part, get) for part in inner)
        case AnyOf(inner):
            return any(evaluate(part, get) for part in inner)
        case Not(inner):
            return not evaluate(inner, get)
        case Comparison():
            return _compare(condition, get(condition))


def get_metadata(metadata: Mapping[str, JSONValue], comparison: Comparison) -> object:
    """Return the value at a comparison's path; `MISSING` if the path leads to no value."""
    value: object = metadata
    for name in metadata_path(comparison):
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def _compare(comparison: Comparison, value: Any) -> bool:
    op, other = comparison.op, cast("Any", comparison.value)
    if op == "exists":
        return (value is not MISSING) is other
    if op in ("!=", "not in"):
        return not _is_one_of(value, [other] if op == "!=" else other)
    if op in ("==", "in"):
        return _is_one_of(value, [other] if op == "==" else other)
    if op == "contains":
        if isinstance(value, str):
            return isinstance(other, str) and other in value
        return isinstance(value, list | tuple) and any(_is_one_of(item, [other]) for item in value)
    if _order_type(value) is None or _order_type(value) is not _order_type(other):
        return False
    order = int(value > other) - int(value < other)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[op]


def _is_one_of(value: Any, others: Sequence[Any]) -> bool:
    if value is MISSING:
        return False
    if isinstance(value, datetime):  # compared as stored: see `bank.line_validation.clean_line`
        return to_micros(value) in map(to_micros, others)
    key = _equality_key(value)
    return any(key == _equality_key(other) for other in others)


def _equality_key(value: Any) -> tuple[str, object]:
    """Return a key that is equal for equal values. Lists and objects are equal if their JSON is."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    return "json", canonical_json(value)


def _order_type(value: object) -> type | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return next((kind for kind in (str, datetime) if isinstance(value, kind)), None)
