"""The messages of a chat API in one JSON file: a list of {"role": "user", "content": "…"}, or an object that holds the
list as "messages". Each is read as it would be as a line of its own; see `jsonl.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path

from everthread.transfer import jsonl, other_services
from everthread.transfer.files import file_error, hash_parts, load_json, make_session_id, shorten
from everthread.types import NewLine

_SHAPE = frozenset(("content", *jsonl.CALLS))  # fields of which a message has one at least


def read(
    path: Path, *, tz: tzinfo = UTC, skipped: Counter[str] | None = None, places: dict[str, str] | None = None
) -> Iterator[NewLine]:
    """Read the messages that say something, in order, as one session.

    The session is named for the file and for the first message that is not the system's. Raises BadFile, also for an
    export of another service: its people would all become "user", and its lines would be dated today.
    """
    value = load_json(path)
    if (service := other_services.detect_service(value)) is not None:
        raise file_error(
            path, "", f"this looks like an export of {service}, which can't be imported yet", other_services.REMEDY
        )
    found = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise file_error(
            path, "", f"{shorten(found)} is no list of messages", 'write [{"role": "user", "content": "…"}]'
        )
    numbered = ((f"message {number}", message) for number, message in enumerate(found, 1))
    lines = list(jsonl.parse_objects(numbered, path, tz=tz, skipped=skipped, places=places))
    first = next((line for line in lines if line.role != "system"), None)
    session = make_session_id(path, hash_parts(first.key)) if first else None
    yield from (replace(line, session=line.session or session) for line in lines)


def is_messages(value: object) -> bool:
    """Return whether the JSON holds messages as a chat API has them: the first has a role, and a content or a call."""
    found = value.get("messages") if isinstance(value, dict) else value
    first = found[0] if isinstance(found, list) and found else None
    return isinstance(first, dict) and isinstance(first.get("role"), str) and not _SHAPE.isdisjoint(first)
