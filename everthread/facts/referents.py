"""Keeps the people and pets that the rules know while they read: by name, by relation, by owner. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from everthread.facts.attributes import POSSESSIVE, RELATIONS, are_several
from everthread.facts.grammar import Gender, Relation
from everthread.facts.history import value_key
from everthread.facts.types import Statement

MAX_NAME_CHARS = 6  # of a name in a text without spaces
_LATIN = re.compile("[A-Za-z]{2}")  # no name ends between these letters


@dataclass(frozen=True, slots=True)
class Referent:
    """The person or pet that a clause is about.

    Attributes:
        name: the name, or the relation of one whose name isn't known: "Nora's sister".
        gender: "f", "m", or empty if unknown.
        relation: its relation, as the owner and the attribute, if the clause says so.
        is_speaker: whether it is who says it.
        is_certain: whether it is known to be a person or a pet. A pronoun could also mean any other name.
        end: where in the sentence the words for it end.
    """

    name: str
    gender: Gender = ""
    relation: tuple[str, str] | None = None
    is_speaker: bool = False
    is_certain: bool = True
    end: int = 0

    def is_proper(self) -> bool:
        """Return whether it has a relation or a name, rather than a noun."""
        return self.relation is not None or self.name != self.name.lower()

    def is_named(self) -> bool:
        """Return whether it is more than "somebody"."""
        return self.relation is not None or " " in self.name or not self.name.islower()

    def is_pet(self) -> bool:
        """Return whether it is known to be someone's pet."""
        return self.relation is not None and self.relation[1] == "pet"

    def fits(self, about: str) -> bool:
        """Return whether a pattern that is only about some is about it."""
        if about == "pets":
            return self.is_pet()
        if about in ("related", "unrelated"):
            return not self.is_speaker and (self.relation is None) == (about == "unrelated")
        return about == "anyone" or self.is_speaker == (about == "speaker")


