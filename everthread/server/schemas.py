"""Request and response models of the REST API.

Views mirror the fields of `types`. Request bodies are checked for their form only; the library checks their content.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from everthread.chat.offline_answer import AnswerKind, OfflineAnswer, Speech, name_speech, read_answers
from everthread.common.keys import META_CORRECTS, META_RECALLED, META_UNDATED
from everthread.errors import BadInput, BadLine
from everthread.memory import Memory
from everthread.recall.relevance_buffer import MAX_PASSAGES
from everthread.stores.limits import MAX_SEQ
from everthread.stores.recall_records import count_memories
from everthread.types import FoundUnit, Line, NewLine, Role

Item = TypeVar("Item")

LineNumber = Annotated[int, Field(ge=1, le=MAX_SEQ)]  # in a body
PathSeq = Annotated[int, Path(ge=1, le=MAX_SEQ, description="The number of a line.")]
Span = Annotated[list[LineNumber], Field(min_length=2, max_length=2)]  # the first and the last line
NonEmptyText = Annotated[str, Field(min_length=1)]
Remember = Literal["always", "ask", "never"]  # whether a bank's conversations are remembered
NameList = Annotated[list[str], Field(fail_fast=True)]  # stops at the first error, for there may be a million
RoleList = Annotated[list[Role], Field(fail_fast=True)]
MAX_BATCH = 1000  # lines of a batch, hits of a query
MAX_FORGOTTEN = 2_000_000  # numbers of lines in one request
MAX_METADATA_VALUES = 100_000  # in metadata, which is serialised at once and blocks other requests


class View(BaseModel):
    """A response, built from the attributes of an object of the library."""

    model_config = ConfigDict(from_attributes=True)


class LineView(View):
    """One message, verbatim. seq counts 1, 2, 3 … through the bank. The said_at of an undated line is the time at which
    it was stored."""

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

    @computed_field  # type: ignore[prop-decorator]
    @property
    def undated(self) -> bool:
        """True if it was said at an unknown time."""
        return self.metadata.get(META_UNDATED) is True

    memories: int | None = Field(None, description="How many memories it was given as a reply, if that is recorded.")
    answer: AnswerView | None = Field(None, description="The answer to it without a model, in lists of a conversation.")

    @model_validator(mode="before")
    @classmethod
    def _count_memories(cls, value: Any) -> Any:
        """Replace the evidence, which has its own address, by the number of memories."""
        if not isinstance(value, Line) or META_RECALLED not in value.metadata:
            return value
        metadata = {name: item for name, item in value.metadata.items() if name != META_RECALLED}
        counted = {item.name: getattr(value, item.name) for item in fields(Line)}
        return {**counted, "metadata": metadata, "memories": count_memories(value.metadata)}


class KnownFactView(View):
    """A fact in an answer: a sentence, the line that states it last, and who said that."""

    text: str
    line: LineView
    speech: Speech


class AnswerView(View):
    """An answer without a model to a person's line.

    kind: what it says: what is remembered, known or has changed, that nothing is, that the line will be remembered or
    not, that it was heard, or that only a command deletes something.
    line: the quoted line, also after what becomes of a line that asks nothing. It is null if that was forgotten or
    discarded since, and if a unit or a line of another bank is quoted. speech: who said the line, and how. sure:
    whether it is relevant enough to be stated without a doubt. corrected: whether it is a correction of the line that
    was quoted. outdated: what the line states that is no longer true ("until August 2024; then: York"). facts: the
    facts that it lists; more: whether more is known; since: since when what has changed was asked for.
    """

    kind: AnswerKind
    line: LineView | None
    speech: Speech | None
    sure: bool
    corrected: bool
    outdated: str = ""
    facts: list[KnownFactView] = []
    more: bool = False
    since: datetime | None = None

    @classmethod
    def build(cls, answer: OfflineAnswer, names: Collection[str]) -> AnswerView:
        """Return the view of an answer to a person whose lines are stored under these names."""
        line = answer.source if isinstance(answer.source, Line) else None
        return cls(
            kind=answer.kind,
            line=None if line is None else LineView.model_validate(line),
            speech=None if line is None else name_speech(line, names),
            sure=answer.is_sure,
            corrected=answer.is_corrected,
            outdated=answer.outdated,
            facts=[
                KnownFactView(
                    text=fact.text, line=LineView.model_validate(fact.line), speech=name_speech(fact.line, names)
                )
                for fact in answer.known.facts
            ],
            more=answer.known.has_more,
            since=answer.known.since,
        )


def build_lines(memory: Memory, lines: Sequence[Line], names: Collection[str]) -> list[LineView]:
    """Return the views of lines of a conversation, with the answers that were given without a model.

    Args:
        memory: the bank.
        lines: the lines.
        names: the names under which the lines of the person are stored.
    """
    answers = read_answers(memory, lines)
    views = [LineView.model_validate(line) for line in lines]
    for view in views:
        if (answer := answers.get(view.seq)) is not None:
            view.answer = AnswerView.build(answer, names)
    return views


class Page(View, Generic[Item]):
    """Part of a list. next: the value of `after` for the next part; null at the end."""

    items: list[Item]
    next: str | None


class ItemList(View, Generic[Item]):
    """A whole list."""

    items: list[Item]


class ProblemView(View):
    """A problem document (RFC 9457). type names the kind of problem, the same wherever it occurs.

    detail is the complete message. An error about a file, or one whose remedy is an option, has its parts as well: path
    (the file's name), where (the place in it), message, remedy, and option (which goes into the remedy's {option}).
    """

    type: str
    title: str
    status: int
    detail: str
    path: str | None = None
    where: str | None = None
    message: str | None = None
    remedy: str | None = None
    option: str | None = None
    errors: list[dict[str, Any]] | None = None


class UnitView(View):
    """A text written about lines. It is current until another supersedes it, at the time valid_to."""

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
    retracted_at: datetime | None = None


class FoundUnitView(UnitView):
    """A unit found for a query. session: that of the last line it derives from; speaker: the label before its text."""

    session: str
    speaker: str

    @model_validator(mode="before")
    @classmethod
    def _flatten(cls, value: Any) -> Any:
        if not isinstance(value, FoundUnit):
            return value
        unit = UnitView.model_validate(value.unit).model_dump()
        return {**unit, "session": value.session, "speaker": value.speaker}


class PromptPartView(View):
    """A part of a prompt. text is empty if it can't be put together any more; is_current: it is that of today."""

    name: str
    tokens: int
    text: str
    is_current: bool


