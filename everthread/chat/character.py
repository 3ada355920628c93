"""The character: who the bot is, and the name of the user. Pure: it knows neither files, card formats nor models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from reprlib import repr as shortly
from typing import Any, Self

from everthread.bank.line_validation import MAX_NAME_CHARS
from everthread.errors import BadInput
from everthread.stores.limits import UNSTORABLE_CHARACTERS
from everthread.types import JSONValue

MAX_FIELD_CHARS = 100_000  # some 25,000 tokens, more than most models accept
MAX_CARD_DEPTH = 100  # of nested lists and objects; real cards have about ten
MAX_NUMBER_BITS = 1024  # readers of JSON disagree about larger integers
_PLACEHOLDER = re.compile(r"\{\{(char|user)\}\}|<(char|bot|user)>", re.IGNORECASE)  # <…> in older cards


@dataclass(frozen=True, slots=True)
class Character:
    """A character. Changes apply from the next reply on.

    In all texts {{char}} and {{user}} are placeholders for the names, as in character cards. Raises BadInput without a
    name, if the name is the user's too, or if a text is too long.
    """

    name: str
    description: str = ""
    location: str = ""  # where the character and the user are
    scenario: str = ""
    greeting: str = ""  # its first line
    person: str = "user"  # the user's name
    examples: str = ""  # dialogues that show its style
    sample: str = ""  # a text in its style; empty: its first reply that is long enough
    instructions: str = ""  # replace the default instructions
    reminder: str = ""  # placed after the conversation
    card: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)  # all other fields of its card, unchanged
    nickname: str = ""  # replaces the name for {{char}}

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name != "card":
                _check_text(each.name, getattr(self, each.name))
        for what in ("name", "person", *(["nickname"] if self.nickname else [])):
            _check_name(what, getattr(self, what))
        for what in ("name", "nickname"):
            if _is_same_name(getattr(self, what), self.person):
                raise BadInput(
                    f"{what} {getattr(self, what)!r} is the user's name too, so speakers could not be distinguished; "
                    "give the one or the other another name"
                )
        if not isinstance(self.card, Mapping):
            raise BadInput(f"card must be a mapping, got {shortly(self.card)}")
        object.__setattr__(self, "card", _copy_json(self.card))

    def fill_names(self, text: str) -> str:
        """Fill in the placeholders of a text: {{char}}, <char> and <bot>, {{user}} and <user>, in any case."""
        names = {"user": self.person}
        return _PLACEHOLDER.sub(lambda m: names.get((m[1] or m[2]).lower(), self.nickname or self.name), text)

    def with_changes(self, **changes: Any) -> Character:
        """Return the character with these fields changed. Raises BadInput for an unknown field or an invalid value."""
        known = [each.name for each in fields(self)]
        if unknown := sorted(changes.keys() - set(known)):
            raise BadInput(f"unknown field {unknown[0]!r} of a character; expected one of {', '.join(known)}")
        return replace(self, **changes)

    def to_json(self) -> dict[str, JSONValue]:
        """Return the fields that differ from the defaults, and the name, as JSON; `from_json` reads it."""
        empty = Character("-")
        names = [each.name for each in fields(self)]
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(empty, name)} | {
            "name": self.name
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned. Unknown fields, of later versions, are ignored. Raises BadInput."""
        if not isinstance(values, Mapping) or "name" not in values:
            raise BadInput(f"a character is an object with a name, got {shortly(values)}")
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{what} must be text, got {shortly(text)}")
    if len(text) > MAX_FIELD_CHARS:
        raise BadInput(f"{what} has {len(text):,} characters; at most {MAX_FIELD_CHARS:,} are allowed, so shorten it")
    _check_storable(text, what)


def _check_name(what: str, name: str) -> None:
    if not name.strip():
        raise BadInput(f"{what} must be text that is not blank, got {name!r}")
    if len(name) > MAX_NAME_CHARS:
        raise BadInput(f"{what} {name[:40]!r}… has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed")
    if name.splitlines() != [name]:
        raise BadInput(f"{what} {shortly(name)} has a line break; write it in one line")


def _is_same_name(name: str, other: str) -> bool:
    return name.strip().casefold() == other.strip().casefold()


def _check_storable(text: str, what: str) -> str:
    """Return the text. Raises BadInput if it contains NUL or half a surrogate pair, which can't be stored."""
    if found := UNSTORABLE_CHARACTERS.search(text):
        raise BadInput(f"{what} contains {found[0]!r} at {found.start()}: NUL or half a surrogate pair; remove it")
    return text


def _copy_json(value: object, depth: int = 0) -> JSONValue:
    """Copy a JSON value deeply, with lists for tuples. Raises BadInput if it is not JSON."""
    if depth > MAX_CARD_DEPTH:
        raise BadInput(f"card is nested more than {MAX_CARD_DEPTH} deep; simplify it")
    if isinstance(value, str):
        return _check_storable(value, "card")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {_check_storable(key, "card"): _copy_json(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_json(each, depth + 1) for each in value]
    if value is None or (isinstance(value, int) and value.bit_length() <= MAX_NUMBER_BITS):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    kind = type(value).__name__
    raise BadInput(f"card must be JSON-serializable, got {kind}{'' if kind == 'int' else ' ' + shortly(value)}")


EDITABLE_FIELDS = tuple(each.name for each in fields(Character) if each.name != "card")

DEFAULT_CHARACTER = Character(
    name="Ever",
    description=(
        "{{char}} is someone to talk with: friendly, attentive and plain-spoken. {{char}} listens closely, asks when "
        "something is unclear, and comes back to what {{user}} told it before where that matters now. {{char}} says "
        "what it thinks, kindly and without flattery, and says so when it does not know or does not remember "
        "something. {{char}} is a program and never claims to be a human being."
    ),
    greeting="Hello, I'm {{char}}. What would you like to talk about?",
)
