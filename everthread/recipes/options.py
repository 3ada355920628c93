"""Options: the fields of a recipe that a user may set without writing Python.

A recipe declares each option with `option`: its default, its meaning and its limits. Whatever shows or reads options
(configuration, command line, REST, page) is derived from these declarations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from difflib import get_close_matches
from reprlib import repr as shortly
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from everthread.errors import BadInput
from everthread.languages.recipe_texts import load_recipe_texts
from everthread.types import JSONValue


class HasOptions(Protocol):
    """A named dataclass whose fields are options, such as a recipe."""

    name: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound=HasOptions)
T = TypeVar("T")
OptionType = Literal["bool", "int", "float", "str", "texts"]
Value = bool | int | float | str | tuple[str, ...] | None

OPTION_TYPES: dict[str, OptionType] = {  # by the annotation of the field
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "tuple[str, ...]": "texts",
    "Sequence[str]": "texts",
}
NONE = "none"  # None as text


@dataclass(frozen=True, slots=True)
class Limits:
    """The meaning of an option, and the values that it accepts."""

    meaning: str  # one sentence, with the unit
    low: float | None = None  # the least value of a number
    high: float | None = None  # the greatest value of a number
    choices: tuple[str, ...] = ()  # the allowed values of a text; empty for any
    remote: tuple[str, ...] | None = None  # the values of a text that a request may set; None for all


def option(
    default: T,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    remote: tuple[str, ...] | None = None,
) -> T:
    """Declare a field of a recipe that a user can set.

    Args:
        default: the value without a setting. Its type is the option's: bool, int, float, str, None or a number, or a
            tuple of texts.
        meaning: one sentence for help and page, with the unit.
        low: the least value of a number.
        high: the greatest value of a number.
        choices: the allowed values of a text. Default: any.
        remote: the values of a text that a request to a server may set, if others could make the server load a file or
            connect to a host. Default: all.

    Returns:
        A dataclass field, typed as the default.
    """
    declared: T = field(default=default, metadata={"option": Limits(meaning, low, high, choices, remote)})
    return declared


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a recipe: its name, its type and its limits."""

    name: str
    type: OptionType
    optional: bool  # whether None is one of its values
    objects: bool  # whether Python code may set an object of another type, which no setting can contain
    default: Value
    limits: Limits

    @property
    def expected(self) -> str:
        """The accepted values, in English."""
        return self.describe_values(load_recipe_texts().values)

    def describe_values(self, words: Mapping[str, str]) -> str:
        """Describe the accepted values.

        Args:
            words: of a language (`RecipeTexts.values`).
        """
        low, high, choices = self.limits.low, self.limits.high, self.limits.choices
        text = words["one_of"].format(choices=", ".join(choices)) if choices else words[self.type]
        if self.type in ("int", "float") and (low is not None or high is not None):
            kind = "at_most" if low is None else "at_least" if high is None else "from_to"
            text = words[kind].format(kind=text, low=f"{low or 0:g}", high=f"{high or 0:g}")
        return words["or_none"].format(expected=text) if self.optional else text

    def read(self, value: object) -> Value:
        """Read a value from a text, from JSON or from Python.

        Raises:
            BadInput: the value is invalid; the message names the accepted ones.
        """
        try:
            return self._read(value)
        except (ValueError, OverflowError):
            given = shortly(value)
            raise BadInput(f"{self.name} must be {self.expected}, got {given}") from None

    def _read(self, value: object) -> Value:
        if value is None or (self.optional and isinstance(value, str) and value.strip().lower() == NONE):
            if not self.optional:
                raise ValueError
            return None
        if self.type == "bool":
            return _parse_bool(value)
        if self.type == "texts":
            return _parse_texts(value)
        if self.type == "str":
            if not isinstance(value, str) or (self.limits.choices and value not in self.limits.choices):
                raise ValueError
            return value
        number = _to_integer(value) if self.type == "int" else _parse_number(value)
        low, high = self.limits.low, self.limits.high
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError
        return number


def _parse_bool(value: object) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise ValueError
    return value