class ReplyPromptView(View):
    """The prompt of a reply, part by part in its order. cut: the parts that were shortened or left out to fit."""

    seq: int
    tokens: int
    parts: list[PromptPartView]
    cut: list[str]


def corrected_positions(lines: Iterable[Line | LineView]) -> dict[int, int]:
    """Return, for each corrected line by its number, the number of the line whose position it takes."""
    corrected = {line.seq: line.metadata.get(META_CORRECTS) for line in lines}
    return {seq: first for seq, first in corrected.items() if isinstance(first, int)}


class StatsView(View):
    """Counts of a bank. pending counts lines to be embedded that have no vector of the current model yet; outdated,
    lines whose words an earlier version analysed."""

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
    dropped_facts: dict[str, int]
    outdated: int


class BankView(View):
    """A bank in short. character, person: the names of the two who talk in it; the person is `user` if unknown."""

    id: str
    character: str
    person: str
    lines: int
    sessions: int
    last_said_at: datetime | None


class ReceiptView(View):
    """Proof that something was forgotten, in numbers. bank is the SHA-256 of its id; seqs are inclusive ranges; backups
    are the names of those that could not be reached, and hold it until the next backup is made; cleared_backups is the
    number of those from which it was removed as well."""

    bank: str
    scope: Literal["line", "session", "speaker", "bank"]
    seqs: list[Span]
    lines: int
    forgotten_at: datetime
    backups: list[str] = []
    cleared_backups: int = 0

    @field_validator("backups", mode="before")
    @classmethod
    def _name_backups(cls, folders: Sequence[str]) -> list[str]:
        """Return the names of backups without the place."""
        return [os.path.basename(folder) for folder in folders]


class SettingsView(View):
    """The settings of a bank. remember: whether conversations are remembered, or the person is asked at their end.
    scribe: the model that writes notes and summaries, missing for the server's. recall_from: further banks that replies
    draw on, if any. model_facts: whether the scribe's model reads each conversation for facts when it ends."""

    remember: Remember
    scribe: str | None = None
    recall_from: list[str] | None = None
    model_facts: bool | None = None


class MonthView(View):
    """Counts of a month, written like 2024-05."""

    month: str
    lines: int
    sessions: int


class SessionView(View):
    """One conversation. lines counts the active ones; title is the person's, and null until they set one;
    model_title was given by a model; opening is the beginning of the person's first line; summary is a scribe's."""

    id: str
    started_at: datetime
    last_at: datetime
    ended_at: datetime | None
    lines: int
    first_seq: int
    last_seq: int
    title: str | None
    model_title: str | None
    metadata: dict[str, Any]
    opening: str | None
    summary: str | None


class PassageView(View):
    """A span of the relevance buffer, with its active lines."""

    first_seq: int
    last_seq: int
    lines: list[LineView]


class UnitReceiptView(View):
    """Proof that a unit was removed, with those that it superseded."""

    kind: str
    id: int
    earlier: list[int]
    forgotten_at: datetime


class NotesView(View):
    """The current notes. Without any, text is empty and id is null."""

    text: str
    id: int | None


class CharacterItem(View):
    """A character in short. builtin: it comes with Everthread and has no file."""

    name: str
    description: str
    has_picture: bool
    builtin: bool


class CharacterFields(BaseModel):
    """A character's fields. In every text {{char}} and {{user}} are replaced by the names."""

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
    """A character: its name and the fields that are set. {{char}} and {{user}} in its texts are the names."""


