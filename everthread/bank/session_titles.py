"""The titles that models gave to sessions. Each is a unit whose metadata name the session."""

from __future__ import annotations

from collections.abc import Iterable

from everthread.types import Unit

KIND = "title"  # of these units


def titles_by_session(units: Iterable[Unit]) -> dict[str, str]:
    """Return the text of each title by the id of its session."""
    return {session: unit.text for unit in units if isinstance(session := unit.metadata.get("session"), str)}
