"""The conversations that are open in this process, and which of a bank's sessions is the current one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from operator import itemgetter

from everthread.bank import validation
from everthread.chat.chat import Chat
from everthread.chat.conversation import current_session, find_resumable
from everthread.memory import Memory
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.conversations.scribe_workers import ScribeWorkers
from everthread.server.services import Services
from everthread.server.workers.bank_leases import BankLeases
from everthread.types import Usage, now

MAX_OPEN = 1024  # a conversation that was closed is opened again in milliseconds
MAX_PRIVATE = 1024  # incognito conversations, in addition; their lines exist nowhere else
CURRENT = "current"  # in place of a session's name: the session that goes on


class OpenConversation:
    """One open conversation, and its latest reply."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.lock = threading.Lock()  # held by the request that uses the conversation
        self.stream: ReplyStream | None = None  # the latest reply, also after it has finished
        self.usage = Usage()
        self.is_closed = False

    @property
    def is_replying(self) -> bool:
        """True while a reply is in progress."""
        return (stream := self.stream) is not None and not stream.is_finished

    def forget_reply(self) -> None:
        """Drop the latest reply, whose events repeat what was said and recalled."""
        self.stream = self.chat.responder.last_reply = None


class OpenConversations:
    """Opens conversations by bank and session, and closes the least recently used. Thread-safe.

    A conversation in incognito is closed only when there are too many of those, for its lines exist nowhere else.
    """

    def __init__(self, services: Services, leases: BankLeases, workers: ScribeWorkers, lock: threading.Lock) -> None:
        self._services, self._leases, self._workers = services, leases, workers
        self._open: OrderedDict[tuple[str, str], OpenConversation] = OrderedDict()
        self._current: dict[str, str] = {}  # by bank: the session, which may not have a line yet
        self._detached: list[OpenConversation] = []  # those that SMS has open, while they reply
        self._lock = lock

    def open(self, memory: Memory, session: str) -> OpenConversation:
        """Return the conversation of a session, opened if necessary.

        Args:
            memory: of the bank.
            session: its name, or CURRENT.

        Raises:
            BadInput: for an invalid name.
        """
        name = self._find_current(memory) if session == CURRENT else validation.check_filter_name(session, "session")
        with self._lock:
            held = self._open.get((memory.bank, name)) if name else None
            if held is not None:
                self._open.move_to_end((memory.bank, held.chat.session))
                return held
        chat = Chat(memory, None, self._services.llm, session=name, scribe_worker=self._workers.get(memory))
        fresh = OpenConversation(chat)
        at = memory.bank, fresh.chat.session
        with self._lock:
            begun = self._open.get((memory.bank, self._current.get(memory.bank, "")))
            if name is None and begun is not None and not begun.chat.lines:  # by another request in the meantime
                return begun
            held = self._open.setdefault(at, fresh)
            if name is None:
                self._current[memory.bank] = fresh.chat.session
            self._evict()
        return held

    def _find_current(self, memory: Memory) -> str | None:
        """Return the session that goes on: an incognito one, or the latest one as `Chat` resumes it, or one that was
        opened here and has no line yet. None if a new one begins."""
        held = self._open.get((memory.bank, self._current.get(memory.bank, "")))
        if held is not None and held.chat.incognito:
            return held.chat.session
        at = now()
        if (last := find_resumable(current_session(memory.sessions(), at), at)) is not None:
            return last
        return held.chat.session if held is not None and not held.chat.lines else None

    def set_current(self, bank: str, session: str) -> None:
        """Make a session the current one of its bank."""
        self._current[bank] = session

    def rekey(self, conversation: OpenConversation) -> None:
        """File a conversation under its new session, after the old one was ended."""
        bank = conversation.chat.memory.bank
        with self._lock:
            old = next((at for at, each in self._open.items() if each is conversation), None)
            if old is not None and old[1] != conversation.chat.session:
                del self._open[old]
                self._open[bank, conversation.chat.session] = conversation
                current = self._open.get((bank, self._current.get(bank, "")))
                if current is None or not current.chat.incognito:  # otherwise its next line would be written
                    self._current[bank] = conversation.chat.session
                conversation.stream, conversation.usage = None, Usage()

    def attach(self, conversation: OpenConversation) -> None:
        """Add a conversation that is open elsewhere. Called with the lock held."""
        self._detached.append(conversation)

    def detach(self, conversation: OpenConversation) -> None:
        """Remove a conversation that is open elsewhere. Called with the lock held."""
        self._detached.remove(conversation)

    def list_bank(self, bank: str) -> list[OpenConversation]:
        """List a bank's conversations by session, so that callers that lock several of them can't deadlock."""
        with self._lock:
            found = [(at[1], each) for at, each in self._open.items() if at[0] == bank]
            found += [(each.chat.session, each) for each in self._detached if each.chat.memory.bank == bank]
            return [each for _, each in sorted(found, key=itemgetter(0))]

    def list_all(self) -> list[OpenConversation]:
        """List the conversations that are open here. Called with the lock held."""
        return list(self._open.values())

    def close(self, conversation: OpenConversation) -> None:
        """Close a conversation of a bank that is being forgotten."""
        with self._lock:
            self._close((conversation.chat.memory.bank, conversation.chat.session), conversation)

    def evict(self) -> None:
        """Close what exceeds the limits."""
        with self._lock:
            self._evict()

    def _evict(self) -> None:
        """Close the least recently used idle conversations beyond either limit. Called with the lock held."""
        private = [at for at, each in self._open.items() if each.chat.incognito]
        public = [at for at, each in self._open.items() if not each.chat.incognito]
        over = [*public[: max(len(public) - MAX_OPEN, 0)], *private[: max(len(private) - MAX_PRIVATE, 0)]]
        for at in over:
            conversation = self._open[at]
            if not conversation.is_replying and conversation.lock.acquire(blocking=False):
                self._close(at, conversation)
                conversation.lock.release()

    def _close(self, at: tuple[str, str], conversation: OpenConversation) -> None:
        conversation.is_closed = True
        self._leases.release(at[0], conversation)
        self._open.pop(at, None)
        if self._current.get(at[0]) == at[1]:
            del self._current[at[0]]
