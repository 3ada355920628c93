"""Turn: a message of the person that waits for its reply."""

from __future__ import annotations

from dataclasses import dataclass

from everthread.server.proxy.transcript import Transcript
from everthread.types import Line

META_PARTIAL = "partial"  # of replies that were cut off


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person that is stored and waits for its reply.

    Attributes:
        line: the stored line.
        in_request: numbers of the lines that the request contains already, or the history of the upstream; a client
            that sends only the end of its history leaves out others.
        replaces: numbers of the replies that a new one replaces.
    """

    line: Line
    in_request: frozenset[int] = frozenset()
    replaces: frozenset[int] = frozenset()

    def may_replace(self, line: Line) -> bool:
        """Return whether another reply to this turn replaces a current line."""
        return line.seq in self.replaces or (line.parent == self.line.seq and bool(line.metadata.get(META_PARTIAL)))


def find_latest_turn(transcript: Transcript, line: Line | None) -> Turn | None:
    """Return the person's turn up to a line, for another reply to it.

    Args:
        transcript: the session.
        line: a line of the turn; None: the latest.
    """
    branch, keep = transcript.find_path(line)
    path = [*transcript.current[:keep], *branch]
    position = max((place for place, step in enumerate(path) if step.role == "user"), default=None)
    if position is None:
        return None
    later = transcript.current[position + 1 :] if position < keep else []
    return Turn(path[position], frozenset(step.seq for step in path), frozenset(reply.seq for reply in later))
