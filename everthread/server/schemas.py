"""What goes over the wire. The nouns of `types` go out field by field, as views; what comes in is checked here for its
shape alone: what it means, the library checks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator

from everthread.common.keys import META_CORRECTS
from everthread.errors import BadLine, BadQuery
from everthread.recall.buffer import CAPACITY
from everthread.stores.limits import LARGEST_SEQ
from everthread.types import Filter, Line, NewLine, Role

Item = TypeVar("Item")

LineNumber = Annotated[int, Field(ge=1, le=LARGEST_SEQ)]  # of a line or a unit, in a body
PathSeq = Annotated[int, Path(ge=1, le=LARGEST_SEQ, description="The number of a line.")]
Span = Annotated[list[LineNumber], Field(min_length=2, max_length=2)]  # the first and the last line
NonEmptyText = Annotated[str, Field(min_length=1)]
Remember = Literal["always", "ask", "never"]  # whether a bank's conversations are
NameList = Annotated[list[str], Field(fail_fast=True)]  # stops at the first error: a list may hold a million
RoleList = Annotated[list[Role], Field(fail_fast=True)]
MAX_BATCH = 1000  # lines of a batch, hits of a question
MAX_METADATA_VALUES = 100_000  # in metadata: what is written as JSON in one go, while no other request is served


class View(BaseModel):
    """What goes out: made of an object of the library's by its fields."""

    model_config = ConfigDict(from_attributes=True)


class LineView(View):
    """One message, verbatim. seq counts 1, 2, 3 … through the bank."""

    seq: int
    session: str
    role: Role
    speaker: str
    text: str
    said_at: datetime
    parent: int | None
    metadata: dict[str, Any]
    key: str | None
    retracted_at: datetime | None


class Page(View, Generic[Item]):
    """Part of a list. next: what `after` wants for the part behind it; null at the end."""

    items: list[Item]
    next: str | None


class ItemList(View, Generic[Item]):
    """A whole list."""

    items: list[Item]


class ProblemView(View):
    """What went wrong (RFC 9457). type names the kind of problem, the same wherever it occurs."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class HitView(View):
    """A line found for a query, among its neighbours. score orders hits and has no unit; relevance is the calibrated
    chance (0..1) that it bears on the query; signals are what made the score."""

    line: LineView
    kind: str
    score: float
    relevance: float
    signals: dict[str, float]
    passage: list[LineView]
    bank: str


class ContextView(View):
    """What is remembered for a query, as text for a prompt. cut: hits left out for want of room."""

    text: str
    tokens: int
    relevance: float
    lines: list[LineView]
    hits: list[HitView]
    cut: list[HitView]
    bank: str = ""
    others: list[ContextView] = Field(default=[], description="Of the other banks that were asked, each with its name.")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def corrects(self) -> dict[int, int]:
        """For each corrected line of a passage, the number of the line whose position it takes."""
        return corrected_positions(line for hit in self.hits for line in hit.passage)


def corrected_positions(lines: Iterable[Line | LineView]) -> dict[int, int]:
    """Return, for each corrected line by its number, the number of the line whose position it takes."""
    found = {line.seq: line.metadata.get(META_CORRECTS) for line in lines}
    return {seq: first for seq, first in found.items() if isinstance(first, int)}


class StatsView(View):
    """What a bank holds. pending counts lines that the recipe embeds and that have no vector of the present
    model yet."""

    bank: str
    lines: int
    retracted: int
    sessions: int
    speakers: list[str]
    first_said_at: datetime | None
    last_said_at: datetime | None
    vectors: dict[str, int]
    pending: int
    bytes: int
    recipe: str
    embedder: str
    units: dict[str, int]
    queued: int


class BankView(View):
    """A bank in short."""

    id: str = Field(validation_alias="bank")
    lines: int
    sessions: int
    last_said_at: datetime | None


class ReceiptView(View):
    """Proof that something was forgotten: numbers alone. bank is the SHA-256 of its id; seqs are inclusive ranges."""

    bank: str
    scope: Literal["line", "session", "speaker", "bank"]
    seqs: list[Span]
    lines: int
    forgotten_at: datetime


class SettingsView(View):
    """What a bank is set to. remember: whether conversations are, or the person is asked at their end. scribe: the
    model that writes notes and summaries, missing where it is the server's."""

    remember: Remember
    scribe: str | None = None


class MonthView(View):
    """What was said in a month, written like 2024-05."""

    month: str
    lines: int
    sessions: int


class SessionView(View):
    """One conversation. lines counts those that stand; opening is the first by the person, cut; summary as a scribe
    wrote it."""

    id: str
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None
    lines: int
    first_seq: int
    last_seq: int
    opening: str | None
    summary: str | None


class PassageView(View):
    """A span of the relevance buffer, and its lines as far as they stand."""

    first_seq: int
    last_seq: int
    lines: list[LineView]


class UnitView(View):
    """A text written about lines. It is current until another supersedes it: then valid_to says when."""

    id: int
    kind: str
    text: str
    first_seq: int
    last_seq: int
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    importance: float | None
    category: str | None
    metadata: dict[str, Any]
    supersedes: int | None


class UnitReceiptView(View):
    """Proof that a unit was removed, and with it those whose place it took."""

    kind: str
    id: int
    earlier: list[int]


class NotesView(View):
    """The notes as they stand; empty where there are none, and id is null then."""

    text: str
    id: int | None


class ImportView(View):
    """What came of an import. skipped counts what holds no line, by its kind."""

    read: int
    added: int
    skipped: dict[str, int]
    lines: int


