"""Recognises requests that front ends make of their own, such as for titles, tags or search queries."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

MAX_BEGINNING_CHARS = 400  # of a message, more than any beginning has
FILE = Path(__file__).with_name("front_end_tasks.toml")


def is_task(text: str) -> bool:
    """Return whether a message begins like a known task of a front end."""
    normalized = _normalize(text)
    return any(
        normalized.startswith(beginning) and not (exception and normalized.startswith(exception))
        for beginning, exception in _load()
    )


@cache
def _load() -> tuple[tuple[str, str], ...]:
    """Load the beginnings of the tasks, each with the beginning that is no task after all, or an empty text."""
    tasks = tomllib.loads(FILE.read_text(encoding="utf-8"))["task"]
    return tuple((_normalize(task["begins"]), _normalize(task.get("except", ""))) for task in tasks)


def _normalize(text: str) -> str:
    return " ".join(text[:MAX_BEGINNING_CHARS].casefold().split())
