"""Claude's export: a zip archive with `conversations.json`, `users.json` and others.

A message names the one that it follows; in older exports it does not, and conversations are linear. The path to the
latest message is current, because an export does not say which one Claude shows. A message repeats its text, with notes
in place of tools, outside its parts: the parts are read where there are any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from everthread.errors import BadFile
from everthread.transfer.services.conversation import (
    ATTACHMENT_TEXTS,
    Conversation,
    Entry,
    Message,
    ReadOptions,
    build_all,
)
from everthread.transfer.services.cuts import cut_blocks
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_record,
    get_records,
    get_text,
    parse_iso,
    require_record,
)
from everthread.transfer.services.trees import trace_path
from everthread.types import JSONValue, Metadata

NAME = "Claude"
PERSON = "user"
PASTED = "pasted text"  # which Claude makes an attachment without a name if it is long

_TAGS = (  # in the text of messages of 2024
    ("<antThinking>", "</antThinking>", "thoughts"),
    ("<antArtifact ", "</antArtifact>", "artifacts"),
)
_ROOT = "00000000-0000-"  # begins the id that the first messages of a conversation follow
_EARLIEST = datetime.min.replace(tzinfo=UTC)  # of a message without a time
_SAID = ("text", "voice_note")  # parts that are said or, in spoken messages, transcripts of it
_KINDS = {"thinking": "thoughts", "tool_use": "calls of tools", "tool_result": "results of tools"}


def recognises(export: Export) -> bool:
    """Return whether an export has conversations of Claude."""
    return next(_find_files(export), None) is not None


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all files."""
    names = _read_names(export)
    for file in _find_files(export):
        conversations = file.list_values("conversation")
        yield from build_all(conversations, lambda value: build_conversation(value, names, options.attachments))


def build_conversation(value: object, names: Mapping[str, str], attachments: bool = False) -> Conversation:
    """Build a conversation from its JSON.

    Args:
        value: the JSON.
        names: the names of users, by id.
        attachments: whether the texts of attachments are read, too.

    Raises:
        BadFile: it has no messages, or no id.
    """
    record = require_record(value, "uuid", "chat_messages")
    conversation_id = get_text(record, "uuid")
    if not conversation_id or not isinstance(record["chat_messages"], list):
        raise BadFile("its messages are not a list" if conversation_id else "it has no id")
    skipped = Counter[str]()
    person = names.get(get_text(get_record(record, "account"), "uuid"), PERSON)
    rows = get_records(record, "chat_messages")
    messages = [_build_message(row, person, attachments, skipped) for row in rows]
    if any(get_text(row, "parent_message_uuid") for row in rows):
        parents = _find_parents(rows)
        path = trace_path(parents, _find_leaf(record, rows))
        messages = [
            replace(each, parent=parents.get(each.id or ""), shown=(each.id or "") in path) for each in messages
        ]
    return Conversation(
        conversation_id,
        messages,
        get_text(record, "name") or None,
        parse_iso(record.get("created_at")),
        skipped=+skipped,
        owner=person,
        assistant=NAME,
    )


def _find_files(export: Export) -> Iterator[ExportFile]:
    for file in export.files:
        if any({"uuid", "chat_messages"} <= get_record(value).keys() for value in file.first_values):
            yield file


def _read_names(export: Export) -> dict[str, str]:
    """Return the names of the users in an export, by their ids."""
    names: dict[str, str] = {}
    for file in export.named("users.json"):
        for user in map(get_record, file.items()):
            if name := get_text(user, "full_name"):
                names[get_text(user, "uuid")] = name
    return names


def _find_parents(rows: Sequence[Record]) -> dict[str, str | None]:
    """Return the id of each message, and of the one that it follows; one that names none that the export has follows
    the one before it."""
    parents: dict[str, str | None] = {}
    known = {get_text(row, "uuid") for row in rows} - {""}
    before = _ROOT
    for row in rows:
        named = get_text(row, "parent_message_uuid")
        parent = named if named in known or named.startswith(_ROOT) else before
        before = get_text(row, "uuid")
        parents[before] = None if parent.startswith(_ROOT) else parent
    return parents


def _find_leaf(record: Record, rows: Sequence[Record]) -> str:
    """Return the message at the end of the path that is current: the latest, unless the conversation names one."""
    leaf = get_text(record, "current_leaf_message_uuid")
    if any(row.get("uuid") == leaf for row in rows):
        return leaf
    times = [(parse_iso(row.get("created_at")) or _EARLIEST, number) for number, row in enumerate(rows)]
    return get_text(rows[max(times)[1]], "uuid")


def _build_message(message: Record, person: str, attachments: bool, skipped: Counter[str]) -> Message:
    sender = get_text(message, "sender")
    is_person = sender == "human"
    text = _read_text(message, skipped) if sender in ("human", "assistant") else ""
    metadata = _read_metadata(message, attachments)
    if not text and ATTACHMENT_TEXTS not in metadata:
        skipped["messages without text"] += 1
    return Message(
        text,
        "user" if is_person else "assistant",
        person if is_person else NAME,
        parse_iso(message.get("created_at")),
        get_text(message, "uuid") or None,
        metadata=metadata,
    )


def _read_text(message: Record, skipped: Counter[str]) -> str:
    """Return the text of the parts, or that of the message if no part is known."""
    parts = get_records(message, "content")
    for part in parts:
        if (kind := get_text(part, "type")) not in _SAID:
            skipped[_KINDS.get(kind, "parts that are no text")] += 1
    texts = [text for part in parts if part.get("type") in _SAID and (text := get_text(part, "text"))]
    text = "\n\n".join(texts) if parts else get_text(message, "text")
    for begin, end, kind in _TAGS if message.get("sender") == "assistant" else ():
        text, count = cut_blocks(text, begin, end)
        skipped[kind] += count
    return text.strip()


def _read_metadata(message: Record, attachments: bool) -> Metadata:
    """Return the names of attachments, and their texts if they are wanted."""
    attached = get_records(message, "attachments") + get_records(message, "files")
    names: list[JSONValue] = [name for file in attached if (name := get_text(file, "file_name"))]
    texts: list[JSONValue] = [
        {"name": get_text(file, "file_name") or PASTED, "text": text}
        for file in attached
        if attachments and (text := get_text(file, "extracted_content"))
    ]
    return drop_empty({"attachments": names, ATTACHMENT_TEXTS: texts})
