"""Writes lines as the dicts that mem0 returns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5
from typing import Any
from uuid import UUID, uuid5

from everthread.common.keys import META_PREFIX
from everthread.compat.mem0.filters import EXPIRES, UPDATED
from everthread.compat.mem0.ids import APP, ID_NAMES, identify, owner_of
from everthread.types import Hit, Line

ACTOR = "actor_id"
# Metadata that a record has as fields of its own. The app is in both places: hosted, and in the library's metadata.
PROMOTED = (*(name for name in ID_NAMES if name != APP), ACTOR, EXPIRES)


def build_record(bank: str, line: Line) -> dict[str, Any]:
    """Return a memory, as `Memory.get` does."""
    given = {name: value for name, value in line.metadata.items() if not name.startswith(META_PREFIX)}
    fields = {name: given.pop(name) for name in PROMOTED if name in given}
    fields |= {APP: given[APP]} if APP in given else {}
    created_at = _write_time(line.said_at)
    return {
        "id": identify(bank, line),
        "memory": line.text,
        "hash": md5(line.text.encode(), usedforsecurity=False).hexdigest(),
        "score": None,
        "created_at": created_at,
        "updated_at": given.pop(UPDATED, created_at),
        **owner_of(bank),
        **fields,
        "role": line.role,
        "metadata": given or None,
    }


def build_added(bank: str, line: Line) -> dict[str, Any]:
    """Return what `Memory.add` says of a stored line."""
    event = {"id": identify(bank, line), "memory": line.text, "event": "ADD"}
    return {**event, ACTOR: line.metadata.get(ACTOR), "role": line.role}


def build_found(bank: str, hit: Hit, explain: bool) -> dict[str, Any]:
    """Return a memory that was found for a query."""
    record = {**build_record(bank, hit.line), "score": hit.relevance}
    return {**record, "score_details": dict(hit.signals)} if explain else record


def build_history(memory_id: str, versions: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the events of a memory from its versions, oldest first.

    Each version was retracted when the next one took its place; a memory whose last version is retracted is deleted.
    """
    events: list[dict[str, Any]] = []
    old, at = None, versions[0].said_at
    for line in versions:
        events.append(_build_event(memory_id, len(events), "ADD" if old is None else "UPDATE", old, line.text, line))
        events[-1] |= {"created_at": _write_time(versions[0].said_at), "updated_at": _write_time(at)}
        old, at = line.text, line.retracted_at or at
    last = versions[-1]
    if last.retracted_at is not None:
        event = _build_event(memory_id, len(events), "DELETE", old, None, last)
        events.append(event | {"created_at": events[0]["created_at"], "updated_at": _write_time(last.retracted_at)})
    return events


def _build_event(
    memory_id: str, number: int, event: str, old: str | None, new: str | None, line: Line
) -> dict[str, Any]:
    return {
        "id": str(uuid5(UUID(memory_id), str(number))),
        "memory_id": memory_id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "is_deleted": event == "DELETE",
        ACTOR: line.metadata.get(ACTOR),
        "role": line.role,
    }


def _write_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()
