"""The bank's setting that names its pinned lines by their numbers: what becomes of it when lines go. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from everthread.types import JSONValue


def numbers(value: JSONValue | None) -> list[int]:
    """The numbers of the lines that the setting names."""
    return [seq for seq in value if isinstance(seq, int)] if isinstance(value, list) else []


def without(value: JSONValue | None, gone: Collection[int], heirs: Mapping[int, int] | None = None) -> JSONValue | None:
    """The setting when these lines are gone; an heir takes the place of the line that it corrects."""
    pinned = set(numbers(value))
    return [*sorted(pinned.difference(gone) | {heir for seq, heir in (heirs or {}).items() if seq in pinned})] or None
