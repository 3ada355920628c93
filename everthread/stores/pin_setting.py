"""The setting of a bank that lists its pinned lines by number, and its update when lines are removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from everthread.types import JSONValue


def pinned_seqs(value: JSONValue | None) -> list[int]:
    """Return the line numbers in the setting's value; empty for an unset or invalid value."""
    return [seq for seq in value if isinstance(seq, int)] if isinstance(value, list) else []


def remove_pins(
    value: JSONValue | None, removed: Collection[int], corrections: Mapping[int, int] | None = None
) -> JSONValue | None:
    """Compute the setting without some lines.

    Args:
        value: the setting's value.
        removed: numbers of the removed lines.
        corrections: number of a removed line -> number of the line that corrects it, which inherits its pin.

    Returns:
        The new value; None if no line is pinned.
    """
    pinned = set(pinned_seqs(value))
    inherited = {correction for seq, correction in (corrections or {}).items() if seq in pinned}
    return [*sorted(pinned.difference(removed) | inherited)] or None
