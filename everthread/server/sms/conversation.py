"""Answers text messages. It knows nothing of Twilio, and of a person nothing but a hash.

An answer consists of parts: lines of the bank, by their numbers, and the bot's own texts. So it can be repeated word
for word although its text is stored nowhere but in the bank.
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
MAX_QUESTIONS = 3  # times that one question is asked
MAX_PRIVATE_CHATS = 256  # open conversations of which nothing is written
MAX_UNWRITTEN_TEXTS = 256  # texts held only in memory, so that an answer can be repeated

LINE_PART, TEXT_PART = "line", "said"  # parts: a line of the bank, and a text that is in no bank


@dataclass(frozen=True, slots=True)
class SmsMessage:
    """A text message.

    sid is Twilio's id; answered_by_twilio: whether Twilio has answered the keyword that it consists of.
    """

    sid: str
    person: str
    text: str
    has_pictures: bool = False
    answered_by_twilio: bool = False

    @property
    def key(self) -> str:
        """The key of the person's line."""
        return f"sms:{sha256(self.sid.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class PersonState:
    """The pending questions and parts of a person, stored in their bank under these names.

    ask: the question that was asked, about `session`, `times` times. owed: parts that could not be sent in time.
    settled: the last line of the sessions about which nothing will be asked.
    """

    ask: str = ""
    session: str = ""
    times: int = 0
    settled: int = 0
    owed: AnswerParts = ()

    @classmethod
    def load(cls, memory: Memory) -> PersonState:
        """Read the state from a bank."""
        kept = memory.settings().get(SETTING_SMS)
        if not isinstance(kept, dict):
            return cls()
        return cls(**{**kept, "owed": tuple((kind, number) for kind, number in kept.get("owed", ()))})

    def save(self, memory: Memory) -> None:
        """Write the state to the bank. Raises StoreUnavailable."""
        told: dict[str, JSONValue] = {"ask": self.ask, "session": self.session, "times": self.times}
        memory.set_setting(SETTING_SMS, {**told, "settled": self.settled, "owed": self.owed})

    def with_question(self, question: str, session: str = "") -> PersonState:
        """Return the state with a question asked, perhaps again."""
        again = (question, session) == (self.ask, self.session)
        return replace(self, ask=question, session=session, times=self.times + 1 if again else 1)

    def without_question(self, settled: int = 0) -> PersonState:
        """Return the state without the question."""
        return replace(self, ask="", session="", times=0, settled=max(self.settled, settled))


