"""Converts the times of sessions and banks to the clocks of those who spoke, as times of lines are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from everthread.memory import Memory
from everthread.types import Session, Stats


def with_local_times(memory: Memory, sessions: Sequence[Session]) -> list[Session]:
    """Return sessions with the time of the first line and of the last on the clocks of their speakers."""
    seqs = sorted({seq for session in sessions for seq in (session.first_seq, session.last_seq)})
    zones = {line.seq: line.said_at.tzinfo for line in memory.store.get(memory.bank, seqs)}
    return [
        replace(
            session,
            started_at=session.started_at.astimezone(zones.get(session.first_seq, UTC)),
            last_at=session.last_at.astimezone(zones.get(session.last_seq, UTC)),
        )
        for session in sessions
    ]


def to_local_times(memory: Memory, stats: Stats) -> Stats:
    """Return statistics with the times of the first and the last line on the clocks of their speakers."""
    local: dict[datetime | None, datetime] = {}
    for session in with_local_times(memory, memory.sessions()):
        local |= {session.started_at: session.started_at, session.last_at: session.last_at}
    first, last = stats.first_said_at, stats.last_said_at
    return replace(stats, first_said_at=local.get(first, first), last_said_at=local.get(last, last))
