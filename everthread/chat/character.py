"""The character of a chatbot, and its user's name. Pure: the module uses neither files, card formats nor models."""

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
        for text_field in EDITABLE_FIELDS:
            _check_text(text_field, getattr(self, text_field))
        for name in ("name", "person", *(["nickname"] if self.nickname else [])):
            _check_name(name, getattr(self, name))
        for name in ("name", "nickname"):
            if is_same_name(getattr(self, name), self.person):
                raise BadInput(
                    f"{name} {getattr(self, name)!r} is the user's name too, so speakers could not be distinguished; "
                    "give one of them another name",
                    reason="same-name",
                    values={"name": getattr(self, name)},
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
        known = [field.name for field in fields(self)]
        if unknown := sorted(changes.keys() - set(known)):
            raise BadInput(f"unknown field {unknown[0]!r} of a character; expected one of {', '.join(known)}")
        return replace(self, **changes)

    def to_json(self) -> dict[str, JSONValue]:
        """Return the fields that differ from the defaults, and the name, as JSON; `from_json` reads it."""
        empty = Character("-")
        changed = [field.name for field in fields(self) if getattr(self, field.name) != getattr(empty, field.name)]
        return {name: getattr(self, name) for name in changed} | {"name": self.name}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Build a character from the result of `to_json`. Unknown fields, of later versions, are ignored. Raises
        BadInput."""
        if not isinstance(values, Mapping) or "name" not in values:
            raise BadInput(f"a character is an object with a name, got {shortly(values)}")
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


def is_same_name(name: str, other: str) -> bool:
    """Return whether two names differ only in case and the spaces around them."""
    return name.strip().casefold() == other.strip().casefold()


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{name} must be text, got {shortly(text)}")
    if len(text) > MAX_FIELD_CHARS:
        raise BadInput(
            f"{name} has {len(text):,} characters; at most {MAX_FIELD_CHARS:,} are allowed, so shorten it",
            reason="long-text",
            values={"limit": MAX_FIELD_CHARS},
        )
    _check_storable(text, name)


def _check_name(name: str, text: str) -> None:
    if not text.strip():
        raise BadInput(f"{name} must be text that is not blank, got {text!r}", reason="blank-name")
    if len(text) > MAX_NAME_CHARS:
        raise BadInput(
            f"{name} {text[:40]!r}… has {len(text)} characters; at most {MAX_NAME_CHARS} are allowed",
            reason="long-name",
            values={"limit": MAX_NAME_CHARS},
        )
    if text.splitlines() != [text]:
        raise BadInput(f"{name} {shortly(text)} has a line break; write it on one line")


def _check_storable(text: str, name: str) -> str:
    """Return the text. Raises BadInput if it contains NUL or half a surrogate pair, which can't be stored."""
    if match := UNSTORABLE_CHARACTERS.search(text):
        raise BadInput(f"{name} contains {match[0]!r} at {match.start()}: NUL or half a surrogate pair; remove it")
    return text


def _copy_json(value: object, depth: int = 0) -> JSONValue:
    """Copy a JSON value deeply, with lists for tuples. Raises BadInput if it is not JSON."""
    if depth > MAX_CARD_DEPTH:
        raise BadInput(f"card is nested more than {MAX_CARD_DEPTH} deep; simplify it")
    if isinstance(value, str):
        return _check_storable(value, "card")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {_check_storable(key, "card"): _copy_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_json(item, depth + 1) for item in value]
    if value is None or (isinstance(value, int) and value.bit_length() <= MAX_NUMBER_BITS):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    kind = type(value).__name__
    raise BadInput(f"card must be JSON-serialisable, got {kind}{'' if kind == 'int' else ' ' + shortly(value)}")


EDITABLE_FIELDS = tuple(field.name for field in fields(Character) if field.name != "card")

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