class SmsConversation:
    """The conversations by text message. The caller answers one message of a person at a time."""

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
        word = keywords.find_keyword(message.text)
        if word == "stop":
            return self._stop(message)
        if self.store.has_opted_out(message.person):
            if word not in ("start", "yes"):
                return ()
            self.store.opt_in(message.person)
            word = "start"
        if word in ("start", "help"):
            return () if message.answered_by_twilio else (("started" if word == "start" else "help", 0),)
        return self._answer_text(message)

    def _answer_text(self, message: SmsMessage) -> AnswerParts:
        """Answer a message that is not a keyword."""
        asks = keywords.find_forget_request(message.text)
        memory = self._memory(message.person)
        if asks == "me":
            return self._ask_to_forget(memory)
        if memory is not None and (
            parts := self._answer_forget(memory, message.text) or self._answer_goodbye(memory, message.text)
        ):
            return parts
        if asks == "everything":
            return self._ask_to_forget(memory)
        if not message.text.strip():
            return (("pictures" if message.has_pictures else "nothing", 0),)
        memory = memory or self.services.get_memory(f"{BANK_PREFIX}{message.person}", create=True)
        parts = self._talk(memory, message)
        return (*parts, ("pictures", 0)) if message.has_pictures else parts

    def _stop(self, message: SmsMessage) -> AnswerParts:
        already = self.store.has_opted_out(message.person)
        self.store.opt_out(message.person)
        if (memory := self._memory(message.person)) is not None:
            PersonState.load(memory).without_question().save(memory)
        return () if already or message.answered_by_twilio else (("stopped", 0),)

    def _memory(self, person: str) -> Memory | None:
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
        """Answer a yes or no to the question whether to forget everything; nothing for any other text."""
        state = PersonState.load(memory)
        if state.ask != "forget":
            return ()
        state.without_question().save(memory)  # it is asked once
        said = parse_yes_no(answer)
        if said:
            return (("forgotten", self._forget_person(memory)),)
        return () if said is None else (("spared", 0),)

    def _answer_remember(self, memory: Memory, remember: bool) -> AnswerParts:
        """Answer a yes or no to the question whether to remember a conversation."""
        state = PersonState.load(memory)
        session = next((each for each in memory.sessions() if each.id == state.session), None)
        state.without_question(session.last_seq if session else 0).save(memory)
        if session is None:  # it has been forgotten
            return (("dropped", 0),)
        with nullcontext() if remember else self.conversations.pause_bank(memory.bank, timeout_s=SMS_LEASE_TIMEOUT_S):
            ending = self._chat(memory, session.id).end(remember)
        return (("dropped", ending.receipt.lines),) if ending.receipt else (("remembered", 0),)

    def _forget_person(self, memory: Memory) -> int:
        """Forget a person. Return the number of lines."""
        self._private.pop(memory.bank, None)
        for number in [number for number, (bank, _) in list(self._unwritten.items()) if bank == memory.bank]:
            self._unwritten.pop(number, None)
        with self.conversations.pause_bank(memory.bank, close=True, timeout_s=SMS_LEASE_TIMEOUT_S):
            return memory.forget(everything=True).lines

    # --------------------------------------------------------------------- talking

    def _answer_goodbye(self, memory: Memory, text: str) -> AnswerParts:
        """Answer a goodbye, or a yes or no to the question whether to remember; nothing for any other text."""
        chat, remember = self._chat(memory), remember_policy(memory.settings())
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
        """Return the character's reply, after what is owed and before a question that is due."""
        before, last = PersonState.load(memory), current_session(memory.sessions(), self._now())
        chat = self._chat(memory)
        parts = self._reply(chat, message)
        if not self.services.store.exists(
            memory.bank
        ):  # it was forgotten in the meantime; saving would create it again
            self._private.pop(memory.bank, None)
            return ()
        state = self._with_due_question(memory, PersonState.load(memory), last)
        question: AnswerParts = (("remember?", 0),) if state.ask == "remember" else ()
        replace(state, owed=()).save(memory)
        return (*before.owed, *parts, *question)

    def _reply(self, chat: Chat, message: SmsMessage) -> AnswerParts:
        """Return the reply to a message, as far as it came. If the process ended during the first try, the reply is
        created now."""
        memory = chat.memory
        known = memory.store.get_by_key(memory.bank, [message.key]).get(message.key)
        if known is not None and (given := self._find_reply(memory, known)):
            return (self._part(memory, given),)
        greets = known is None and bool(chat.greeting)

        def act(chat: Chat) -> Reply:
            return chat.reply(message.text, message.key) if known is None else chat.answer()

        try:
            reply = self.conversations.reply_detached(chat, act)
        except (EverthreadError, Problem) as error:  # Problem: another worker holds the bank
            log.warning("a text message could not be stored: %s", type(error).__name__)
            return (("unkept", 0),)
        if not reply.text:
            return (("unkept" if chat.incognito else "failed", 0),)
        greeting = (self._part(memory, chat.lines[0]),) if greets else ()
        return (
            *greeting,
            self._part(memory, reply.line) if reply.line else (TEXT_PART, self._hold(memory, reply.text)),
        )

    def _part(self, memory: Memory, line: Line) -> AnswerPart:
        """Return a line as a part of an answer; an unwritten one by its text."""
        return (LINE_PART, line.seq) if line.seq > 0 else (TEXT_PART, self._hold(memory, line.text))

    def _find_reply(self, memory: Memory, line: Line) -> Line | None:
        """Return the reply to a line, or None."""
        following = memory.lines(Filter(session=line.session), after=line.seq, include_retracted=True)
        return next((each for each in following if each.parent == line.seq and each.role == "assistant"), None)

    def _with_due_question(self, memory: Memory, state: PersonState, last: Session | None) -> PersonState:
        """Return the state with a question whether to remember the conversation before this one, if it ended without a
        goodbye or the answer was not understood.

        Args:
            memory: of the bank.
            state: of the person.
            last: the latest session before this message.
        """
        if remember_policy(memory.settings()) is not None:
            return state.without_question(last.last_seq if last else 0)
        if state.ask == "remember":
            return (
                state.with_question("remember", state.session)
                if state.times < MAX_QUESTIONS
                else self._give_up(memory, state)
            )
        if last is not None and last.first_seq > state.settled and self._now() - last.last_at > SESSION_GAP:
            return state.with_question("remember", last.id)
        return state

    def _give_up(self, memory: Memory, state: PersonState) -> PersonState:
        found = next((each for each in memory.sessions() if each.id == state.session), None)
        return state.without_question(found.last_seq if found else 0)

    # ----------------------------------------------------------------------- words

    def render_messages(self, person: str, parts: AnswerParts) -> list[str]:
        """Render the messages of an answer, as far as its lines still exist."""
        return [text for part in parts for text in split_reply(self._text(person, part))]

    def save_owed(self, person: str, parts: AnswerParts) -> None:
        """Save that these parts could not be sent; they precede the next answer. Raises StoreError."""
        if (memory := self._memory(person)) is not None:
            state = PersonState.load(memory)
            replace(state, owed=(*state.owed, *parts)).save(memory)

    def _text(self, person: str, part: AnswerPart) -> str:
        kind, number = part
        if kind == TEXT_PART:
            return self._unwritten.get(number, ("", ""))[1]
        if kind != LINE_PART:
            return keywords.render_text(kind, number)
        memory = self._memory(person)
        found = memory.lines(after=number - 1, limit=1, include_retracted=True) if memory else ()
        return next((line.text for line in found if line.seq == number), "")

    def _hold(self, memory: Memory, text: str) -> int:
        """Hold an unwritten text in memory for a while, and return its number."""
        number = time.time_ns()
        self._unwritten[number] = memory.bank, text
        while len(self._unwritten) > MAX_UNWRITTEN_TEXTS:
            self._unwritten.popitem(last=False)
        return number

    def _now(self) -> datetime:
        return self._clock() if self._clock else now().astimezone()

    def _chat(self, memory: Memory, session: str | None = None) -> Chat:
        """Return a chat of the bank: with this session, or with the current one."""
        private = (
            self._private.get(memory.bank) if session is None and remember_policy(memory.settings()) is False else None
        )
        if private is not None and private.lines and self._now() - private.lines[-1].said_at <= SESSION_GAP:
            return private
        worker = self.conversations.get_scribe_worker(memory)
        chat = Chat(memory, llm=self.services.llm, session=session, clock=self._clock, scribe_worker=worker)
        if chat.incognito:
            self._private[memory.bank] = chat
            while len(self._private) > MAX_PRIVATE_CHATS:
                self._private.popitem(last=False)
        return chat
