"""Answers text messages. It is independent of Twilio, and identifies a person only by a hash.

An answer consists of parts: lines of the bank, by their numbers, and the bot's own texts. It can therefore be repeated
word for word, although its text is stored only in the bank.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from everthread.bank.settings import remember_policy
from everthread.chat.chat import Chat
from everthread.chat.consent import parse_yes_no
from everthread.chat.conversation import current_session
from everthread.chat.goodbye import Step, next_step
from everthread.chat.reply import Reply
from everthread.common.keys import SETTING_SMS
from everthread.errors import EverthreadError
from everthread.memory import Memory
from everthread.server.conversations.registry import SMS_LEASE_TIMEOUT_S, ConversationRegistry
from everthread.server.problems import Problem
from everthread.server.sms import keywords
from everthread.server.sms.segments import split_reply
from everthread.server.sms.store import AnswerPart, AnswerParts, SmsStore
from everthread.stores.shared_rows import SESSION_GAP
from everthread.types import Filter, JSONValue, Line, Session, now

log = logging.getLogger("everthread.server")

BANK_PREFIX = "sms/"  # followed by the person's hash
MAX_QUESTIONS = 3  # how often one question is asked
MAX_PRIVATE_CHATS = 256  # open incognito conversations, whose lines are not stored
MAX_UNWRITTEN_TEXTS = 256  # texts that exist only in memory, so that an answer can be repeated

LINE_PART, TEXT_PART = "line", "said"  # kinds of parts: a line of the bank, and a text that is in no bank


@dataclass(frozen=True, slots=True)
class SmsMessage:
    """A text message from a person."""

    sid: str  # Twilio's id
    person: str  # a hash of the telephone number
    text: str
    has_pictures: bool = False
    answered_by_twilio: bool = False  # the text is a keyword that Twilio itself has answered

    @property
    def key(self) -> str:
        """The key of the person's line."""
        return f"sms:{sha256(self.sid.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class PersonState:
    """The pending question and answers of a person, stored in their bank under these names."""

    ask: str = ""  # the pending question: "forget", "remember" or ""
    session: str = ""  # the session that the question is about
    times: int = 0  # how often the question was asked
    settled: int = 0  # no question is asked about sessions up to this line
    owed: AnswerParts = ()  # parts that could not be sent in time

    @classmethod
    def load(cls, memory: Memory) -> PersonState:
        """Read the state from a bank."""
        saved = memory.settings().get(SETTING_SMS)
        if not isinstance(saved, dict):
            return cls()
        return cls(**{**saved, "owed": tuple((kind, number) for kind, number in saved.get("owed", ()))})

    def save(self, memory: Memory) -> None:
        """Write the state to the bank. Raises StoreUnavailable."""
        question: dict[str, JSONValue] = {"ask": self.ask, "session": self.session, "times": self.times}
        memory.set_setting(SETTING_SMS, {**question, "settled": self.settled, "owed": self.owed})

    def with_question(self, question: str, session: str = "") -> PersonState:
        """Return the state after a question was asked, perhaps again."""
        is_repeated = (question, session) == (self.ask, self.session)
        return replace(self, ask=question, session=session, times=self.times + 1 if is_repeated else 1)

    def without_question(self, settled: int = 0) -> PersonState:
        """Return the state without a question; none is asked about sessions up to the line `settled`."""
        return replace(self, ask="", session="", times=0, settled=max(self.settled, settled))


