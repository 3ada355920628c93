"""The state of the conversation with one person, stored as a setting of their bank."""

from __future__ import annotations

from dataclasses import dataclass, replace

from everthread.memory import Memory
from everthread.server.messaging.message import AnswerParts
from everthread.types import JSONValue


@dataclass(frozen=True, slots=True)
class PersonState:
    """The pending question and answers of a person, stored in their bank under these names."""

    ask: str = ""  # the pending question: "forget" everything, "remember" or "drop" a conversation, or ""
    session: str = ""  # the session that the question is about
    times: int = 0  # how often the question was asked
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
        owed = tuple((kind, number) for kind, number in saved.get("owed", ()))
        return cls(**{**saved, "owed": owed, "group": tuple(saved.get("group", ()))})

    def save(self, memory: Memory, setting: str) -> None:
        """Write the state to a setting of a bank. Raises StoreUnavailable."""
        question: dict[str, JSONValue] = {"ask": self.ask, "session": self.session, "times": self.times}
        chosen: dict[str, JSONValue] = {"language": self.language, "incognito": self.incognito}
        chosen = {name: value for name, value in chosen.items() if value}
        group: dict[str, JSONValue] = {"group": self.group, "talk": self.talk} if self.group else {}
        memory.set_setting(setting, {**question, "settled": self.settled, "owed": self.owed, **chosen, **group})

    def with_question(self, question: str, session: str = "") -> PersonState:
        """Return the state after a question was asked, perhaps again."""
        is_repeated = (question, session) == (self.ask, self.session)
        return replace(self, ask=question, session=session, times=self.times + 1 if is_repeated else 1)

    def without_question(self, settled: int = 0) -> PersonState:
        """Return the state without a question; none is asked about sessions up to the line `settled`."""
        return replace(self, ask="", session="", times=0, settled=max(self.settled, settled))
