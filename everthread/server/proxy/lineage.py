"""Recognises which messages of a resent history are new: edits, regenerated replies, undone turns, several tabs.

Front ends resend the whole conversation with each message, most of them without any id. Only the replies, which this
server has stored and which are nearly unique, show which session a request continues. Neither the first message nor the
system prompt nor the API key identify it: many conversations begin alike, and keys change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import takewhile

from everthread.bank.corrections import build_correction
from everthread.bank.line_versions import get_recorded
from everthread.common.keys import META_CORRECTS, META_REPEATS, META_UNDATED, SETTING_PINNED
from everthread.common.timestamps import to_micros
from everthread.memory import Memory
from everthread.server.proxy.message_text import ChatMessage, is_same, key_prefix, new_key, normalize
from everthread.server.proxy.recorded_lines import is_recorded
from everthread.server.proxy.reply_index import ReplyIndex, get_reply_ids
from everthread.server.proxy.transcript import Transcript, is_dated
from everthread.stores.pin_setting import pinned_seqs
from everthread.stores.shared_rows import new_session_name
from everthread.types import Filter, Line, Metadata, NewLine, now

MAX_TRANSCRIPTS = 256  # sessions of one bank whose lines are held in memory
MAX_CANDIDATE_SESSIONS = 8  # the latest ones, of those that contain a reply of the history
ANCHORS = 4  # last replies of the history, by which a session is searched
META_PARTIAL = "partial"  # of replies that were cut off
REPEATED_OPENING_S = 600.0  # a first message that is sent again within this time gets another reply


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


@dataclass
class Plan:
    """The changes that a request makes to a session, from the position `keep` on.

    Attributes:
        keep: current lines before this position stay current.
        corrected: the lines whose text the client has changed, with the new messages.
        added: the lines after them, before the newest message: discarded lines that come back, and unknown messages.
        known: the line of the newest message, if it is stored already.
        first: the position of the first line that the request contains.
    """

    keep: int
    corrected: list[tuple[Line, ChatMessage]] = field(default_factory=list)
    added: list[Line | ChatMessage] = field(default_factory=list)
    known: Line | None = None
    first: int = 0


class Lineage:
    """The conversations of one bank, as its clients resend them. Thread-safe."""

    def __init__(self, memory: Memory, *, stores_history: bool = True) -> None:
        """Begin without knowing a session.

        Args:
            memory: the bank.
            stores_history: whether a history that the bank has never seen is stored, without dates.
        """
        self.memory, self._stores_history = memory, stores_history
        self._transcripts: OrderedDict[str, Transcript] = OrderedDict()
        self._replies = ReplyIndex(memory)
        self._lock = threading.Lock()

    def begin(self, messages: Sequence[ChatMessage], session: str | None = None, reply: str = "") -> Turn:
        """Store what is new in a request, and discard what the client has discarded, in one transaction.

        Args:
            messages: the messages of the person and the assistant that have words; the last is the person's. A message
                without text names a reply by the id in its metadata.
            session: the session, if the client names it; None: it is recognised by its replies.
            reply: the reply, if it is known already.

        Raises:
            BadLine, StoreUnavailable: as in `Memory.replace_lines`.
        """
        with self._lock:
            transcript, plan = self._make_plan(messages, session, reply)
            if not self._stores_history:
                plan.added = [item for item in plan.added if isinstance(item, Line)]
            return self._apply(transcript, plan, messages[-1])

    def preview(self, messages: Sequence[ChatMessage], session: str | None = None) -> tuple[int | None, frozenset[int]]:
        """Find out what a request contains that is stored already, and change nothing.

        Args:
            messages: as for `begin`.
            session: as for `begin`.

        Returns:
            The number of the newest message's line, or None if it is not stored, and the numbers of all lines that
            the request contains.
        """
        with self._lock:
            transcript, plan = self._make_plan(messages, session)
            known = plan.known
            end = plan.keep if known is None else len(transcript.current)
            shown = frozenset(line.seq for line in transcript.current[plan.first : end])
            return None if known is None else known.seq, shown

    def _make_plan(
        self, messages: Sequence[ChatMessage], session: str | None, reply: str = ""
    ) -> tuple[Transcript, Plan]:
        """Find the session of a request, and the changes that it makes to it. Takes the same as `begin`."""
        if not all(message.text for message in messages):
            messages, session = self._resolve(messages, session)
        *history, newest = messages
        transcript = self._open(session) if session is not None else self._recognise(history, newest)
        return transcript, make_plan(transcript, history, newest, named=session is not None, reply=reply)

    def resume(self, messages: Sequence[ChatMessage], response: str = "", session: str | None = None) -> Turn | None:
        """Store the messages of a request that leaves out the history, and discard what follows the response that it
        continues.

        Args:
            messages: what is new; empty: results of tools only.
            response: the id of the response that it continues; empty or unknown: the latest of the session.
            session: the session, if the client names it; None: that of the response, or a new one.

        Returns:
            The turn; None if there is no message, and the turn that the request continues is not known.

        Raises:
            BadLine, StoreUnavailable: as in `Memory.replace_lines`.
        """
        with self._lock:
            found = self._replies.find_session([response]) if response else None
            if found is None and session is None and not messages:
                return None
            name = session if session is not None else found
            transcript = self._open(name) if name is not None else self._create()
            line = transcript.index_replies().get(response)
            if line is None and (seq := self._replies.find_turn(response)) is not None:
                line = transcript.find_version(seq)
            if not messages:
                return find_latest_turn(transcript, line)
            return self._apply(transcript, plan_continuation(transcript, line, messages), messages[-1])

    def finish(
        self,
        turn: Turn,
        text: str,
        *,
        speaker: str = "assistant",
        partial: bool = False,
        metadata: Metadata | None = None,
        said_at: datetime | None = None,
    ) -> Line | None:
        """Store the reply to a turn.

        A reply to a line that was discarded in the meantime, and a second reply to a line that has one, are stored as
        discarded: they become current when the client sends them back.

        Args:
            turn: the turn.
            text: the reply, as far as it came.
            speaker: the name of its speaker.
            partial: whether it was cut off.
            metadata: JSON values by name.
            said_at: its time; None: now.

        Returns:
            The line; None if the text is blank, which is noted under its ids only, or the turn was forgotten.
        """
        with self._lock:
            if not self.memory.store.exists(self.memory.bank) or not is_recorded(self.memory, turn.line):
                return None
            ids = get_reply_ids(metadata or {})
            if not text.strip():
                self._replies.save(ids, turn.line)
                return None
            self._replies.note(ids, turn.line)
            new = NewLine(
                text,
                speaker,
                "assistant",
                said_at,
                turn.line.session,
                metadata={**(metadata or {}), **({META_PARTIAL: True} if partial else {})},
                parent=turn.line.seq,
                key=new_key("assistant", text),
            )
            return self._add_reply(turn, new)

    def _add_reply(self, turn: Turn, new: NewLine) -> Line:
        """Store the reply to a turn; as discarded if the turn is, or has another one."""
        transcript = self._open(turn.line.session)
        current = {line.seq: position for position, line in enumerate(transcript.current)}
        position = current.get(turn.line.seq)
        later = [] if position is None else transcript.current[position + 1 :]
        if position is None or any(not _is_replaceable(line, turn) for line in later):
            new = replace(new, retracted_at=now())
            later = []
        line = self.memory.replace_lines([reply.seq for reply in later], [new], defer_embedding=True)[0]
        transcript.refresh(self.memory)
        return line

    def extend_reply(
        self, messages: Sequence[ChatMessage], text: str, *, partial: bool = False, session: str | None = None
    ) -> Line | None:
        """Correct the last reply of a conversation to its text with a continuation.

        Args:
            messages: the messages with words; the last is the reply so far.
            text: the whole reply.
            partial: whether it was cut off.
            session: as for `begin`.

        Returns:
            The new line; None if the bank does not have that reply at the end of a session.
        """
        so_far = messages[-1]
        with self._lock:
            transcript = self._open(session) if session is not None else self._recognise(messages, so_far)
            messages = transcript.skip_removed(messages)
            alignment = transcript.align(messages)
            line = transcript.current[-1] if transcript.current else None
            is_last = alignment is not None and alignment.offset + len(messages) == len(transcript.current)
            if line is None or not is_last or normalize(line.text) != so_far.normalized:
                return None
            corrected = build_correction(self.memory.store, self.memory.bank, line.seq, text)
            metadata = {name: value for name, value in corrected.metadata.items() if name != META_PARTIAL}
            metadata |= {META_PARTIAL: True} if partial else {}
            corrected = replace(corrected, key=new_key("assistant", text), metadata=metadata)
            stored = self.memory.replace_lines([line.seq], [corrected], corrects=line.seq)[0]
            transcript.refresh(self.memory)
        return stored

    # ----------------------------------------------------------------- sessions

    def _open(self, session: str) -> Transcript:
        """Return the transcript of a session, as it is now."""
        transcript = self._transcripts.setdefault(session, Transcript(session))
        self._transcripts.move_to_end(session)
        if len(self._transcripts) > MAX_TRANSCRIPTS:
            self._transcripts.popitem(last=False)
        transcript.refresh(self.memory)
        return transcript

    def _recognise(self, history: Sequence[ChatMessage], newest: ChatMessage) -> Transcript:
        """Return the session that a history continues, or a new one."""
        replies = [message for message in reversed(history) if message.role == "assistant"][:ANCHORS]
        transcripts = [self._open(session) for session in self._find_sessions(replies)]
        if not transcripts:
            return self._find_opening([*history, newest]) or self._create()
        if len(transcripts) == 1 and transcripts[0].has_reply(replies):
            return transcripts[0]
        rated = []
        for transcript in transcripts:
            alignment = transcript.align(history, only_dated=True)
            if alignment is not None or transcript.find_branch(history) is not None:
                last = max((line.seq for line in transcript.current), default=0)
                rated.append((alignment.matches if alignment else 0, last, transcript))
        return max(rated, key=lambda each: each[:2])[2] if rated else self._create()

    def _resolve(self, messages: Sequence[ChatMessage], session: str | None) -> tuple[list[ChatMessage], str | None]:
        """Return messages with the texts of the replies that are only named, as far as the session has them, and the
        session."""
        named = [message.message_id for message in messages if message.is_reference]
        session = session if session is not None else self._replies.find_session(named[: -ANCHORS - 1 : -1])
        known = {} if session is None else self._open(session).index_replies()
        resolved = []
        for message in messages:
            if not message.is_reference:
                resolved.append(message)
            elif (line := known.get(message.message_id)) is not None:
                resolved.append(message._replace(text=line.text))
        return resolved, session

    def _find_sessions(self, replies: Sequence[ChatMessage]) -> list[str]:
        """Find the latest sessions in which one of these replies was given.

        Replies that were only resent, such as the greeting of a character and examples, are in many conversations.
        """
        found: dict[str, int] = {}
        for message in replies:
            for line in filter(is_dated, self._find_lines(message)):
                found[line.session] = max(found.get(line.session, 0), line.seq)
        return sorted(found, key=lambda session: -found[session])[:MAX_CANDIDATE_SESSIONS]

    def _find_lines(self, message: ChatMessage) -> Iterator[Line]:
        where = Filter(key_prefix=key_prefix(message.role, message.normalized))
        return self.memory.lines(where, include_retracted=True)

    def _find_opening(self, messages: Sequence[ChatMessage]) -> Transcript | None:
        """Return the session that began a moment ago with the same messages, and in which one reply was given at most.

        If the client gives the time of the first message, the session began with it at that time instead. Messages
        before the first reply are compared by the first of them alone: the others may be new.
        """
        shown = messages if any(message.role == "assistant" for message in messages) else messages[:1]
        said_at, earliest = messages[0].said_at, now() - timedelta(seconds=REPEATED_OPENING_S)
        recent = [
            line
            for line in self._find_lines(messages[0])
            if line.retracted_at is None and (line.said_at >= earliest if said_at is None else line.said_at == said_at)
        ]
        for line in sorted(recent, key=lambda line: -line.seq)[:MAX_CANDIDATE_SESSIONS]:
            transcript = self._open(line.session)
            current = transcript.current
            replies = sum(line.role == "assistant" and is_dated(line) for line in current)
            begins = [(line.role, normalize(line.text)) for line in current[: len(shown)]]
            is_opening = begins == [(message.role, message.normalized) for message in shown]
            if replies <= 1 and is_opening and current[0].seq == line.seq:
                return transcript
        return None

    def _create(self) -> Transcript:
        """Return a session without lines, under a new name."""
        names = {session.id for session in self.memory.sessions()}
        return self._open(new_session_name(to_micros(now()), lambda _: names | self._transcripts.keys()))

    # ------------------------------------------------------------------ changes

    def _apply(self, transcript: Transcript, plan: Plan, newest: ChatMessage) -> Turn:
        """Carry out a plan."""
        if plan.corrected:
            self._correct(plan.corrected)
            transcript.refresh(self.memory)
        kept, tail = transcript.current[: plan.keep], transcript.current[plan.keep :]
        if plan.known is not None:
            replies = frozenset(line.seq for line in tail[1:])
            return Turn(tail[0], frozenset(line.seq for line in (*kept[plan.first :], *tail)), replies)
        lines: list[NewLine] = []
        for source in [*plan.added, newest]:
            before = lines[-1] if lines else kept[-1] if kept else None
            new = self._build_line(source, transcript.session, before, is_newest=source is newest)
            if new is not None:
                lines.append(new)
        stored = self.memory.replace_lines([line.seq for line in tail], lines, defer_embedding=True)
        return Turn(stored[-1], frozenset(line.seq for line in (*kept[plan.first :], *stored)))

    def _correct(self, changes: Sequence[tuple[Line, ChatMessage]]) -> None:
        """Correct lines to the texts of messages, in one transaction; pinned lines one by one, to move their pins."""
        store, bank = self.memory.store, self.memory.bank
        pinned = pinned_seqs(store.settings(bank).get(SETTING_PINNED))
        together: dict[int, NewLine] = {}
        for line, message in changes:
            new = build_correction(store, bank, line.seq, message.text)
            new = replace(new, key=new_key(line.role, message.text))
            if line.seq in pinned:
                self.memory.replace_lines([line.seq], [new], corrects=line.seq, defer_embedding=True)
            else:
                together[line.seq] = new
        self.memory.replace_lines(together, together.values(), defer_embedding=True)

    def _build_line(
        self, source: Line | ChatMessage, session: str, before: Line | NewLine | None, *, is_newest: bool
    ) -> NewLine | None:
        """Build the line of a message, or a copy of a discarded line; None if that was forgotten.

        Args:
            source: the message or the line.
            session: the session.
            before: the line that it follows; times never decrease along a conversation.
            is_newest: whether it is said now; other messages have no known time, unless the client gives it.
        """
        earliest = before.said_at if before is not None else None
        parent = before.key if isinstance(before, NewLine) else before.seq if before is not None else None
        if isinstance(source, ChatMessage):
            said_at = source.said_at or (now().astimezone() if is_newest or earliest is None else earliest)
            is_undated = not is_newest and source.said_at is None
            metadata = {**(source.metadata or {}), **({META_UNDATED: True} if is_undated else {})}
            key = new_key(source.role, source.text)
            return NewLine(source.text, source.speaker, source.role, said_at, session, metadata, parent, key)
        line = get_recorded(self.memory.store, self.memory.bank, source.seq)
        if line is None or line.text != source.text:
            return None
        key, metadata = new_key(line.role, line.text), {**line.metadata, META_REPEATS: line.seq}
        metadata.pop(META_CORRECTS, None)  # the copy comes after the lines before it, not where the first line was
        said_at = line.said_at if earliest is None else max(earliest, line.said_at)
        return NewLine(line.text, line.speaker, line.role, said_at, session, metadata, parent, key)


def _is_replaceable(line: Line, turn: Turn) -> bool:
    """Return whether the reply to a turn replaces a current line."""
    return line.seq in turn.replaces or (line.parent == turn.line.seq and bool(line.metadata.get(META_PARTIAL)))


# ----------------------------------------------------------------------- planning


def make_plan(
    transcript: Transcript, history: Sequence[ChatMessage], newest: ChatMessage, *, named: bool, reply: str = ""
) -> Plan:
    """Compare a request with a session.

    Args:
        transcript: the session.
        history: the messages before the newest.
        newest: the person's newest message.
        named: whether the client named the session.
        reply: the reply to it, if it is known.
    """
    if transcript.is_whole(history):
        return Plan(len(history))
    history = transcript.skip_removed(history)
    alignment = transcript.align(history)
    if alignment is None and (branch := transcript.find_branch(history)) is not None:
        lines, position, index = branch
        shown = max(0, index + 1 - len(lines))  # messages before the discarded lines
        plan = Plan(position + 1, first=max(0, position + 1 - shown))
        plan.added = [
            *_overlay(transcript, lines, history[: index + 1]),
            *_find_lines_again(transcript, history[index + 1 :], lines[-1].seq),
        ]
        return plan
    if alignment is None and (named or not any(line.role == "assistant" for line in transcript.current)):
        alignment = transcript.align(history, "user")
    if alignment is not None:
        plan = _compare(transcript, history, alignment.offset)
    else:  # a client that names its session may send its newest message only
        keep = len(transcript.current) if named and not _is_opening(transcript, newest) else 0
        keep -= _count_repeated(transcript, newest, reply) if keep and not history else 0
        plan = Plan(keep, first=keep)
        plan.added = list(history)
    if not plan.added:
        tail = transcript.current[plan.keep :]
        is_known = bool(tail) and tail[0].role == "user" and normalize(tail[0].text) == newest.normalized
        plan.known = tail[0] if is_known else None
    return plan


def plan_continuation(transcript: Transcript, line: Line | None, messages: Sequence[ChatMessage]) -> Plan:
    """Plan for a request that leaves out the history.

    Args:
        transcript: the session.
        line: the line after which the request continues; None: the latest.
        messages: what is new; the last is the person's.
    """
    branch, keep = transcript.find_path(line)
    if line is None:
        keep -= _count_unanswered(transcript, messages)
    repeated = 0 if branch else _count_equal(transcript.current[keep:], messages)
    if repeated == len(messages):
        return Plan(keep + repeated - 1, known=transcript.current[keep + repeated - 1])
    return Plan(keep + repeated, added=[*branch, *messages[repeated:-1]])


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


def _count_unanswered(transcript: Transcript, messages: Sequence[ChatMessage]) -> int:
    """Return how many lines at the end of a session are these messages and the beginning of a reply to them."""
    current = transcript.current
    count = len(messages) + bool(current and current[-1].metadata.get(META_PARTIAL))
    lines = current[-count:]
    return count if len(lines) == count and _count_equal(lines, messages) == len(messages) else 0


def _count_equal(lines: Sequence[Line], messages: Sequence[ChatMessage]) -> int:
    """Return how many of the first lines are the messages."""
    pairs = zip(lines, messages, strict=False)
    equal = (line.role == each.role and normalize(line.text) == each.normalized for line, each in pairs)
    return sum(takewhile(bool, equal))


def _is_opening(transcript: Transcript, newest: ChatMessage) -> bool:
    """Return whether a message repeats the only message of a session."""
    current = transcript.current
    return 0 < len(current) <= 2 and normalize(current[0].text) == newest.normalized


def _count_repeated(transcript: Transcript, newest: ChatMessage, reply: str) -> int:
    """Return how many lines at the end of a session a turn repeats: the message without a reply, or with this one."""
    turn = [("user", newest.normalized), ("assistant", normalize(reply))]
    end = [(line.role, normalize(line.text)) for line in transcript.current[-2:]]
    return 2 if end == turn else 1 if end[-1:] == turn[:1] else 0


def _compare(transcript: Transcript, history: Sequence[ChatMessage], offset: int) -> Plan:
    """Compare a history, message by message, with the current lines at a distance."""
    current = transcript.current
    plan = Plan(max(0, offset), first=max(0, offset))
    index = max(0, -offset)
    while index < len(history):
        message, position = history[index], index + offset
        if position >= len(current) or current[position].role != message.role:
            break
        line = current[position]
        if message.text != line.text and not is_same(message.normalized, normalize(line.text)):
            before = current[position - 1].seq if position else None
            if transcript.find_discarded(message, before) is not None:
                break
            plan.corrected.append((line, message))
        index += 1
        plan.keep = position + 1
    plan.added = _find_lines_again(transcript, history[index:], current[plan.keep - 1].seq if plan.keep else None)
    return plan


def _overlay(
    transcript: Transcript, lines: Sequence[Line], messages: Sequence[ChatMessage]
) -> Iterator[Line | ChatMessage]:
    """Iterate over discarded lines; where the client shows other texts, over these. Both sequences end together."""
    unseen = max(0, len(lines) - len(messages))
    yield from lines[:unseen]
    for line, message in zip(lines[unseen:], messages[len(messages) - len(lines) + unseen :], strict=True):
        is_shown = line.role == message.role and is_same(message.normalized, normalize(line.text))
        yield line if is_shown else transcript.find_discarded(message) or message


def _find_lines_again(
    transcript: Transcript, messages: Sequence[ChatMessage], parent: int | None
) -> list[Line | ChatMessage]:
    """Return for each message the discarded line with its text, or else the message."""
    found: list[Line | ChatMessage] = []
    for message in messages:
        line = transcript.find_discarded(message, parent)
        found.append(message if line is None else line)
        parent = None if line is None else line.seq
    return found
