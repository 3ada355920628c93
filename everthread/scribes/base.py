"""The interface of scribes, which write about conversations. `LLMScribe` asks a model, `ExtractiveScribe` doesn't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from everthread.types import FoundUnit, Line

CosinesToTarget = Callable[[Sequence[str]], Sequence[float]]

SUMMARY_TOKENS = 300  # tokens of a session's summary, as in packabby
NOTES_TOKENS = 170  # tokens of the notes: about 125 words
# The subjects of texts; of several subjects of a text, the first in this list is its category.
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
    """Writes about conversations. Every method raises ModelError (ScribeFailed, LLMUnavailable …) on failure."""

    name: str

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        """Return the key points of a session about the person, one per row, each with its date.

        They have at most `limit` tokens by `text.tokens.estimate_tokens`. The text is empty if there is no such point.
        """

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        """Return the updated notes: situation, place, feelings, relations, decisions, names.

        Args:
            old: the notes until now.
            recalled: recalled lines and units; for background only, never copied.
            leaving: the lines that leave the window.
            limit: tokens of the new notes.
        """

    def categorize(self, text: str, categories: Sequence[str] = CATEGORIES) -> str:
        """Return one of the categories; "other" if none fits."""

    def redact(self, text: str) -> str | None:
        """Return the text without secrets, card numbers and account numbers; None if nothing is left."""

    def narrow(self, text: str, target: str, compute_cosines: CosinesToTarget | None = None) -> str | None:
        """Return the parts of a text that are about the target, word for word; None without any.

        Args:
            text: a summary, one key point per row.
            target: the subject to keep, such as "food and health".
            compute_cosines: returns the cosines of rows to the target; for a scribe without a model.
        """

    def is_relevant(self, query: str, text: str) -> bool:
        """Return whether a recalled text is relevant to the query."""

    def rate_importance(self, text: str) -> int:
        """Return how important a text is, from 1 (small talk) to 10 (life-changing)."""

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        """Return the query, reworded so that it is clear without the lines before it."""

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        """Return a text to remember, reworded so that it is clear without the lines before it."""


@dataclass(frozen=True, slots=True)
class ListedFact:
    """A fact as a model lists it, unchecked except for its form.

    Attributes:
        text: the fact as a sentence.
        seqs: the numbers of the lines that say it, ascending; empty if the model named no line that it was given.
        subject: the name of the one that it is about; empty if the model gave none, like the other fields.
        attribute: what the value is of the subject, such as "home".
        value: the value, in the words of the lines.
        ends: whether the fact is that this no longer holds.
        moment: the year, month or day from which it holds, or at which it ended.
    """

    text: str
    seqs: tuple[int, ...]
    subject: str = ""
    attribute: str = ""
    value: str = ""
    ends: bool = False
    moment: str | None = None


@runtime_checkable
class FactScribe(Scribe, Protocol):
    """A scribe that can also list single facts, for which it needs a model."""

    def list_facts(self, lines: Sequence[Line], known: Sequence[str] = ()) -> list[ListedFact]:
        """Return the facts of a session about its people, each with the lines that say it.

        Args:
            lines: the lines.
            known: facts about the people that the lines name, as sentences.
        """


@runtime_checkable
class TitleScribe(Scribe, Protocol):
    """A scribe that can also name conversations, for which it needs a model."""

    def write_title(self, lines: Sequence[Line]) -> str:
        """Return a title of a few words for a conversation that begins with these lines, in its language."""
