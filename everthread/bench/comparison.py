"""Formats the comparison of recipes: tables for the terminal and the docs, JSON, and a plot. Measures nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from everthread.bench.metrics import KS
from everthread.bench.report import BUDGETS_TOKENS, draw_plot, to_percent, to_percents
from everthread.errors import BadFile

BASE_RECIPE = "default"  # times of other recipes are also given as multiples of its times
NOT_MEASURED = "–"
BAR_WIDTH = 0.27  # as a share of a recipe's width in the plot, which has three bars

Table = list[list[str]]  # the head and the rows


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """The results of one recipe. Shares are 0..1, by the tokens of the context or by k; None was not measured."""

    recipe: str
    kinds: tuple[str, ...]
    gold: Mapping[int, float]  # gold lines in the context, gate off
    numbered: Mapping[int, float] | None  # the same by the lines' numbers, if lines are found
    words: Mapping[int, float]  # words of the answer in the context, gate off; empty if no question has an answer
    laid_out: Mapping[int, float]  # tokens of these contexts
    recall: Mapping[int, float] | None  # if lines are found
    tokens: float  # of a context with the gate on
    kept: float  # questions that pass the gate
    unchanged: float | None  # questions that the bank can't answer and that pass the gate
    mapped: float | None  # the same with the bank's own names in them
    write_ms: float  # a line
    units: float  # a line
    calls: float  # of the scribe, a line
    recall_ms: float  # median of a recall with as many hits as a context is made of
    waiting: int = 0  # jobs that the scribe has not done


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of recipes on one dataset, with one embedder and one scribe."""

    dataset: str
    embedder: str
    scribe: str
    questions: int
    rows: tuple[RecipeRow, ...]

    def json(self) -> dict[str, Any]:
        """Return the figures, shares in percent. Scripts rely on the names."""
        head = {"dataset": self.dataset, "embedder": self.embedder, "scribe": self.scribe, "questions": self.questions}
        return {**head, "recipes": {row.recipe: self._build_json(row) for row in self.rows}}

    def text(self) -> str:
        """Return the figures for the terminal."""
        head = f"{self.dataset}: {self.questions} questions, embedder {self.embedder}, scribe {self.scribe}"
        return "\n".join(
            [
                head,
                "",
                *_format_plain(self._tabulate_recall()),
                "",
                *_format_plain(self._tabulate_costs()),
                "",
                *self._list_notes(),
            ]
        )

    def markdown(self) -> str:
        """Return the figures for the docs."""
        head = f"{self.questions} questions, embedder {self.embedder}, scribe {self.scribe}."
        notes = [f"- {note}" for note in self._list_notes()]
        return "\n".join(
            [
                head,
                "",
                *_format_markdown(self._tabulate_recall()),
                "",
                *_format_markdown(self._tabulate_costs()),
                "",
                *notes,
            ]
        )

    def write(self, page: Path) -> None:
        """Write the tables between the page's marks for this dataset. Raises BadFile."""
        text, span = find_table_span(page, self.dataset)
        page.write_text(f"{text[: span[0]]}\n{self.markdown()}\n{text[span[1] :]}", encoding="utf-8")

    def plot(self, path: Path) -> None:
        """Plot gold lines and answers in contexts, and the questions that pass the gate. Raises ConfigError."""
        draw_plot(path, f"{self.dataset} · recipes", (self._draw_gold, self._draw_words, self._draw_gate))

    # ------------------------------------------------------------------- tables

    def _tabulate_recall(self) -> Table:
        """Tabulate the gold and the words of answers in contexts, and recall."""
        head = [f"gold @{b}" for b in BUDGETS_TOKENS] + [f"words @{b}" for b in BUDGETS_TOKENS] + [f"R@{k}" for k in KS]
        rows = [
            [
                row.recipe,
                *_format_shares(row.gold, BUDGETS_TOKENS),
                *_format_shares(row.words, BUDGETS_TOKENS),
                *_format_shares(row.recall, KS),
            ]
            for row in self.rows
        ]
        return [["recipe", *head], *rows]

    def _tabulate_costs(self) -> Table:
        """Tabulate the costs of recipes and their false injections."""
        head = "tokens,kept,strangers,mapped,write ms,× default,units a line,calls a line,recall ms,× default"
        rows = [
            [
                row.recipe,
                f"{row.tokens:.0f}",
                _format_percent(row.kept),
                _format_percent(row.unchanged),
                _format_percent(row.mapped),
                f"{row.write_ms:.2f}",
                _format_ratio(self._compute_ratio(row, "write_ms")),
                f"{row.units:.3f}",
                f"{row.calls:.3f}",
                f"{row.recall_ms:.2f}",
                _format_ratio(self._compute_ratio(row, "recall_ms")),
            ]
            for row in self.rows
        ]
        return [["recipe", *head.split(",")], *rows]

    def _list_notes(self) -> list[str]:
        calls = "made without a model" if self.scribe == "extractive" else "each at least one call of the model"
        notes = [
            "gold: % of gold lines found in a context of this many tokens, by its text, gate off; "
            "words: % of the words of the answer; R: % of gold lines among the first k, if lines are found",
            "tokens: of a context of at most 1000, gate on; kept: % of questions that the gate lets pass; strangers: % "
            "of questions that the bank can't answer and for which it shows something; mapped: with its own names",
            "write: ms a line with its embedding and everything that the scribe writes about it; "
            f"calls: of the scribe, {calls}; recall: median ms of as many hits as a context is made of",
        ]
        notes += [_compare_criteria(row) for row in self.rows if row.numbered]
        notes += [
            f"{row.recipe}: the scribe failed in {row.waiting} jobs, so the figures lack their results"
            for row in self.rows
            if row.waiting
        ]
        return notes

    def _compute_ratio(self, row: RecipeRow, field: str) -> float | None:
        """Return a time as a multiple of the default recipe's, if that recipe was measured too."""
        base = next((getattr(other, field) for other in self.rows if other.recipe == BASE_RECIPE), 0.0)
        return getattr(row, field) / base if base else None

    def _build_json(self, row: RecipeRow) -> dict[str, Any]:
        shares = {name: getattr(row, name) for name in ("gold", "numbered", "words", "recall")}
        names = {"gold": "gold_in_context", "numbered": "gold_by_number", "words": "answer_words_in_context"}
        ratios = {f"{name}_ratio": self._compute_ratio(row, name) for name in ("write_ms", "recall_ms")}
        plain = {name: value for name, value in asdict(row).items() if name not in (*shares, "recipe", "laid_out")}
        plain |= {
            name: None if plain[name] is None else to_percent(plain[name]) for name in ("kept", "unchanged", "mapped")
        }
        return {
            **{names.get(name, name): None if value is None else to_percents(value) for name, value in shares.items()},
            "tokens_laid_out": {str(budget): round(tokens, 1) for budget, tokens in row.laid_out.items()},
            **{
                name: round(value, 3) if isinstance(value, float) else value for name, value in (plain | ratios).items()
            },
        }

    # --------------------------------------------------------------------- plot

    def _draw_gold(self, axes: Any) -> None:
        self._draw_over_tokens(axes, [row.gold for row in self.rows])
        axes.set(
            ylabel="gold lines in it (%)", title=f"Gold in contexts of {', '.join(map(str, BUDGETS_TOKENS))} tokens"
        )
        axes.legend(fontsize="small")

    def _draw_words(self, axes: Any) -> None:
        self._draw_over_tokens(axes, [row.words for row in self.rows])
        axes.set(ylabel="words of the answer in it (%)", title="Answers in the same contexts")

    def _draw_over_tokens(self, axes: Any, shares: Sequence[Mapping[int, float]]) -> None:
        for row, values in zip(self.rows, shares, strict=True):
            points = [(row.laid_out[budget], to_percent(value)) for budget, value in values.items()]
            axes.plot(*zip(*points, strict=True) if points else ((), ()), marker="o", linewidth=1, label=row.recipe)
        axes.set(xlabel="tokens of the context (mean)", ylim=(0, 100), xlim=(0, None))

    def _draw_gate(self, axes: Any) -> None:
        bars = (("kept", "its own questions"), ("unchanged", "strangers'"), ("mapped", "strangers', its names"))
        for offset, (name, label) in enumerate(bars):
            heights = [to_percent(getattr(row, name) or 0.0) for row in self.rows]
            positions = [index + BAR_WIDTH * (offset - 1) for index in range(len(self.rows))]
            axes.bar(positions, heights, BAR_WIDTH, label=label)
        axes.set_xticks(range(len(self.rows)), [row.recipe for row in self.rows], rotation=20)
        axes.set(ylabel="questions that pass (%)", ylim=(0, 100), title="Gate")
        axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=len(bars))


