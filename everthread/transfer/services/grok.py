"""Grok's export: a zip archive with `prod-grok-backend.json` in it, and files about the account.

Most messages name the one that they follow; the others follow the one before them. The path to the latest message is
current, because an export does not say which one Grok shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_record,
    get_records,
    get_text,
    parse_epoch,
    parse_iso,
    require_record,
)
from everthread.transfer.services.trees import trace_path

NAME = "Grok"
PERSON = "user"

_LIST = "conversations"
_CARD = re.compile(r"<grok:render\b.{0,2000}?</grok:render>", re.DOTALL)  # a source or a picture in the text
_EARLIEST = datetime.min.replace(tzinfo=UTC)  # of a message without a time


def recognises(export: Export) -> bool:
    """Return whether an export has conversations of Grok."""
    return any(map(_has_conversations, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all files."""
    for file in filter(_has_conversations, export.files):
        values = ((f"conversation {number} of {file.name}", value) for number, value in enumerate(file.items(_LIST), 1))
        yield from build_all(values, build_conversation)


def build_conversation(value: object) -> Conversation:
    """Build a conversation from its JSON.

    Raises:
        BadFile: it has no id.
    """
    record = require_record(value, "conversation", "responses")
    about = get_record(record, "conversation")
    conversation_id = get_text(about, "id")
    if not conversation_id:
        raise BadFile("it has no id")
    rows = [get_record(row, "response") for row in get_records(record, "responses")]
    times = [_parse_time(row.get("create_time")) for row in rows]
    parents = _find_parents(rows)
    latest = max(range(len(rows)), key=lambda number: (times[number] or _EARLIEST, number), default=None)
    shown = trace_path(parents, None if latest is None else get_text(rows[latest], "_id"))
    skipped = Counter[str]()
    messages = [_build_message(row, said_at, parents, shown, skipped) for row, said_at in zip(rows, times, strict=True)]
    return Conversation(
        conversation_id,
        messages,
        get_text(about, "title") or None,
        parse_iso(about.get("create_time")),
        skipped=+skipped,
        owner=PERSON,
        assistant=NAME,
    )


def _has_conversations(file: ExportFile) -> bool:
    first = next(iter(get_records(get_record(file.head), _LIST)), {})
    return {"conversation", "responses"} <= first.keys()


def _find_parents(rows: Sequence[Record]) -> dict[str, str | None]:
    """Return the id of each message, and of the one that it follows."""
    known = {get_text(row, "_id") for row in rows}
    parents: dict[str, str | None] = {}
    before: str | None = None
    for row in rows:
        named = get_text(row, "parent_response_id")
        parents[get_text(row, "_id")] = named if named in known else before
        before = get_text(row, "_id")
    return parents


def _build_message(
    row: Record, said_at: datetime | None, parents: dict[str, str | None], shown: set[str], skipped: Counter[str]
) -> Message:
    """Build a message; without text, and counted, if nothing was said."""
    is_user = get_text(row, "sender").lower() == "human"
    text = get_text(row, "message").strip()
    text = text if is_user else _CARD.sub("", text).strip()
    skipped["thoughts"] += bool(get_text(row, "thinking_trace"))
    skipped["messages without text"] += not text
    message_id = get_text(row, "_id")
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else NAME,
        said_at,
        message_id,
        parents[message_id],
        message_id in shown,
        drop_empty({"model": "" if is_user else get_text(row, "model")}),
    )


def _parse_time(value: object) -> datetime | None:
    """Return a time, which is text, or an object with milliseconds since 1970 as MongoDB writes it."""
    date = value.get("$date") if isinstance(value, dict) else value
    return parse_iso(date) or parse_epoch(get_record(date).get("$numberLong", date), per_second=1000)
