"""Conversations on a channel that shows a reply while it is written, and where people change what was said.

A message is stored when it arrives, and answered later, so that several messages in a row get one reply. Each line has
the key of its message; a message that is delivered again, or edited, is recognised by it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count

from everthread.bank.line_keys import find_by_key, key_history
from everthread.bank.line_versions import find_versions, get_recorded, read_recorded
from everthread.chat import character_library
from everthread.chat.character import DEFAULT_CHARACTER, is_same_name
from everthread.chat.chat import Chat
from everthread.chat.conversation import current_session
from everthread.chat.line_copies import list_copies, list_listeners
from everthread.common.keys import META_GREETING
from everthread.errors import BadInput, EverthreadError, NotFound
from everthread.memory import Memory
from everthread.server.conversations.registry import MESSAGE_LEASE_TIMEOUT_S
from everthread.server.messaging.conversation import MessageConversation
from everthread.server.messaging.group import list_characters
from everthread.server.messaging.message import SENDER_ID, AnswerPart, AnswerParts, Message
from everthread.server.messaging.pending_question import PendingQuestion
from everthread.server.problems import Problem
from everthread.stores.shared_rows import SESSION_GAP
from everthread.types import Filter, Line

log = logging.getLogger("everthread.server")

OnPiece = Callable[[str], object]  # called with each piece of a reply


@dataclass(frozen=True, slots=True)
class Received:
    """The outcome of a message.

    Attributes:
        parts: the bot's answer, or the greeting before the reply.
        needs_reply: the message is stored, and `LiveConversation.reply` answers it.
        discarded: the numbers of replies that were discarded, because the message was edited.
    """

    parts: AnswerParts = ()
    needs_reply: bool = False
    discarded: tuple[int, ...] = ()


class LiveConversation(MessageConversation):
    """Runs the conversations of such a channel. The caller handles one message of a person at a time."""

    # -------------------------------------------------------------- what people say

    def receive(self, message: Message) -> Received:
        """Answer a request, or store a message for `reply`; an invalid message gets an answer that says so.

        Raises:
            StoreError: if the message can't be stored.
        """
        parts = self._answer_request(message, self.channel.find_command(message.text))
        if parts is not None:
            return Received(parts)
        memory = self._create_memory(message.person)
        message = replace(message, speaker=self._name_speaker(memory, message))
        if self._load_group(memory) is not None:
            return Received(self._converse(message))
        pictures: AnswerParts = (("pictures", 0),) if message.has_pictures else ()
        try:
            return Received((*self._hear(memory, message), *pictures), needs_reply=True)
        except BadInput as error:
            log.warning("a message could not be stored: %s", type(error).__name__)
            return Received((("unkept", 0),))

    def _name_speaker(self, memory: Memory, message: Message) -> str:
        """Return the name of a message's speaker, with a number if another person of the chat has spoken under it."""
        if not message.sender_id:
            return message.speaker
        banks = [self.services.get_memory(bank) for bank in self._list_banks(memory)]
        names = chain([message.speaker], (f"{message.speaker} ({number})" for number in count(2)))
        return next(name for name in names if _may_be_name(banks, name, message.sender_id))

    def _hear(self, memory: Memory, message: Message) -> AnswerParts:
        """Store a message, unless it is stored already; return the greeting if it was stored with it."""
        at = message.sent_at or self._now()
        state, last = self._load_state(memory), current_session(memory, memory.sessions(), at)
        chat, key = self._open_chat(memory, at=message.sent_at), self.channel.make_key(message.id)
        if self._find_user_line(chat, key) is not None:
            return ()
        continues_turn, has_greeting = chat.is_unanswered, bool(chat.greeting)
        chat.hear(message.text, key, speaker=message.speaker or None, metadata=message.metadata)
        if not continues_turn:
            self._save_state(memory, state.with_due_question(memory, last, at))
        return (self._make_part(memory, chat.lines[0]),) if has_greeting else ()

    def reply(self, message: Message, on_piece: OnPiece) -> AnswerParts:
        """Answer a stored message, with those before it that have no answer yet.

        Args:
            message: the last one of them.
            on_piece: called with each piece of the reply as it arrives. It must return quickly.

        Returns:
            The reply, and perhaps the question whether to remember the previous conversation; nothing if everything was
            forgotten in the meantime.
        """
        if (memory := self._get_memory(message.person)) is None:
            return ()
        key = self.channel.make_key(message.id)
        # A session that is opened for an old message isn't ended before the reply.
        stored = find_by_key(memory.store, memory.bank, key)
        is_old = stored is not None and self._now() - stored.said_at > SESSION_GAP
        chat = self._open_chat(memory, stored.session if stored and is_old else None)
        line = self._find_user_line(chat, key)
        if line is None or line.retracted_at is not None:
            return ()
        if line.seq > 0 and line.session != chat.session:  # an hour has passed since
            chat = self._open_chat(memory, line.session)
        parts = self._reply(chat, message, on_piece)
        if self._get_memory(message.person) is None:
            return ()
        question: AnswerParts = (("remember?", 0),) if self._load_state(memory).question.kind == "remember" else ()
        return (*parts, *question)

    def stop_replies(self, person: str) -> None:
        """Stop the replies in progress; what has arrived of them is saved. Raises StoreError."""
        if (memory := self._get_memory(person)) is not None:
            for bank in self._list_banks(memory):
                self.conversations.drop_events(bank)

    def end(self, person: str) -> AnswerParts:
        """End the conversation, or the one with several characters; ask for consent to remember it if it is due.

        If it has ended already, a question that waits for an answer is repeated.
        """
        memory = self._get_memory(person)
        if memory is not None and self._load_group(memory) is not None:
            return self._end_group(memory)
        chat = self._open_chat(memory) if memory is not None else None
        if chat is None or not any(line.role == "user" for line in chat.lines):
            return (("remember?" if self.get_question(person).kind == "remember" else "no-conversation", 0),)
        return self._part(chat)

    def ask_to_forget(self, person: str) -> AnswerParts:
        """Ask whether to forget everything."""
        return self._ask_to_forget(self._get_memory(person))

    def set_language(self, person: str, language: str) -> None:
        """Set the language of the bot's own texts."""
        self._set_language(person, language)

    def switch_incognito(self, person: str) -> AnswerParts:
        """Begin or end incognito, in which nothing is written. At its end, the lines said in it are dropped."""
        memory = self._create_memory(person)
        state = replace(self._load_state(memory), incognito=not self._load_state(memory).incognito)
        self._private.drop(memory.bank)
        self._unwritten.drop_bank(memory.bank)
        self._save_state(memory, state)
        return (("incognito-on" if state.incognito else "incognito-off", 0),)

    # ------------------------------------------------------------ changing the lines

    def edit(self, message: Message) -> Received:
        """Change the line of a message that its sender has edited. An unknown or forgotten one changes nothing.

        If nothing was said after it, its reply is discarded, and the message needs another one. In a conversation with
        several characters, its replies stay.

        Raises:
            EverthreadError: if the change can't be stored.
        """
        if (memory := self._get_memory(message.person)) is None:
            return Received()
        if self._edit_in_group(memory, message):
            return Received()
        chat = self._open_chat(memory, at=message.sent_at)
        line = self._find_user_line(chat, self.channel.make_key(message.id))
        if line is None or line.retracted_at is not None:
            return Received()
        if line.text == message.text:  # delivered again, perhaps before it was answered
            needs_reply = chat.is_unanswered and chat.lines[-1].seq == line.seq
            versions = _find_versions(memory, line) if needs_reply else set()
            return Received(needs_reply=needs_reply, discarded=tuple(_find_discarded(memory, line.session, versions)))
        following = [later for later in chat.lines if later.position > line.position and later.seq != line.seq]
        if line.seq < 0:
            following = chat.lines[chat.lines.index(line) + 1 :]
        if not message.text.strip():  # the caption of a picture was removed
            if line.seq > 0:
                memory.retract(line.seq)
            return Received()
        is_current = any(line.seq == current.seq for current in chat.lines)
        if not is_current or any(later.role == "user" for later in following):
            if line.seq > 0:
                memory.correct(line.seq, message.text)
            return Received()
        with self.conversations.leases.hold(memory.bank, MESSAGE_LEASE_TIMEOUT_S):
            # A reply that was still being written when the message was sent precedes it nevertheless.
            previous = [earlier.said_at for earlier in chat.lines if earlier.position < line.position][-1:]
            said_at = max([line.said_at, *previous])
            chat.edit(line.seq, message.text, answer=False, said_at=said_at, metadata=message.metadata)
        return Received(needs_reply=True, discarded=tuple(reply.seq for reply in following))

    def _edit_in_group(self, home: Memory, message: Message) -> bool:
        """Change the line of a message to several characters in all of their banks. Return whether it is one."""
        store, key = home.store, self.channel.make_key(message.id)
        lines = [(bank, find_by_key(store, bank, key)) for bank in self._list_banks(home)]
        bank, line = next(((bank, line) for bank, line in lines if line is not None), (home.bank, None))
        if line is None or line.retracted_at is not None or not list_listeners(store, bank, line.session):
            return False
        for copy in list_copies(store, bank, line):
            memory = self.services.get_memory(copy.bank)
            if not message.text.strip():  # the caption of a picture was removed
                memory.retract(copy.line.seq)
            elif copy.line.text != message.text:
                memory.correct(copy.line.seq, message.text)
        return True

    def can_regenerate(self, person: str, seq: int) -> bool:
        """Return whether a line is the last reply of the current conversation, or was replaced by it."""
        memory, lines = self.read(person)
        last = lines[-1] if lines else None
        if memory is None or last is None or last.role != "assistant" or last.metadata.get(META_GREETING):
            return False
        return last.seq == seq or _has_replaced(memory, last, seq)

    def regenerate(self, person: str, seq: int, on_piece: OnPiece) -> AnswerPart | None:
        """Give the last reply again.

        Args:
            person: the person.
            seq: the number of the reply.
            on_piece: as for `reply`.

        Returns:
            The new reply, which may have been given already; "failed" if there is no other one, or it can't be stored;
            None if `can_regenerate` returns False.
        """
        memory = self._get_memory(person)
        if memory is None or not self.can_regenerate(person, seq):
            return None
        chat = self._open_chat(memory)
        if chat.lines[-1].seq != seq:
            return self._make_part(memory, chat.lines[-1])
        try:
            reply = self.conversations.reply_detached(chat, Chat.regenerate, on_piece)
        except (EverthreadError, Problem) as error:
            log.warning("a reply could not be given again: %s", type(error).__name__)
            return "failed", 0
        return self._make_part(memory, reply.line) if reply.line else ("failed", 0)

    def correct_reply(self, person: str, seq: int, text: str) -> AnswerPart | None:
        """Replace the text of a reply. Returns the new line; None if there is no such reply or the text is blank."""
        if (memory := self._get_memory(person)) is None or not text.strip():
            return None
        try:
            return self._make_part(memory, memory.correct(seq, text))
        except NotFound:
            return None

    def forget_turn(self, person: str, seq: int) -> list[Line]:
        """Forget a reply and the messages that it answers, for good. Returns the forgotten lines.

        Their earlier versions, which the chat doesn't show any more, are forgotten, too.
        """
        memory = self._get_memory(person)
        line = get_recorded(memory.store, memory.bank, seq) if memory is not None else None
        if memory is None or line is None:
            return []
        turn = _find_turn(memory, line)
        with self.conversations.pause_bank(memory.bank, timeout_s=MESSAGE_LEASE_TIMEOUT_S):
            memory.forget(seq=[said.seq for said in turn])
        return turn

    def read(self, person: str) -> tuple[Memory | None, list[Line]]:
        """Return the memory of the person's bank, if there is one, and the lines of the current conversation."""
        memory = self._get_memory(person)
        return memory, self._open_chat(memory).lines if memory else []

    # ---------------------------------------------------------------- the character

    def list_characters(self, person: str) -> list[str]:
        """List the names of the characters that a person can talk with, the present one first."""
        return list_characters(self._create_memory(person))

    def choose_character(self, person: str, name: str) -> bool:
        """Make another character of the gallery that of the person's bank. Returns False if it is unknown."""
        memory = self._create_memory(person)
        found = next((known for known in list_characters(memory) if is_same_name(known, name)), None)
        if found is None:
            return False
        if not is_same_name(found, list_characters(memory)[0]):
            is_default = found == DEFAULT_CHARACTER.name and found not in character_library.list_names()
            self._open_chat(memory).character = DEFAULT_CHARACTER if is_default else character_library.load(found)
        return True

    def get_language(self, person: str) -> str:
        """Return the language of the bot's own texts for a person."""
        return self._get_language(self._get_memory(person))

    def find_forgotten_at(self, person: str) -> datetime | None:
        """Return when a person's bank was last forgotten, by any process; None if it never was."""
        receipts = self.services.store.receipts(self.get_bank(person))
        return max((receipt.forgotten_at for receipt in receipts if receipt.scope == "bank"), default=None)

    def get_question(self, person: str) -> PendingQuestion:
        """Return the question that waits for a yes or a no."""
        memory = self._get_memory(person)
        return PendingQuestion() if memory is None else self._load_state(memory).question