class RequestBody(BaseModel):
    """A request body. Unknown fields are errors, so that a misspelt one is not ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _keep_one_unknown(cls, given: Any) -> Any:
        """Keep only one of many unknown fields: a million of them would make as many errors."""
        if not isinstance(given, dict) or len(given) <= len(cls.model_fields):
            return given
        unknown = next(name for name in given if name not in cls.model_fields)
        return {name: given[name] for name in (*cls.model_fields, unknown) if name in given}


class LineBody(RequestBody):
    """A line to store. session: by default the bank's current one. key: its ID in the source system; a line with a
    known key is not stored again. undated: it was said at an unknown time."""

    text: str
    speaker: str | None = None
    role: Role = "user"
    said_at: datetime | None = None
    session: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    parent: int | str | None = None
    key: str | None = None
    undated: bool = False

    def to_new_line(self) -> NewLine:
        """Convert to a line.

        Raises:
            BadLine: for metadata with too many values.
        """
        if not has_at_most(MAX_METADATA_VALUES, self.metadata):
            raise BadLine(
                f"invalid metadata: it holds more than {MAX_METADATA_VALUES:,} values; keep large data elsewhere"
            )
        fields = {name: getattr(self, name) for name in LineBody.model_fields}
        return NewLine(**{**fields, "speaker": self.role if self.speaker is None else self.speaker})


class ObserveBody(LineBody):
    """A line to store. replace: the line with its key is retracted in the same transaction; if it has the same text,
    speaker, role and metadata, nothing is stored."""

    replace: bool = False


class LinesBody(RequestBody):
    """Lines to store, in order. replace: each replaces the line with its key, as for one line."""

    lines: list[LineBody] = Field(min_length=1, max_length=MAX_BATCH)
    replace: bool = False


class ForgetLinesBody(RequestBody):
    """Lines to forget: seqs, inclusive ranges of their numbers, of which missing ones are skipped; or all lines of a
    speaker."""

    seqs: Annotated[list[Span] | None, Field(fail_fast=True)] = None
    speaker: str | None = None

    def list_seqs(self) -> list[int] | None:
        """Return the numbers; None if a speaker is given. Raises BadInput if both or neither are, or for too many."""
        if (self.seqs is None) == (self.speaker is None):
            raise BadInput("the lines to forget are missing, or given twice", remedy="send either seqs or speaker")
        if self.seqs is None:
            return None
        count = sum(max(last - first + 1, 0) for first, last in self.seqs)
        if count > MAX_FORGOTTEN:
            what = f"{count:,} lines are more than can be forgotten at once"
            raise BadInput(what, remedy=f"send up to {MAX_FORGOTTEN:,} in each request")
        return [seq for first, last in self.seqs for seq in range(first, last + 1)]


class LineTextBody(RequestBody):
    """A new text of a line; an empty one for a line that has metadata from its source."""

    text: str


class TextBody(RequestBody):
    """A new text."""

    text: NonEmptyText


class NotesBody(RequestBody):
    """New notes; a blank text removes them."""

    text: str


class SettingsBody(RequestBody):
    """Changes to a bank's settings; missing fields are not changed. scribe: a model of the configured server, `none`,
    or null for the server's. recall_from: the banks that replies also draw on, each of which the key may read.
    model_facts: whether the scribe's model reads each conversation for facts when it ends."""

    remember: Remember = "ask"
    scribe: str | None = None
    recall_from: list[str] = Field(default=[], max_length=MAX_BATCH)
    model_facts: bool = False

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("no setting is given; expected remember, scribe, recall_from or model_facts")
        return self


class SessionChanges(RequestBody):
    """Changes to a session; missing fields and values stay as they are. An empty title or a null value is removed."""

    title: str | None = None
    metadata: dict[str, Any] | None = None

    def get_changes(self) -> dict[str, Any]:
        """Return the fields to change.

        Raises:
            BadInput: the metadata have too many values.
        """
        if not has_at_most(MAX_METADATA_VALUES, self.metadata):
            raise BadInput(f"invalid metadata: they hold more than {MAX_METADATA_VALUES:,} values; expected a few")
        return dict(self)


class BufferBody(RequestBody):
    """Spans of lines, first and last, the oldest first."""

    spans: list[Span] = Field(max_length=MAX_PASSAGES)


class CharacterBody(RequestBody, CharacterFields):
    """A character. Missing fields are empty."""


class CharacterChanges(RequestBody):
    """Some fields of a character. Missing fields are not changed."""

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
        """Return the fields to change."""
        return {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}


def has_at_most(limit: int, value: Any) -> bool:
    """Return whether a JSON value consists of at most this many values."""
    pending, count = [value], 1
    while pending:
        container = pending.pop()
        if isinstance(container, dict | list):
            count += len(container)
            if count > limit:
                return False
            pending.extend(container.values() if isinstance(container, dict) else container)
    return True
