"""What a recipe decides. A recipe holds choices and numbers; the stages that act on them are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from everthread.recall.gate import Curve
from everthread.stores.base import Corpus


@dataclass(frozen=True, slots=True)
class Head:
    """The numbers for one kind of conversation: the signals' weights, the two curves of the gate, and its threshold."""

    weights: Mapping[str, float]
    whole: Curve
    hit: Curve
    threshold: float  # relevance of the whole from which a context holds anything


@dataclass(frozen=True, slots=True)
class Recipe:
    """One complete way of remembering.

    friends are people among themselves, assistant a person with a bot: what makes a line worth recalling differs
    between the two, and neither's weights serve the other.
    """

    name: str
    about: str  # in a few words
    friends: Head
    assistant: Head
    width: int = 1  # lines on either side by which a hit grows
    hits: int = 50  # hits offered to the budget of a context
    floor: float = 0.001  # relevance below which a hit is not worth its tokens, whatever room there is
    buffered: int = 3  # hits whose passages enter the session's relevance buffer

    def head(self, corpus: Corpus) -> Head:
        """The numbers for a bank, chosen by whether a bot is among its speakers."""
        return self.assistant if corpus.has_assistant else self.friends
