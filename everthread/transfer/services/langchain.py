"""Reads histories of LangChain, as `messages_to_dict` returns them: `[{"type": "human", "data": {"content": …}}, …]`,
or an object with that list under "messages". They have no times, and often no ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text
from everthread.types import Role

NAME, PERSON = "assistant", "user"  # of messages without a name

_ROLES: Mapping[str, Role] = {"human": "user", "ai": "assistant", "user": "user", "assistant": "assistant"}
_KINDS = {
    "system": "instructions",
    "developer": "instructions",
    "tool": "results of tools",
    "function": "results of tools",
}


def recognises(export: Export) -> bool:
    """Return whether there is a history of LangChain."""
    return any(map(_is_history, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the histories, one a file."""
    for file in filter(_is_history, export.files):
        name = PurePosixPath(file.name).stem
        yield from build_all([(file.name, file.load())], lambda value, name=name: build_history(value, name))  # type: ignore[misc]


def build_history(value: object, name: str) -> Conversation:
    """Build the conversation of a history.

    Args:
        value: its JSON.
        name: the name of its file.
    """
    rows = value if isinstance(value, list) else get_list(get_record(value), "messages")
    skipped = Counter({"broken messages": sum(not isinstance(row, dict) for row in rows)})
    messages = [
        message for row in rows if isinstance(row, dict) and (message := _build_message(row, skipped)) is not None
    ]
    first = messages[0] if messages else None
    identity = hash_parts(first and first.id, first and first.text)[:8]
    return Conversation(
        f"{name}-{identity}", messages, skipped=+skipped, owner=PERSON, assistant=NAME, namespace=identity
    )


def _build_message(row: Record, skipped: Counter[str]) -> Message | None:
    """Return the message of an entry; None, and counted, if nothing was said."""
    data = get_record(row, "data")
    kind = get_text(row, "type").removesuffix("MessageChunk").lower()
    role = get_text(data, "role") if kind == "chat" else kind
    text = _read_content(data, skipped)
    calls = len(get_list(data, "tool_calls"))
    skipped["calls of tools"] += calls
    if role in _KINDS or (not text and not calls):
        skipped[_KINDS.get(role, "messages without text")] += 1
    if role in _KINDS or not text:
        return None
    is_user = _ROLES.get(role, "user") == "user"
    speaker = get_text(data, "name") or (role if kind == "chat" else PERSON if is_user else NAME)
    return Message(text, "user" if is_user else "assistant", speaker, id=get_text(data, "id") or None)


def _read_content(data: Record, skipped: Counter[str]) -> str:
    """Return the text of a content, which may be a list of parts; other parts are counted."""
    if text := get_text(data, "content"):
        return text.strip()
    texts: list[str] = []
    for part in get_list(data, "content"):
        if isinstance(part, str):
            texts.append(part)
        elif get_record(part).get("type") == "text":
            texts.append(get_text(get_record(part), "text"))
        elif get_record(part).get("type") not in ("tool_use", "tool_call"):  # these are in "tool_calls", too
            skipped["parts that are no text"] += 1
    return "".join(texts).strip()


def _is_history(file: ExportFile) -> bool:
    beginning = file.head if isinstance(file.head, list) else get_list(get_record(file.head), "messages")
    return any(get_text(get_record(row), "type") and "content" in get_record(row, "data") for row in beginning)
