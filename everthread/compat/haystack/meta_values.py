"""Summarises the values of fields in the meta of Haystack's documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from everthread.stores.json_text import canonical_json

Meta = Mapping[str, Any]

PREFIX = "meta."  # before the name of a field, where Haystack's callers write it
TYPE_NAMES = {bool: "boolean", int: "int", float: "float"}  # of fields; all others are keywords


def distinct_values(metas: Iterable[Meta], name: str) -> list[Any]:
    """Return the different values of a field, sorted by their text. Equal values of different types are different.

    Args:
        metas: the meta of each document.
        name: the name of the field.
    """
    by_json = {canonical_json(value): value for value in _list_values(metas, name)}
    return [value for _, value in sorted(by_json.items(), key=lambda item: (str(item[1]), item[0]))]


def count_distinct(metas: Sequence[Meta], names: Iterable[str]) -> dict[str, int]:
    """Return the number of different values of each field."""
    return {name.removeprefix(PREFIX): len(distinct_values(metas, name)) for name in names}


def field_types(metas: Iterable[Meta]) -> dict[str, dict[str, str]]:
    """Return the type of each field's last value, as Haystack names types."""
    values = ((name, value) for meta in metas for name, value in meta.items() if value is not None)
    return {name: {"type": TYPE_NAMES.get(type(value), "keyword")} for name, value in values}


def min_max(metas: Iterable[Meta], name: str) -> dict[str, Any]:
    """Return the least and the greatest value of a field; None if it has none, or numbers and texts."""
    values = [value for value in _list_values(metas, name) if isinstance(value, int | float | str)]
    if not values or len({isinstance(value, str) for value in values}) > 1:
        return {"min": None, "max": None}
    return {"min": min(values), "max": max(values)}


def _list_values(metas: Iterable[Meta], name: str) -> Iterator[Any]:
    """Yield the values of a field that are not None."""
    key = name.removeprefix(PREFIX)
    return (meta[key] for meta in metas if meta.get(key) is not None)
