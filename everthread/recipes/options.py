"""Options: the fields of a recipe that a user may set without writing Python.

A recipe declares each with `option`, which keeps its meaning and its limits beside its default. Everything else that
shows or reads options (configuration, command line, REST, page) is derived from these declarations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an option means and which values it takes."""

    meaning: str  # one sentence, with the unit
    low: float | None = None  # the least value of a number
    high: float | None = None  # the greatest value of a number
    choices: tuple[str, ...] = ()  # the values of a text, where there are few


def option(
    default: T, meaning: str, *, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> T:
    """Declare a field of a recipe that a user may set.

    Args:
        default: the value without a setting. Its type is the option's: bool, int, float, str, None or a number, or a
            tuple of texts.
        meaning: one sentence for help and page, with the unit.
        low: the least value of a number.
        high: the greatest value of a number.
        choices: the values of a text, where there are few.

    Returns:
        A dataclass field, typed as the default.
    """
    declared: T = field(default=default, metadata={"option": Limits(meaning, low, high, choices)})
    return declared
