"""Request and response models of facts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from everthread.facts.types import EntityKind, Writer
from everthread.server.schemas import NonEmptyText, RequestBody, View

FactNumber = Annotated[int, Field(ge=1)]


class FactView(View):
    """Something known, with the numbers of its lines and the time in which it holds. The said_at of an undated one is
    the time at which its line was stored, and so is its until if until_undated is true."""

    id: int
    subject: str
    attribute: str
    value: str
    seqs: list[int]
    statements: list[int]
    said_at: datetime
    undated: bool
    since: datetime | None
    until: datetime | None
    until_undated: bool
    since_stated: str | None
    until_stated: str | None
    replaced_by: str | None
    replaces: str | None
    confidence: float
    writers: list[Writer]
    can_resume: bool
    text: str = Field(description="The fact as an English sentence, with since when or until when it holds.")


class EntityView(View):
    """A person, a pet, a place, an organisation or a thing that facts are about. relations are pairs of whose and what,
    such as ["Nora", "sister"]."""

    name: str
    kind: EntityKind
    aliases: list[str]
    relations: list[Annotated[list[str], Field(min_length=2, max_length=2)]]
    statements: list[int]
    first_at: datetime | None
    last_at: datetime | None


class ProfileView(View):
    """An entity with its facts, by attribute."""

    entity: EntityView
    facts: dict[str, list[FactView]]


class FactValueBody(RequestBody):
    """The right value of a fact."""

    value: NonEmptyText


class FactEndBody(RequestBody):
    """When a fact ended: a year, a month or a day, such as "2024-05"; without one, now."""

    moment: str | None = None


class MergeBody(RequestBody):
    """The names of two entities that are one."""

    name: NonEmptyText
    other: NonEmptyText


class SplitBody(RequestBody):
    """The name of an entity, and the statements about it that are about another one."""

    name: NonEmptyText
    statements: Annotated[list[FactNumber], Field(min_length=1, max_length=1000, fail_fast=True)]


class FactLinesView(View):
    """The numbers of the lines that state a fact's value, also at other times."""

    id: int
    seqs: list[int]


class FactReceiptView(View):
    """The receipt of a forgotten fact, and of its lines if they were forgotten with it."""

    id: int
    seqs: list[int]
    with_lines: bool
    forgotten_at: datetime
