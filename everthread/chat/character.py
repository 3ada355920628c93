"""Who the bot is, and whom it talks with. Pure: it knows no file, no card's format and no model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from reprlib import repr as shortly
from typing import Any, Self

from everthread.bank.line_validation import LONGEST_NAME
from everthread.errors import BadInput
from everthread.stores.limits import UNSTORABLE_CHARACTERS
from everthread.types import JSONValue

MAX_FIELD_CHARS = 100_000  # characters of one field; some 25,000 tokens, more than most models read at all
MAX_CARD_DEPTH = 100  # lists and objects within one another in a card; real ones have about ten
MAX_NUMBER_BITS = 1024  # bits; what a larger one is, readers of JSON don't agree about
_STANDS_FOR = re.compile(r"\{\{(char|user)\}\}|<(char|bot|user)>", re.IGNORECASE)  # the second in older cards


@dataclass(frozen=True, slots=True)
class Character:
    """A character, and whom it talks with. Everything may be changed in the middle of a conversation, from then on.

    In every text {{char}} and {{user}} stand for the names, as character cards have it. BadInput for one that can't be:
    without a name, with a name that is the person's as well, or with a text that is too long.
    """

    name: str
    description: str = ""
    location: str = ""  # where the two are now
    scenario: str = ""
    greeting: str = ""  # what it says first
    person: str = "user"  # the name of whoever talks with it
    examples: str = ""  # dialogues that show how it speaks
    sample: str = ""  # its first reply, kept as a sample of its style; empty until there is one
    instructions: str = ""  # of a card, which stand in place of ours
    reminder: str = ""  # of a card, which stands behind the conversation
    card: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)  # what else its card holds, as it came
    nickname: str = ""  # what {{char}} stands for, where that is not the name

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name != "card":
                _check_text(each.name, getattr(self, each.name))
        for what in ("name", "person", *(["nickname"] if self.nickname else [])):
            _check_name(what, getattr(self, what))
        for what in ("name", "nickname"):
            if _same(getattr(self, what), self.person):
                raise BadInput(
                    f"{what} {getattr(self, what)!r} is the person's name, too, so nobody could tell who speaks; "
                    "give the one or the other another name"
                )
        if not isinstance(self.card, Mapping):
            raise BadInput(f"card must be a mapping, got {shortly(self.card)}")
        object.__setattr__(self, "card", _copy(self.card))

    def fill_names(self, text: str) -> str:
        """A text with the names in it. {{char}}, <char> and <bot> are the character, {{user}} and <user> the person,
        in any case of letters."""
        names = {"user": self.person}
        return _STANDS_FOR.sub(lambda m: names.get((m[1] or m[2]).lower(), self.nickname or self.name), text)

    def with_changes(self, **changes: Any) -> Character:
        """The character with these fields changed. BadInput for a field that it doesn't have, and as for a new one."""
        known = [each.name for each in fields(self)]
        if unknown := sorted(changes.keys() - set(known)):
            raise BadInput(f"a character has no {unknown[0]!r}; it has {', '.join(known)}")
        return replace(self, **changes)

    def to_json(self) -> dict[str, JSONValue]:
        """Its name and whatever else is set, as JSON can hold it; `from_json` makes the same character of it."""
        empty = Character("-")
        names = [each.name for each in fields(self)]
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(empty, name)} | {
            "name": self.name
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """A character as `to_json` wrote it. What it doesn't know, a later version's, is left out. Raises BadInput."""
        if not isinstance(values, Mapping) or "name" not in values:
            raise BadInput(f"a character is an object with a name, got {shortly(values)}")
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{what} must be text, got {shortly(text)}")
    if len(text) > MAX_FIELD_CHARS:
        raise BadInput(f"{what} has {len(text):,} characters; at most {MAX_FIELD_CHARS:,} are allowed, so shorten it")
    _whole(text, what)


def _check_name(what: str, name: str) -> None:
    if not name.strip():
        raise BadInput(f"{what} must be text that is not blank, got {name!r}")
    if len(name) > LONGEST_NAME:
        raise BadInput(f"{what} {name[:40]!r}… has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    if name.splitlines() != [name]:
        raise BadInput(f"{what} {shortly(name)} has a line break; write it in one line")


def _same(name: str, other: str) -> bool:
    return name.strip().casefold() == other.strip().casefold()


def _whole(text: str, what: str) -> str:
    """The text, if any store can hold it."""
    if found := UNSTORABLE_CHARACTERS.search(text):
        raise BadInput(f"{what} holds {found[0]!r} at {found.start()}: NUL or half a surrogate pair; take it out")
    return text


def _copy(value: object, depth: int = 0) -> JSONValue:
    """The value with lists for tuples, sharing nothing that can be changed. BadInput if it is not JSON."""
    if depth > MAX_CARD_DEPTH:
        raise BadInput(f"card is nested more than {MAX_CARD_DEPTH} deep; simplify it")
    if isinstance(value, str):
        return _whole(value, "card")
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {_whole(key, "card"): _copy(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(each, depth + 1) for each in value]
    if value is None or (isinstance(value, int) and value.bit_length() <= MAX_NUMBER_BITS):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    kind = type(value).__name__
    raise BadInput(f"card must be what JSON can hold, and holds {kind}{'' if kind == 'int' else ' ' + shortly(value)}")


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
