"""The lines of one session that were not discarded, and sessions to resume.

Lines that are edited, regenerated or undone are retracted in the bank; the others form one path through the tree of
messages, in the order of their numbers.

In incognito nothing is written: new lines exist only in the `Conversation`, under negative numbers, and a stored line
that is discarded is only hidden. When the conversation leaves incognito, its earlier state is restored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from everthread.bank.corrections import sort_by_position
from everthread.bank.line_validation import clean_line
from everthread.bank.recorded_lines import is_recorded
from everthread.chat.character_banks import record_person_name
from everthread.chat.prompt_builder import is_character_line
from everthread.common.keys import META_CORRECTS, META_NEEDS_CONSENT, META_RECALLED, META_REPEATS
from everthread.common.timestamps import to_micros
from everthread.errors import NotFound
from everthread.memory import Memory
from everthread.stores.shared_rows import SESSION_GAP, new_session_name, source_key
from everthread.types import Filter, Line, Metadata, NewLine, Role, Session, now


class Conversation:
    """The current lines of one session of a bank."""

    def __init__(self, memory: Memory, session: str, *, incognito: bool = False) -> None:
        """Load a session, which may have no lines yet. `incognito`: write nothing."""
        self.session = session
        self.incognito = incognito
        self.hidden_seqs: set[int] = set()  # stored lines that were discarded in incognito
        self.memory = memory
        self.lines: list[Line] = self._load()

    def _load(self) -> list[Line]:
        return sort_by_position(list(self.memory.lines(Filter(session=self.session))))

    # ------------------------------------------------------------------- adding

    def new_line(
        self, text: str, speaker: str, role: Role, said_at: datetime, metadata: Metadata | None = None
    ) -> NewLine:
        """Build a line, marked if the recipe asks for consent to summarise it."""
        consent: Metadata = {META_NEEDS_CONSENT: True} if self.memory.recipe.needs_consent else {}
        return NewLine(text, speaker, role, said_at, metadata={**(metadata or {}), **consent})

    def add(
        self,
        new: NewLine,
        *,
        refused: bool = False,
        replacing: Sequence[Line] = (),
        defer_embedding: bool = False,
        corrects: Line | None = None,
        by_person: bool = False,
    ) -> Line:
        """Store a line after the others, in one transaction with discarding those that it replaces.

        Args:
            new: the line; its session and parent are set here.
            refused: store it as retracted, discard nothing, and don't show it.
            replacing: the lines to discard.
            defer_embedding: as for `Memory.replace_lines`.
            corrects: the line that this is a new version of.
            by_person: the person says it, under a name that the bank then stores.

        Raises:
            EverthreadError: the same errors as `Memory.replace_lines`. Nothing is changed.
        """
        replaced = {line.seq for line in replacing}
        parent = next((line.seq for line in reversed(self.lines) if line.seq > 0 and line.seq not in replaced), None)
        new = replace(new, session=self.session, parent=parent, retracted_at=new.said_at if refused else None)
        discarded = () if refused else replaced
        if self.incognito:
            line = self._build_incognito_line(new)
        else:
            if by_person:  # before the line: a name that is stored later could outlast the forgetting of the line
                record_person_name(self.memory, clean_line(new, now()).speaker)
            seq = None if corrects is None else corrects.seq
            line = self.memory.replace_lines(discarded, [new], defer_embedding=defer_embedding, corrects=seq)[0]
        self._drop(discarded)
        if not refused and line.seq not in [old.seq for old in self.lines]:  # a line with a known key is among them
            self.lines.append(line)
        return line

    def record(self, line: Line, recalled: Metadata) -> None:
        """Store what was recalled for a line in its metadata, as `evidence.build_metadata` returns it."""
        if not self.incognito:
            self.memory.store.set_records(self.memory.bank, {line.seq: recalled[META_RECALLED]})
        recorded = replace(line, metadata={**line.metadata, **recalled})
        self.lines = [recorded if old.seq == line.seq else old for old in self.lines]

    def _build_incognito_line(self, new: NewLine) -> Line:
        said_at = new.said_at or now()
        clean = clean_line(replace(new, parent=None), said_at)
        seq = min([0, *(line.seq for line in self.lines)]) - 1
        return Line(seq, self.session, clean.role, clean.speaker, clean.text, said_at, None, clean.metadata, clean.key)

    def edit(self, position: int, text: str, said_at: datetime, metadata: Metadata) -> Line:
        """Replace the text of the line at a position, and discard those after it; return the new line, which is pinned
        if the old one was. Raises BadLine, with nothing changed."""
        old = self.lines[position]
        new = NewLine(text, old.speaker, old.role, said_at, metadata=metadata, key=source_key(old))
        return self.add(new, replacing=self.lines[position:], corrects=old)

    # --------------------------------------------------------------- discarding

    def truncate(self, position: int) -> list[Line]:
        """Discard the lines from a position on, in one transaction, and return them."""
        discarded = self.lines[position:]
        if discarded and not self.incognito:
            self.memory.replace_lines([line.seq for line in discarded])
        self._drop({line.seq for line in discarded})
        return discarded

    def _drop(self, seqs: Collection[int]) -> None:
        if seqs:
            self.lines = [line for line in self.lines if line.seq not in seqs]
        if self.incognito:
            self.hidden_seqs.update(seq for seq in seqs if seq > 0)

    def forget(self, seq: int) -> None:
        """Leave out a line that was forgotten in the bank."""
        self.lines = [line for line in self.lines if line.seq != seq]

    def end_incognito(self) -> None:
        """Leave incognito: drop the lines said in incognito, and show the hidden ones."""
        self.incognito = False
        self.hidden_seqs.clear()
        self.lines = self._load()

    # ------------------------------------------------------------------ reading

    def refresh(self) -> None:
        """Load the changes of other conversations and processes; in incognito, without the lines that they added."""
        seqs = self.memory.store.filter_seqs(self.memory.bank, Filter(session=self.session), None)
        stored = [] if seqs is None else seqs.tolist()
        if self._was_bank_recreated(stored):
            self.lines = [line for line in self.lines if line.seq < 0]
            self.hidden_seqs.clear()
        known = [line.seq for line in self.lines]
        if stored == known:
            return
        current = set(stored)
        self.lines = [line for line in self.lines if line.seq < 0 or line.seq in current]
        if not self.incognito and (new := sorted(current.difference(known))):
            added = self.memory.store.get(self.memory.bank, new)
            self.lines = sort_by_position(sorted([*self.lines, *added], key=lambda line: line.seq))

    def _was_bank_recreated(self, stored: Collection[int]) -> bool:
        """Return whether others have forgotten the bank and created it again, with other lines of these numbers."""
        current = set(stored)
        last = next((line for line in reversed(self.lines) if line.seq in current), None)
        return last is not None and not is_recorded(self.memory.store, self.memory.bank, last)

    def index(self, seq: int) -> int:
        """Return the position of a line. Raises NotFound if the conversation has no such line."""
        for position, line in enumerate(self.lines):
            if line.seq == seq:
                return position
        lines = f"its lines are {self.lines[0].seq} to {self.lines[-1].seq}" if self.lines else "it is empty"
        raise NotFound(f"this conversation has no line {seq!r}; {lines} (`correct` changes a line of any conversation)")

    def alternatives(self) -> list[Line]:
        """Return all versions of the last reply, oldest first, including the current one. A version that `branch`
        restored is listed once. Empty if the last line is not a reply of the character or of another of the group."""
        lines = self.lines
        last = lines[-1] if lines else None
        if last is None or last.role != "assistant":
            return []
        if last.parent is None or last.seq < 0:  # a greeting has no alternatives, and in incognito none are stored
            return [last]
        replies: dict[int, Line] = {}  # by the number under which each was said first
        first_seqs: dict[int, int] = {}
        for line in self.memory.lines(Filter(session=self.session), after=last.parent, include_retracted=True):
            if line.parent == last.parent and _is_by_same(line, last) and not line.metadata.get("refused"):
                repeated = line.metadata.get(META_REPEATS)  # an import may have set it to anything
                first = first_seqs.get(repeated, line.seq) if isinstance(repeated, int) else line.seq
                first_seqs[line.seq] = first
                replies[first] = line
        return list(replies.values())

    # ---------------------------------------------------------------- branching

    def branch(self, seq: int) -> list[Line]:
        """Continue from a line, and return the lines after it, which are discarded.

        The line may be a discarded one: copies of it and of the lines that led to it are then added.

        Raises:
            NotFound: the session has no such line.
            BadQuery: a line that led to it was forgotten.
        """
        if any(line.seq == seq for line in self.lines):
            return self.truncate(self.index(seq) + 1)
        if self.incognito:
            raise NotFound(f"this conversation has no line {seq!r}; in incognito, discarded lines are not stored")
        recorded = next(
            self.memory.lines(Filter(session=self.session), after=seq - 1, limit=1, include_retracted=True), None
        )
        if recorded is None or recorded.seq != seq:
            raise NotFound(f"there is no line {seq!r} in the session {self.session!r}")
        before = self.lines
        self.memory.restore(seq)
        self.refresh()
        current = {line.seq for line in self.lines}
        return [line for line in before if line.seq not in current]


def _is_by_same(line: Line, reply: Line) -> bool:
    """Return whether the speaker of a reply said a line: the character, under any name, or another of its group."""
    if is_character_line(reply):
        return is_character_line(line)
    return line.role == "assistant" and not is_character_line(line) and line.speaker == reply.speaker


def find_session(memory: Memory, id: str) -> Session | None:
    """Return a session of a bank, or None."""
    return next((session for session in memory.sessions() if session.id == id), None)


def find_session_at(sessions: Sequence[Session], at: datetime) -> Session | None:
    """Return the open session during which something was said that is stored late, or None."""
    return next(
        (session for session in sessions if session.started_at <= at <= session.last_at and is_open(session)), None
    )


def open_session(
    memory: Memory, session: str | None, at: datetime, *, incognito: bool, resume: bool
) -> tuple[Conversation, Session | None, list[Session]]:
    """Open a session.

    Args:
        memory: the bank.
        session: its name; None: the session to resume, if `resume`, else a new one.
        at: the present time.
        incognito: write nothing.
        resume: whether the current session may be resumed.

    Returns:
        The conversation, the session in which something was said last, if any, and those to end.
    """
    sessions = memory.sessions()
    last = current_session(memory, sessions, at)
    if session is None and resume:
        session = find_resumable(last, at)
    session = session or new_session_name(to_micros(at), lambda name: {existing.id for existing in sessions})
    left = [each for each in _list_abandoned(sessions, last, at) if each.id != session]
    return Conversation(memory, session, incognito=incognito), last, left


def find_resumable(last: Session | None, at: datetime) -> str | None:
    """Return the name of the current session if it was not ended and has a line of the last hour.

    An older session is never resumed instead, even if it is open: the person has left it for the current one.
    """
    return last.id if last and is_open(last) and at - last.last_at <= SESSION_GAP else None


def _list_abandoned(sessions: Sequence[Session], last: Session | None, at: datetime) -> list[Session]:
    """Return the open sessions without a line of the last hour: the last one, and those that were left for it. Older
    ones, such as those of an import, stay as they are."""
    if last is None:
        return []
    open_sessions = [session for session in sessions if is_open(session) and at - session.last_at > SESSION_GAP]
    return [session for session in open_sessions if last.started_at - session.last_at <= SESSION_GAP]


def is_open(session: Session) -> bool:
    """Return whether a session was not ended, or continued after its end."""
    return session.ended_at is None or session.ended_at < session.last_at


def current_session(memory: Memory, sessions: Sequence[Session], at: datetime) -> Session | None:
    """Return the session in which something was said last, ended or not.

    Of the sessions of the last hour, it is the one with the newest line by number, because a clock may be set back and
    an import may have later times. Sessions more than an hour in the future come from a wrong clock and are ignored,
    and an imported one never takes the place of one in which the person speaks.

    Args:
        memory: the bank.
        sessions: its sessions.
        at: the present time.
    """
    past = [session for session in sessions if session.last_at - at <= SESSION_GAP]
    if recent := [session for session in past if at - session.last_at <= SESSION_GAP]:
        return max(recent, key=lambda session: (not _is_imported(session), _find_last_said(memory, session)))
    return max(past, key=lambda session: (session.last_at, session.last_seq), default=None)


def _is_imported(session: Session) -> bool:
    """Return whether a session was ended by an import, which ends it with its last line; people end one later."""
    return session.ended_at == session.last_at


def _find_last_said(memory: Memory, session: Session) -> int:
    """Return the number of a session's newest line, apart from corrections, which may be made long afterwards."""

    def list_said(after: int) -> list[int]:
        lines = memory.lines(Filter(session=session.id), after=after, include_retracted=True)
        return [line.seq for line in lines if META_CORRECTS not in line.metadata]

    return max(list_said(session.last_seq - 1) or list_said(0), default=session.first_seq)
