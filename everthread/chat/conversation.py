"""A conversation: the lines of one session that stand. Edited, regenerated and undone ones are retracted in the bank,
so that what stands is always one path through the tree of messages, in the order of the lines' numbers.

In private nothing is written: its lines are nowhere but in this object, under numbers below zero, and what is discarded
meanwhile is only hidden. When it ends, what stood before stands again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from everthread.bank.corrections import in_position_order
from everthread.bank.line_validation import clean_line
from everthread.common.keys import META_REPEATS
from everthread.errors import BadQuery, NotFound
from everthread.memory import Memory
from everthread.stores.shared_rows import SESSION_GAP, source_key
from everthread.types import Filter, Line, Metadata, NewLine, Session, now


class Conversation:
    """One session of a bank, as far as it stands."""

    def __init__(self, memory: Memory, session: str) -> None:
        """The session as the bank has it; one without lines begins with the first that is added."""
        self.session = session
        self.private = False
        self.hidden_seqs: set[int] = set()  # the numbers of lines that were discarded in private
        self.memory = memory
        self.lines: list[Line] = in_position_order(list(memory.lines(Filter(session=session))))

    # ------------------------------------------------------------------ keeping

    def add(
        self,
        new: NewLine,
        *,
        refused: bool = False,
        replacing: Sequence[Line] = (),
        defer_embedding: bool = False,
        corrects: Line | None = None,
    ) -> Line:
        """Keep a line after the others, or instead of some of them, which are discarded: all at once or not at all.
        A refused one is kept as retracted: it is not shown, and nothing is discarded for it. late and corrects as for
        `Memory.replace`, as which it raises."""
        gone = {line.seq for line in replacing}
        before = next((line.seq for line in reversed(self.lines) if line.seq > 0 and line.seq not in gone), None)
        new = replace(new, session=self.session, parent=before, retracted_at=new.said_at if refused else None)
        discarded = () if refused else gone
        if self.private:
            line = self._unwritten(new)
        else:
            seq = None if corrects is None else corrects.seq
            line = self.memory.replace_lines(discarded, [new], defer_embedding=defer_embedding, corrects=seq)[0]
        self._drop(discarded)
        if not refused and line not in self.lines:  # one with a key may stand already
            self.lines.append(line)
        return line

    def _unwritten(self, new: NewLine) -> Line:
        at = new.said_at or now()
        kept = clean_line(replace(new, parent=None), at)
        seq = min([0, *(line.seq for line in self.lines)]) - 1
        return Line(seq, self.session, kept.role, kept.speaker, kept.text, at, None, kept.metadata)

    def edit(self, position: int, text: str, said_at: datetime, metadata: Metadata) -> Line:
        """Put a text in place of a line's, which stays pinned if it was; what came after it is discarded. The line that
        now stands there. Raises BadLine, with nothing changed."""
        old = self.lines[position]
        new = NewLine(text, old.speaker, old.role, said_at, metadata=metadata, key=source_key(old))
        return self.add(new, replacing=self.lines[position:], corrects=old)

    # --------------------------------------------------------------- discarding

    def truncate(self, position: int) -> list[Line]:
        """Discard the lines from this place on, all at once or not at all."""
        gone = self.lines[position:]
        if gone and not self.private:
            self.memory.replace_lines([line.seq for line in gone])
        self._drop({line.seq for line in gone})
        return gone

    def _drop(self, gone: Collection[int]) -> None:
        if gone:
            self.lines = [line for line in self.lines if line.seq not in gone]
        if self.private:
            self.hidden_seqs.update(seq for seq in gone if seq > 0)

    def forget(self, seq: int) -> None:
        """Leave out a line that stands nowhere else any more."""
        self.lines = [line for line in self.lines if line.seq != seq]

    def end_private(self) -> None:
        """End what was private: its lines go, and those that it hid are there again."""
        self.private = False
        self.hidden_seqs.clear()
        self.lines = in_position_order(list(self.memory.lines(Filter(session=self.session))))

    # ------------------------------------------------------------------ looking

    def refresh(self) -> None:
        """See what has been retracted, forgotten or, but in private, said meanwhile, by whomever."""
        found = self.memory.store.filter_seqs(self.memory.bank, Filter(session=self.session), None)
        there = [] if found is None else found.tolist()
        known = [line.seq for line in self.lines]
        if there == known:
            return
        standing = set(there)
        self.lines = [line for line in self.lines if line.seq < 0 or line.seq in standing]
        if not self.private and (new := sorted(standing.difference(known))):
            said = self.memory.store.get(self.memory.bank, new)
            self.lines = in_position_order(sorted([*self.lines, *said], key=lambda line: line.seq))

    def index(self, seq: int) -> int:
        """Where the line stands among the lines. NotFound if it is none of them."""
        for place, line in enumerate(self.lines):
            if line.seq == seq:
                return place
        raise NotFound(
            f"this conversation has no line {seq!r}; see /lines, or `lines` of the conversation "
            f"(/correct {seq} TEXT changes a line of any conversation)"
        )

    # ---------------------------------------------------------------- branching

    def branch(self, seq: int) -> list[Line]:
        """Go on from this line: what came after it is discarded. The line may be a discarded one itself; it and those
        that led to it are then said again, as they were. What was discarded. Raises NotFound and BadQuery."""
        if any(line.seq == seq for line in self.lines):
            return self.truncate(self.index(seq) + 1)
        if self.private:
            raise NotFound(f"no line {seq!r} stands in this conversation, and in private nothing else is kept")
        chain, place = self._chain(seq)
        gone = self.truncate(place)
        for line in chain:
            again = {**line.metadata, META_REPEATS: line.seq}
            key = source_key(line)
            self.add(NewLine(line.text, line.speaker, line.role, line.said_at, metadata=again, key=key))
        return gone

    def _chain(self, seq: int) -> tuple[list[Line], int]:
        """The discarded lines that lead to a discarded one, itself the last, and the place where they leave what
        stands."""
        record = {line.seq: line for line in self.memory.lines(Filter(session=self.session), retracted=True)}
        if seq not in record:
            raise NotFound(f"there is no line {seq!r} in the session {self.session!r}")
        places = {line.seq: place for place, line in enumerate(self.lines)}
        roots = [line.seq for line in record.values() if line.seq in places or line.parent is None]  # ascending
        chain = [record[seq]]
        while (before := self._before(chain[-1], roots)) is not None and before not in places:
            if before not in record:
                raise BadQuery(f"line {seq} can't be gone back to: line {before}, which led to it, is forgotten")
            chain.append(record[before])
        return chain[::-1], 0 if before is None else places[before] + 1

    def _before(self, line: Line, roots: Sequence[int]) -> int | None:
        """The line that led to a discarded one. Imported ones often don't tell; they came one after the other. A first
        line does not tell, either, but when it was said, none of those before it stood any more."""
        if line.parent is not None or not self.lines or self.lines[0].seq > line.seq:
            return line.parent
        return roots[bisect_left(roots, line.seq) - 1]


def find_resumable(last: Session | None, at: datetime) -> str | None:
    """Name the session that goes on, if it is the latest: one that was not ended, with a line of the last hour."""
    return last.id if last and is_open(last) and at - last.last_at <= SESSION_GAP else None


def is_open(session: Session) -> bool:
    """Tell whether a session was not ended, or went on afterwards."""
    return session.ended_at is None or session.ended_at < session.last_at


def current_session(sessions: list[Session], at: datetime) -> Session | None:
    """The session in which something was said last: of those of this hour the one last written to, for a clock may go
    back a little, and rather one that was not ended. One that is to come was said by a clock that was wrong, and counts
    for nothing."""
    past = [each for each in sessions if each.last_at - at <= SESSION_GAP]
    recent = [each for each in past if at - each.last_at <= SESSION_GAP]
    if recent:
        return max(recent, key=lambda each: (is_open(each), each.last_seq))
    return max(past, key=lambda each: (each.last_at, each.last_seq), default=None)
