"""Questions with known answers, and the conversations that contain the answers, for every dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from everthread.transfer.files import file_error, shorten
from everthread.types import NewLine


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the lines that answer it.

    after is the number of lines said before the question was asked; None means all. details are, by the ids of gold
    lines, the words that tell what the question needs of each line, where the dataset has them.
    """

    text: str
    gold: frozenset[str]
    category: str
    after: int | None = None
    answer: str = ""
    details: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class AnnotatedConversation:
    """A conversation with the ids of its lines and with questions about it.

    unresolved counts gold ids of no line, repaired the gold ids that were repaired to be parsed, left_out the questions
    without gold lines. unrelated are the dataset's questions that the conversation can't answer, if it has any.
    """

    id: str
    lines: tuple[NewLine, ...]
    ids: tuple[str, ...]
    questions: tuple[Question, ...]
    speakers: tuple[str, ...]
    unresolved: int = 0
    repaired: int = 0
    left_out: int = 0
    unrelated: tuple[str, ...] = ()

    def questions_by_time(self) -> list[tuple[int, list[Question]]]:
        """Group the questions by the number of lines said before each, ascending."""

        def lines_before(question: Question) -> int:
            return len(self.lines) if question.after is None else question.after

        ordered = sorted(self.questions, key=lines_before)
        return [(count, list(questions)) for count, questions in groupby(ordered, lines_before)]


@dataclass(slots=True)
class ConversationBuilder:
    """Builds a conversation from its lines and questions. Questions without gold are only counted."""

    name: str
    lines: tuple[NewLine, ...]
    ids: tuple[str, ...]
    questions: list[Question] = field(default_factory=list)
    unresolved: int = 0
    repaired: int = 0
    left_out: int = 0

    def add_question(self, question: Question) -> None:
        if question.gold:
            self.questions.append(question)
        else:
            self.left_out += 1

    def build(self) -> AnnotatedConversation:
        speakers = tuple(dict.fromkeys(line.speaker for line in self.lines))
        counts = (self.unresolved, self.repaired, self.left_out)
        return AnnotatedConversation(self.name, self.lines, self.ids, tuple(self.questions), speakers, *counts)


def read_list(value: object, path: Path, place: str) -> list[object]:
    """Return a value that must be a JSON list; an empty list for None."""
    if value is not None and not isinstance(value, list):
        raise file_error(path, place, f"{shorten(value)} is not a list", "give the file as it was published")
    return value or []


def check_chosen(only: Collection[str], known: Iterable[str], path: Path) -> None:
    """Raise BadFile if a chosen id is unknown."""
    names = sorted(known)
    if missing := set(only).difference(names):
        raise file_error(path, "", f"there is no {shorten(min(missing))}", f"choose from {', '.join(names[:20])}")
