"""What a recipe decides. A recipe holds choices and numbers; the stages that act on them are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from everthread.stores.base import Corpus


@dataclass(frozen=True, slots=True)
class Recipe:
    """One complete way of remembering.

    friends and assistant are the weights of the signals (`recall.fuse.SIGNALS`) for people among themselves and for a
    person with a bot: what makes a line worth recalling differs between the two, and neither set serves the other.
    """

    name: str
    friends: Mapping[str, float]
    assistant: Mapping[str, float]
    threshold: float  # relevance of the whole from which a context holds anything
    width: int = 1  # lines on either side by which a hit grows
    hits: int = 50  # hits offered to the budget of a context
    buffered: int = 3  # hits whose passages enter the session's relevance buffer

    def weights(self, corpus: Corpus) -> Mapping[str, float]:
        """The weights for a bank, chosen by whether a bot is among its speakers."""
        return self.assistant if corpus.assistants else self.friends
