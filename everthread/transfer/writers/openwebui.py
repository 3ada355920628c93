"""Writes the chats of Open WebUI as one JSON list, which its settings import. Discarded replies become siblings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID, uuid5

from everthread.transfer.writers.session_record import SessionRecord
from everthread.types import Line

_NAMESPACE = UUID("6f2d8f0e-5f0b-4b55-9a4e-7b0c8f6a3d11")  # of ids, so that the same line always has the same id
_MS_PER_S = 1000
UNTITLED = "New Chat"  # as Open WebUI calls a chat without a title


def write(records: Iterator[SessionRecord]) -> Iterator[str]:
    """Yield the chats of all sessions."""
    yield "["
    separator = "\n"
    for record in records:
        yield f"{separator}{json.dumps(_build_chat(record), ensure_ascii=False)}"
        separator = ",\n"
    yield "\n]\n"


def _build_chat(record: SessionRecord) -> dict[str, object]:
    session, title = record.session, record.title or UNTITLED
    started, last = int(session.started_at.timestamp()), int(session.last_at.timestamp())
    messages, path = _build_tree(record)
    models = sorted({str(message["model"]) for message in messages if "model" in message})
    chat = {
        "title": title,
        "models": models,
        "params": {},
        "history": {"messages": {message["id"]: message for message in messages}, "currentId": path[-1]["id"]},
        "messages": path,
        "tags": [],
        "timestamp": started * _MS_PER_S,
        "files": [],
    }
    return {
        "id": _make_id(record, "chat"),
        "title": title,
        "chat": chat,
        "updated_at": last,
        "created_at": started,
        "archived": session.metadata.get("archived") is True,
        "pinned": session.metadata.get("pinned") is True,
        "meta": {},
    }


def _build_tree(record: SessionRecord) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return all messages of a chat, and those on the path that is shown."""
    messages: list[dict[str, object]] = []
    path: list[dict[str, object]] = []
    for turn in record.turns:
        parent = path[-1] if path else None
        versions = sorted((turn.line, *turn.others), key=lambda version: version.position)
        siblings = [_build_message(record, line, parent and parent["id"]) for line in versions]
        if parent is not None:
            parent["childrenIds"] = [message["id"] for message in siblings]
        messages += siblings
        path.append(siblings[versions.index(turn.line)])
    return messages, path


def _build_message(record: SessionRecord, line: Line, parent: object) -> dict[str, object]:
    message: dict[str, object] = {
        "id": _make_id(record, line.seq),
        "parentId": parent,
        "childrenIds": [],
        "role": line.role if line.role in ("user", "assistant") else "system",
        "content": line.text,
    }
    if not line.is_undated:
        message["timestamp"] = int(line.said_at.timestamp())
    if line.role == "assistant":
        model = line.metadata.get("model")
        message |= {
            "model": model if isinstance(model, str) else line.speaker,
            "modelName": line.speaker,
            "modelIdx": 0,
            "done": True,
        }
    return message


def _make_id(record: SessionRecord, name: object) -> str:
    return str(uuid5(_NAMESPACE, json.dumps([record.bank, record.session.id, name])))
