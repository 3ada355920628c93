"""Scribes: whoever writes text about a conversation. `LLMScribe` asks a model, `ExtractiveScribe` needs none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from everthread.types import FoundUnit, Line

Near = Callable[[Sequence[str]], Sequence[float]]

SUMMARY = 300  # tokens of a session's summary: packabby's number
NOTES = 170  # tokens of the notes: the 125 words of the character chat
# What a text is about. Where it is about several, the first of them.
CATEGORIES = (
    "person",
    "family",
    "friends",
    "work",
    "health",
    "food",
    "home",
    "travel",
    "leisure",
    "money",
    "feelings",
    "plans",
    "other",
)


class Scribe(Protocol):
    """Writes about conversations. Every method raises ModelError (ScribeFailed, LLMUnavailable …) where it can't."""

    name: str

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY) -> str:
        """The key points about the person that a session tells, one a row, each with its date; in at most limit tokens
        by `text.tokens.estimate`. Empty where there is none."""

    def note(self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES) -> str:
        """The scratchpad brought up to date: from the old one, what was recalled (background only, never copied), and
        the lines that go out of the window. Situation, place, feelings, relations, decisions, names."""

    def categorize(self, text: str, categories: Sequence[str] = CATEGORIES) -> str:
        """One of the categories; "other" where none fits."""

    def strip(self, text: str) -> str | None:
        """The text without what must not be remembered (secrets, numbers of cards and accounts); None: none of it."""

    def narrow(self, text: str, target: str, near: Near | None = None) -> str | None:
        """Returns what of a text is about the target, word for word; None if nothing is.

        Args:
            text: a summary, a key point a row.
            target: what is to be kept, such as "food and health".
            near: the cosines of rows to the target, for a scribe that asks no model.
        """

    def relevant(self, query: str, text: str) -> bool:
        """Whether a recalled text bears on the query."""

    def importance(self, text: str) -> int:
        """How much it matters, from 1 (small talk) to 10 (changes a life)."""

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        """The query so that it can be understood without the lines said before it."""

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        """A text to be remembered, so that it can be understood without the lines said before it."""
