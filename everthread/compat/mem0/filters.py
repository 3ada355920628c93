"""Translates mem0's filters into a `Condition`, which the store evaluates.

{"user_id": "nora", "year": {"gte": 2024}, "OR": [{"place": "Lisbon"}, {"place": {"contains": "Porto"}}]}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from everthread.compat.mem0.ids import ID_NAMES, check_ids
from everthread.errors import BadInput
from everthread.stores.conditions import MAX_DEPTH, check_condition, evaluate
from everthread.text.analyzer import fold
from everthread.types import AllOf, AnyOf, Comparison, Condition, Not, Operator

ANY_VALUE = "*"
OPERATORS: dict[str, Operator] = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "in": "in",
    "nin": "not in",
    "contains": "contains",
}
CONTAINS_ANY_CASE = "icontains"
EXPIRES = "expiration_date"
UPDATED = "updated_at"  # in the metadata of a line that was updated
METADATA = "metadata"  # in filters of mem0's platform: {"metadata": {"place": "Lisbon"}}
METADATA_OPERATORS = ("eq", "contains", "ne")

TextsOf = Callable[[str], Iterator[str]]  # name of a field -> its texts in a bank


def find_ids(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of the user, agent, run and app that all memories must have.

    Raises:
        BadInput: an id is invalid.
    """
    found: dict[str, str] = {}
    for part in _iter_parts(filters, ("AND",)):
        required = {name: part[name] for name in ID_NAMES if isinstance(part.get(name), str | int)}
        found |= check_ids({name: value for name, value in required.items() if value != ANY_VALUE})
    return found


def names_an_id(filters: Mapping[str, Any]) -> bool:
    """Return whether filters, or those nested in them, name a user, an agent, a run or an app."""
    return any(name in part for part in _iter_parts(filters, ("AND", "OR")) for name in ID_NAMES)


