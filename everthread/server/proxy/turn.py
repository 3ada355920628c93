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

    def find_replaced(self, transcript: Transcript) -> list[Line] | None:
        """Find the current lines that a new reply to this turn replaces.

        Returns:
            The lines; None if the reply is not current: its message was discarded, it has another reply, or the
            conversation has gone on from the reply that this one was to replace.
        """
        position = next((place for place, line in enumerate(transcript.current) if line.seq == self.line.seq), None)
        if position is None:
            return None
        later = transcript.current[position + 1 :]
        answers = [line for line in later if line.role == "assistant" and line.parent == self.line.seq]
        begun = [line for line in answers if line.metadata.get(META_PARTIAL)]
        if all(line.seq in self.replaces or line in begun for line in later):
            return later
        is_answered = len(answers) > len(begun) or any(line.seq in self.replaces for line in later)
        return None if is_answered else begun


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