class SmsConversation:
    """Holds the conversations by text message. The caller answers one message of a person at a time."""

    def __init__(
        self, conversations: ConversationRegistry, store: SmsStore, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.services, self.conversations, self.store = conversations.services, conversations, store
        self._clock = clock
        self._private: OrderedDict[str, Chat] = OrderedDict()  # by bank; their lines exist nowhere else
        self._unwritten: OrderedDict[int, tuple[str, str]] = OrderedDict()  # by number: the bank, and the text

    # ----------------------------------------------------------------- answering

    def answer(self, message: SmsMessage) -> AnswerParts:
        """Answer a message, and store it unless it is a command.

        Returns:
            The parts of the answer.

        Raises:
            StoreError: if the store fails.
        """
        keyword = keywords.find_keyword(message.text)
        if keyword == "stop":
            return self._stop(message)
        if self.store.has_opted_out(message.person):
            if keyword not in ("start", "yes"):
                return ()
            self.store.opt_in(message.person)
            keyword = "start"
        if keyword in ("start", "help"):
            return () if message.answered_by_twilio else (("started" if keyword == "start" else "help", 0),)
        return self._answer_text(message)

    def _answer_text(self, message: SmsMessage) -> AnswerParts:
        """Answer a message that is not a keyword."""
        request = keywords.find_forget_request(message.text)
        memory = self._get_memory(message.person)
        if request == "me":
            return self._ask_to_forget(memory)
        if memory is not None and (
            parts := self._answer_forget(memory, message.text) or self._answer_goodbye(memory, message.text)
        ):
            return parts
        if request == "everything":
            return self._ask_to_forget(memory)
        if not message.text.strip():
            return (("pictures" if message.has_pictures else "nothing", 0),)
        memory = memory or self.services.get_memory(f"{BANK_PREFIX}{message.person}", create=True)
        parts = self._talk(memory, message)
        return (*parts, ("pictures", 0)) if message.has_pictures else parts

    def _stop(self, message: SmsMessage) -> AnswerParts:
        was_opted_out = self.store.has_opted_out(message.person)
        self.store.opt_out(message.person)
        if (memory := self._get_memory(message.person)) is not None:
            PersonState.load(memory).without_question().save(memory)
        return () if was_opted_out or message.answered_by_twilio else (("stopped", 0),)

    def _get_memory(self, person: str) -> Memory | None:
        """Return the memory of the person's bank, or None if it does not exist."""
        bank = f"{BANK_PREFIX}{person}"
        return self.services.get_memory(bank) if self.services.store.exists(bank) else None

    # ------------------------------------------------------------------ forgetting

    def _ask_to_forget(self, memory: Memory | None) -> AnswerParts:
        if memory is None:
            return (("stranger", 0),)
        PersonState.load(memory).with_question("forget").save(memory)
        return (("forget?", 0),)

    def _answer_forget(self, memory: Memory, answer: str) -> AnswerParts:
        """Answer a yes or no to the question whether to forget everything; () for any other text."""
        state = PersonState.load(memory)
        if state.ask != "forget":
            return ()
        state.without_question().save(memory)  # it is asked once
        is_confirmed = parse_yes_no(answer)
        if is_confirmed:
            return (("forgotten", self._forget_person(memory)),)
        return () if is_confirmed is None else (("spared", 0),)

    def _answer_remember(self, memory: Memory, remember: bool) -> AnswerParts:
        """Answer a yes or no to the question whether to remember a conversation."""
        state = PersonState.load(memory)
        session = _find_session(memory, state.session)
        state.without_question(session.last_seq if session else 0).save(memory)
        if session is None:  # it has been forgotten
            return (("dropped", 0),)
        with nullcontext() if remember else self.conversations.pause_bank(memory.bank, timeout_s=SMS_LEASE_TIMEOUT_S):
            ending = self._open_chat(memory, session.id).end(remember)
        return (("dropped", ending.receipt.lines),) if ending.receipt else (("remembered", 0),)

    def _forget_person(self, memory: Memory) -> int:
        """Forget a person. Return the number of forgotten lines."""
        self._private.pop(memory.bank, None)
        for number in [number for number, (bank, _) in list(self._unwritten.items()) if bank == memory.bank]:
            self._unwritten.pop(number, None)
        with self.conversations.pause_bank(memory.bank, close=True, timeout_s=SMS_LEASE_TIMEOUT_S):
            return memory.forget(everything=True).lines

    # --------------------------------------------------------------------- talking

    def _answer_goodbye(self, memory: Memory, text: str) -> AnswerParts:
        """Answer a goodbye, or a yes or no to the question whether to remember; () for any other text."""
        chat, remember = self._open_chat(memory), remember_policy(memory.settings())
        step: Step = next_step(
            text,
            name=chat.character.name,
            question_pending=PersonState.load(memory).ask == "remember",
            has_spoken=any(line.role == "user" for line in chat.lines),
            policy=remember,
        )
        if step in ("remember", "forget"):
            return self._answer_remember(memory, step == "remember")
        if step not in ("ask", "part"):  # an unclear answer gets a reply, and the question is repeated after it
            return ()
        if remember is False:
            self._private.pop(memory.bank, None)
            return (("goodbye", 0),)
        chat.add_line(text, chat.character.person)
        if remember:
            chat.end(True)
            return (("goodbye", 0),)
        memory.end(chat.session, self._now())
        PersonState.load(memory).with_question("remember", chat.session).save(memory)
        return (("remember-this?", 0),)

    def _talk(self, memory: Memory, message: SmsMessage) -> AnswerParts:
        """Return the owed parts, the character's reply, and a question that is due."""
        before, last = PersonState.load(memory), current_session(memory.sessions(), self._now())
        chat = self._open_chat(memory)
        parts = self._reply(chat, message)
        if not self.services.store.exists(memory.bank):  # forgotten in the meantime; saving would create it again
            self._private.pop(memory.bank, None)
            return ()
        state = self._with_due_question(memory, PersonState.load(memory), last)
        question: AnswerParts = (("remember?", 0),) if state.ask == "remember" else ()
        replace(state, owed=()).save(memory)
        return (*before.owed, *parts, *question)

    def _reply(self, chat: Chat, message: SmsMessage) -> AnswerParts:
        """Return the reply to a message, perhaps with the greeting before it.

        A message may already be stored, if its process ended before the reply was complete.
        """
        memory = chat.memory
        user_line = memory.store.get_by_key(memory.bank, [message.key]).get(message.key)
        if user_line is not None and (saved_reply := self._find_reply(memory, user_line)):
            return (self._make_part(memory, saved_reply),)
        has_greeting = user_line is None and bool(chat.greeting)

        def act(chat: Chat) -> Reply:
            return chat.reply(message.text, message.key) if user_line is None else chat.answer()

        try:
            reply = self.conversations.reply_detached(chat, act)
        except (EverthreadError, Problem) as error:  # Problem: another worker holds the bank
            log.warning("a text message could not be stored: %s", type(error).__name__)
            return (("unkept", 0),)
        if not reply.text:
            return (("unkept" if chat.incognito else "failed", 0),)
        greeting = (self._make_part(memory, chat.lines[0]),) if has_greeting else ()
        part = self._make_part(memory, reply.line) if reply.line else self._hold(memory, reply.text)
        return (*greeting, part)

    def _make_part(self, memory: Memory, line: Line) -> AnswerPart:
        """Return a line as a part of an answer; an unwritten one by its text."""
        return (LINE_PART, line.seq) if line.seq > 0 else self._hold(memory, line.text)

    def _find_reply(self, memory: Memory, line: Line) -> Line | None:
        """Return the reply to a line, or None."""
        following = memory.lines(Filter(session=line.session), after=line.seq, include_retracted=True)
        return next((reply for reply in following if reply.parent == line.seq and reply.role == "assistant"), None)

    def _with_due_question(self, memory: Memory, state: PersonState, last: Session | None) -> PersonState:
        """Return the state with the question whether to remember a conversation, if it is due.

        It is due after a conversation without a goodbye, and again after an answer that was not understood.

        Args:
            memory: the memory of the bank.
            state: the state of the person.
            last: the latest session before this message.
        """
        if remember_policy(memory.settings()) is not None:
            return state.without_question(last.last_seq if last else 0)
        if state.ask == "remember":
            if state.times < MAX_QUESTIONS:
                return state.with_question("remember", state.session)
            session = _find_session(memory, state.session)
            return state.without_question(session.last_seq if session else 0)
        if last is not None and last.first_seq > state.settled and self._now() - last.last_at > SESSION_GAP:
            return state.with_question("remember", last.id)
        return state

    # ----------------------------------------------------------------------- texts

    def render_messages(self, person: str, parts: AnswerParts) -> list[str]:
        """Render the messages of an answer, without those whose lines no longer exist."""
        return [text for part in parts for text in split_reply(self._get_text(person, part))]

    def save_owed(self, person: str, parts: AnswerParts) -> None:
        """Save parts that could not be sent; they precede the next answer. Raises StoreError."""
        if (memory := self._get_memory(person)) is not None:
            state = PersonState.load(memory)
            replace(state, owed=(*state.owed, *parts)).save(memory)

    def _get_text(self, person: str, part: AnswerPart) -> str:
        kind, number = part
        if kind == TEXT_PART:
            return self._unwritten.get(number, ("", ""))[1]
        if kind != LINE_PART:
            return keywords.render_text(kind, number)
        memory = self._get_memory(person)
        lines = memory.lines(after=number - 1, limit=1, include_retracted=True) if memory else ()
        return next((line.text for line in lines if line.seq == number), "")

    def _hold(self, memory: Memory, text: str) -> AnswerPart:
        """Hold an unwritten text in memory for a while, and return it as a part of an answer."""
        number = time.time_ns()
        self._unwritten[number] = memory.bank, text
        while len(self._unwritten) > MAX_UNWRITTEN_TEXTS:
            self._unwritten.popitem(last=False)
        return TEXT_PART, number

    def _now(self) -> datetime:
        return self._clock() if self._clock else now().astimezone()

    def _open_chat(self, memory: Memory, session: str | None = None) -> Chat:
        """Return a chat of the bank: with this session, or with the current one."""
        if session is None and remember_policy(memory.settings()) is False:
            private = self._private.get(memory.bank)
            if private is not None and private.lines and self._now() - private.lines[-1].said_at <= SESSION_GAP:
                return private
        worker = self.conversations.get_scribe_worker(memory)
        chat = Chat(memory, llm=self.services.llm, session=session, clock=self._clock, scribe_worker=worker)
        if chat.incognito:
            self._private[memory.bank] = chat
            while len(self._private) > MAX_PRIVATE_CHATS:
                self._private.popitem(last=False)
        return chat


def _find_session(memory: Memory, id: str) -> Session | None:
    """Return a session of the bank, or None."""
    return next((session for session in memory.sessions() if session.id == id), None)
