"""The question that waits for a person's yes or no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from everthread.chat.goodbye import Question

Kind = Literal["", "forget", "remember", "drop"]

MAX_TIMES = 3  # how often one question is asked


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question that a person was asked.

    Attributes:
        kind: "forget" everything, "remember" or "drop" a conversation; "": there is no question.
        session: the session that it is about; "" for everything.
        times: how often it was asked.
    """

    kind: Kind = ""
    session: str = ""
    times: int = 0

    @property
    def about_conversation(self) -> Question:
        """The question about a conversation, as `chat.goodbye` names it; "" if it is about everything."""
        return "forget" if self.kind == "drop" else "remember" if self.kind == "remember" else ""

    @property
    def may_repeat(self) -> bool:
        """True if it can be asked again."""
        return self.times < MAX_TIMES

    def ask(self, kind: Kind, session: str = "") -> PendingQuestion:
        """Return the question after it was asked, again if it is the same one."""
        is_repeated = (kind, session) == (self.kind, self.session)
        return PendingQuestion(kind, session, self.times + 1 if is_repeated else 1)
