"""What goes over the wire. The nouns of `types` go out field by field, as views; what comes in is checked here for its
shape alone: what it means, the library checks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from everthread.types import NewLine, Role, Where


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


class Body(BaseModel):
    """What comes in: an unknown field is an error, so that a mistyped one is not passed over."""

    model_config = ConfigDict(extra="forbid")


class LineBody(Body):
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

    def new(self) -> NewLine:
        """The line as the library takes it."""
        speaker = self.role if self.speaker is None else self.speaker
        return NewLine(
            *(self.text, speaker, self.role, self.said_at, self.session), self.metadata, self.parent, self.key
        )


class WhereBody(Body):
    """Which lines may be recalled: every field that is given must hold."""

    session: str | list[str] | None = None
    speaker: str | list[str] | None = None
    role: Role | list[Role] | None = None
    kind: str | list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    def where(self) -> Where:
        """The same as the library takes it."""
        given = {name: getattr(self, name) for name in ("session", "speaker", "role", "kind")}
        several = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
        return Where(**several, since=self.since, until=self.until, metadata=self.metadata)
