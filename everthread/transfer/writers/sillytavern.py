"""Writes a chat of SillyTavern: JSON Lines, whose first row names the speakers. Discarded replies become swipes.

Dates have the offset of the speaker's clock; SillyTavern reads them as ISO 8601.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from everthread.transfer.writers.session_record import SessionRecord, Turn
from everthread.types import Line

_NARRATOR = "narrator"  # type of a message that neither the person nor a character said


def write(records: Iterator[SessionRecord]) -> Iterator[str]:
    """Yield the rows of the first session; SillyTavern has one file for each chat."""
    for record in records:
        header: dict[str, object] = {
            "user_name": record.person,
            "character_name": record.character,
            "create_date": record.session.started_at.isoformat(),
            "chat_metadata": {"title": record.title} if record.title else {},
        }
        yield _format_row(header)
        yield from (_format_row(_build_message(turn)) for turn in record.turns)
        return


def name_file(record: SessionRecord) -> str:
    """Return the name of a chat's file as SillyTavern gives it, without the suffix."""
    return f"{record.character} - {record.session.started_at:%Y-%m-%d@%Hh%Mm%Ss}"


def _build_message(turn: Turn) -> dict[str, object]:
    line = turn.line
    versions = sorted((line, *turn.others), key=lambda version: version.position)
    message: dict[str, object] = {
        "name": line.speaker,
        "is_user": line.role == "user",
        "is_system": False,
        "send_date": _format_date(line),
        "mes": line.text,
        "extra": _build_extra(line),
    }
    if turn.others:
        message |= {
            "swipe_id": versions.index(line),
            "swipes": [version.text for version in versions],
            "swipe_info": [
                {"send_date": _format_date(version), "extra": _build_extra(version)} for version in versions
            ],
        }
    return message


def _build_extra(line: Line) -> dict[str, object]:
    model = line.metadata.get("model")
    extra: dict[str, object] = {"model": model} if isinstance(model, str) else {}
    return extra | ({} if line.role in ("user", "assistant") else {"type": _NARRATOR})


def _format_date(line: Line) -> str:
    return "" if line.is_undated else line.said_at.isoformat()


def _format_row(row: dict[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
