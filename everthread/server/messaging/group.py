"""Conversations by message with several characters. Each has a bank of its own below the person's: sms/0a1b/mia."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from everthread.bank.settings import remember_policy
from everthread.chat import character_banks, character_library
from everthread.chat.addressee import find_addressee
from everthread.chat.character import DEFAULT_CHARACTER, is_same_name
from everthread.chat.character_banks import character_name
from everthread.chat.chat import Chat
from everthread.chat.conversation import find_session
from everthread.chat.line_copies import MICROSECOND
from everthread.chat.listeners import Listeners
from everthread.chat.reply import Reply
from everthread.common.keys import SETTING_REMEMBER
from everthread.common.timestamps import to_micros
from everthread.memory import Memory
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.messaging.message import Message
from everthread.stores.shared_rows import SESSION_GAP, new_session_name
from everthread.types import Filter, Line, Session

MIN_MEMBERS = 2


class MessageGroup:
    """The characters of one conversation with a person, and their session."""

    def __init__(self, memories: Sequence[Memory], session: str) -> None:
        """Continue a group.

        Args:
            memories: the banks of the characters; the first one's session counts.
            session: the name of the session, or "" for a new one.
        """
        self.memories, self.session = list(memories), session

    @property
    def names(self) -> list[str]:
        """The names of the characters."""
        return [character_name(memory.settings()) for memory in self.memories]

    def find_session(self) -> Session | None:
        """Return the session, or None if nothing was said in it."""
        return find_session(self.memories[0], self.session)

    def begin_session_if_due(self, at: datetime) -> Session | None:
        """Begin a session after an hour of silence; return the one that this ends."""
        last = self.find_session()
        if last is not None and at - last.last_at <= SESSION_GAP:
            return None
        if last is not None or not self.session:
            taken = {stored.id for memory in self.memories for stored in memory.sessions()}
            self.session = new_session_name(to_micros(at), lambda _: taken)
        return last

    def reply(
        self,
        conversations: ConversationRegistry,
        message: Message,
        key: str,
        clock: Callable[[], datetime],
        language: str,
    ) -> tuple[Memory, Reply | Line]:
        """Store a message in each bank, and have one character answer it.

        Args:
            conversations: the conversations of the server.
            message: the message.
            key: the key of its line. If a bank has that already, its answer is returned, or given now.
            clock: returns the time.
            language: the language of texts that no model writes.

        Returns:
            The bank of the character that answers; and its reply, or the line of the one that it has given.

        Raises:
            EverthreadError: the same errors as `Listeners.say`.
            Problem: another worker holds the bank.
        """
        stored = next(filter(None, (_get_by_key(memory, key) for memory in self.memories)), None)
        memory, line = stored or (self._find_answerer(message.text), None)
        said_at = message.sent_at and self._find_free_time(message.sent_at)
        if line is not None and (answer := find_answer(memory, line)) is not None:
            return memory, answer
        chat = Chat(
            memory,
            llm=conversations.services.llm,
            session=self.session,
            clock=clock,
            scribe_worker=conversations.get_scribe_worker(memory),
            language=language,
        )

        def act(chat: Chat) -> Reply:
            listeners = Listeners(chat, self.memories)
            chat.responder.participants = listeners.names
            if line is not None:
                return listeners.answer(chat)
            speaker, metadata = message.speaker or None, message.metadata
            return listeners.say(chat, message.text, key, speaker=speaker, said_at=said_at, metadata=metadata)

        return memory, conversations.reply_detached(chat, act)

    def _find_free_time(self, at: datetime) -> datetime:
        """Return a time, or the next one that no line has: the copies of a line are found by its time."""
        lines = self.memories[0].lines(Filter(session=self.session, since=at), include_retracted=True)
        taken = {line.said_at for line in lines}
        while at in taken:
            at += MICROSECOND
        return at

    def _find_answerer(self, text: str) -> Memory:
        lines = list(self.memories[0].lines(Filter(session=self.session)))
        names = self.names
        return self.memories[names.index(find_addressee(text, names, lines))]

    def end(
        self, conversations: ConversationRegistry, at: datetime, clock: Callable[[], datetime], language: str
    ) -> bool:
        """End the session in each bank, and summarise it where conversations are always remembered.

        Returns:
            True if the person must be asked for consent to remember it.
        """
        if self.find_session() is None:
            return False
        policies = [remember_policy(memory.settings()) for memory in self.memories]
        for memory, policy in zip(self.memories, policies, strict=True):
            if policy:
                worker = conversations.get_scribe_worker(memory)
                Chat(memory, session=self.session, clock=clock, scribe_worker=worker, language=language).end(True)
            elif find_session(memory, self.session) is not None:
                memory.end(self.session, at)
        return None in policies


def list_characters(home: Memory) -> list[str]:
    """List the names of the characters that a person can talk with, that of their own bank first."""
    own = character_name(home.settings())
    others = {DEFAULT_CHARACTER.name, *character_library.list_names()}
    return [own, *sorted(name for name in others if not is_same_name(name, own))]


def find_members(home: Memory, asked: Sequence[str]) -> list[str]:
    """Return the names of the characters that a person asks for; without at least two, or with an unknown one, none.

    If only one is named, that of the person's own bank takes part as well.
    """
    known = list_characters(home)
    found = [next((name for name in known if is_same_name(name, wanted)), None) for wanted in asked]
    names = [name for name in dict.fromkeys([*found, *(known[:1] if len(found) == 1 else [])]) if name is not None]
    return names if None not in found and len(names) >= MIN_MEMBERS else []


def open_member(home: Memory, name: str, ids: Sequence[str], get_memory: Callable[[str], Memory]) -> Memory:
    """Return the bank in which a person talks with a character, which is created if it doesn't exist.

    Args:
        home: the person's own bank.
        name: the name of the character.
        ids: the banks of the person.
        get_memory: returns the memory of a bank, and creates it.
    """
    bank = character_banks.find_bank(home.store, home.bank, name, ids)
    if bank == home.bank:
        return home
    is_new, memory = not home.store.exists(bank), get_memory(bank)
    if is_new:
        is_default = name == DEFAULT_CHARACTER.name and name not in character_library.list_names()
        character = DEFAULT_CHARACTER if is_default else character_library.load(name)
        character_banks.give_character(memory, character, home.bank)
        if (policy := home.settings().get(SETTING_REMEMBER)) is not None:
            memory.set_setting(SETTING_REMEMBER, policy)
    return memory


def _get_by_key(memory: Memory, key: str) -> tuple[Memory, Line] | None:
    line = memory.store.get_by_key(memory.bank, [key]).get(key)
    return None if line is None else (memory, line)


def find_answer(memory: Memory, line: Line) -> Line | None:
    """Return the reply to a line, or None."""
    following = memory.lines(Filter(session=line.session), after=line.seq, include_retracted=True)
    return next((reply for reply in following if reply.parent == line.seq and reply.role == "assistant"), None)