def find_table_span(page: Path, dataset: str) -> tuple[str, tuple[int, int]]:
    """Return a page's text, and the span of a dataset's tables in it. Raises BadFile."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"cannot read {page} ({error}); expected the page that contains the tables") from None
    begin, end = f"<!-- recipes on {dataset} -->", f"<!-- end of recipes on {dataset} -->"
    match = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", text, re.DOTALL)
    if match is None:
        raise BadFile(f"{page} has no place for the tables; write {begin} and {end} where they belong")
    return text, match.span(1)


def _compare_criteria(row: RecipeRow) -> str:
    """Describe the difference between the gold found by text and by the lines' numbers."""
    numbered = row.numbered or {}
    figures = " / ".join(_format_shares(numbered, BUDGETS_TOKENS))
    differences = " / ".join(f"{to_percent(row.gold[b]) - to_percent(numbered[b]):+.2f}" for b in BUDGETS_TOKENS)
    return f"{row.recipe}: gold by the numbers of the lines in the context {figures}; by their text {differences}"


def _format_shares(shares: Mapping[int, float] | None, numbers: Iterable[int]) -> list[str]:
    return [_format_percent(shares[number]) if shares else NOT_MEASURED for number in numbers]


def _format_percent(share: float | None) -> str:
    return NOT_MEASURED if share is None else f"{to_percent(share):.2f}"


def _format_ratio(ratio: float | None) -> str:
    return NOT_MEASURED if ratio is None else f"{ratio:.2f}"


def _format_plain(table: Table) -> list[str]:
    """Format a table for the terminal: names left, figures right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in table
    ]


def _format_markdown(table: Sequence[Sequence[str]]) -> list[str]:
    """Format a table in Markdown."""
    rows = [f"| {' | '.join(row)} |" for row in table]
    return [rows[0], "|" + "---|" * len(table[0]), *rows[1:]]
