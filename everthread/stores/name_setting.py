"""The setting of a bank with the names under which the person has spoken, and its update when lines are forgotten."""

from __future__ import annotations

from collections.abc import Collection

from everthread.types import JSONValue


def spoken_names(value: JSONValue | None) -> list[str]:
    """Return the names in the setting's value; empty for an unset or invalid value."""
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def add_name(value: JSONValue | None, name: str) -> JSONValue:
    """Compute the setting with another name."""
    return [*sorted({*spoken_names(value), name})]


def keep_names(value: JSONValue | None, speakers: Collection[str]) -> JSONValue | None:
    """Compute the setting without the names that no line has any more.

    Args:
        value: the setting's value.
        speakers: the speakers of the remaining lines.

    Returns:
        The new value; None if no name remains.
    """
    return [name for name in spoken_names(value) if name in speakers] or None
