"""Measures recall in ten languages: what people tell a bot in passing, in small banks written for this project.

Unlike `first_facts`, most questions share a word with the line that answers them, often in another form; one in seven
shares none. Each bank also has questions and small talk that it knows nothing about. While the analysis of these
languages was developed, only the banks named `cat` were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from everthread.bench.first_facts import read_banks
from everthread.bench.metrics import mean
from everthread.bench.questions import AnnotatedConversation
from everthread.bench.report import Report, to_percent
from everthread.bench.run import run_benchmark
from everthread.embedders.base import Embedder
from everthread.recipes.base import Recipe

FOLDER = files("everthread.bench").joinpath("everyday")
LANGUAGES = tuple(sorted(entry.name.removesuffix(".json") for entry in FOLDER.iterdir()))


def load_everyday(language: str) -> list[AnnotatedConversation]:
    """Return the banks of a language."""
    return read_banks(FOLDER.joinpath(f"{language}.json"))


@dataclass(frozen=True, slots=True)
class LanguageResult:
    """The results of one language. Shares are 0..1.

    Attributes:
        language: its code.
        questions: the number of questions.
        recall_at_1: the share of questions whose first hit answers.
        kept: the share of questions that the gate accepts.
        let_in: the share of unrelated questions that it accepts.
    """

    language: str
    questions: int
    recall_at_1: float
    kept: float
    let_in: float

    def json(self) -> dict[str, Any]:
        shares = {name: to_percent(getattr(self, name)) for name in ("recall_at_1", "kept", "let_in")}
        return {"language": self.language, "questions": self.questions, **shares}


def measure_languages(
    languages: Sequence[str],
    only: Sequence[str] = (),
    *,
    recipe: Recipe | str | None = None,
    embedder: Embedder | str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[LanguageResult]:
    """Measure each language.

    Args:
        languages: their codes.
        only: ids of banks; empty for all.
        recipe: default: the configured one.
        embedder: default: the configured one.
        progress: called with the number of languages measured, and of all.

    Raises:
        BadInput: no bank has one of these ids.
    """
    results = []
    for done, language in enumerate(languages, 1):
        banks = [bank for bank in load_everyday(language) if not only or bank.id in only]
        report = run_benchmark(banks, dataset=f"everyday-{language}", recipe=recipe, embedder=embedder, ks=(1, 5))
        results.append(_summarize(language, report))
        progress(done, len(languages))
    return results


def _summarize(language: str, report: Report) -> LanguageResult:
    let_in = report.false_injection.unchanged if report.false_injection else 0.0
    return LanguageResult(language, report.questions, report.recall[1], report.kept, let_in)


def table(results: Sequence[LanguageResult]) -> str:
    """Return the results as text, in percent, with their means."""
    rows = [(result.language, result.questions, result.recall_at_1, result.kept, result.let_in) for result in results]
    if len(rows) > 1:
        columns = list(zip(*rows, strict=True))
        rows.append(("all", sum(columns[1]), *(mean(column) for column in columns[2:])))
    lines = [
        f"{name:<10}{count:>10}" + "".join(f"{100 * value:>10.1f}" for value in shares) for name, count, *shares in rows
    ]
    return "\n".join([f"{'language':<10}{'questions':>10}{'R@1':>10}{'kept':>10}{'let in':>10}", *lines])
