"""Formats log records as JSON, without the messages of errors, which may quote what was said."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime


class JSONFormatter(logging.Formatter):
    """Formats a record as JSON. An error is reported by its type and its position in the code, never by its message."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            entry["error"] = type(record.exc_info[1]).__name__
            entry["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(entry, ensure_ascii=False)
