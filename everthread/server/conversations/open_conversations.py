"""Opens and closes the conversations of this process, and determines the current session of each bank."""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from operator import itemgetter

from everthread.bank import validation
from everthread.chat.chat import Chat
from everthread.chat.conversation import current_session, find_resumable
from everthread.chat.reply import is_outdated
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.server.conversations.reply_stream import ReplyStream
from everthread.server.conversations.scribe_workers import ScribeWorkers
from everthread.server.services import Services
from everthread.server.workers.bank_leases import BankLeases
from everthread.types import Usage, now

MAX_OPEN = 1024  # a closed conversation is opened again in milliseconds
MAX_INCOGNITO = 1024  # incognito conversations, in addition; their lines exist nowhere else
CURRENT = "current"  # in place of a session's name: the bank's current session


class OpenConversation:
    """An open conversation with its latest reply."""

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

    def use_language(self, language: str | None) -> None:
        """Use a language for texts that no model writes; None: the same as before."""
        if language is not None:
            self.chat.responder.words = load_wording(language)

    def find_stream(self, key: str | None) -> ReplyStream | None:
        """Return the latest reply if it was started under this key; None if something was forgotten since it finished,
        by any process, because its events may repeat that."""
        stream = self.stream
        if stream is None or stream.key != key:
            return None
        if stream.is_finished and stream.reply is not None and is_outdated(self.chat.memory, stream.reply):
            self.forget_reply()
        return self.stream

    def forget_reply(self) -> None:
        """Drop the latest reply, because its events repeat lines of the bank."""
        self.stream = self.chat.responder.last_reply = None


class OpenConversations:
    """Opens conversations by bank and session, and closes the least recently used. Thread-safe.

    Incognito conversations are closed only when there are too many, because their lines exist nowhere else.
    """

    def __init__(self, services: Services, leases: BankLeases, workers: ScribeWorkers, lock: threading.Lock) -> None:
        self._services, self._leases, self._workers = services, leases, workers
        self._open: OrderedDict[tuple[str, str], OpenConversation] = OrderedDict()
        self._current: dict[str, str] = {}  # by bank: the current session, which may not have a line yet
        self._detached: list[OpenConversation] = []  # opened for a channel of messages, while they reply
        self._evicted = 0  # conversations since the last garbage collection
        self._lock = lock

    def open(self, memory: Memory, session: str) -> OpenConversation:
        """Return the conversation of a session, opened if necessary.

        Args:
            memory: the memory of the bank.
            session: a session's name, or CURRENT.

        Raises:
            BadInput: for an invalid name.
        """
        name = self._find_current(memory) if session == CURRENT else validation.check_filter_name(session, "session")
        with self._lock:
            existing = self._open.get((memory.bank, name)) if name else None
            if existing is not None:
                self._open.move_to_end((memory.bank, existing.chat.session))
                return existing
        chat = Chat(memory, None, self._services.llm, session=name, scribe_worker=self._workers.get(memory))
        with self._lock:
            if name is None:
                current = self._get_current(memory.bank)
                if current is not None and not current.chat.lines:  # begun by another request in the meantime
                    return current
                self._current[memory.bank] = chat.session
            conversation = self._open.setdefault((memory.bank, chat.session), OpenConversation(chat))
            self._evict()
        self._free_evicted()
        return conversation

    def _find_current(self, memory: Memory) -> str | None:
        """Return the name of the bank's current session, or None if a new one begins.

        It is the open incognito session, else the latest one if `Chat` would resume it, else an open one without lines.
        """
        current = self._get_current(memory.bank)
        if current is not None and current.chat.incognito:
            return current.chat.session
        time = now()
        last = current_session(memory, memory.sessions(), time)
        if (resumable := find_resumable(last, time)) is not None:
            return resumable
        return current.chat.session if current is not None and not current.chat.lines else None

    def _get_current(self, bank: str) -> OpenConversation | None:
        """Return the open conversation that was last made the current one of its bank, or None."""
        return self._open.get((bank, self._current.get(bank, "")))

    def set_current(self, bank: str, session: str) -> None:
        """Make a session the current one of its bank."""
        self._current[bank] = session

    def rekey(self, conversation: OpenConversation) -> None:
        """Move a conversation to its new session, if the old one has ended."""
        bank = conversation.chat.memory.bank
        with self._lock:
            old_key = next((key for key, candidate in self._open.items() if candidate is conversation), None)
            if old_key is not None and old_key[1] != conversation.chat.session:
                del self._open[old_key]
                self._open[bank, conversation.chat.session] = conversation
                current = self._get_current(bank)
                if current is None or not current.chat.incognito:  # otherwise its next line would be stored
                    self._current[bank] = conversation.chat.session
                conversation.stream, conversation.usage = None, Usage()

    def attach(self, conversation: OpenConversation) -> None:
        """Add a conversation that was not opened here. Called with the lock held."""
        self._detached.append(conversation)

    def detach(self, conversation: OpenConversation) -> None:
        """Remove a conversation that was not opened here. Called with the lock held."""
        self._detached.remove(conversation)

    def list_bank(self, bank: str) -> list[OpenConversation]:
        """List a bank's conversations, sorted by session so that callers that lock several of them can't deadlock."""
        with self._lock:
            by_session = [(key[1], conversation) for key, conversation in self._open.items() if key[0] == bank]
            detached = [conversation for conversation in self._detached if conversation.chat.memory.bank == bank]
            by_session += [(conversation.chat.session, conversation) for conversation in detached]
            return [conversation for _, conversation in sorted(by_session, key=itemgetter(0))]

    def list_all(self) -> list[OpenConversation]:
        """List the conversations that are open here. Called with the lock held."""
        return list(self._open.values())

    def close(self, conversation: OpenConversation) -> None:
        """Close a conversation of a bank that is being forgotten."""
        with self._lock:
            self._close((conversation.chat.memory.bank, conversation.chat.session), conversation)

    def evict(self) -> None:
        """Close the least recently used idle conversations beyond either limit."""
        with self._lock:
            self._evict()

    def _evict(self) -> None:
        """Do as `evict`, with the lock held."""
        incognito = [key for key, conversation in self._open.items() if conversation.chat.incognito]
        stored = [key for key, conversation in self._open.items() if not conversation.chat.incognito]
        excess = [*stored[: max(len(stored) - MAX_OPEN, 0)], *incognito[: max(len(incognito) - MAX_INCOGNITO, 0)]]
        for key in excess:
            conversation = self._open[key]
            if not conversation.is_replying and conversation.lock.acquire(blocking=False):
                self._close(key, conversation)
                conversation.lock.release()
                self._evicted += 1

    def _free_evicted(self) -> None:
        """Free the memory of closed conversations, whose objects refer to each other, once there are MAX_OPEN of them.

        Python would do it much later, because the server has it collect less often.
        """
        with self._lock:
            is_due = self._evicted >= MAX_OPEN
            self._evicted = 0 if is_due else self._evicted
        if is_due:
            gc.collect()

    def _close(self, key: tuple[str, str], conversation: OpenConversation) -> None:
        conversation.is_closed = True
        bank, session = key
        self._leases.release(bank, conversation)
        self._open.pop(key, None)
        if self._current.get(bank) == session:
            del self._current[bank]
