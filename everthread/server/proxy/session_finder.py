"""SessionFinder: finds the session that a request continues, by the replies in its history.

Only the replies, which this server has stored and which are nearly unique, show the session. Neither the first message
nor the system prompt nor the API key identify it: many conversations begin alike, and keys change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from everthread.common.timestamps import to_micros
from everthread.memory import Memory
from everthread.server.proxy.message_text import ChatMessage, key_prefix, normalize
from everthread.server.proxy.reply_index import ReplyIndex
from everthread.server.proxy.transcript import Transcript, is_dated
from everthread.stores.shared_rows import new_session_name
from everthread.types import Filter, Line, now

MAX_TRANSCRIPTS = 256  # sessions of one bank whose lines are held in memory
MAX_CANDIDATE_SESSIONS = 8  # the latest ones, of those that contain a reply of the history
ANCHORS = 4  # last replies of the history, by which a session is searched
REPEATED_OPENING_S = 600.0  # a first message that is sent again within this time gets another reply

Rating = tuple[float, ...]


class SessionFinder:
    """The sessions of one bank, the latest of which are held in memory. Not thread-safe."""

    def __init__(self, memory: Memory, replies: ReplyIndex) -> None:
        """Begin without a session.

        Args:
            memory: the bank.
            replies: finds replies by their ids.
        """
        self._memory, self._replies = memory, replies
        self._transcripts: OrderedDict[str, Transcript] = OrderedDict()

    def open(self, session: str) -> Transcript:
        """Return the transcript of a session, as it is now."""
        transcript = self._transcripts.setdefault(session, Transcript(session))
        self._transcripts.move_to_end(session)
        if len(self._transcripts) > MAX_TRANSCRIPTS:
            self._transcripts.popitem(last=False)
        transcript.refresh(self._memory)
        return transcript

    def recognise(self, history: Sequence[ChatMessage], newest: ChatMessage) -> Transcript:
        """Return the session that a history continues, or a new one."""
        replies = [message for message in reversed(history) if message.role == "assistant"][:ANCHORS]
        transcripts = [self.open(session) for session in self._find_sessions(replies)]
        if not transcripts:
            altered = self._find_altered(history, newest) if replies else None
            return altered or self._find_opening([*history, newest]) or self.create()
        if len(transcripts) == 1 and transcripts[0].has_reply(replies):
            return transcripts[0]
        rated: list[tuple[Rating, Transcript]] = []
        for transcript in transcripts:
            alignment = transcript.align(history, only_dated=True)
            if alignment is not None or transcript.find_branch(history) is not None:
                rated.append((transcript.rate(history, alignment) if alignment else (0,), transcript))
        return _find_best(rated) or self.create()

    def resolve(self, messages: Sequence[ChatMessage], session: str | None) -> tuple[list[ChatMessage], str | None]:
        """Return messages with the texts of the replies that are only named, as far as the session has them, and the
        session."""
        named = [message.message_id for message in messages if message.is_reference]
        session = session if session is not None else self._replies.find_session(named[: -ANCHORS - 1 : -1])
        known = {} if session is None else self.open(session).index_replies()
        resolved = []
        for message in messages:
            if not message.is_reference:
                resolved.append(message)
            elif (line := known.get(message.message_id)) is not None:
                resolved.append(message._replace(text=line.text))
        return resolved, session

    def _find_altered(self, history: Sequence[ChatMessage], newest: ChatMessage) -> Transcript | None:
        """Return the session of a history in which the client has changed all replies: some put names before them, or
        cut off an unfinished sentence. Such replies follow the same messages of the person.

        One changed reply, such as a greeting, may be of another conversation. It doesn't discard what follows it.
        """
        said = [message for message in reversed(history) if message.role == "user"][:ANCHORS]
        rated: list[tuple[Rating, Transcript]] = []
        unsure = set()
        for transcript in map(self.open, self._find_sessions(said)):
            alignment = transcript.align(history, "user")
            if alignment is not None and (likeness := transcript.measure_likeness(history, alignment.offset)):
                rated.append(((likeness,), transcript))
                if likeness < 1 and not transcript.is_continued(history, alignment.offset, newest):
                    unsure.add(transcript.session)
        best = _find_best(rated)
        return None if best is None or best.session in unsure else best

    def _find_sessions(self, messages: Sequence[ChatMessage]) -> list[str]:
        """Find the latest sessions in which one of these messages was said.

        Replies that were only resent, such as the greeting of a character and examples, are in many conversations.
        """
        found: dict[str, int] = {}
        for message in messages:
            for line in filter(is_dated, self._find_lines(message)):
                found[line.session] = max(found.get(line.session, 0), line.seq)
        return sorted(found, key=lambda session: -found[session])[:MAX_CANDIDATE_SESSIONS]

    def _find_lines(self, message: ChatMessage) -> Iterator[Line]:
        where = Filter(key_prefix=key_prefix(message.role, message.normalized))
        return self._memory.lines(where, include_retracted=True)

    def _find_opening(self, messages: Sequence[ChatMessage]) -> Transcript | None:
        """Return the session that began a moment ago with the same messages of the same speakers, and in which at most
        one reply was given.

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
            transcript = self.open(line.session)
            current = transcript.current
            replies = sum(line.role == "assistant" and is_dated(line) for line in current)
            begins = [(line.role, line.speaker, normalize(line.text)) for line in current[: len(shown)]]
            is_opening = begins == [(message.role, message.speaker, message.normalized) for message in shown]
            if replies <= 1 and is_opening and current[0].seq == line.seq:
                return transcript
        return None

    def create(self) -> Transcript:
        """Return a session without lines, under a new name."""
        names = {session.id for session in self._memory.sessions()}
        return self.open(new_session_name(to_micros(now()), lambda _: names | self._transcripts.keys()))


def _find_best(rated: Sequence[tuple[Rating, Transcript]]) -> Transcript | None:
    """Return the transcript with the highest rating, of several the latest; None without any."""

    def rate(each: tuple[Rating, Transcript]) -> tuple[Rating, int]:
        return each[0], max((line.seq for line in each[1].current), default=0)

    return max(rated, key=rate)[1] if rated else None
