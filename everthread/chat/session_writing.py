"""Writes the summaries and the notes of sessions that have none, such as imported ones.

Each session is written through the queue of the bank, so an interrupted call is continued by the next one. Notes
describe the present: sessions that ended before the current notes were written about get a summary alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from everthread.bank.settings import remember_policy
from everthread.chat.conversation import current_session, find_resumable
from everthread.chat.scribe_worker import ScribeWorker
from everthread.common.keys import META_NEEDS_CONSENT
from everthread.errors import BadInput, ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import Scribe
from everthread.types import Filter, Session, Unit, now

CLOSE_TIMEOUT_S = 10.0  # for the job in progress when writing is interrupted
KINDS = ("summary", "note")


def list_unwritten(memory: Memory) -> list[Session]:
    """Return the sessions that lack a summary or notes, oldest first, except one that is going on.

    Raises:
        BadInput: the bank never remembers conversations, or its recipe writes neither summaries nor notes.
    """
    idle = find_idle(memory)
    if not (memory.recipe.summaries or memory.recipe.notes):
        raise BadInput(f"the recipe {memory.recipe.name!r} of bank {memory.bank!r} uses neither summaries nor notes")
    units = memory.units("summary", only_current=True)
    summarized = {unit.metadata.get("session"): unit.last_seq for unit in units}
    notes = _find_notes(memory)
    return [
        session
        for session in idle
        if (memory.recipe.summaries and summarized.get(session.id, 0) < session.last_seq)
        or _needs_notes(memory, session, notes)
    ]


def find_idle(memory: Memory) -> list[Session]:
    """Return the sessions with lines, oldest first, except one that is going on.

    Raises:
        BadInput: the bank never remembers conversations.
    """
    if remember_policy(memory.settings()) is False:
        raise BadInput(f"bank {memory.bank!r} never remembers conversations; change its setting 'remember' first")
    sessions, present = memory.sessions(), now()
    ongoing = find_resumable(current_session(memory, sessions, present), present)
    return [session for session in sessions if session.lines and session.id != ongoing]


def write_sessions(
    memory: Memory, scribe: Scribe, sessions: Sequence[Session], progress: Callable[[int], None] | None = None
) -> dict[str, int]:
    """Write what sessions lack. Sessions that wait for the person's consent are left out.

    Args:
        memory: the bank.
        scribe: writes the notes and summaries.
        sessions: the sessions, of `list_unwritten`.
        progress: called with 1 after each session.

    Returns:
        The number of new units by kind.

    Raises:
        ScribeFailed: the scribe failed; what it wrote before stays, and the rest remains queued.
    """
    before = memory.stats().units
    worker = ScribeWorker(memory, scribe)
    try:
        for session in sessions:
            _write_session(worker, session)
            if progress is not None:
                progress(1)
    finally:
        worker.close(CLOSE_TIMEOUT_S)
    after = memory.stats().units
    return {kind: after.get(kind, 0) - before.get(kind, 0) for kind in KINDS}


def _write_session(worker: ScribeWorker, session: Session) -> None:
    memory = worker.memory
    lines = list(memory.lines(Filter(session=session.id)))
    if not lines or any(line.metadata.get(META_NEEDS_CONSENT) for line in lines):
        return
    worker.queue_session(lines, with_notes=_needs_notes(memory, session, _find_notes(memory)))
    worker.join()
    failed = next((job for job in memory.jobs() if job.session == session.id), None)
    if failed is not None:
        raise ScribeFailed(describe_failure(worker.scribe, failed.kind, session.id, failed.error))


def describe_failure(scribe: Scribe, what: str, session: str, error: str | None) -> str:
    """Return the message of a scribe that failed, with the class name of its error."""
    return (
        f"{scribe.name} could not write the {what} of session {session!r} ({error}); what was written before stays, so "
        "run the same command again to go on"
    )


def _needs_notes(memory: Memory, session: Session, notes: Unit | None) -> bool:
    return memory.recipe.notes and (notes is None or session.last_at > notes.said_at)


def _find_notes(memory: Memory) -> Unit | None:
    return next(iter(memory.units("note", only_current=True)), None)
