"""The data types of Everthread, as frozen dataclasses: lines, sessions, units, hits. They use no store and no model.

Each array alias gives its shape: N rows, D dimensions, Q vectors of one query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from everthread.common.keys import META_CORRECTS, META_UNDATED

Vector = npt.NDArray[np.float32]  # (D,) unit length; (Q, D) if a model computes several for a query
Vectors = npt.NDArray[np.float32]  # (N, D) rows of unit length
Seqs = npt.NDArray[np.int64]  # (N,) line numbers
TokenCodes = npt.NDArray[np.uint8]  # (T, B) codes of T words of a text (embedders.token_vectors)

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)
if TYPE_CHECKING:
    JSONValue = str | int | float | bool | None | Sequence["JSONValue"] | Mapping[str, "JSONValue"]
else:
    JSONValue = Any  # pydantic, and so FastAPI, recurses without end in an alias that refers to itself
Metadata = Mapping[str, JSONValue]

MAX_REPR_CHARS = 60  # of a text in the description of a hit


@dataclass(frozen=True, slots=True, eq=False)
class LineTokens:
    """The codes of a line's content words, by which late interaction compares it with a question.

    Attributes:
        scheme: how they were computed; codes of two schemes are never compared.
        codes: (T, B); T is 0 for a line without such words.
    """

    scheme: str
    codes: TokenCodes


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class NewLine:
    """A line before it is stored and numbered.

    Attributes:
        text: its text, verbatim; empty for a line without words, such as a tool call, which needs metadata. Such a line
            is stored in its place, but neither counted nor recalled.
        speaker: the name of its speaker.
        role: the speaker's role.
        said_at: its time, with the UTC offset of the speaker; None means now, or for an undated line unknown.
        session: the id of its session; None means the bank's current session.
        metadata: JSON values by name.
        parent: the seq or the key of the line that this one answers.
        key: identifies the line at its source; storing a line with a known key again adds nothing, even if the
            stored line has been corrected since.
        retracted_at: the time at which another bank retracted it; it is then stored as retracted and never recalled.
        undated: whether it was said at an unknown time. It is then stored in its place, shown without a date, and
            never found by a time.
    """

    text: str
    speaker: str = "user"
    role: Role = "user"
    said_at: datetime | None = None
    session: str | None = None
    metadata: Metadata = field(default_factory=dict)
    parent: int | str | None = None
    key: str | None = None
    retracted_at: datetime | None = None
    undated: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A stored message, verbatim. seq numbers the lines of the bank, across all speakers, from 1.

    The said_at of an undated line is the time at which it was stored.
    """

    seq: int
    session: str
    role: Role
    speaker: str
    text: str
    said_at: datetime
    parent: int | None = None
    metadata: Metadata = field(default_factory=dict)
    key: str | None = None
    retracted_at: datetime | None = None

    @property
    def position(self) -> int:
        """The sort key of the line in its conversation: the number of the line that it corrects, or else its own."""
        first = self.metadata.get(META_CORRECTS)
        return first if type(first) is int and 0 < first < self.seq else self.seq

    @property
    def is_undated(self) -> bool:
        """True if the line was said at an unknown time."""
        return self.metadata.get(META_UNDATED) is True


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation in a bank. lines counts its lines that are not retracted; undated lines count in started_at and
    last_at with the time at which they were stored."""

    id: str
    started_at: datetime
    last_at: datetime
    first_seq: int
    last_seq: int
    lines: int
    ended_at: datetime | None = None  # once it is set, a new line without a session starts another one
    title: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A memory unit before it is stored: a text derived from lines, such as a summary, a note or a fact.

    It derives from the lines first_seq to last_seq, and is retracted or forgotten when any of them is. A fact may list
    its lines as `lines` of its metadata: others between them don't matter. A unit from 0 to 0 derives from no line.
    """

    kind: str
    text: str
    first_seq: int
    last_seq: int
    said_at: datetime  # the time that the text is about: the time of its last line
    importance: float | None = None  # 1 (small talk) to 10
    category: str | None = None
    metadata: Metadata = field(default_factory=dict)
    sources: tuple[int, ...] = ()  # the lines that its writer read; it is stored only if all still exist


@dataclass(frozen=True, slots=True)
class Unit:
    """A stored memory unit.

    It is current until another unit supersedes it, at valid_to. If that unit is retracted or forgotten, it becomes
    current again.
    """

    id: int
    kind: str
    text: str
    first_seq: int
    last_seq: int
    said_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    importance: float | None = None
    category: str | None = None
    metadata: Metadata = field(default_factory=dict)
    retracted_at: datetime | None = None
    supersedes: int | None = None  # the id of the unit of its kind that it superseded

    @property
    def is_undated(self) -> bool:
        """True if the text is about an unknown time."""
        return self.metadata.get(META_UNDATED) is True


