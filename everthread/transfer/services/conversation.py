"""A conversation as another service exported it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from everthread.errors import BadFile
from everthread.types import Metadata, NewUnit, Role

ATTACHMENT_TEXTS = "attachment_texts"  # in the metadata of a message: the name and the text of each attachment


@dataclass(frozen=True, slots=True)
class Message:
    """A message of an exported conversation.

    Attributes:
        text: what was said; empty for an entry that is no message, but that others follow.
        role: the speaker's role.
        speaker: the speaker's name as the service shows it.
        said_at: its own time; None if the export has none.
        id: by which the service knows it, in all its exports; None if it has no such id.
        parent: the id of the message that it follows; None: the first, or in a linear conversation the one before it.
        shown: whether the service shows it. A message that was edited or regenerated away is not shown.
        metadata: JSON values by name.
    """

    text: str
    role: Role
    speaker: str
    said_at: datetime | None = None
    id: str | None = None
    parent: str | None = None
    shown: bool = True
    metadata: Metadata = field(default_factory=dict)

    @property
    def has_content(self) -> bool:
        """True for one that becomes a line: with words, or the text of an attachment."""
        return bool(self.text.strip()) or ATTACHMENT_TEXTS in self.metadata


@dataclass(frozen=True, slots=True)
class Conversation:
    """An exported conversation.

    Attributes:
        id: by which the service knows it; unique in the export.
        messages: what was said, in any order if they have parents, otherwise from the first to the last.
        title: its title, if it has one; of a conversation with one person or character, that name.
        started_at: its time, for messages without one.
        metadata: JSON values by name.
        skipped: the number of entries that are no messages, by kind in the plural ("calls of tools").
        owner: the speaker whose export it is, if the export says so.
        assistant: the name of the service's only assistant, under which the user may know another ("ChatGPT").
        excluded: the kind, in the plural, of conversations that are only imported if they are chosen by name.
        namespace: in which the ids of messages, or their times and texts, are unique; None: this conversation. Messages
            that several conversations of a namespace share are imported once.
    """

    id: str
    messages: Sequence[Message]
    title: str | None = None
    started_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    owner: str | None = None
    assistant: str | None = None
    excluded: str = ""
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenConversation:
    """A conversation that can't be read.

    Attributes:
        name: its title, or its place in the export.
        reason: what is wrong with it.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How the conversations of an export are read.

    Attributes:
        me: the name of the person whose export it is; None: as in the export.
        assistant: names under which the chatbot speaks.
        only: titles or ids of the conversations to import; without any, all.
        tz: the zone of times without one.
        strict: whether a conversation that can't be read is an error.
        facts_as_lines: whether the facts of another memory become lines.
        attachments: whether the texts that a service extracted from attachments are read, too.
        disappearing: whether messages that were to disappear are read, too.
        date_order: the order of day, month and year in a table's dates; None: it is inferred.
    """

    me: str | None = None
    assistant: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    tz: tzinfo = UTC
    strict: bool = False
    facts_as_lines: bool = False
    attachments: bool = False
    disappearing: bool = False
    date_order: str | None = None


Entry = Conversation | BrokenConversation | NewUnit  # the last is a fact or a note that another memory wrote


def build_all(values: Iterable[tuple[str, object]], build: Callable[[object], Conversation]) -> Iterator[Entry]:
    """Build the conversation of each value.

    Args:
        values: the place in the export, for messages, and the JSON of each conversation.
        build: builds the conversation, or raises BadFile if it is broken.
    """
    for place, value in values:
        try:
            yield build(value)
        except BadFile as error:
            yield BrokenConversation(_find_title(value) or place, str(error))


def count_beginning(messages: Sequence[Message]) -> int:
    """Return the number of messages up to the person's first one, by which a chat without an id is known.

    They stay the same when the chat has grown, unlike a reply, which may be generated again. A chat in which the person
    has said nothing yet gets another id later; a namespace that is made of the first message keeps its lines the same.
    """
    return next((number for number, message in enumerate(messages, 1) if message.role == "user"), 1)


def _find_title(value: object) -> str:
    names = (value.get(name) for name in ("title", "name")) if isinstance(value, dict) else ()
    return next((name for name in names if isinstance(name, str) and name.strip()), "")
