"""A conversation as another service exported it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from everthread.types import Metadata, Role


@dataclass(frozen=True, slots=True)
class Message:
    """A message of an exported conversation.

    Attributes:
        text: what was said.
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


@dataclass(frozen=True, slots=True)
class Conversation:
    """An exported conversation.

    Attributes:
        id: by which the service knows it; unique in the export.
        messages: what was said, in any order if they have parents, otherwise from the first to the last.
        title: its title, if it has one.
        started_at: its time, for messages without one.
        metadata: JSON values by name.
        skipped: the number of entries that are no messages, by kind in the plural ("calls of tools").
    """

    id: str
    messages: Sequence[Message]
    title: str | None = None
    started_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
