"""The data types of facts: statements of lines, the facts that follow from all of them, and entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, get_args

Writer = Literal["rules", "model", "person"]
WRITERS: tuple[Writer, ...] = get_args(Writer)
EntityKind = Literal["person", "pet", "place", "organisation", "thing"]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of lines about a person or a thing, before and after it is stored.

    Attributes:
        subject: who or what it is about, as named: "Nora", "Mia", or by a relation ("Nora's sister").
        attribute: one of `attributes.ATTRIBUTES`, or "favourite" and a kind, such as "favourite colour".
        value: as few words of the line as name it: "nurse", "Porto"; in what ends, empty for any value.
        seqs: the numbers of the lines that state it, ascending.
        said_at: the time of the last of these lines.
        ends: whether it states that this no longer holds ("I sold the bike").
        moment: the year, month or day from which it holds, or at which it ended, if the lines say so: "2019",
            "2019-05" or "2019-05-04".
        is_event: whether something happened at the moment, such as a move, so that it may be a memory of what is over
            ("I moved to Bonn in 2010"). Otherwise it holds since then ("I've lived here since 2010").
        writer: who read it from the lines.
        confidence: how sure the writer is, from 0 to 1.
        is_undated: whether said_at is only the time at which the lines were stored.
        position: the place in the talk of the last line: its number, or that of the line that it corrects. 0 before it
            is stored.
        id: the id of its unit, which a correction by the person keeps; 0 before it is stored.
    """

    subject: str
    attribute: str
    value: str
    seqs: tuple[int, ...]
    said_at: datetime
    ends: bool = False
    moment: str | None = None
    is_event: bool = False
    writer: Writer = "rules"
    confidence: float = 1.0
    is_undated: bool = False
    position: int = 0
    id: int = 0


class StoredStatement(NamedTuple):
    """A statement with the id of its current unit, which differs from its own id once the person has corrected it."""

    statement: Statement
    unit_id: int


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known, with its lines and the time in which it holds.

    Attributes:
        id: the id of the first statement that states it.
        subject: the name of the entity that it is about; empty for a fact that is only a sentence, in `value`.
        attribute: the attribute, as in a statement; empty for a sentence.
        value: the value, as it was last stated.
        seqs: the numbers of all lines that state it, ascending.
        statements: the ids of all statements that state it. One that ended it is among them only if no other states
            it.
        said_at: when it was last stated.
        undated: whether said_at is only the time at which the lines of that statement were stored.
        since: the moment from which it holds: the one that was given, else the time of the first line that states it.
            None if it is unknown, as of a line without a date, or of what is known to have ended only.
        until: the moment until which it held; None if it still holds.
        until_undated: whether until is only the time at which the line that ended it was stored.
        since_stated: whether the lines say since when ("2019"), as they say it; None if they don't.
        until_stated: whether they say until when.
        replaced_by: the value that took its place, if one did.
        replaces: the value whose place it took, if there was one.
        confidence: how sure its writers were, the surest of them.
        writers: who wrote its statements.
        can_resume: whether it has ended by a statement of this value, so that the person can undo its end. False if
            another value took its place, if it is a memory of the past, or if a statement without a value ended it.
        text: the fact as an English sentence, with since when or until when it holds.
    """

    id: int
    subject: str
    attribute: str
    value: str
    seqs: tuple[int, ...]
    statements: tuple[int, ...]
    said_at: datetime
    since: datetime | None
    until: datetime | None = None
    since_stated: str | None = None
    until_stated: str | None = None
    replaced_by: str | None = None
    replaces: str | None = None
    confidence: float = 1.0
    writers: tuple[Writer, ...] = ("rules",)
    can_resume: bool = False
    undated: bool = False
    until_undated: bool = False
    text: str = ""

    @property
    def holds(self) -> bool:
        """True if nothing has ended or replaced it."""
        return self.until is None

    @property
    def is_confirmed(self) -> bool:
        """True if the person has confirmed or written it."""
        return "person" in self.writers


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or a thing that facts are about.

    Attributes:
        name: the name, or a relation where no name is known ("Nora's sister"). Two entities of one name differ
            by a relation in parentheses: "Mia (Nora's friend)".
        kind: what it is.
        aliases: what else it is called, such as "Nora's sister"; without `name`.
        relations: others, and what it is of each: ("Nora", "sister").
        statements: the ids of the statements in which it occurs, as subject or as value.
        first_at: the time of the first line that mentions it in a statement; None if no such line has a time.
        last_at: that of the last one.
    """

    name: str
    kind: EntityKind
    aliases: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    statements: tuple[int, ...]
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Profile:
    """An entity and its facts.

    Attributes:
        entity: the entity.
        facts: its facts by attribute, the one that was said last first.
    """

    entity: Entity
    facts: Mapping[str, tuple[Fact, ...]]
