"""A conversation: the lines of one session that stand. Edited, regenerated and undone ones are retracted in the bank,
so that what stands is always one path through the tree of messages, in the order of the lines' numbers.

In private its lines are nowhere but in this object, under numbers below zero, and go when it ends.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.observe.clean import clean
from everthread.types import Line, NewLine, Where, now

AGAIN = "everthread.again"  # in a line's metadata: the number of the retracted line that it repeats


class Conversation:
    """One session of a bank, as far as it stands."""

    def __init__(self, memory: Memory, session: str) -> None:
        """The session as the bank has it; one without lines begins with the first that is added."""
        self.session = session
        self.private = False
        self._memory = memory
        self.lines: list[Line] = list(memory.lines(Where(session=session)))

    def add(self, new: NewLine, *, refused: bool = False, replaces: Line | None = None) -> Line:
        """Keep a line behind the others, or behind the one before that which it replaces. A refused one is kept as
        retracted, and does not stand. Raises as observe."""
        standing = [line.seq for line in self.lines if line.seq > 0 and line != replaces]
        gone = new.said_at if refused else None
        new = replace(new, session=self.session, parent=standing[-1] if standing else None, retracted_at=gone)
        line = self._unwritten(new) if self.private else self._memory.observe_many([new])[0]
        if not refused:
            self.lines.append(line)
        return line

    def _unwritten(self, new: NewLine) -> Line:
        at = new.said_at or now()
        kept = clean(replace(new, parent=None), at)
        seq = min([0, *(line.seq for line in self.lines)]) - 1
        return Line(seq, self.session, kept.role, kept.speaker, kept.text, at, None, kept.metadata)

    def refresh(self, after: int) -> None:
        """Leave out what has been retracted or forgotten meanwhile, by whomever, behind the line `after`."""
        shown = [line.seq for line in self.lines if line.seq > after]
        there = {line.seq for line in self._memory.store.get(self._memory.bank, shown)}
        self.lines = [line for line in self.lines if line.seq <= after or line.seq in there]

    def at(self, seq: int) -> int:
        """Where the line stands among the lines. NotFound if it is none of them."""
        for place, line in enumerate(self.lines):
            if line.seq == seq:
                return place
        raise NotFound(f"no line {seq!r} stands in this conversation; see /lines, or `lines` of the conversation")

    def cut(self, place: int) -> list[Line]:
        """Discard the lines from this place on, the last first, so that what is left is whole at any moment."""
        gone = self.lines[place:]
        for line in reversed(gone):
            self.discard(line)
        return gone

    def discard(self, line: Line) -> None:
        """Retract one line."""
        if line.seq > 0:
            self._memory.retract(line.seq)
        self.drop(line.seq)

    def drop(self, seq: int) -> None:
        """Leave out a line that stands nowhere else any more."""
        self.lines = [line for line in self.lines if line.seq != seq]

    def branch(self, seq: int) -> list[Line]:
        """Go on from this line: what came after it is discarded. The line may be a discarded one itself; it and those
        that led to it are then said again, as they were. What was discarded. Raises NotFound."""
        if any(line.seq == seq for line in self.lines):
            return self.cut(self.at(seq) + 1)
        if self.private:
            raise NotFound(f"no line {seq!r} stands in this conversation, and in private nothing else is kept")
        chain = self._chain(seq)
        gone = self.cut(self.at(chain[0].parent) + 1 if chain[0].parent else 0)
        for line in chain:
            again = {**line.metadata, AGAIN: line.seq}
            self.add(NewLine(line.text, line.speaker, line.role, line.said_at, metadata=again))
        return gone

    def _chain(self, seq: int) -> list[Line]:
        """The discarded lines that lead to a discarded one, itself the last, from where they left what stands."""
        record = {line.seq: line for line in self._memory.lines(Where(session=self.session), retracted=True)}
        standing = {line.seq for line in self.lines}
        if seq not in record:
            raise NotFound(f"there is no line {seq!r} in the session {self.session!r}")
        chain = [record[seq]]
        while (before := chain[0].parent) is not None and before not in standing:
            if before not in record:
                raise BadQuery(f"line {seq} can't be gone back to: line {before}, which led to it, is forgotten")
            chain.insert(0, record[before])
        return chain

    def go_public(self) -> None:
        """End what was private: its lines go."""
        self.private = False
        self.lines = [line for line in self.lines if line.seq > 0]

    def edited(self, place: int, text: str, said_at: datetime) -> Line:
        """Put a text in place of a line's; what came after it is discarded. The line that now stands there."""
        old = self.lines[place]
        new = NewLine(text, old.speaker, old.role, said_at)
        clean(new, said_at)  # before anything is discarded
        self.cut(place)
        return self.add(new)