class CharacterItem(View):
    """A character in short. builtin: it comes with Everthread, and is kept nowhere."""

    name: str
    description: str
    has_picture: bool
    builtin: bool


class CharacterFields(BaseModel):
    """A character's fields, on the way out and in. In every text {{char}} and {{user}} stand for the names."""

    name: NonEmptyText
    description: str = ""
    location: str = ""
    scenario: str = ""
    greeting: str = ""
    person: str = "user"
    examples: str = ""
    sample: str = ""
    instructions: str = ""
    reminder: str = ""
    card: dict[str, Any] = Field(default_factory=dict)
    nickname: str = ""


class CharacterView(View, CharacterFields):
    """A character: its name, and whatever else is set. In every text {{char}} and {{user}} stand for the names."""


class RequestBody(BaseModel):
    """What comes in: an unknown field is an error, so that a mistyped one is not passed over."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _one_unknown(cls, given: Any) -> Any:
        """Keeps one of many unknown fields: a third of a million of them would make as many errors."""
        if not isinstance(given, dict) or len(given) <= len(cls.model_fields):
            return given
        unknown = next(name for name in given if name not in cls.model_fields)
        return {name: given[name] for name in (*cls.model_fields, unknown) if name in given}


class LineBody(RequestBody):
    """A line to be kept. session: the bank's current one, if not given; key: its name where it comes from, under which
    it is kept once."""

    text: str
    speaker: str | None = None
    role: Role = "user"
    said_at: datetime | None = None
    session: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    parent: int | str | None = None
    key: str | None = None

    def to_new_line(self) -> NewLine:
        """The line as the library takes it. Raises BadLine for metadata of too many values."""
        if not has_at_most(MAX_METADATA_VALUES, self.metadata):
            raise BadLine(
                f"invalid metadata: it holds more than {MAX_METADATA_VALUES:,} values; keep large data elsewhere"
            )
        speaker = self.role if self.speaker is None else self.speaker
        return NewLine(
            *(self.text, speaker, self.role, self.said_at, self.session), self.metadata, self.parent, self.key
        )


class LinesBody(RequestBody):
    """Lines to be kept, in their order."""

    lines: list[LineBody] = Field(min_length=1, max_length=MAX_BATCH)


class TextBody(RequestBody):
    """What is to stand there."""

    text: NonEmptyText


class NotesBody(RequestBody):
    """The notes as they shall be; a blank text means none."""

    text: str


class SettingsBody(RequestBody):
    """What the bank is to be set to; what is missing stays. scribe: a model of the configured server, `none`, or
    null for the server's."""

    remember: Remember = "ask"
    scribe: str | None = None

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing is set; give remember, scribe or both")
        return self


class BufferBody(RequestBody):
    """Spans of lines, first and last, the oldest first."""

    spans: list[Span] = Field(max_length=CAPACITY)


class CharacterBody(RequestBody, CharacterFields):
    """A character. What is not given is left empty."""


class CharacterChanges(RequestBody):
    """Some fields of a character. What is not given stays."""

    name: str | None = None
    description: str | None = None
    location: str | None = None
    scenario: str | None = None
    greeting: str | None = None
    person: str | None = None
    examples: str | None = None
    sample: str | None = None
    instructions: str | None = None
    reminder: str | None = None
    card: dict[str, Any] | None = None
    nickname: str | None = None

    def get_changes(self) -> dict[str, Any]:
        """The fields that are to be changed."""
        return {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}


class FilterBody(RequestBody):
    """Which lines may be recalled: every field that is given must hold."""

    session: str | NameList | None = None
    speaker: str | NameList | None = None
    role: Role | RoleList | None = None
    kind: str | NameList | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    category: str | NameList | None = None

    def to_filter(self) -> Filter:
        """The same as the library takes it. Raises BadQuery for metadata of too many values."""
        if not has_at_most(MAX_METADATA_VALUES, self.metadata):
            raise BadQuery(f"invalid metadata: it holds more than {MAX_METADATA_VALUES:,} values; expected a few")
        given = {name: getattr(self, name) for name in ("session", "speaker", "role", "kind", "category")}
        several = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
        return Filter(**several, since=self.since, until=self.until, metadata=self.metadata)


class QueryBody(RequestBody):
    """A question to a bank. as_of: what was known then; exclude: lines that are in the prompt already."""

    query: str
    where: FilterBody | None = None
    as_of: datetime | None = None
    exclude: Annotated[list[int], Field(fail_fast=True)] = Field(default_factory=list)

    def to_filter(self) -> Filter | None:
        """The filter as the library takes it."""
        return None if self.where is None else self.where.to_filter()


class RecallBody(QueryBody):
    """A question to one bank, or to the banks that are named instead of it."""

    k: int = Field(10, ge=1, le=MAX_BATCH)
    banks: list[str] | None = Field(None, min_length=1, max_length=MAX_BATCH)


class ContextBody(QueryBody):
    """A question whose answer is laid out for a prompt. gate: nothing where nothing is relevant; min_relevance: the
    least relevance of a hit; session: passages that were recalled for its earlier turns stay in view; banks: those that
    are asked instead of this one."""

    banks: list[str] | None = Field(None, min_length=1, max_length=MAX_BATCH)
    budget: int = Field(1000, ge=1, le=1_000_000)
    session: str | None = None
    gate: bool = True
    min_relevance: float | None = Field(None, ge=0, le=1)


def has_at_most(limit: int, value: Any) -> bool:
    """Whether a value of JSON consists of at most this many values."""
    waiting, found = [value], 1
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            found += len(each)
            if found > limit:
                return False
            waiting.extend(each.values() if isinstance(each, dict) else each)
    return True
