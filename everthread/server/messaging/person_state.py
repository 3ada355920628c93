"""The state of the conversation with one person, stored as a setting of their bank."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from everthread.bank.settings import remember_policy
from everthread.chat.conversation import find_session
from everthread.memory import Memory
from everthread.server.messaging.message import AnswerParts
from everthread.server.messaging.pending_question import Kind, PendingQuestion
from everthread.stores.shared_rows import SESSION_GAP
from everthread.types import JSONValue, Session


@dataclass(frozen=True, slots=True)
class PersonState:
    """The pending question and answers of a person, and what they have chosen."""

    question: PendingQuestion = field(default_factory=PendingQuestion)
    settled: int = 0  # no question is asked about sessions up to this line
    owed: AnswerParts = ()  # parts that could not be sent in time
    language: str = ""  # that the person has chosen for the bot's own texts
    incognito: bool = False  # nothing is written until the person ends it
    group: tuple[str, ...] = ()  # the banks of the characters of a conversation with several
    talk: str = ""  # the session of that group

    @classmethod
    def load(cls, memory: Memory, setting: str) -> PersonState:
        """Read the state from a setting of a bank."""
        saved = memory.settings().get(setting)
        if not isinstance(saved, dict):
            return cls()
        fields = dict(saved)
        question = PendingQuestion(fields.pop("ask", ""), fields.pop("session", ""), fields.pop("times", 0))
        owed = tuple((kind, number) for kind, number in fields.pop("owed", ()))
        return cls(question, owed=owed, group=tuple(fields.pop("group", ())), **fields)

    def save(self, memory: Memory, setting: str) -> None:
        """Write the state to a setting of a bank. Raises StoreUnavailable."""
        pending = self.question
        question: dict[str, JSONValue] = {"ask": pending.kind, "session": pending.session, "times": pending.times}
        chosen: dict[str, JSONValue] = {"language": self.language, "incognito": self.incognito}
        chosen = {name: value for name, value in chosen.items() if value}
        group: dict[str, JSONValue] = {"group": self.group, "talk": self.talk} if self.group else {}
        memory.set_setting(setting, {**question, "settled": self.settled, "owed": self.owed, **chosen, **group})

    def with_question(self, kind: Kind, session: str = "") -> PersonState:
        """Return the state after a question was asked, perhaps again."""
        return replace(self, question=self.question.ask(kind, session))

    def without_question(self, settled: int = 0) -> PersonState:
        """Return the state without a question; none is asked about sessions up to the line `settled`."""
        return replace(self, question=PendingQuestion(), settled=max(self.settled, settled))

    def with_due_question(self, memory: Memory, last: Session | None, at: datetime) -> PersonState:
        """Return the state with the question whether to remember a conversation, if it is due.

        It is due after a conversation without a goodbye, and again after an answer that was not understood.

        Args:
            memory: the memory of the person's bank.
            last: the latest session before this message.
            at: the time of the message.
        """
        if remember_policy(memory.settings()) is not None:
            return self.without_question(last.last_seq if last else 0)
        if self.question.about_conversation:
            if self.question.may_repeat:
                return self.with_question("remember", self.question.session)
            session = find_session(memory, self.question.session)
            return self.without_question(session.last_seq if session else 0)
        if last is not None and last.first_seq > self.settled and at - last.last_at > SESSION_GAP:
            return self.with_question("remember", last.id)
        return self

    def with_due_group_question(self, memory: Memory, previous: Session | None) -> PersonState:
        """Return the state with the question whether to remember a group's conversation, if it is due.

        Args:
            memory: the memory of the person's bank.
            previous: the session of the group that has just ended by a long silence.
        """
        if remember_policy(memory.settings()) is not None:
            return self.without_question()
        if previous is not None:
            return self.with_question("remember", previous.id)
        if self.question.about_conversation and self.question.may_repeat:
            return self.with_question("remember", self.question.session)
        return self.without_question()