def _may_be_name(banks: Iterable[Memory], name: str, sender_id: str) -> bool:
    """Return whether a person has spoken under a name, or no other person has."""
    said = Filter(speaker=name, role="user")
    own = replace(said, metadata={SENDER_ID: sender_id})
    if any(next(memory.lines(own), None) for memory in banks):
        return True
    return not any(SENDER_ID in line.metadata for memory in banks for line in memory.lines(said))


def _find_turn(memory: Memory, reply: Line) -> list[Line]:
    """Return a reply, the messages that it answers, and the earlier versions of both."""
    store, bank = memory.store, memory.bank
    answered: set[int] = set()
    for earlier in reversed(list(memory.lines(Filter(session=reply.session)))):
        if earlier.position >= reply.position:
            continue
        if earlier.role != "user":
            break
        answered |= _find_versions(memory, earlier)
    seqs = {*find_versions(store, bank, [reply.seq]), *answered, *_find_discarded(memory, reply.session, answered)}
    return read_recorded(store, bank, seqs)


def _find_versions(memory: Memory, said: Line) -> set[int]:
    """Return the numbers of a person's line and of its earlier versions."""
    history = key_history(memory.store, memory.bank, said)
    # An import may have linked any line.
    own = [old.seq for old in history if (old.session, old.role) == (said.session, said.role)]
    return set(find_versions(memory.store, memory.bank, own))


def _find_discarded(memory: Memory, session: str, answered: Collection[int]) -> list[int]:
    """Return the numbers of the discarded replies to lines."""
    replies = memory.lines(Filter(session=session, role="assistant"), include_retracted=True)
    return [reply.seq for reply in replies if reply.retracted_at is not None and reply.parent in answered]


def _has_replaced(memory: Memory, reply: Line, seq: int) -> bool:
    """Return whether a reply was given again in place of another line."""
    old = get_recorded(memory.store, memory.bank, seq)
    return old is not None and old.retracted_at is not None and (old.role, old.parent) == (reply.role, reply.parent)
