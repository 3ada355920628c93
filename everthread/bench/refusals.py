"""Measures how often refusals and answers are confused, on 200 replies that were not chosen by refusing words.

`refusals.tsv` contains them: a language, `refusal` or `answer`, and the reply, separated by tabs. Half are refusals,
half are in Chinese, and most answers are difficult: they contain "sorry", "can't" or "refuse".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from everthread.text.refusal import is_refusal
from everthread.text.refusal_words import RefusalWords, load

Kind = Literal["refusal", "answer"]


@dataclass(frozen=True, slots=True)
class LabelledReply:
    """A reply, and whether it is a refusal or an answer."""

    language: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class LanguageErrors:
    """The mistakes in one language."""

    language: str
    refusals: int
    missed: tuple[str, ...]  # refusals taken for answers
    answers: int
    false_refusals: tuple[str, ...]  # answers taken for refusals

    @property
    def rate(self) -> float:
        """The share of misjudged replies, 0..1."""
        return (len(self.missed) + len(self.false_refusals)) / max(self.refusals + self.answers, 1)


def load_labelled_replies() -> list[LabelledReply]:
    """Return the replies that come with Everthread."""
    rows = (files("everthread.bench") / "refusals.tsv").read_text(encoding="utf-8").splitlines()
    return [
        LabelledReply(language, "refusal" if kind == "refusal" else "answer", text)
        for language, kind, text in (row.split("\t") for row in rows)
    ]


def measure_refusals(replies: Iterable[LabelledReply], words: RefusalWords | None = None) -> list[LanguageErrors]:
    """Judge replies and count the mistakes, language by language.

    Args:
        replies: labelled replies.
        words: the dictionary. Default: the configured one.
    """
    words = words or load()
    by_language: dict[str, list[LabelledReply]] = {}
    for reply in replies:
        by_language.setdefault(reply.language, []).append(reply)
    return [_find_errors(language, group, words) for language, group in by_language.items()]


def _find_errors(language: str, replies: list[LabelledReply], words: RefusalWords) -> LanguageErrors:
    refusals = [reply.text for reply in replies if reply.kind == "refusal"]
    answers = [reply.text for reply in replies if reply.kind == "answer"]
    return LanguageErrors(
        language,
        len(refusals),
        tuple(text for text in refusals if not is_refusal(text, words)),
        len(answers),
        tuple(text for text in answers if is_refusal(text, words)),
    )


def table(results: list[LanguageErrors]) -> str:
    """Return the counts for the terminal and the docs."""
    rows = [f"{'':<10}{'refusals missed':>17}{'false refusals':>19}{'errors':>9}"]
    for result in results:
        missed, mistaken = (
            f"{len(result.missed)} of {result.refusals}",
            f"{len(result.false_refusals)} of {result.answers}",
        )
        rows.append(f"{result.language:<10}{missed:>17}{mistaken:>19}{result.rate:>9.1%}")
    return "\n".join(rows)


def as_json(results: list[LanguageErrors]) -> list[dict[str, object]]:
    """Return the counts and the mistaken replies."""
    return [
        {
            "language": result.language,
            "refusals": result.refusals,
            "missed": list(result.missed),
            "answers": result.answers,
            "false_refusals": list(result.false_refusals),
            "rate": round(result.rate, 4),
        }
        for result in results
    ]