@dataclass(frozen=True, slots=True)
class ScribeJob:
    """A queued job of a scribe: the kind of text to write, and the lines to read. error is the class name of the last
    error, without any text of lines."""

    kind: Literal["summary", "notes", "title", "facts"]
    session: str
    first_seq: int
    last_seq: int
    queued_at: datetime
    tries: int = 0
    error: str | None = None


Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "exists"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares a field of a line with a value.

    A field that a line lacks equals nothing and has no order. Numbers are ordered with numbers only, and texts with
    texts, by their code points. `!=` and `not in` are true exactly where `==` and `in` are false.

    Attributes:
        field: "session", "speaker", "role", "key", "said_at", or a path in the metadata, such as "metadata.source.id".
        op: `in` takes a tuple or list of values, `exists` True or False. `contains` finds an element of a list, or a
            part of a text.
        value: a JSON value; for said_at a datetime with a time zone. The default is for `exists`.
    """

    field: str
    op: Operator
    value: JSONValue | datetime | Sequence[datetime] = True


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if every condition is true, or if there is no condition."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if at least one condition is true."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True if the condition is false."""

    condition: Condition


Condition = Comparison | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True)
class Filter:
    """Restricts which lines or units may be recalled. Every given field must match; several values match any of them.

    kind is "line" or a kind of unit. since is inclusive and until exclusive; both refer to said_at. metadata must be
    equal for each given key; condition compares in other ways. Only units have a category: combine it with a kind of
    unit, or with a recipe that recalls summaries.
    """

    session: str | tuple[str, ...] | list[str] | None = None
    speaker: str | tuple[str, ...] | list[str] | None = None
    role: Role | tuple[Role, ...] | list[Role] | None = None
    kind: str | tuple[str, ...] | list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    category: str | tuple[str, ...] | list[str] | None = None
    condition: Condition | None = None
    key_prefix: str | None = None  # only lines whose key begins with it


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit found for a query, with its label and session for a context.

    Attributes:
        unit: the unit.
        session: the session of the last line that it derives from; empty if it derives from none.
        speaker: the label before its text: its kind, or the first speaker of a unit that repeats what was said.
    """

    unit: Unit
    session: str
    speaker: str

    @property
    def text(self) -> str:
        """The text without the label."""
        text, label = self.unit.text, f"{self.speaker}: "
        return text if self.speaker == self.unit.kind else text.removeprefix(label)

    @property
    def said_at(self) -> datetime:
        """The time that the unit is about."""
        return self.unit.said_at

    @property
    def is_undated(self) -> bool:
        """True if the unit is about an unknown time."""
        return self.unit.is_undated

    @property
    def position(self) -> int:
        """The position among lines: that of the last line that the unit derives from."""
        return self.unit.last_seq

    def with_text(self, text: str) -> FoundUnit:
        """Return a copy with another text, such as an excerpt."""
        return replace(self, unit=replace(self.unit, text=text))


@dataclass(frozen=True, slots=True)
class Hit:
    """A line or a unit found for a query.

    Attributes:
        source: the line or unit. `line` and `unit` are shortcuts.
        score: orders the hits of one query; it is dimensionless.
        relevance: with the recipe default, the calibrated probability that a line is relevant to the query, and the
            cosine of a unit; of a fact that of its line; with other recipes, their own measure.
        signals: the measured signals, by name; those with a weight make up the score.
        passage: the line and its neighbours, in order; empty for a unit, except a fact: it has the passage of the line
            that states it, unless another fact has that.
        bank: the bank where it was found, if several were searched.
    """

    source: Line | FoundUnit
    score: float
    relevance: float
    signals: Mapping[str, float]
    passage: tuple[Line, ...] = ()
    bank: str = ""

    def __repr__(self) -> str:
        """Return a short description, because a hit has two dozen signals and a passage."""
        bank = f" of bank {self.bank!r}" if self.bank else ""
        text = self.text if len(self.text) <= MAX_REPR_CHARS else f"{self.text[:MAX_REPR_CHARS]}…"
        return f"<Hit: {self.kind} {self.seq}{bank}, relevance {self.relevance:.2f}, {text!r}>"

    @property
    def kind(self) -> str:
        """The kind of the unit, or "line"."""
        return "line" if isinstance(self.source, Line) else self.source.unit.kind

    @property
    def line(self) -> Line:
        """The line that was found. Raises AttributeError for a unit."""
        if not isinstance(self.source, Line):
            raise AttributeError(f"this hit is a unit of kind {self.kind!r}, not a line; use hit.unit")
        return self.source

    @property
    def unit(self) -> Unit:
        """The unit that was found. Raises AttributeError for a line."""
        if isinstance(self.source, Line):
            raise AttributeError("this hit is a line, not a unit; use hit.line")
        return self.source.unit

    @property
    def seq(self) -> int:
        """The number of the line, or of the last line that the unit derives from."""
        return self.source.seq if isinstance(self.source, Line) else self.source.unit.last_seq

    @property
    def text(self) -> str:
        """The text of the line or of the unit."""
        return self.source.text if isinstance(self.source, Line) else self.source.unit.text

    @property
    def said_at(self) -> datetime:
        """The time of the line, or the time that the unit is about."""
        return self.source.said_at


@dataclass(frozen=True, slots=True)
class Context:
    """Memories for a query, formatted as text for a prompt.

    Attributes:
        text: the text; empty if nothing passed the relevance gate and the buffer is empty.
        tokens: the tokens of the text.
        sources: the lines and units in the text, in its order; a long one as an excerpt.
        hits: the hits in the text.
        cut: the hits that did not fit the budget, or were not worth their tokens.
        relevance: the query relevance, from 0 to 1: how likely it is that the bank has anything relevant.
        bank: the bank, if several were searched.
        others: the contexts of the other banks, if several were searched; `text` contains the memories of all banks.
            Line numbers are per bank.
        complete: False if the deadline left out a model: the question or pending lines have no vectors, or hits are
            not reranked.
        facts: the facts in the text, before the lines, as units with their sentences.
    """

    text: str
    tokens: int
    sources: tuple[Line | FoundUnit, ...]
    hits: tuple[Hit, ...]
    cut: tuple[Hit, ...]
    relevance: float
    bank: str = ""
    others: tuple[Context, ...] = ()
    complete: bool = True
    facts: tuple[FoundUnit, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines in the text, in its order."""
        return tuple(source for source in self.sources if isinstance(source, Line))

    @property
    def units(self) -> tuple[FoundUnit, ...]:
        """The units in the text, in its order."""
        return tuple(source for source in self.sources if isinstance(source, FoundUnit))

    def __bool__(self) -> bool:
        """Return whether the text is not empty."""
        return bool(self.text)

    def __repr__(self) -> str:
        """Return a short description, because text, hits and passages can be long."""
        hits = sum(len(context.hits) for context in (self, *self.others))
        return f"<Context: relevance {self.relevance:.2f}, {hits} hits, {self.tokens} tokens>"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The memories that a reply was given, as they were at that time.

    Attributes:
        seq: the number of the reply.
        relevance: the query relevance, from 0 to 1.
        tokens: the tokens of the memories in the prompt.
        hits: the hits, best first, with their text of that time; `retracted_at` of their lines shows what was set aside
            since, and `valid_to` of their units what was rewritten.
        kept: lines that the relevance buffer had kept from earlier turns.
        corrections: number of a line that was corrected since -> its correction.
        forgotten: how many of the memories were forgotten since.
        others: name of another bank -> how many hits came from it.
        shared: name of another bank that is still shared with this one (setting `recall_from`) -> the lines of it that
            the reply was given, without forgotten ones.
        prompt: part of the prompt -> its tokens, in the order of the prompt; empty if that is not recorded.
    """

    seq: int
    relevance: float
    tokens: int
    hits: tuple[Hit, ...] = ()
    kept: tuple[Line, ...] = ()
    corrections: Mapping[int, Line] = field(default_factory=dict)
    forgotten: int = 0
    others: Mapping[str, int] = field(default_factory=dict)
    shared: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)
    prompt: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that lines were forgotten. It contains line numbers, but no text, speakers or sessions.

    bank is the SHA-256 of the bank's id, so that only a reader who knows the id can verify it. Stored receipts don't
    know about backups.

    Attributes:
        backups: the folders of backups that could not be reached when the lines were forgotten. They hold them until
            `everthread backup` next writes beside them.
        cleared_backups: the number of backups from which the lines were removed as well.
    """

    bank: str
    scope: Literal["line", "session", "speaker", "bank"]
    seqs: tuple[tuple[int, int], ...]  # inclusive ranges
    lines: int
    forgotten_at: datetime
    backups: tuple[str, ...] = ()
    cleared_backups: int = 0


