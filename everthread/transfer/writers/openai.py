"""Writes the messages of OpenAI's chat API, as one JSON list. They have no dates and no sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from everthread.transfer.writers.session_record import SessionRecord
from everthread.types import Line

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")  # that the API accepts


def write(records: Iterator[SessionRecord]) -> Iterator[str]:
    """Yield the messages of all sessions."""
    yield "["
    separator = "\n"
    for record in records:
        for turn in record.turns:
            yield f"{separator}{json.dumps(_build_message(turn.line), ensure_ascii=False)}"
            separator = ",\n"
    yield "\n]\n"


def _build_message(line: Line) -> dict[str, str]:
    role = "system" if line.role == "tool" else line.role  # a tool's message must name its call
    has_name = line.speaker != line.role and _NAME.fullmatch(line.speaker)
    return {"role": role, **({"name": line.speaker} if has_name else {}), "content": line.text}
