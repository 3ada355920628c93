"""LM Studio's conversations, which are files in its folder: `~/.lmstudio/conversations/*.conversation.json`.

Messages have neither times nor ids: they are recognised by their text and the messages before them. The versions of a
reply are branches, of which the selected one is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text, parse_epoch

PERSON = "user"
_INSTRUCTIONS = "system"  # the role


def recognises(export: Export) -> bool:
    """Return whether there is a conversation of LM Studio."""
    return any(map(_is_conversation, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations, one a file."""
    for file in filter(_is_conversation, export.files):
        name = PurePosixPath(file.name).name.removesuffix(".json").removesuffix(".conversation")
        yield from build_all([(file.name, file.load())], partial(build_conversation, name=name))


def build_conversation(value: object, name: str) -> Conversation:
    """Build a conversation. Its id is the millisecond at which it was created, which is also the name of its file.

    Args:
        value: its JSON.
        name: the name of its file, which is its id if the JSON has none.

    Raises:
        BadFile: it has no messages.
    """
    record = get_record(value)
    if not isinstance(record.get("messages"), list):
        raise BadFile("it has no list of messages")
    skipped = Counter[str]()
    messages: list[Message] = []
    parent: str | None = None
    before = ""  # the id of the first version before, which stays the same if another one is selected
    for row in get_records(record, "messages"):
        versions = list(_build_versions(row, parent, before, skipped))
        messages += versions
        parent = next((message.id for message in versions if message.shown), parent)
        before = next((message.id for message in versions if message.id), before)
    created = record.get("createdAt")
    started_at = parse_epoch(created, per_second=1000)
    return Conversation(
        str(created or name), messages, get_text(record, "name") or None, started_at, skipped=+skipped, owner=PERSON
    )


def _is_conversation(file: ExportFile) -> bool:
    first = next(iter(get_records(get_record(file.head), "messages")), {})
    return {"versions", "currentlySelected"} <= first.keys()


def _build_versions(row: Record, parent: str | None, before: str, skipped: Counter[str]) -> Iterator[Message]:
    """Yield the versions of a message, and count those without words."""
    for number, version in enumerate(get_records(row, "versions")):
        is_user = version.get("role") == "user"
        text = "\n\n".join(_read_texts(version, skipped)).strip()
        if version.get("role") == _INSTRUCTIONS or not text:
            skipped["instructions" if text else "messages without text"] += 1
            continue
        sender = get_text(get_record(version, "senderInfo"), "senderName")
        yield Message(
            text,
            "user" if is_user else "assistant",
            PERSON if is_user else "assistant",
            id=hash_parts(before, number, is_user, text),
            parent=parent,
            shown=number == row.get("currentlySelected"),
            metadata=drop_empty({"model": "" if is_user else sender}),
        )


def _read_texts(version: Record, skipped: Counter[str]) -> Iterator[str]:
    """Yield the texts of a version, without thoughts, which are counted."""
    for block in get_records(version, "steps") or [version]:
        is_thought = get_record(block, "style").get("type") == "thinking"
        for part in get_records(block, "content"):
            if (kind := get_text(part, "type")) != "text":
                skipped["calls of tools" if kind == "toolCallRequest" else "parts that are no text"] += 1
            elif is_thought:
                skipped["thoughts"] += 1
            else:
                text, thoughts = cut_thoughts(get_text(part, "text"))
                skipped["thoughts"] += thoughts
                yield text
