"""Tables of messages in CSV, such as Copilot's history, and those that people make themselves.

The first row names the columns: one has the text, one the sender and one the time; another may have the conversation.
The order of day, month and year in dates such as 05/06/2024 is inferred from all dates of a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import accumulate, islice

from everthread.errors import BadFile
from everthread.transfer.dates import find_order, looks_like_date, parse_moment
from everthread.transfer.files import hash_parts, shorten
from everthread.transfer.services.chatlist import NAME, PERSON, ROLES
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.csv_rows import read_rows
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import parse_recent_epoch
from everthread.transfer.transcript_styles import is_person
from everthread.transfer.types import DATE_ORDERS

_COLUMNS = {  # by what they have; of several, the first that a table has
    "text": (
        *("message", "text", "content", "contents", "body", "message text"),
        *("nachricht", "mensaje", "texto", "texte", "メッセージ", "内容", "消息", "消息内容"),
    ),
    "sender": (
        *("author", "sender", "speaker", "from", "sender name", "name", "user", "username", "role"),
        *("absender", "remitente", "expéditeur", "auteur", "送信者", "发送者", "发送人", "发件人", "昵称"),
    ),
    "time": (
        *("time", "timestamp", "date", "datetime", "created_at", "sent_at", "date sent", "message date"),
        *("zeit", "datum", "fecha", "hora", "heure", "日時", "时间", "发送时间", "日期"),
    ),
    "conversation": ("conversation", "conversation_id", "chat", "thread", "session", "chat session", "channel"),
}
_EARLIEST = datetime.min.replace(tzinfo=UTC)  # of a message without a time


def recognises(export: Export) -> bool:
    """Return whether there is a table of messages."""
    return any(map(_find_columns, export.named("*.csv", "*.tsv")))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all tables.

    Raises:
        BadFile: a date is ambiguous or impossible, or a table can't be read.
    """
    for file in export.named("*.csv", "*.tsv"):
        if columns := _find_columns(file):
            order = options.date_order or _infer_order(file, columns)
            yield from _read_table(file, columns, options.tz, order)


def _infer_order(file: ExportFile, columns: Mapping[str, int]) -> str | None:
    """Return the order of day, month and year in a table's dates; None if they need none, or fit several or none."""
    times = {values.get("time", "") for _, values in _read_values(file, columns)}
    return find_order(set(filter(looks_like_date, times)))


def _read_table(file: ExportFile, columns: Mapping[str, int], tz: tzinfo, order: str | None) -> Iterator[Conversation]:
    """Yield the conversations of a table, in the order of their first rows."""
    chats: dict[str, list[Message]] = {}
    skipped = Counter[str]()
    for number, values in _read_values(file, columns):
        if not values.get("text"):
            skipped["messages without text"] += any(values.values())
            continue
        message = _build_message(values, _parse_time(values.get("time", ""), tz, order, file, number))
        chats.setdefault(values.get("conversation", ""), []).append(message)
    for title, messages in chats.items():
        ordered = _order(messages)
        name = title or f"chat-{hash_parts(str(ordered[0].said_at), ordered[0].text)[:16]}"
        yield Conversation(
            name, ordered, title or None, skipped=+skipped, owner=PERSON, assistant=NAME, namespace=title
        )
        skipped.clear()


def _order(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of a conversation from the first to the last; one without a time follows its row before."""
    times = [message.said_at for message in messages if message.said_at is not None]
    rows = messages[::-1] if times and times[0] > times[-1] else messages
    moments = islice(accumulate(rows, lambda before, row: row.said_at or before, initial=_EARLIEST), 1, None)
    return [row for _, row in sorted(zip(moments, rows, strict=True), key=lambda pair: pair[0])]


def _read_values(file: ExportFile, columns: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row after the first, and what it has in the columns."""
    for number, row in islice(enumerate(read_rows(file), 1), 1, None):
        yield number, {name: row[index].strip() for name, index in columns.items() if index < len(row)}


def _build_message(values: Mapping[str, str], said_at: datetime | None) -> Message:
    sender = values.get("sender") or PERSON
    role = "user" if is_person(sender) else ROLES.get(sender.casefold())
    speaker = {"user": PERSON, "assistant": NAME}.get(role or "", sender)
    return Message(values["text"], role if role in ("assistant", "system") else "user", speaker, said_at)


def _parse_time(text: str, tz: tzinfo, order: str | None, file: ExportFile, number: int) -> datetime | None:
    """Return the time in a field; None without one. Raises BadFile for a date that doesn't exist in this order."""
    try:
        return parse_moment(text, tz, order)
    except ValueError:
        if looks_like_date(text):
            doubt = f"impossible with the {DATE_ORDERS[order]} first" if order else "ambiguous or impossible"
            raise BadFile(
                f"the date {shorten(text)} is {doubt}",
                path=file.path,
                where=f"row {number}",
                remedy="give the order of day, month and year with {option}, or write dates as 2024-05-31 18:05",
                option="date_order",
            ) from None
    try:
        return parse_recent_epoch(float(text))
    except ValueError:
        return None


def _find_columns(file: ExportFile) -> dict[str, int]:
    """Return the index of each column in a table of messages, by what it has; {} for another table."""
    try:
        header = [name.strip().casefold() for name in next(read_rows(file), ())]
    except BadFile:
        return {}
    found = {
        kind: next((header.index(name) for name in names if name in header), None) for kind, names in _COLUMNS.items()
    }
    columns = {kind: index for kind, index in found.items() if index is not None}
    return columns if {"text", "sender", "time"} <= columns.keys() else {}
