"""Finds the sessions and speakers that options and arguments of commands name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches

from everthread.bank.session_titles import KIND, titles_by_session
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory
from everthread.stores.errors import missing_session_error
from everthread.types import Filter

EMPTY_BANK = "the bank remembers nothing yet; store lines with: everthread chat, observe or import"
MAX_NEAREST = 5  # names in a message
MIN_SIMILARITY = 0.5  # of a name to a mistyped one


def find_session(memory: Memory, name: str) -> str:
    """Return the id of the session that has a name: its id, else its title, in upper or lower case.

    Raises:
        BadInput: several sessions have this title.
        NotFound: no session has this name; the message has similar ones.
    """
    sessions = memory.sessions()
    if any(session.id == name for session in sessions):
        return name
    given = titles_by_session(memory.units(KIND, only_current=True))  # by a model
    titles = {session.id: session.title or given.get(session.id, "") for session in sessions}
    found = [id for id, title in titles.items() if title.strip().casefold() == name.strip().casefold() != ""]
    if len(found) > 1:
        raise BadInput(f"{len(found)} sessions have the title {name!r}; choose one of {', '.join(found[:MAX_NEAREST])}")
    if not found:
        raise NotFound(
            f"{missing_session_error(memory.bank, name)}{_format_nearest(name, [*titles.values(), *titles])}"
        )
    return found[0]


def find_sessions(memory: Memory, where: Filter) -> Filter:
    """Return a filter with the ids of the sessions that it names. Raises the errors of `find_session`."""
    names = [where.session] if isinstance(where.session, str) else where.session or ()
    return replace(where, session=tuple(find_session(memory, name) for name in names) or None)


def explain_no_lines(memory: Memory, where: Filter) -> str:
    """Return the reason why no line matches a filter."""
    speakers = memory.stats().speakers
    if not speakers:
        return EMPTY_BANK
    names = [where.speaker] if isinstance(where.speaker, str) else where.speaker or ()
    if unknown := [name for name in names if name not in speakers]:
        known = _format_nearest(unknown[0], speakers) or f"; known speakers: {', '.join(speakers[:MAX_NEAREST])}"
        return f"no lines: no speaker is called {unknown[0]!r}{known}"
    return "no lines match"


def _format_nearest(name: str, names: Iterable[str]) -> str:
    """Return the names that resemble a name as the end of a message; without any, nothing."""
    by_folded = {known.casefold(): known for known in names if known}
    nearest = get_close_matches(name.casefold(), by_folded, MAX_NEAREST, MIN_SIMILARITY)
    return f"; similar names: {', '.join(repr(by_folded[folded]) for folded in nearest)}" if nearest else ""
