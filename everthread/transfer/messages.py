"""The messages of a chat API in one JSON file: a list of {"role": "user", "content": "…"}, or an object with the list
under "messages". Each message is read like a line of a JSON Lines file; see `jsonl`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path

from everthread.transfer import jsonl
from everthread.transfer.files import describe_json, file_error, hash_parts, load_json, make_session_id, shorten
from everthread.types import NewLine

_CONTENT_FIELDS = frozenset(("content", *jsonl.CALL_FIELDS))  # a message has at least one of these
_SENDER_FIELDS = frozenset(("role", "speaker", "name"))  # the first message has at least one of these


def read(
    path: Path, *, tz: tzinfo = UTC, skipped: Counter[str] | None = None, places: dict[str, str] | None = None
) -> Iterator[NewLine]:
    """Yield the messages with text, in order, as one session; messages without a time become undated lines.

    The session is named after the file and the first message that is not the system's. See `jsonl.parse_objects` for
    the arguments.

    Raises:
        BadFile: the file is invalid, or its first message has neither a role nor a speaker. Otherwise all people would
            become "user".
    """
    messages = _load_messages(path)
    numbered = ((f"message {number}", message) for number, message in enumerate(messages, 1))
    lines = list(jsonl.parse_objects(numbered, path, tz=tz, skipped=skipped, places=places))
    first = next((line for line in lines if line.role != "system"), None)
    session = make_session_id(path, hash_parts(first.key)) if first else None
    for line in lines:
        yield replace(line, session=line.session or session)


def _load_messages(path: Path) -> list[object]:
    """Return the messages in a file. Raises BadFile as `read`, but checks only the first one."""
    value = load_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        raise file_error(
            path, "", f"{shorten(messages)} is not a list of messages", 'write [{"role": "user", "content": "…"}]'
        )
    first = messages[0] if messages else None
    if isinstance(first, dict) and _SENDER_FIELDS.isdisjoint(first):
        what = f"{describe_json(first)} has neither a role nor a speaker"
        raise file_error(path, "message 1", what, 'add "role" or "speaker" to each message, so that it has a sender')
    return messages


def is_messages(value: object) -> bool:
    """Return whether JSON contains messages of a chat API: the first has a role, and content or a call."""
    messages = value.get("messages") if isinstance(value, dict) else value
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, dict) and isinstance(first.get("role"), str) and not _CONTENT_FIELDS.isdisjoint(first)
