"""Recognises what is not remembered: requests that front ends make by themselves, and chats that they don't save."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

MAX_BEGINNING_CHARS = 400  # of a message, more than any beginning has
FILE = Path(__file__).with_name("front_end_tasks.toml")
# Open WebUI 0.12, utils/chat_id.py: the prefixes of temporary chats, before the id of a connection
TEMPORARY_CHAT = re.compile(r"(temporary|local):[\w-]{20}")


def is_task(text: str) -> bool:
    """Return whether a message begins like a known task of a front end."""
    return _begins_like("task", text)


def is_final_task(text: str) -> bool:
    """Return whether a message is a task of a front end even after a conversation."""
    return _begins_like("final_task", text)


def is_task_instruction(text: str) -> bool:
    """Return whether instructions are those of a task of a front end."""
    return _begins_like("instruction", text)


def is_quiet_prompt(text: str) -> bool:
    """Return whether an instruction after the person's newest message asks for something else than an answer to it."""
    return _begins_like("quiet_prompt", text) or is_task(text)


def is_temporary(session: str | None) -> bool:
    """Return whether a session is a chat that its front end doesn't save."""
    return session is not None and TEMPORARY_CHAT.fullmatch(session) is not None


def _begins_like(kind: str, text: str) -> bool:
    normalized = _normalize(text)
    return any(
        normalized.startswith(beginning) and not (exception and normalized.startswith(exception))
        for beginning, exception in _load(kind)
    )


@cache
def _load(kind: str) -> tuple[tuple[str, str], ...]:
    """Load the beginnings of one kind, each with a longer beginning that is not a task, or an empty text."""
    tasks = tomllib.loads(FILE.read_text(encoding="utf-8"))[kind]
    return tuple((_normalize(task["begins"]), _normalize(task.get("except", ""))) for task in tasks)


def _normalize(text: str) -> str:
    return " ".join(text[:MAX_BEGINNING_CHARS].casefold().split())
