"""What is answered to a text message. It knows nothing of Twilio, and of a person nothing but a hash.

An answer is made of parts: lines of the bank, by their numbers, and phrases of ours. So it can be given again word for
word, without a word of it being kept anywhere but in the bank.
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
from everthread.server.conversations.registry import IN_TURN, ConversationRegistry
from everthread.server.problems import Problem
from everthread.server.sms import keywords
from everthread.server.sms.segments import bounded
from everthread.server.sms.store import Part, Parts, Record
from everthread.stores.shared_rows import SESSION_GAP
from everthread.types import Filter, JSONValue, Line, Session, now

log = logging.getLogger("everthread.server")

BANK = "sms/"  # and the person's hash
ASKED = 3  # times that one question is asked at most: who never answers it does not want to
PRIVATE = 256  # conversations kept open of which nothing is written
UNWRITTEN = 256  # texts in memory that stand in no bank, so that an answer can be given again

LINE, SAID = "line", "said"  # parts: a line of the bank, and a text that stands in none


@dataclass(frozen=True, slots=True)
class Message:
    """A text message. sid is its name at Twilio; heeded says that Twilio has answered the keyword that it is."""

    sid: str
    person: str
    text: str
    pictures: bool = False
    heeded: bool = False

    @property
    def key(self) -> str:
        """The key of its line."""
        return f"sms:{sha256(self.sid.encode()).hexdigest()}"


@dataclass(frozen=True, slots=True)
class State:
    """What is still open with a person. ask is the question that was put, about a session; owed, what could not be sent
    in time; settled, the last line of the sessions of which nothing is to be asked any more."""

    ask: str = ""
    session: str = ""
    times: int = 0
    settled: int = 0
    owed: Parts = ()

    @classmethod
    def of(cls, memory: Memory) -> State:
        """As the bank has it."""
        kept = memory.settings().get(SETTING_SMS)
        if not isinstance(kept, dict):
            return cls()
        return cls(**{**kept, "owed": tuple((kind, number) for kind, number in kept.get("owed", ()))})

    def keep(self, memory: Memory) -> None:
        """Have the bank keep it. Raises StoreUnavailable."""
        told: dict[str, JSONValue] = {"ask": self.ask, "session": self.session, "times": self.times}
        memory.set_setting(SETTING_SMS, {**told, "settled": self.settled, "owed": self.owed})

    def asking(self, question: str, session: str = "") -> State:
        """With a question put, perhaps not for the first time."""
        again = (question, session) == (self.ask, self.session)
        return replace(self, ask=question, session=session, times=self.times + 1 if again else 1)

    def answered(self, settled: int = 0) -> State:
        """Without the question."""
        return replace(self, ask="", session="", times=0, settled=max(self.settled, settled))


class SmsConversation:
    """The conversations by text message. One message of a person is answered at a time; the caller sees to it."""

    def __init__(
        self, talks: ConversationRegistry, record: Record, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.engine, self.talks, self.record = talks.engine, talks, record
        self._clock = clock
        self._private: OrderedDict[str, Chat] = OrderedDict()  # by bank: what was said in them is nowhere else
        self._unwritten: OrderedDict[int, tuple[str, str]] = OrderedDict()  # whose, and the text

    # ----------------------------------------------------------------- answering

    def answer(self, message: Message) -> Parts:
        """What is answered to a message, which is kept if it is talk. Raises StoreError."""
        word = keywords.keyword(message.text)
        if word == "stop":
            return self._stop(message)
        if self.record.stopped(message.person):
            if word not in ("start", "yes"):
                return ()
            self.record.start(message.person)
            word = "start"
        if word in ("start", "help"):
            return () if message.heeded else (("started" if word == "start" else "help", 0),)
        return self._heed(message)

    def _heed(self, message: Message) -> Parts:
        """The answer to what is no keyword."""
        asks = keywords.forgets(message.text)
        memory = self._memory(message.person)
        if asks == "me":
            return self._ask_to_forget(memory)
        if memory is not None and (parts := self._settled(memory, message.text) or self._parting(memory, message.text)):
            return parts
        if asks == "all":
            return self._ask_to_forget(memory)
        if not message.text.strip():
            return (("pictures" if message.pictures else "nothing", 0),)
        memory = memory or self.engine.memory(f"{BANK}{message.person}", make=True)
        parts = self._talk(memory, message)
        return (*parts, ("pictures", 0)) if message.pictures else parts

    def _stop(self, message: Message) -> Parts:
        already = self.record.stopped(message.person)
        self.record.stop(message.person)
        if (memory := self._memory(message.person)) is not None:
            State.of(memory).answered().keep(memory)
        return () if already or message.heeded else (("stopped", 0),)

    def _memory(self, person: str) -> Memory | None:
        """The person's bank, if there is one."""
        bank = f"{BANK}{person}"
        return self.engine.memory(bank) if self.engine.store.exists(bank) else None

    # ------------------------------------------------------------------ forgetting

    def _ask_to_forget(self, memory: Memory | None) -> Parts:
        if memory is None:
            return (("stranger", 0),)
        State.of(memory).asking("forget").keep(memory)
        return (("forget?", 0),)

    def _settled(self, memory: Memory, answer: str) -> Parts:
        """Return the reply to an answer to the question whether to forget everything; nothing for any other text."""
        state = State.of(memory)
        if state.ask != "forget":
            return ()
        state.answered().keep(memory)  # it is asked once: what is no yes goes on
        said = parse_yes_no(answer)
        if said:
            return (("forgotten", self._forgotten(memory)),)
        return () if said is None else (("spared", 0),)

    def _answered(self, memory: Memory, remember: bool) -> Parts:
        """What is said to a yes or a no to the question whether to remember a conversation."""
        state = State.of(memory)
        session = next((each for each in memory.sessions() if each.id == state.session), None)
        state.answered(session.last_seq if session else 0).keep(memory)
        if session is None:  # it is forgotten already
            return (("dropped", 0),)
        with nullcontext() if remember else self.talks.forgetting(memory.bank, patience=IN_TURN):
            ending = self._chat(memory, session.id).end(remember)
        return (("dropped", ending.receipt.lines),) if ending.receipt else (("remembered", 0),)

    def _forgotten(self, memory: Memory) -> int:
        """Forget a person; how many lines that were."""
        self._private.pop(memory.bank, None)
        for number in [number for number, (bank, _) in list(self._unwritten.items()) if bank == memory.bank]:
            self._unwritten.pop(number, None)
        with self.talks.forgetting(memory.bank, whole=True, patience=IN_TURN):
            return memory.forget(everything=True).lines

    # --------------------------------------------------------------------- talking

    def _parting(self, memory: Memory, text: str) -> Parts:
        """The answer to a goodbye, and to a yes or a no to the question whether to remember; nothing for talk."""
        chat, remember = self._chat(memory), remember_policy(memory.settings())
        step: Step = next_step(
            text,
            name=chat.character.name,
            question_pending=State.of(memory).ask == "remember",
            has_spoken=any(line.role == "user" for line in chat.lines),
            policy=remember,
        )
        if step in ("remember", "forget"):
            return self._answered(memory, step == "remember")
        if step not in ("ask", "part"):  # what is unclear is talk, and the question comes again after the reply
            return ()
        if remember is False:
            self._private.pop(memory.bank, None)
            return (("goodbye", 0),)
        chat.add_line(text, chat.character.person)
        if remember:
            chat.end(True)
            return (("goodbye", 0),)
        memory.end(chat.session, self._now())
        State.of(memory).asking("remember", chat.session).keep(memory)
        return (("remember-this?", 0),)

    def _talk(self, memory: Memory, message: Message) -> Parts:
        """The character's reply, after what is owed, and before the question that is due."""
        before, last = State.of(memory), current_session(memory.sessions(), self._now())
        chat = self._chat(memory)
        parts = self._replied(chat, message)
        if not self.engine.store.exists(memory.bank):  # it was forgotten meanwhile, and would be there again
            self._private.pop(memory.bank, None)
            return ()
        state = self._questioning(memory, State.of(memory), last)
        question: Parts = (("remember?", 0),) if state.ask == "remember" else ()
        replace(state, owed=()).keep(memory)
        return (*before.owed, *parts, *question)

    def _replied(self, chat: Chat, message: Message) -> Parts:
        """The reply to a message, as far as it came. One that was cut off by the end of the process is given now."""
        memory = chat.memory
        known = memory.store.get_by_key(memory.bank, [message.key]).get(message.key)
        if known is not None and (given := self._reply_to(memory, known)):
            return (self._part(memory, given),)
        greets = known is None and bool(chat.greeting)

        def act(chat: Chat) -> Reply:
            return chat.reply(message.text, message.key) if known is None else chat.answer()

        try:
            reply = self.talks.reply_detached(chat, act)
        except (EverthreadError, Problem) as error:  # the latter where another worker has the bank
            log.warning("a text message could not be kept: %s", type(error).__name__)
            return (("unkept", 0),)
        if not reply.text:
            return (("unkept" if chat.incognito else "failed", 0),)
        greeting = (self._part(memory, chat.lines[0]),) if greets else ()
        return (*greeting, self._part(memory, reply.line) if reply.line else (SAID, self._held(memory, reply.text)))

    def _part(self, memory: Memory, line: Line) -> Part:
        """A line as a part of an answer; one that is in no bank by its text."""
        return (LINE, line.seq) if line.seq > 0 else (SAID, self._held(memory, line.text))

    def _reply_to(self, memory: Memory, line: Line) -> Line | None:
        """The reply that a line has got."""
        following = memory.lines(Filter(session=line.session), after=line.seq, retracted=True)
        return next((each for each in following if each.parent == line.seq and each.role == "assistant"), None)

    def _questioning(self, memory: Memory, state: State, last: Session | None) -> State:
        """With the question whether to remember the conversation before this one, if it was left without a goodbye or
        the answer could not be understood. last is the one that was talked in last, before now."""
        if remember_policy(memory.settings()) is not None:
            return state.answered(last.last_seq if last else 0)
        if state.ask == "remember":
            return state.asking("remember", state.session) if state.times < ASKED else self._given_up(memory, state)
        if last is not None and last.first_seq > state.settled and self._now() - last.last_at > SESSION_GAP:
            return state.asking("remember", last.id)
        return state

    def _given_up(self, memory: Memory, state: State) -> State:
        found = next((each for each in memory.sessions() if each.id == state.session), None)
        return state.answered(found.last_seq if found else 0)

    # ----------------------------------------------------------------------- words

    def texts(self, person: str, parts: Parts) -> list[str]:
        """The messages that an answer is made of, as far as its lines are still there."""
        return [text for part in parts for text in bounded(self._text(person, part))]

    def owe(self, person: str, parts: Parts) -> None:
        """Keep that this could not be sent: it comes before the next answer. Raises StoreError."""
        if (memory := self._memory(person)) is not None:
            state = State.of(memory)
            replace(state, owed=(*state.owed, *parts)).keep(memory)

    def _text(self, person: str, part: Part) -> str:
        kind, number = part
        if kind == SAID:
            return self._unwritten.get(number, ("", ""))[1]
        if kind != LINE:
            return keywords.phrase(kind, number)
        memory = self._memory(person)
        found = memory.lines(after=number - 1, limit=1, retracted=True) if memory else ()
        return next((line.text for line in found if line.seq == number), "")

    def _held(self, memory: Memory, text: str) -> int:
        """The number of a text that stands in no bank: it is in memory alone, and not for ever."""
        number = time.time_ns()
        self._unwritten[number] = memory.bank, text
        while len(self._unwritten) > UNWRITTEN:
            self._unwritten.popitem(last=False)
        return number

    def _now(self) -> datetime:
        return self._clock() if self._clock else now().astimezone()

    def _chat(self, memory: Memory, session: str | None = None) -> Chat:
        """A conversation of the bank: this one, or the current one."""
        private = (
            self._private.get(memory.bank) if session is None and remember_policy(memory.settings()) is False else None
        )
        if private is not None and private.lines and self._now() - private.lines[-1].said_at <= SESSION_GAP:
            return private
        chat = Chat(
            memory, llm=self.engine.llm, session=session, clock=self._clock, scribe_worker=self.talks.desk(memory)
        )
        if chat.incognito:
            self._private[memory.bank] = chat
            while len(self._private) > PRIVATE:
                self._private.popitem(last=False)
        return chat
