"""Small exports of other services, for the page's tests."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

Payload = dict[str, Any]  # as Playwright's set_input_files takes it


def chatgpt(count: int) -> Payload:
    """Return an export of ChatGPT with conversations of two messages, a minute apart."""
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        file.writestr("conversations.json", json.dumps([_conversation(number) for number in range(count)]))
    return {"name": "chatgpt.zip", "mimeType": "application/zip", "buffer": archive.getvalue()}


def _conversation(number: int) -> dict[str, object]:
    def node(role: str, parent: str | None, text: str) -> dict[str, object]:
        message = {
            "id": f"{role}{number}",
            "author": {"role": role},
            "content": {"content_type": "text", "parts": [text]},
            "create_time": 1_700_000_000 + 60 * number,
            "recipient": "all",
        }
        return {"id": role, "parent": parent, "children": [], "message": message}

    mapping = {
        "system": node("system", None, "You are helpful."),
        "user": node("user", "system", f"How do I fly kite {number}?"),
        "assistant": node("assistant", "user", "Into the wind."),
    }
    return {
        "conversation_id": f"kite-{number}",
        "title": f"Kite {number}",
        "mapping": mapping,
        "current_node": "assistant",
    }


def whatsapp() -> Payload:
    """Return a chat of WhatsApp, as a phone exports it."""
    text = (
        "03/05/2024, 18:02 - Messages and calls are end-to-end encrypted.\n"
        "03/05/2024, 18:02 - Nora: The red kite is in the tree.\n"
        "03/05/2024, 18:03 - Ben: Which tree?\n"
        "13/05/2024, 18:04 - Nora: <Media omitted>\n"
    )
    archive = BytesIO()
    with ZipFile(archive, "w") as file:
        file.writestr("WhatsApp Chat with Ben.txt", text)
    return {"name": "WhatsApp Chat with Ben.zip", "mimeType": "application/zip", "buffer": archive.getvalue()}


def discord() -> Payload:
    """Return a channel of Discord, as DiscordChatExporter writes it."""
    authors = [{"id": str(number), "name": name, "isBot": False} for number, name in enumerate(("nora_k", "ever_bot"))]
    messages = [
        {
            "id": str(100 + number),
            "type": "Default",
            "timestamp": f"2024-06-0{number + 1}T10:00:00+00:00",
            "content": text,
            "author": authors[number % 2],
        }
        for number, text in enumerate(("Shall we fly it again?", "At noon.", "Good."))
    ]
    channel = {
        "guild": {"id": "1", "name": "Home"},
        "channel": {"id": "2", "name": "kites"},
        "messages": messages,
        "messageCount": len(messages),
    }
    return {"name": "kites.json", "mimeType": "application/json", "buffer": json.dumps(channel).encode()}