@dataclass(frozen=True, slots=True)
class EndResult:
    """The result of ending a conversation. remembered is None, and nothing is changed, if the user must first answer
    `question`."""

    session: str
    remembered: bool | None
    question: str = ""
    receipt: Receipt | None = None  # of what was forgotten


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a bank.

    pending counts the lines that have no vector of the current model, but should have one; outdated those whose words
    an earlier version analysed.
    """

    bank: str
    lines: int
    retracted: int
    sessions: int
    speakers: tuple[str, ...]
    first_said_at: datetime | None
    last_said_at: datetime | None
    vectors: Mapping[str, int]  # model name -> count
    pending: int
    bytes: int
    recipe: str
    embedder: str
    units: Mapping[str, int] = field(default_factory=dict)  # kind -> units that are not retracted
    queued: int = 0  # queued jobs of scribes
    dropped_facts: Mapping[str, int] = field(default_factory=dict)  # reason -> facts of a model that were not stored
    outdated: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a language model, as in chat APIs."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling options of a language model; None leaves an option to the model's server."""

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None  # of the reply

    def with_defaults(self, defaults: Sampling) -> Sampling:
        """Return the options with the values of `defaults` in place of None."""
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        return replace(defaults, **{name: value for name, value in options.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written by a language model.

    Attributes:
        prompt: tokens read.
        completion: tokens written.
        cost: in the currency of the configured prices; None without prices.
        estimated: whether the tokens were estimated, because the server did not report them.
    """

    prompt: int = 0
    completion: int = 0
    cost: float | None = None
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        """Add two usages."""
        costs = [usage.cost for usage in (self, other) if usage.cost is not None]
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            sum(costs) if costs else None,
            self.estimated or other.estimated,
        )
