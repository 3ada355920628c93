"""Recognises which messages of a resent history are new: edits, regenerated replies, undone turns, several tabs.

Front ends resend the whole conversation with each message, most of them without any id. `session_finder` finds the
session that a request continues, and `plan` the changes that it makes to it; they are carried out here.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from everthread.bank.corrections import build_correction
from everthread.bank.deletion import has_forgotten_since
from everthread.bank.line_validation import MAX_TEXT_CHARS, check_text
from everthread.bank.line_versions import get_recorded
from everthread.bank.recorded_lines import is_recorded
from everthread.common.keys import META_CORRECTS, META_REPEATS, META_UNDATED, SETTING_PINNED
from everthread.memory import Memory
from everthread.server.proxy.message_text import ChatMessage, is_same, new_key, normalize
from everthread.server.proxy.plan import Plan, make_plan, plan_continuation
from everthread.server.proxy.reply_index import ReplyIndex, get_reply_ids
from everthread.server.proxy.session_finder import SessionFinder
from everthread.server.proxy.transcript import Transcript, is_dated
from everthread.server.proxy.turn import META_PARTIAL, Turn, find_latest_turn
from everthread.stores.pin_setting import pinned_seqs
from everthread.types import Line, Metadata, NewLine, now

FORGOTTEN_LATELY = timedelta(days=1)  # for this long, a client probably still shows what was forgotten


class Lineage:
    """The conversations of one bank, as its clients resend them. Thread-safe."""

    def __init__(self, memory: Memory, *, stores_history: bool = True) -> None:
        """Begin without knowing a session.

        Args:
            memory: the bank.
            stores_history: whether a history that the bank has never seen is stored, without dates.
        """
        self.memory, self._stores_history = memory, stores_history
        self._replies = ReplyIndex(memory)
        self._sessions = SessionFinder(memory, self._replies)
        self._lock = threading.Lock()

    def begin(
        self,
        messages: Sequence[ChatMessage],
        session: str | None = None,
        reply: str = "",
        *,
        is_resent: bool = False,
        is_retry: bool = False,
    ) -> Turn:
        """Store what is new in a request, and discard what the client has discarded, in one transaction.

        Args:
            messages: the messages of the person and the assistant that have words; the last is the person's. A message
                without text names a reply by the id in its metadata.
            session: the session, if the client names it; None: it is recognised by its replies.
            reply: the reply, if it is known already.
            is_resent: whether the client sends earlier messages because the API has no history. If something was
                forgotten lately, they are left out unless the bank knows them: it may be what was forgotten.
            is_retry: as for `make_plan`.

        Raises:
            BadLine, StoreUnavailable: as in `Memory.replace_lines`.
        """
        messages = _keep_storable(messages)
        with self._lock:
            transcript, plan = self._make_plan(messages, session, reply, is_retry=is_retry)
            follows = _follows_dated_line(plan, transcript)
            if not self._stores_history or (is_resent and plan.added and self._has_forgotten_lately()):
                plan.added = [
                    item for item in plan.added if isinstance(item, Line) or (follows and item.role == "user")
                ]
            if follows:
                last, newest_at = transcript.current[plan.keep - 1].said_at, messages[-1].said_at or now()
                plan.added = _estimate_times(plan.added, last, newest_at)
            return self._apply(transcript, plan, messages[-1])

    def _has_forgotten_lately(self) -> bool:
        return has_forgotten_since(self.memory.store, [self.memory.bank], now() - FORGOTTEN_LATELY)

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
        self, messages: Sequence[ChatMessage], session: str | None, reply: str = "", *, is_retry: bool = False
    ) -> tuple[Transcript, Plan]:
        """Find the session of a request, and the changes that it makes to it. Takes the same as `begin`."""
        if not all(message.text for message in messages):
            messages, session = self._sessions.resolve(messages, session)
        *history, newest = messages
        transcript = self._sessions.open(session) if session is not None else self._sessions.recognise(history, newest)
        plan = make_plan(transcript, history, newest, named=session is not None, reply=reply, is_retry=is_retry)
        if not plan.is_other_conversation:
            return transcript, plan
        return self._sessions.create(), Plan(0, added=[*transcript.current[: plan.keep], *plan.added])

    def resume(
        self,
        messages: Sequence[ChatMessage],
        response: str = "",
        session: str | None = None,
        *,
        is_retry: bool = False,
    ) -> Turn | None:
        """Store the messages of a request that leaves out the history, and discard what follows the response that it
        continues.

        Args:
            messages: what is new; empty: results of tools only.
            response: the id of the response that it continues; empty or unknown: the latest of the session.
            session: the session, if the client names it; None: that of the response, or a new one.
            is_retry: as for `make_plan`.

        Returns:
            The turn; None if there is no message, and the turn that the request continues is not known.

        Raises:
            BadLine, StoreUnavailable: as in `Memory.replace_lines`.
        """
        messages = _keep_storable(messages)
        with self._lock:
            found = self._replies.find_session([response]) if response else None
            if found is None and session is None and not messages:
                return None
            name = session if session is not None else found
            transcript = self._sessions.open(name) if name is not None else self._sessions.create()
            line = transcript.index_replies().get(response)
            if line is None and (seq := self._replies.find_turn(response)) is not None:
                line = transcript.find_version(seq)
            if not messages:
                return find_latest_turn(transcript, line)
            plan = plan_continuation(transcript, line, messages, is_retry=is_retry)
            return self._apply(transcript, plan, messages[-1])

    def finish(
        self,
        turn: Turn,
        text: str,
        *,
        partial: bool = False,
        metadata: Metadata | None = None,
        said_at: datetime | None = None,
    ) -> Line | None:
        """Store the reply to a turn.

        A reply to a line that was discarded in the meantime, and a second reply to a line that has one, are stored as
        discarded: they become current when the client sends them back. A first reply is current also if it comes after
        later messages.

        Args:
            turn: the turn.
            text: the part of the reply that was received.
            partial: whether it was cut off.
            metadata: JSON values by name.
            said_at: its time; None: now.

        Returns:
            The line; None if the text is blank, which is noted under its ids only, or the turn was forgotten.
        """
        with self._lock:
            if not is_recorded(self.memory.store, self.memory.bank, turn.line):
                return None
            ids = get_reply_ids(metadata or {})
            if not text.strip():
                self._replies.save(ids, turn.line)
                return None
            self._replies.note(ids, turn.line)
            new = NewLine(
                text,
                "assistant",
                "assistant",
                said_at,
                turn.line.session,
                metadata={**(metadata or {}), **({META_PARTIAL: True} if partial else {})},
                parent=turn.line.seq,
                key=new_key("assistant", text),
            )
            return self._add_reply(turn, new)

    def _add_reply(self, turn: Turn, new: NewLine) -> Line:
        """Store the reply to a turn; as discarded if the turn is, or has another one already."""
        transcript = self._sessions.open(turn.line.session)
        replaced = turn.find_replaced(transcript)
        if replaced is None:
            new = replace(new, retracted_at=now())
        line = self.memory.replace_lines([reply.seq for reply in replaced or ()], [new], defer_embedding=True)[0]
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
        with self._lock:
            transcript, line = self._find_last_reply(messages, session)
            if line is None or not messages[-1].normalized.endswith(normalize(line.text)):  # after a name
                return None
            corrected = build_correction(self.memory.store, self.memory.bank, line.seq, text)
            metadata = {name: value for name, value in corrected.metadata.items() if name != META_PARTIAL}
            metadata |= {META_PARTIAL: True} if partial else {}
            corrected = replace(corrected, key=new_key("assistant", text), metadata=metadata)
            stored = self.memory.replace_lines([line.seq], [corrected], corrects=line.seq)[0]
            transcript.refresh(self.memory)
        return stored

    def has_last_reply(self, messages: Sequence[ChatMessage], session: str | None = None) -> bool:
        """Return whether the bank has the reply so far, or a longer one, at the end of a session. Takes the same as
        `extend_reply`."""
        with self._lock:
            line = self._find_last_reply(messages, session)[1]
            return line is not None and is_same(messages[-1].normalized, normalize(line.text))

    def _find_last_reply(self, messages: Sequence[ChatMessage], session: str | None) -> tuple[Transcript, Line | None]:
        """Find the session of a conversation, and the line of the reply at its end. Takes the same as
        `extend_reply`."""
        transcript = (
            self._sessions.open(session) if session is not None else self._sessions.recognise(messages, messages[-1])
        )
        messages = transcript.skip_removed(messages)
        transcript.arrange(messages)
        alignment = transcript.align(messages) or transcript.align(messages, "user")
        is_last = alignment is not None and alignment.offset + len(messages) == len(transcript.current)
        return transcript, transcript.current[-1] if is_last and transcript.current else None

    def _apply(self, transcript: Transcript, plan: Plan, newest: ChatMessage) -> Turn:
        """Carry out a plan."""
        if plan.corrected:
            self._correct(plan.corrected)
            transcript.refresh(self.memory)
        kept, tail = transcript.current[: plan.keep], transcript.current[plan.keep :]
        if plan.known is not None:
            is_answered = len(tail) > 1 and tail[1].role == "assistant" and not transcript.is_late(plan.keep + 1)
            replies = frozenset(line.seq for line in tail[1:] if is_answered)
            return Turn(tail[0], frozenset(line.seq for line in (*kept[plan.first :], *tail)), replies)
        chains: list[tuple[Line | None, Sequence[Line | ChatMessage]]] = [*plan.inserted]
        chains.append((kept[-1] if kept else None, [*plan.added, newest]))
        lines: list[NewLine] = []
        for start, sources in chains:
            before: Line | NewLine | None = start
            for source in sources:
                new = self._build_line(source, transcript.session, before, is_newest=source is newest)
                if new is not None:
                    lines.append(new)
                    before = new
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
        """Build the line of a message, or a copy of a line; None if that was forgotten.

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
        key, metadata = new_key(line.role, line.text), dict(line.metadata)
        if line.retracted_at is not None:  # otherwise it was said twice, at the beginning of two conversations
            metadata[META_REPEATS] = line.seq
        metadata.pop(META_CORRECTS, None)  # the copy comes after the lines before it, not where the first line was
        said_at = line.said_at if earliest is None else max(earliest, line.said_at)
        return NewLine(line.text, line.speaker, line.role, said_at, session, metadata, parent, key)


def _keep_storable(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return messages without those before the newest that are too long for a line. Raises BadLine if the newest is."""
    if messages:
        check_text(messages[-1].text, {})
    return [message for message in messages if len(message.text) <= MAX_TEXT_CHARS]


def _follows_dated_line(plan: Plan, transcript: Transcript) -> bool:
    """Return whether what a plan adds was said after a line whose time is known."""
    is_next = plan.first < plan.keep or all(item.role == "user" for item in plan.added)
    return is_next and plan.keep > 0 and is_dated(transcript.current[plan.keep - 1])


def _estimate_times(
    added: Sequence[Line | ChatMessage], earliest: datetime, latest: datetime
) -> list[Line | ChatMessage]:
    """Return what a plan adds, the person's messages without a time at equal distances between two times."""
    step = max(latest - earliest, timedelta()) / (len(added) + 1)
    return [
        item._replace(said_at=earliest + number * step)
        if isinstance(item, ChatMessage) and item.role == "user" and item.said_at is None
        else item
        for number, item in enumerate(added, 1)
    ]