def _to_integer(value: object) -> int:
    number = int(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError
    return number


def _parse_number(value: object) -> float:
    number = float(value) if isinstance(value, str) else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not math.isfinite(number):
        raise ValueError
    return number


def _parse_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(text for part in value.split(",") if (text := part.strip()))
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError
    return tuple(value)


# ----------------------------------------------------------------- of a recipe


def options(recipe: HasOptions | type[HasOptions]) -> dict[str, Option]:
    """List the options of a recipe by name, in the order of its declaration."""
    found = {}
    for item in fields(recipe):
        if (limits := item.metadata.get("option")) is not None:
            annotation = item.type if isinstance(item.type, str) else getattr(item.type, "__name__", str(item.type))
            kind = annotation.removesuffix(" | None")
            default: Any = item.default
            type_ = OPTION_TYPES.get(kind) or _find_type(default)
            found[item.name] = Option(item.name, type_, kind != annotation, kind not in OPTION_TYPES, default, limits)
    return found


def _find_type(default: Value) -> OptionType:
    """Return the type of an option whose annotation also allows objects, by its default."""
    return "texts" if isinstance(default, tuple) else OPTION_TYPES[type(default).__name__]


def read_values(recipe: HasOptions) -> dict[str, Value]:
    """Read the current values of a recipe's options; the default in place of an object that Python code gave."""
    found: dict[str, Any] = {
        name: getattr(recipe, name) if _is_plain(getattr(recipe, name)) else option.default
        for name, option in options(recipe).items()
    }
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str | tuple | list)


def describe_options(recipe: HasOptions) -> list[dict[str, JSONValue]]:
    """Describe a recipe's options for programs and for the page: type, limits, meaning, default and current value."""
    current = read_values(recipe)
    return [
        {
            "name": name,
            "type": option.type,
            "optional": option.optional,
            "low": option.limits.low,
            "high": option.limits.high,
            "choices": list(option.limits.choices),
            "meaning": option.limits.meaning,
            "default": as_json(option.default),
            "value": as_json(current[name]),
        }
        for name, option in options(recipe).items()
    ]


def identify(recipe: HasOptions) -> tuple[object, ...]:
    """Return a hashable key of a recipe and its options; recipes that behave alike have equal keys."""
    return recipe.name, *read_values(recipe).items()


def with_options(recipe: R, values: Mapping[str, object]) -> R:
    """Set options of a recipe.

    Args:
        recipe: any recipe; it is not modified.
        values: values by the options' names; text is converted.

    Returns:
        A recipe with these values.

    Raises:
        BadInput: an option is unknown (the message names the nearest one), or a value is outside its limits.
    """
    known = options(recipe)
    for name in values:
        if name not in known:
            raise BadInput(f"unknown option {name!r} of recipe {recipe.name!r}; {_suggest(name, known)}")
    changes: dict[str, Any] = {name: known[name].read(value) for name, value in values.items()}
    return replace(recipe, **changes) if changes else recipe


def check_remote(recipe: HasOptions, values: Mapping[str, object]) -> None:
    """Check that a request may set these options: to the values of the server's recipe, or to safe ones.

    Args:
        recipe: the server's recipe.
        values: values by the options' names.

    Raises:
        BadInput: only the server's owner may set the value.
    """
    current = read_values(recipe)
    for name, option in options(recipe).items():
        safe = option.limits.remote
        if safe is not None and name in values and values[name] not in (current[name], *safe):
            expected = ", ".join(map(repr, dict.fromkeys((*safe, current[name]))))
            raise BadInput(
                f"invalid {name}: {shortly(values[name])}; a request may set it to one of {expected}; only the "
                "server's configuration may set other values",
                reason="server-only",
            )


def _suggest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    similar = get_close_matches(name, names, 1)
    if similar:
        return f"did you mean {similar[0]!r}?"
    return f"expected one of {', '.join(names)}" if names else "it has no options"


def check_options(recipe: HasOptions) -> None:
    """Check the options of a recipe that was created in Python.

    Raises:
        BadInput: a value is outside its limits.
    """
    for option in options(recipe).values():
        value = getattr(recipe, option.name)
        if isinstance(value, str) and option.type != "str":  # numbers are written as text only in settings
            raise BadInput(f"{option.name} must be {option.expected}, got {shortly(value)}")
        if _is_plain(value) or not option.objects:
            option.read(value)


def as_json(value: Value) -> JSONValue:
    """Convert an option's value to JSON."""
    return list(value) if isinstance(value, tuple) else value


def as_text(value: Value) -> str:
    """Convert an option's value to a text that `Option.read` accepts."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else f"{value}"