def _iter_parts(filters: Mapping[str, Any], operators: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """Yield filters, and those nested in them under these operators."""
    pending = [filters]
    while pending:
        part = pending.pop()
        yield part
        for operator in operators:
            pending += _conditions_of(operator, part[operator]) if operator in part else ()


def translate(filters: Mapping[str, Any], owner: Mapping[str, str], texts_of: TextsOf) -> Condition:
    """Translate filters into a condition for the lines of a bank.

    Args:
        filters: as mem0 takes them.
        owner: the id that the bank is named after, which its lines need not have in their metadata.
        texts_of: returns the texts that a field has in the bank's lines, for `icontains`.

    Raises:
        BadInput: a filter is invalid; the message names it.
    """
    return _Translator(owner, texts_of).translate_all(filters)


def not_expired(at: datetime) -> Condition:
    """Return the condition of the lines whose date of expiry is not before a time."""
    field = f"metadata.{EXPIRES}"
    today = at.astimezone(UTC).date().isoformat()
    return AnyOf((Comparison(field, "exists", False), Comparison(field, ">=", today)))


def _conditions_of(operator: str, value: object) -> Sequence[Mapping[str, Any]]:
    conditions = [value] if isinstance(value, Mapping) else value
    if (
        not isinstance(conditions, list | tuple)
        or not conditions
        or not all(isinstance(c, Mapping) for c in conditions)
    ):
        raise BadInput(f"invalid filter {operator}: got {value!r}, expected a list of filters")
    return cast("Sequence[Mapping[str, Any]]", conditions)


class _Translator:
    """Translates the filters for one bank."""

    def __init__(self, owner: Mapping[str, str], texts_of: TextsOf) -> None:
        self.owner, self.texts_of = owner, texts_of

    def translate_all(self, filters: Mapping[str, Any], depth: int = 1) -> Condition:
        """Translate filters of which each must be true."""
        if depth > MAX_DEPTH:
            raise BadInput(f"invalid filters: nested more than {MAX_DEPTH} deep; simplify them")
        parts: list[Condition] = []
        for name, value in filters.items():
            if name.startswith("$"):
                raise BadInput(f"invalid operator of filters: got {name!r}, expected AND, OR or NOT, or a field")
            if name in ("AND", "OR", "NOT"):
                conditions = tuple(self.translate_all(part, depth + 1) for part in _conditions_of(name, value))
                joined = AllOf(conditions) if name == "AND" else AnyOf(conditions)
                parts.append(Not(joined) if name == "NOT" else joined)
            else:
                parts += self._translate_field(name, value)
        return AllOf(tuple(parts))

    def _translate_field(self, name: str, value: object) -> Iterator[Condition]:
        """Translate a value, or one or more comparisons, of a field, or of the fields of the metadata."""
        if name != METADATA or not isinstance(value, Mapping):
            yield from self._translate_comparisons(name, value)
            return
        for field, wanted in value.items():
            if field not in METADATA_OPERATORS or not isinstance(wanted, Mapping):
                yield from self._translate_comparisons(field, wanted)
                continue
            fields = AllOf(tuple(part for item in wanted.items() for part in self._translate_comparisons(*item)))
            yield Not(fields) if field == "ne" else fields

    def _translate_comparisons(self, name: str, value: object) -> Iterator[Condition]:
        """Translate a value, a list of which any is allowed, or one or more comparisons, of a field."""
        is_choice = isinstance(value, list | tuple)
        if is_choice and name not in (*ID_NAMES, *FIELDS):  # these are never lists themselves
            yield AnyOf(tuple(self._compare(name, operator, value) for operator in ("in", "eq")))
            return
        for operator, compared in (
            value if isinstance(value, Mapping) else {"in" if is_choice else "eq": value}
        ).items():
            comparison = self._compare(name, operator, compared)
            yield self._evaluate(comparison, self.owner[name]) if name in self.owner else comparison

    def _evaluate(self, condition: Condition, owner: str) -> Condition:
        """Return the condition that is always true if a comparison of the bank's owner is, and else one that never is.

        The lines of the bank need not have that id in their metadata.
        """
        check_condition(condition)
        return AllOf(()) if evaluate(condition, lambda _: owner) else AnyOf(())

    def _compare(self, name: str, operator: str, value: Any) -> Condition:
        if operator == "eq" and value == ANY_VALUE:
            return Comparison(f"metadata.{name}", "exists") if name not in FIELDS else AllOf(())
        field, convert = FIELDS.get(name, (f"metadata.{name}", _keep))
        if name in ID_NAMES:
            convert = _to_id
        if operator == CONTAINS_ANY_CASE:
            wanted = fold(_check_text(name, value))
            return Comparison(field, "in", tuple({text for text in self.texts_of(name) if wanted in fold(text)}))
        if operator not in OPERATORS:
            expected = ", ".join((*OPERATORS, CONTAINS_ANY_CASE))
            raise BadInput(f"invalid operator of filter {name}: got {operator!r}, expected one of {expected}")
        compared = tuple(map(convert, value)) if isinstance(value, list | tuple) else convert(value)
        if name == UPDATED:
            return _compare_update(OPERATORS[operator], compared)
        return Comparison(field, OPERATORS[operator], compared)


def _compare_update(operator: Operator, value: Any) -> Condition:
    """Compare the time of the last update; a line without one was last changed when it was said."""
    field = f"metadata.{UPDATED}"
    written = tuple(map(_write_time, value)) if isinstance(value, tuple) else _write_time(value)
    said = AllOf((Comparison(field, "exists", False), Comparison("said_at", operator, value)))
    return AnyOf((AllOf((Comparison(field, "exists"), Comparison(field, operator, written))), said))


def _write_time(at: datetime) -> str:
    """Write a time as those of updates are stored."""
    return at.astimezone(UTC).isoformat()


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadInput(f"invalid filter {name}: got {value!r}, expected text")
    return value


def _keep(value: Any) -> Any:
    return value


def _to_id(value: Any) -> Any:
    return str(value).strip() if isinstance(value, str | int) else value


def to_time(value: object, name: str = "created_at") -> datetime:
    """Return a time: a datetime, seconds since 1970, or ISO 8601 text; without an offset in UTC.

    Raises:
        BadInput: it can't be read.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        at = value if isinstance(value, datetime) else datetime.fromisoformat(cast("str", value))
        return at if at.utcoffset() is not None else at.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        raise BadInput(f"invalid {name}: got {value!r}, expected seconds since 1970, or text like 2026-05-01") from None


FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "role": ("role", _keep),
    "created_at": ("said_at", to_time),
    UPDATED: ("said_at", to_time),
}
