"""Recognises exports of other services by their fields, so that they are rejected by name.

Several have a list "messages" whose entries have a "content", like the messages of a chat API. If they were read as
such, every person would become "user" and every line would be dated today. The fields are those of autumn 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_Record = Mapping[str, object]

REMEDY = 'write its messages as JSON Lines, {"speaker": "…", "said_at": "…", "text": "…"}, and import that'


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields that identify an export: of the outer object, and of its first message."""

    service: str
    outer: frozenset[str]
    inner: frozenset[str] = frozenset()


def _shape(service: str, outer: str = "", inner: str = "") -> _Shape:
    return _Shape(service, frozenset(outer.split()), frozenset(inner.split()))


# Objects, with the fields of an entry of their "messages"; the first match names the service.
_OBJECTS = (
    _shape("LibreChat", "conversationId messagesTree"),
    _shape("LibreChat", "conversationId messages", "messageId"),
    _shape("RisuAI", "type ver data"),
    _shape("Character.AI", "histories"),
    _shape("Character.AI", "turns", "author candidates"),
    _shape("Letta", "agents"),
    _shape("LlamaIndex", "store class_name"),
)
# Lists, with the fields of their first entry.
_LISTS = (
    _shape("Open WebUI", inner="id chat"),
    _shape("Gemini (Google Takeout)", inner="header title time"),
    _shape("LangChain", inner="type data"),
)


def detect_service(value: object) -> str | None:
    """Return the name of the service that exported a JSON value; None if its fields are unknown."""
    if isinstance(value, list):
        first = _first_record(value)
        return next((shape.service for shape in _LISTS if shape.inner <= first.keys()), None)
    if not isinstance(value, dict):
        return None
    first = _first_record(value.get("messages", value.get("turns")))
    matches = (shape.service for shape in _OBJECTS if shape.outer <= value.keys() and shape.inner <= first.keys())
    return next(matches, None)


def _first_record(value: object) -> _Record:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}
