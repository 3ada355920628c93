"""The sample life of each language: its lines, and three questions with the line that answers each.

A language has two files: `en.jsonl`, a conversation that the importer reads, and `en.toml`, everything else.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from everthread.errors import BadInput

LANGUAGES = ("en", "de", "zh")
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the person's, and the number of the line that answers it."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The sample life of one language."""

    language: str
    person: str  # the name of the user
    questions: tuple[Question, ...]

    @classmethod
    def load(cls, language: str) -> Self:
        """Load the sample of a language.

        Raises:
            BadInput: unknown language.
        """
        if language not in LANGUAGES:
            raise BadInput(f"invalid language: got {language[:20]!r}, expected one of {', '.join(LANGUAGES)}")
        values: dict[str, Any] = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
        questions = tuple(Question(**question) for question in values["questions"])
        return cls(language, values["person"], questions)

    @property
    def path(self) -> Path:
        """The file of the conversation."""
        return FOLDER / f"{self.language}.jsonl"

    @property
    def line_count(self) -> int:
        """The number of its lines."""
        return self.path.read_bytes().count(b"\n")
