"""Reads the arguments of mem0's `add` and `update`: messages, metadata and dates."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, cast

from everthread.common.keys import META_PREFIX
from everthread.compat.mem0.ids import APP, ID_NAMES
from everthread.compat.mem0.records import ACTOR
from everthread.errors import BadInput
from everthread.types import JSONValue, NewLine, Role

log = logging.getLogger("everthread")

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
INSTRUCTION_ROLES = ("system", "developer")  # instructions are not memories
RESERVED = (*(name for name in ID_NAMES if name != APP), ACTOR, "role")  # can't be set in metadata
PROCEDURAL = "procedural_memory"


def read_messages(messages: object, template: NewLine) -> list[NewLine]:
    """Return the lines of messages: a text, a message, or a list of messages.

    Args:
        messages: the messages. Instructions, and messages without text, are left out.
        template: a line with the time, the session and the metadata of each.

    Raises:
        BadInput: a message has no role, or an unknown one.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        messages = [messages]
    if not isinstance(messages, list | tuple):
        raise BadInput(f"invalid messages: got {type(messages).__name__}, expected a str, a dict or a list of dicts")
    return list(_read_each(messages, template))


def _read_each(messages: list[Any] | tuple[Any, ...], template: NewLine) -> Iterator[NewLine]:
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise BadInput(f"invalid message {number}: got {type(message).__name__}, expected a dict with a role")
        role, text = message.get("role"), _read_text(message.get("content"))
        if role in INSTRUCTION_ROLES:
            continue
        if role not in ROLES:
            raise BadInput(f"invalid role of message {number}: got {role!r}, expected one of {', '.join(ROLES)}")
        if not text.strip():
            log.warning("mem0: message %d has no text, and is not stored", number)
            continue
        actor = message.get("name")
        metadata = {**template.metadata, **({ACTOR: str(actor)} if actor else {})}
        yield replace(template, text=text, speaker=str(actor or role), role=ROLES[role], metadata=metadata)


def _read_text(content: object) -> str:
    """Return the text of a message: that of its parts, without pictures."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return " ".join(text for text in texts if isinstance(text, str))


def read_metadata(metadata: object) -> dict[str, JSONValue]:
    """Return metadata without the names that mem0 and Everthread use themselves.

    Raises:
        BadInput: it is not a dict.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise BadInput(f"invalid metadata: got {metadata!r}, expected a dict")
    given = cast("Mapping[str, JSONValue]", metadata or {})
    return {
        name: value for name, value in given.items() if name not in RESERVED and not str(name).startswith(META_PREFIX)
    }


def read_expiration(value: object) -> str | None:
    """Return a date of expiry as YYYY-MM-DD, or None.

    Raises:
        BadInput: it is no date.
    """
    if value is None:
        return None
    if isinstance(value, date):  # a datetime is one
        return date(value.year, value.month, value.day).isoformat()
    try:
        return date.fromisoformat(cast("str", value)).isoformat()
    except (TypeError, ValueError):
        raise BadInput(f"invalid expiration_date: got {value!r}, expected a date such as 2027-01-31") from None


def check_memory_type(memory_type: str | None) -> str | None:
    """Return a type of memory.

    Raises:
        BadInput: mem0 has no such type.
    """
    if memory_type not in (None, PROCEDURAL):
        raise BadInput(f"invalid memory_type: got {memory_type!r}, expected {PROCEDURAL!r} or None")
    return memory_type
