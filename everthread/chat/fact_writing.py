"""Writes the facts of sessions, such as imported ones, with a language model.

A session's metadata has the number of the last line that the model has read, so an interrupted call is continued by the
next one, and a session without facts is not read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from everthread.chat.session_facts import list_session_facts, read_to
from everthread.chat.session_writing import describe_failure, find_idle
from everthread.errors import BadInput, EverthreadError, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import FactScribe, Scribe
from everthread.types import Session


def require_fact_scribe(scribe: Scribe) -> FactScribe:
    """Return the scribe if it can list facts.

    Raises:
        BadInput: it can't.
    """
    if not isinstance(scribe, FactScribe):
        raise BadInput(
            f"facts are written by a language model, and the scribe {scribe.name!r} uses none; name a model with "
            "--model, or connect one with: everthread model connect"
        )
    return scribe


def list_factless(memory: Memory) -> list[Session]:
    """Return the sessions with lines whose facts were not listed, oldest first, except one that is going on.

    Raises:
        BadInput: the bank never remembers conversations.
    """
    return [session for session in find_idle(memory) if read_to(session) < session.last_seq]


def write_facts(
    memory: Memory, scribe: FactScribe, sessions: Sequence[Session], progress: Callable[[int], None] | None = None
) -> int:
    """Write the facts that the bank lacks. Sessions that wait for the person's consent are left out.

    Args:
        memory: the bank.
        scribe: lists the facts.
        sessions: the sessions, of `list_factless`.
        progress: called with 1 after each session.

    Returns:
        The number of new facts.

    Raises:
        ScribeFailed: the scribe failed, or lines were removed while it read them; what was written before stays.
    """
    count = 0
    for session in sessions:
        try:
            count += list_session_facts(memory, scribe, session).store()
        except EverthreadError as error:
            raise ScribeFailed(describe_failure(scribe, "facts", session.id, type(error).__name__)) from error
        if progress is not None:
            progress(1)
    return count