@dataclass(slots=True)
class Names:
    """The names that were stated so far."""

    relatives: dict[tuple[str, str], dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    kinds: dict[str, str] = field(default_factory=dict)  # of pets, by name
    spelling: dict[str, str] = field(default_factory=dict)  # by the name in small letters
    genders: dict[str, Gender] = field(default_factory=dict)  # by the name in small letters
    written: dict[str, str] = field(default_factory=dict)  # words of the line that have got a capital, as written
    aliases: dict[str, str] = field(default_factory=dict)  # the names of those who were known by a relation
    values: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    speakers: set[str] = field(default_factory=set)

    def add(self, statement: Statement) -> None:
        """Learn the names in a statement."""
        self.values[statement.subject, statement.attribute].add(value_key(statement.value))
        if statement.attribute in RELATIONS:
            names = self.relatives[statement.subject, statement.attribute]
            if statement.ends:
                names.pop(statement.value, None)
            elif statement.value[:1].isupper() or statement.value == statement.value.lower() != "":
                names[statement.value] = None
                self.spelling.setdefault(statement.value.lower(), statement.value)
        elif statement.attribute == "kind":
            self.kinds[statement.subject] = statement.value.lower()
        self.spelling.setdefault(statement.subject.lower(), statement.subject)

    def acquaint(self, name: str) -> str:
        """Learn that a name is that of a person or pet, and return it as it is known."""
        return self.spelling.setdefault(name.lower(), self.as_written(name))

    def find_gender(self, name: str) -> Gender:
        """Return the gender of someone by name; empty if it isn't known."""
        return self.genders.get(name.lower(), "")

    def learn_gender(self, name: str, gender: Gender) -> None:
        """Learn the gender of someone, unless it is known."""
        self.genders.setdefault(name.lower(), gender)

    def as_written(self, text: str) -> str:
        """Return a name or a value as the line has it, without the capitals that its names have got."""
        return " ".join(self.written.get(word, word) for word in text.split(" ")) if self.written else text

    def holds(self, subject: str, attribute: str, value: str) -> bool:
        """Return whether a value was stated, or one that begins or ends with it; of a pet also its kind."""
        key = value_key(value)
        if attribute == "pet" and any(self.kinds.get(name) == key for name in self.relatives.get((subject, "pet"), ())):
            return True
        stated = self.values.get((subject, attribute), ())
        return any(known.startswith(key) or known.endswith(f" {key}") for known in stated)

    def is_speaker(self, name: str) -> bool:
        """Return whether a name is that of a speaker, or one that a speaker has stated: "I'm Sam"."""
        return name in self.speakers or any(
            value_key(name) in self.values.get((speaker, "name"), ()) for speaker in self.speakers
        )

    def is_known(self, name: str) -> bool:
        """Return whether a name was stated, or is that of a speaker."""
        return name.lower() in self.spelling or name in self.speakers

    def find_at(self, text: str, start: int) -> int:
        """Return where the longest known name ends that a text without spaces has at a place; 0 if it has none."""
        ends = range(min(start + MAX_NAME_CHARS, len(text)), start, -1)
        return next(
            (end for end in ends if self.is_known(text[start:end]) and not _LATIN.search(text[end - 1 : end + 1])), 0
        )

    def find_relative(self, owner: str, relation: Relation) -> str | None:
        """Return the name of the only one of this relation to its owner, if there is just one.

        A name that others have too, such as a sister and a boss, would not say which of them is meant.
        """
        names = [
            name
            for name in self.relatives.get((owner, relation.attribute), ())
            if relation.attribute != "pet" or self.kinds.get(name) == relation.noun.lower()
        ]
        is_one = len(names) == 1 and not are_several(key for key, known in self.relatives.items() if names[0] in known)
        return names[0] if is_one else None

    def find_partners(self, name: str) -> list[str]:
        """Return the known partners of someone, or whose partner someone is."""
        partners = self.relatives.get((name, "partner"), ())
        found = [each for each in partners if value_key(each) in self.values[name, "partner"]]
        owner, relation = self.find_owner(name) or ("", "")
        is_partner = relation == "partner" and value_key(name) in self.values[owner, relation]
        return [*found, owner] if is_partner else found

    def find_owner(self, name: str) -> tuple[str, str] | None:
        """Return the owner and the attribute of a relative by name."""
        return next((key for key, names in self.relatives.items() if name in names), None)

    def resolve(self, statements: Iterable[Statement]) -> Iterator[Statement]:
        """Yield the statements of a line, with the names that the line gives.

        A pet without a name is left out if the line names it, and what has ended where the line states both.
        """
        statements = list(statements)
        ended = {(each.subject, each.attribute, each.value) for each in statements if each.ends}
        pets = {each.value: each.subject for each in statements if each.attribute == "pet"}
        named = {
            (pets[each.subject], each.value.lower()) for each in statements if each.subject in pets
        }  # owner and kind
        unnamed = self._name_pets(statements, pets)
        for each in statements:
            is_nameless = each.attribute == "pet" and any(
                owner == each.subject and kind in each.value.lower() and each.value not in self.kinds
                for owner, kind in named
            )
            is_over = not each.ends and (each.subject, each.attribute, each.value) in ended  # "my cat Olive died"
            if not (is_nameless or is_over):
                yield replace(each, subject=self.aliases.get(each.subject) or unnamed.get(each.subject, each.subject))

    @staticmethod
    def _name_pets(statements: Iterable[Statement], owners: Mapping[str, str]) -> dict[str, str]:
        """Return the names that a line gives to its pets, by what each is called without one: "Nora's dog"."""
        found: dict[str, set[str]] = defaultdict(set)
        for each in statements:
            if each.subject in owners and each.attribute in ("kind", "breed"):
                found[f"{owners[each.subject]}{POSSESSIVE}{each.value}"].add(each.subject)
        return {called: next(iter(names)) for called, names in found.items() if len(names) == 1}
