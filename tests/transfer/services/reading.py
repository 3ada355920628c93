"""Reads exports in tests, and shows conversations in short."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from everthread.transfer.services.conversation import Conversation, Entry, ReadOptions
from everthread.transfer.services.export import open_export


def read_entries(
    service: str, folder: Path, files: dict[str, bytes], options: ReadOptions | None = None
) -> list[Entry]:
    """Write files, and return the entries that a service's reader finds in them."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    reader: Any = import_module(f"everthread.transfer.services.{service}")
    with open_export([folder]) as export:
        assert reader.recognises(export)
        return list(reader.read(export, options or ReadOptions()))


def shown(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the speaker and the text of the messages that the service shows."""
    return [(message.speaker, message.text) for message in conversation.messages if message.shown and message.text]


def hidden(conversation: Conversation) -> dict[str, str | None]:
    """Return the texts of the other messages, with the text that each follows."""
    texts = {message.id: message.text for message in conversation.messages}
    return {
        message.text: texts.get(message.parent)
        for message in conversation.messages
        if not message.shown and message.text
    }


def times(conversation: Conversation) -> list[str | None]:
    """Return the times of the messages that the service shows."""
    return [
        message.said_at.isoformat() if message.said_at else None
        for message in conversation.messages
        if message.shown and message.text
    ]
