"""Reads histories of LangChain and LangGraph.

A message is `{"type": "human", "data": {"content": …}}`, as `messages_to_dict` returns it, or has its fields beside its
type, as in a state of LangGraph, or under "kwargs", as `dumpd` writes it. The list of them is the file itself, under
"messages", or in the values of a state or of each state of a thread's history. Most have no times, and many no ids; in
a thread's history, a message has the time of the first state that has it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text, parse_iso
from everthread.types import Role

NAME, PERSON = "assistant", "user"  # of messages without a name

_ROLES: Mapping[str, Role] = {"human": "user", "ai": "assistant", "user": "user", "assistant": "assistant"}
_KINDS = {
    "system": "instructions",
    "developer": "instructions",
    "tool": "results of tools",
    "function": "results of tools",
}
_TYPES = frozenset(("human", "ai", "system", "tool", "function", "chat"))
_STATES = ("values", "channel_values")  # members of a state that have its messages


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
    rows = list(_list_rows(value))
    skipped = Counter({"broken messages": sum(not isinstance(row, dict) for row, _ in rows)})
    messages = [
        replace(message, said_at=said_at)
        for row, said_at in rows
        if isinstance(row, dict) and (message := _build_message(row, skipped)) is not None
    ]
    first = messages[0] if messages else None
    identity = hash_parts(first and first.id, first and first.text)[:8]
    return Conversation(
        f"{name}-{identity}", messages, skipped=+skipped, owner=PERSON, assistant=NAME, namespace=identity
    )


def _list_rows(value: object) -> Iterator[tuple[object, datetime | None]]:
    """Yield each message of a list, a state or a history, and its time if that is known."""
    states = [get_record(state) for state in value if _is_state(state)] if isinstance(value, list) else []
    if len(states) < 2:
        yield from ((row, None) for row in _find_rows(states[0] if states else value))
        return
    seen = set[str]()
    states.reverse()  # the newest is the first
    states.sort(key=lambda state: get_text(state, "created_at"))
    for state in states:
        for row in _find_rows(state):
            message_id = get_text(_get_fields(get_record(row)), "id") or json.dumps(row, sort_keys=True)
            if message_id not in seen:
                seen.add(message_id)
                yield row, parse_iso(state.get("created_at"))


def _find_rows(value: object) -> Sequence[object]:
    """Return the list of messages that a file or a state has."""
    record = get_record(value)
    inner = next((values for name in _STATES if (values := get_record(record, name))), record)
    return value if isinstance(value, list) else get_list(inner, "messages")


def _is_state(value: object) -> bool:
    return any("messages" in get_record(value, name) for name in _STATES)


def _get_fields(row: Record) -> Record:
    """Return the fields of a message, which may be beside its type."""
    return get_record(row, "data") or get_record(row, "kwargs") or row


def _build_message(row: Record, skipped: Counter[str]) -> Message | None:
    """Return the message of an entry; None, and counted, if nothing was said."""
    data = _get_fields(row)
    kind = _read_type(row)
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


def _read_type(row: Record) -> str:
    """Return the type of a message, such as "human"; of one that `dumpd` wrote, that of its class."""
    path = get_list(row, "id") if "kwargs" in row else ()
    name = path[-1] if path and isinstance(path[-1], str) else get_text(row, "type")
    return name.removesuffix("Chunk").removesuffix("Message").lower()


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
    head = file.head
    rows = head if isinstance(head, list) and not any(map(_is_state, head)) else _find_rows(_first_state(head))
    return not file.has_rows and any(_is_message(get_record(row)) for row in rows)


def _first_state(head: object) -> object:
    return next(filter(_is_state, head), None) if isinstance(head, list) else head


def _is_message(row: Record) -> bool:
    if get_record(row, "data"):
        return bool(get_text(row, "type")) and "content" in get_record(row, "data")
    kind = _read_type(row)
    is_of_others = "messages" in row or ("role" in row and kind != "chat")
    return kind in _TYPES and "content" in _get_fields(row) and not is_of_others
