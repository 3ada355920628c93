"""Answers the messages of a channel. It knows nothing of how they are delivered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial

from everthread.bank.line_keys import find_by_key
from everthread.bank.line_versions import get_recorded
from everthread.bank.settings import remember_policy
from everthread.chat.character_banks import character_name
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_yes_no
from everthread.chat.conversation import current_session, find_session, find_session_at
from everthread.chat.goodbye import Step, next_step
from everthread.chat.line_copies import read_listeners
from everthread.chat.reply import Reply
from everthread.errors import EverthreadError
from everthread.languages.wording import DEFAULT_LANGUAGE, load_wording
from everthread.memory import Memory
from everthread.server.conversations.registry import MESSAGE_LEASE_TIMEOUT_S, ConversationRegistry
from everthread.server.messaging.channel import Channel
from everthread.server.messaging.commands import Command, find_group_request, find_language_request
from everthread.server.messaging.group import MessageGroup, find_answer, find_members, list_characters, open_member
from everthread.server.messaging.message import GROUP_LINE_PART, HELD_PART, LINE_PART, AnswerPart, AnswerParts, Message
from everthread.server.messaging.message_store import MessageStore
from everthread.server.messaging.person_state import PersonState
from everthread.server.messaging.private_chats import PrivateChats
from everthread.server.messaging.unwritten_texts import UnwrittenTexts
from everthread.server.problems import Problem
from everthread.types import Line, now

log = logging.getLogger("everthread.server")


class MessageConversation:
    """Runs the conversations of a channel. The caller answers one message of a person at a time."""

    def __init__(
        self,
        channel: Channel,
        conversations: ConversationRegistry,
        store: MessageStore,
        clock: Callable[[], datetime] | None = None,
        language: str = DEFAULT_LANGUAGE,
        find_home: Callable[[str], str] = str,
    ) -> None:
        """Create the conversations of a channel.

        Args:
            channel: the channel.
            conversations: the conversations of the server.
            store: the opt-outs of the channel.
            clock: returns the current time.
            language: of the bot's own texts, for people who have not chosen one.
            find_home: returns the person whose bank another one shares; default: each has their own.
        """
        self._find_home = find_home
        self.channel, self.store, self.language = channel, store, language
        self.services, self.conversations = conversations.services, conversations
        self._clock = clock
        self._private = PrivateChats()
        self._unwritten = UnwrittenTexts()

    # ----------------------------------------------------------------- answering

    def is_urgent(self, message: Message) -> bool:
        """Return whether a message needn't wait for the answers to the person's earlier messages."""
        return self.channel.find_command(message.text) in ("stop", "start", "help")

    def answer(self, message: Message) -> AnswerParts:
        """Answer a message, and store it unless it is a command.

        Returns:
            The parts of the answer.

        Raises:
            StoreError: if the store fails.
        """
        command = self.channel.find_command(message.text)
        if command == "stop":
            return self._stop(message)
        if self.store.has_opted_out(message.person):
            if command not in ("start", "yes"):
                return ()
            self.store.opt_in(message.person)
            command = "start"
        if command in ("start", "help"):
            return () if message.is_answered else (("started" if command == "start" else "help", 0),)
        if (parts := self._answer_request(message, command)) is None:
            parts = self._converse(message)
        return () if self.store.has_opted_out(message.person) else parts  # in the meantime

    def _answer_request(self, message: Message, command: Command | None) -> AnswerParts | None:
        """Answer a request, a goodbye, or the answer to a question; return None for any other message."""
        if message.is_forwarded and message.text.strip():
            return None
        memory = self._get_memory(message.person)
        if command == "forget me":
            return self._ask_to_forget(memory)
        if (language := find_language_request(message.text)) is not None:
            return self._set_language(message.person, language)
        if (request := find_group_request(message.text)) is not None:
            return self._end_group(memory) if request.is_end else self._begin_group(message.person, request.names)
        group = self._load_group(memory)
        answer = self._answer_question if group else self._answer_goodbye
        if memory is not None and (parts := self._answer_forget(memory, message.text) or answer(memory, message)):
            return parts
        if command == "forget everything":
            return self._ask_to_forget(memory)
        if not message.text.strip():
            return (("pictures" if message.has_pictures else "nothing", 0),)
        return None

    def _converse(self, message: Message) -> AnswerParts:
        """Answer a message that is conversation."""
        memory = self._create_memory(message.person)
        group = self._load_group(memory)
        parts = self._talk_in_group(memory, group, message) if group else self._talk(memory, message)
        return (*parts, ("pictures", 0)) if message.has_pictures else parts

    def _stop(self, message: Message) -> AnswerParts:
        was_opted_out = self.store.has_opted_out(message.person)
        self.store.opt_out(message.person)
        if (memory := self._get_memory(message.person)) is not None:
            self._save_state(memory, self._load_state(memory).without_question())
        return () if was_opted_out or message.is_answered else (("stopped", 0),)

    def _get_memory(self, person: str) -> Memory | None:
        """Return the memory of the person's bank, or None if it does not exist."""
        bank = self.get_bank(person)
        return self.services.get_memory(bank) if self.services.store.exists(bank) else None

    def _create_memory(self, person: str) -> Memory:
        """Return the memory of the person's bank, which is created if it does not exist."""
        return self.services.get_memory(self.get_bank(person), create=True)

    def get_bank(self, person: str) -> str:
        """Return the id of the bank in which a person is remembered."""
        return self.channel.get_bank(self._find_home(person))

    # -------------------------------------------------------------------- language

    def _set_language(self, person: str, language: str) -> AnswerParts:
        memory = self._create_memory(person)
        self._save_state(memory, replace(self._load_state(memory), language=language))
        return (("language", 0),)

    def _get_language(self, memory: Memory | None) -> str:
        """Return the language that a person has chosen, else the channel's."""
        return (self._load_state(memory).language if memory else "") or self.language

    # ------------------------------------------------------------------ forgetting

    def _ask_to_forget(self, memory: Memory | None) -> AnswerParts:
        if memory is None:
            return (("stranger", 0),)
        self._save_state(memory, self._load_state(memory).with_question("forget"))
        return (("forget?", 0),)

    def _answer_forget(self, memory: Memory, answer: str) -> AnswerParts:
        """Answer a yes or no to the question whether to forget everything; () for any other text."""
        state = self._load_state(memory)
        if state.question.kind != "forget":
            return ()
        is_confirmed = parse_yes_no(answer)
        if is_confirmed:  # if forgetting fails, another yes can confirm it
            language = self._get_language(memory)  # before the choice is forgotten, too
            return ((f"forgotten/{language}", self._forget_person(memory)),)
        self._save_state(memory, state.without_question())  # it is asked once
        return () if is_confirmed is None else (("spared", 0),)

    def _answer_step(self, memory: Memory, step: Step) -> AnswerParts:
        """Answer a yes or no to a question about a conversation; () if the step is another one."""
        state = self._load_state(memory)
        if step == "confirm":
            self._save_state(memory, state.with_question("drop", state.question.session))
            return (("drop?", 0),)
        if step == "keep":
            self._save_state(memory, state.with_question("remember", state.question.session))
            return ("spared", 0), ("remember?", 0)
        return self._settle(memory, step == "remember") if step in ("remember", "forget") else ()

    def _settle(self, memory: Memory, remember: bool) -> AnswerParts:
        """Remember the conversation that a question is about, or forget it."""
        state = self._load_state(memory)
        asked = state.question.session
        own = find_session(memory, asked)
        self._save_state(memory, state.without_question(own.last_seq if own else 0))
        lines, is_remembered = 0, False
        for bank in self._list_banks(memory):  # several heard a group
            member = self.services.get_memory(bank)
            session = find_session(member, asked)
            if session is None or not (bank == memory.bank or read_listeners(session.metadata)):
                continue
            with nullcontext() if remember else self.conversations.pause_bank(bank, timeout_s=MESSAGE_LEASE_TIMEOUT_S):
                ending = self._open_chat(member, session.id).end(remember)
            lines = max(lines, ending.receipt.lines if ending.receipt else 0)
            is_remembered = ending.receipt is None
        return (("remembered", 0),) if is_remembered else (("dropped", lines),)

    def _forget_person(self, memory: Memory) -> int:
        """Forget a person, with the banks of all their characters. Return the number of forgotten lines."""
        lines = 0
        for bank in reversed(self._list_banks(memory)):  # their own one last
            self._private.drop(bank)
            self._unwritten.drop_bank(bank)
            with self.conversations.pause_bank(bank, close=True, timeout_s=MESSAGE_LEASE_TIMEOUT_S):
                lines += self.services.get_memory(bank).forget(everything=True).lines
        return lines

    def _list_banks(self, memory: Memory) -> list[str]:
        """List the banks of a person, their own one first."""
        below = f"{memory.bank}/"
        return [memory.bank, *(bank for bank in self.services.store.banks() if bank.startswith(below))]

    # ---------------------------------------------------------------------- groups

    def _begin_group(self, person: str, asked: Sequence[str]) -> AnswerParts:
        """Begin a conversation with several characters, or list those that there are."""
        home = self._create_memory(person)
        if remember_policy(home.settings()) is False:
            return (("private-group", 0),)
        if not (names := find_members(home, asked)):
            return (("characters", 0),)
        self._end_group(home)
        get_memory, ids = partial(self.services.get_memory, create=True), self._list_banks(home)
        members = tuple(open_member(home, name, ids, get_memory).bank for name in names)
        self._save_state(home, replace(self._load_state(home), group=members, talk=""))
        return (("group", 0),)

    def _end_group(self, home: Memory | None) -> AnswerParts:
        """End the conversation with several characters, if there is one."""
        group = self._load_group(home)
        if home is None or group is None:
            return (("no-group", 0),)
        is_due = group.end(self.conversations, self._now(), self._now, self._get_language(home))
        state = replace(self._load_state(home), group=(), talk="")
        self._save_state(home, state.with_question("remember", group.session) if is_due else state)
        return (("group-ended", 0), *((("remember?", 0),) if is_due else ()))

    def _load_group(self, home: Memory | None) -> MessageGroup | None:
        """Return the group with which a person is talking, or None."""
        state = self._load_state(home) if home else PersonState()
        banks = [bank for bank in state.group if self.services.store.exists(bank)]
        return MessageGroup(list(map(self.services.get_memory, banks)), state.talk) if banks else None

    def _talk_in_group(self, home: Memory, group: MessageGroup, message: Message) -> AnswerParts:
        """Return the owed parts, the reply of one character, and a question that is due."""
        before, previous = self._load_state(home), group.begin_session_if_due(message.sent_at or self._now())
        self._save_state(home, replace(before, talk=group.session))
        key, language = self.channel.make_key(message.id), self._get_language(home)
        try:
            memory, reply = group.reply(self.conversations, message, key, self._now, language)
        except (EverthreadError, Problem) as error:
            log.warning("a message could not be stored: %s", type(error).__name__)
            return (("unkept", 0),)
        if not self.services.store.exists(home.bank):  # forgotten in the meantime; saving would create it again
            return ()
        state = self._load_state(home).with_due_group_question(home, previous)
        question: AnswerParts = (("remember?", 0),) if state.question.kind == "remember" else ()
        self._save_state(home, replace(state, owed=()))
        return (*before.owed, self._make_group_part(memory, reply), *question)

    def _make_group_part(self, memory: Memory, reply: Reply | Line) -> AnswerPart:
        line = reply if isinstance(reply, Line) else reply.line
        if line is not None:
            return f"{GROUP_LINE_PART}{memory.bank}", line.seq
        if isinstance(reply, Line) or not reply.text:
            return "failed", 0
        return self._hold(memory, f"{character_name(memory.settings())}: {reply.text}")

    def _answer_question(self, memory: Memory, message: Message) -> AnswerParts:
        """Answer a yes or no to a question about a conversation; () for any other message."""
        pending = self._load_state(memory).question.about_conversation
        step = next_step(message.text, name="", pending=pending, has_spoken=False, policy=None, ends_conversation=False)
        return self._answer_step(memory, step)

    # --------------------------------------------------------------------- talking

    def _answer_goodbye(self, memory: Memory, message: Message) -> AnswerParts:
        """Answer a goodbye, or a yes or no to a question about a conversation; () for any other message."""
        chat, remember = self._open_chat(memory, at=message.sent_at), remember_policy(memory.settings())
        step: Step = next_step(
            message.text,
            name=chat.character.name,
            pending=self._load_state(memory).question.about_conversation,
            has_spoken=any(line.role == "user" for line in chat.lines),
            policy=remember,
        )
        if step not in ("ask", "part"):  # an unclear answer gets a reply, and the question is repeated after it
            return self._answer_step(memory, step)
        if not chat.incognito:
            speaker, key = message.speaker or chat.character.person, self.channel.make_key(message.id)
            chat.add_line(message.text, speaker, key=key, metadata=message.metadata)
        return self._part(chat)

    def _part(self, chat: Chat) -> AnswerParts:
        """End a conversation; ask whether to remember it, unless the bank's setting says so."""
        memory = chat.memory
        if chat.incognito:
            self._private.drop(memory.bank)
            return (("goodbye", 0),)
        if remember_policy(memory.settings()):
            chat.end(True)
            return (("goodbye", 0),)
        memory.end(chat.session, self._now())
        self._save_state(memory, self._load_state(memory).with_question("remember", chat.session))
        return (("remember-this?", 0),)

    def _talk(self, memory: Memory, message: Message) -> AnswerParts:
        """Return the owed parts, the character's reply, and a question that is due."""
        before, last = self._load_state(memory), current_session(memory, memory.sessions(), self._now())
        chat = self._open_chat(memory)
        parts = self._reply(chat, message)
        if not self.services.store.exists(memory.bank):  # forgotten in the meantime; saving would create it again
            self._private.drop(memory.bank)
            return ()
        state = self._load_state(memory).with_due_question(memory, last, self._now())
        question: AnswerParts = (("remember?", 0),) if state.question.kind == "remember" else ()
        self._save_state(memory, replace(state, owed=()))
        return (*before.owed, *parts, *question)

    def _reply(self, chat: Chat, message: Message, on_piece: Callable[[str], object] | None = None) -> AnswerParts:
        """Return the reply to a message, perhaps with the greeting before it.

        A message may already be stored, if its process ended before the reply was complete.
        """
        memory, key = chat.memory, self.channel.make_key(message.id)
        user_line = self._find_user_line(chat, key)
        if user_line is not None and (saved_reply := find_answer(memory, user_line)):
            return (self._make_part(memory, saved_reply),)
        has_greeting = user_line is None and bool(chat.greeting)

        def act(chat: Chat) -> Reply:
            return chat.reply(message.text, key) if user_line is None else chat.answer()

        try:
            reply = self.conversations.reply_detached(chat, act, on_piece)
        except (EverthreadError, Problem) as error:  # Problem: another worker holds the bank
            log.warning("a message could not be answered: %s", type(error).__name__)
            return (("failed" if user_line is not None and user_line.seq > 0 else "unkept", 0),)
        if not reply.text:
            return (("unkept" if chat.incognito else "failed", 0),)
        greeting = (self._make_part(memory, chat.lines[0]),) if has_greeting else ()
        part = self._make_part(memory, reply.line) if reply.line else self._hold(memory, reply.text)
        is_unsaved = reply.line is None and reply.prompt is not None and not chat.incognito
        return (*greeting, part, *((("unsaved", 0),) if is_unsaved else ()))

    def _find_user_line(self, chat: Chat, key: str) -> Line | None:
        """Return the line with a key, also one that was said in incognito or retracted, or None."""
        memory = chat.memory
        unwritten = next((line for line in chat.lines if line.key == key and line.seq < 0), None)
        if unwritten is not None:
            return unwritten
        return find_by_key(memory.store, memory.bank, key) or memory.store.get_by_key(memory.bank, [key]).get(key)

    def _make_part(self, memory: Memory, line: Line) -> AnswerPart:
        """Return a line as a part of an answer; an unwritten one by its text."""
        return (LINE_PART, line.seq) if line.seq > 0 else self._hold(memory, line.text)

    def _hold(self, memory: Memory, text: str) -> AnswerPart:
        """Return a text that no bank stores as a part of an answer."""
        return HELD_PART, self._unwritten.hold(memory.bank, text)

    # ----------------------------------------------------------------------- texts

    def render_messages(self, person: str, parts: AnswerParts) -> list[str]:
        """Render the messages of an answer, without those whose lines no longer exist."""
        return [text for part in parts for text in self.channel.split(self.render_part(person, part))]

    def save_owed(self, person: str, parts: AnswerParts) -> None:
        """Save parts that could not be sent; they precede the next answer. Raises StoreError."""
        if (memory := self._get_memory(person)) is not None:
            state = self._load_state(memory)
            self._save_state(memory, replace(state, owed=(*state.owed, *parts)))

    def render_part(self, person: str, part: AnswerPart) -> str:
        """Render a part of an answer; "" if its line no longer exists."""
        kind, number = part
        if kind == HELD_PART:
            return self._unwritten.get(number)
        if kind.startswith(GROUP_LINE_PART):
            line = self._find_line(kind.removeprefix(GROUP_LINE_PART), number)
            return f"{line.speaker}: {line.text}" if line else ""
        if kind == LINE_PART:
            line = self._find_line(self.get_bank(person), number)
            return line.text if line else ""
        name, _, language = kind.partition("/")
        home = self._get_memory(person)
        return self.channel.render_text(
            name, number, language or self._get_language(home), self._list_names(name, home) if home else ()
        )

    def _list_names(self, text: str, home: Memory) -> Sequence[str]:
        """Return the names of the characters that one of the bot's own texts mentions."""
        if text == "characters":
            return list_characters(home)
        group = self._load_group(home) if text == "group" else None
        return group.names if group else ()

    def _find_line(self, bank: str, seq: int) -> Line | None:
        """Return a line, also a retracted one, or None."""
        store = self.services.store
        return get_recorded(store, bank, seq) if store.exists(bank) else None

    # ---------------------------------------------------------------------- state

    def _load_state(self, memory: Memory) -> PersonState:
        return PersonState.load(memory, self.channel.setting)

    def _save_state(self, memory: Memory, state: PersonState) -> None:
        state.save(memory, self.channel.setting)

    def _now(self) -> datetime:
        return self._clock() if self._clock else now().astimezone()

    def _open_chat(self, memory: Memory, session: str | None = None, at: datetime | None = None) -> Chat:
        """Return a chat of the bank.

        Args:
            memory: the memory of the bank.
            session: its session; default: the current one.
            at: the time of what is said, unless nothing is written; default: now.
        """
        language = self._get_language(memory)
        incognito = self._load_state(memory).incognito or remember_policy(memory.settings()) is False
        private = self._private.get_current(memory.bank, self._now()) if session is None and incognito else None
        if private is not None:
            private.responder.llm, private.responder.words = self.services.llm, load_wording(language)
            return private
        clock = self._clock
        if at is not None and not incognito:
            during = find_session_at(memory.sessions(), at) if session is None else None
            session = during.id if during else session

            def clock() -> datetime:
                return at

        chat = Chat(
            memory,
            llm=self.services.llm,
            session=session,
            incognito=incognito and session is None,
            clock=clock,
            scribe_worker=self.conversations.get_scribe_worker(memory),
            language=language,
        )
        if chat.incognito and session is None:
            self._private.add(chat)
        return chat
