"""The structured results of the tools. Field descriptions are part of the tools' output schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from everthread.mcp.shown_lines import cut_text
from everthread.types import Hit, Line, Receipt, Session

MAX_HIT_TOKENS = 500  # of a hit's text; the passages of the answer have the part that was found

Seq = Annotated[int, Field(description="The number of the line.")]
Time = Annotated[str, Field(description="ISO 8601, with the speaker's offset.")]
Relevance = Annotated[float, Field(ge=0, le=1, description="How likely it is that this is relevant to the query.")]


class HitView(BaseModel):
    """A line that was found."""

    seq: Seq
    said_at: Time | None
    speaker: str
    session: str
    text: str
    relevance: Relevance

    @classmethod
    def of(cls, hit: Hit, max_tokens: int = MAX_HIT_TOKENS) -> HitView:
        """Convert a hit. The relevance of a unit is a cosine, which can be negative."""
        return cls(
            seq=hit.seq,
            said_at=None if hit.source.is_undated else hit.said_at.isoformat(),
            speaker=hit.source.speaker,
            session=hit.source.session,
            text=cut_text(hit.text, max_tokens),
            relevance=min(max(hit.relevance, 0.0), 1.0),
        )


class RecallView(BaseModel):
    """The result of `recall`: no hits if nothing relevant is remembered."""

    relevance: Relevance
    hits: list[HitView]
    facts: list[str] = Field(description="What is known of those that the query names, if that was asked for.")


class RememberView(BaseModel):
    """The result of `remember`."""

    seq: Seq
    kept: bool = Field(description="False if the bank had this line already.")


class KeptView(BaseModel):
    """The result of `remember_conversation`."""

    session: str = Field(description="Pass it with the next messages of the same conversation.")
    kept: int = Field(description="How many of the messages were new.")


class LineView(BaseModel):
    """A line of a conversation."""

    seq: Seq
    said_at: Time | None
    speaker: str
    text: str

    @classmethod
    def of(cls, line: Line) -> LineView:
        """Convert a line."""
        return cls(
            seq=line.seq,
            said_at=None if line.is_undated else line.said_at.isoformat(),
            speaker=line.speaker,
            text=line.text,
        )


class ConversationView(BaseModel):
    """The result of `conversation`."""

    session: str
    lines: list[LineView]


class SessionView(BaseModel):
    """A conversation in the list of `sessions`."""

    session: str
    title: str | None
    started_at: Time
    last_at: Time
    lines: int
    summary: str | None

    @classmethod
    def of(cls, session: Session, model_title: str | None, summary: str | None) -> SessionView:
        """Convert a session. model_title: the title that a model gave it, if a person gave none."""
        return cls(
            session=session.id,
            title=session.title or model_title,
            started_at=session.started_at.isoformat(),
            last_at=session.last_at.isoformat(),
            lines=session.lines,
            summary=summary,
        )


class SessionsView(BaseModel):
    """The result of `sessions`, the latest first."""

    sessions: list[SessionView]


class ReceiptView(BaseModel):
    """Proof of what was forgotten, without any text."""

    bank: str = Field(description="The SHA-256 of the bank's id.")
    scope: str
    seqs: list[tuple[int, int]] = Field(description="Inclusive ranges of line numbers; if there are many, the first.")
    ranges: int = Field(description="The number of all ranges.")
    lines: int
    forgotten_at: str
    backups: list[str] = Field([], description="Backups that could not be reached, and hold it until the next one.")
    cleared_backups: int = Field(0, description="The number of backups from which it was removed as well.")

    @classmethod
    def of(cls, receipt: Receipt, max_ranges: int) -> ReceiptView:
        """Convert a receipt, with its first `max_ranges` ranges."""
        return cls(
            bank=receipt.bank,
            scope=receipt.scope,
            seqs=list(receipt.seqs[:max_ranges]),
            ranges=len(receipt.seqs),
            lines=receipt.lines,
            forgotten_at=receipt.forgotten_at.isoformat(),
            backups=[Path(folder).name for folder in receipt.backups],
            cleared_backups=receipt.cleared_backups,
        )


class ForgetView(BaseModel):
    """The result of `forget`."""

    forgotten: bool
    receipt: ReceiptView | None = None
    confirm: str | None = Field(
        default=None, description="Pass this to `forget` once the person has agreed; absent if nothing is to confirm."
    )
