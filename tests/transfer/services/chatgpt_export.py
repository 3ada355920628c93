"""Builds exports of ChatGPT, with the fields that ChatGPT writes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

START = 1_700_000_000.0  # seconds since 1970

Node = tuple[str, dict[str, Any]]


def node(name: str, parent: str | None, role: str = "user", said_at: float | None = START, **message: Any) -> Node:
    """Build a node that says its name; keyword arguments are further fields of its message."""
    content = {"content_type": "text", "parts": [name]}
    fields = {"id": name, "author": {"role": role}, "create_time": said_at, "content": content, "weight": 1.0}
    return name, {"id": name, "parent": parent, "children": [], "message": {**fields, "recipient": "all", **message}}


def root(name: str = "root") -> Node:
    """Build the node without a message at which a conversation begins."""
    return name, {"id": name, "parent": None, "children": [], "message": None}


def conversation(name: str, nodes: Iterable[Node], current: str | None, **fields: Any) -> dict[str, Any]:
    """Build a conversation of these nodes, of which `current` is the newest that is shown."""
    tree = {"title": name.title(), "create_time": START, "mapping": dict(nodes), "current_node": current}
    return {**tree, "conversation_id": name, **fields}


def save_zip(path: Path, files: Mapping[str, object]) -> Path:
    """Write a zip archive of files, each a JSON value or the bytes themselves, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path
