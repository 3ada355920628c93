"""Formats the results that `run` has measured: a table, JSON and a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everthread.common.installation import extra_command
from everthread.errors import ConfigError

BUDGETS_TOKENS = (500, 1000, 2000)  # of context: a small, a usual and a large share of a prompt


@dataclass(frozen=True, slots=True)
class CategoryResult:
    """The results of one kind of question."""

    questions: int
    recall: Mapping[int, float]  # k -> share


@dataclass(frozen=True, slots=True)
class GatePoint:
    """The shares of questions that a gate with this threshold accepts."""

    threshold: float
    kept: float  # of the questions to their own bank
    unchanged: float  # of the same questions to a foreign bank
    mapped: float  # of these, with the names of that bank


@dataclass(frozen=True, slots=True)
class FalseInjection:
    """The shares of questions that the bank can't answer and for which something was recalled."""

    unchanged: float
    mapped: float
    curve: tuple[GatePoint, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run. Shares are 0..1, times are milliseconds; None was not measured."""

    dataset: str
    recipe: str
    embedder: str
    questions: int
    left_out: int
    unresolved: int
    recall: Mapping[int, float]
    categories: Mapping[str, CategoryResult]
    ndcg10: float
    gold_in_context: Mapping[int, float]  # by the budget of the context, in tokens
    tokens_in_context: Mapping[int, float]  # the mean of those that it takes of the budget
    kept: float
    false_injection: FalseInjection | None
    latency_p50: float
    latency_p95: float

    def json(self) -> dict[str, Any]:
        """Return the figures, shares in percent. Scripts rely on the names."""
        return {
            "dataset": self.dataset,
            "recipe": self.recipe,
            "embedder": self.embedder,
            "questions": self.questions,
            "left_out": self.left_out,
            "recall": to_percents(self.recall),
            "ndcg10": to_percent(self.ndcg10),
            "categories": {
                name: {"questions": category.questions, "recall": to_percents(category.recall)}
                for name, category in self.categories.items()
            },
            "gold_in_context": to_percents(self.gold_in_context),
            "tokens_in_context": {str(budget): round(tokens) for budget, tokens in self.tokens_in_context.items()},
            "kept": to_percent(self.kept),
            "false_injection": _false_injection_json(self.false_injection),
            "latency_ms": {"p50": round(self.latency_p50, 2), "p95": round(self.latency_p95, 2)},
        }

    def text(self) -> str:
        """Return the figures as a table for the terminal and the docs."""
        head = f"{self.dataset}, recipe {self.recipe}, embedder {self.embedder}"
        rows = [(name, category.questions, category.recall) for name, category in sorted(self.categories.items())]
        rows.append(("all", self.questions, self.recall))
        return "\n".join([head, "", *_format_table(rows), "", *self._list_notes()])

    def plot(self, path: Path) -> None:
        """Plot recall by k, and the questions that pass the gate by threshold. The suffix of the path is the format."""
        draw_plot(path, f"{self.dataset} · {self.recipe}", (self._draw_recall, self._draw_gate))

    def _list_notes(self) -> list[str]:
        budgets = "   ".join(f"{budget}: {to_percent(share):.2f}" for budget, share in self.gold_in_context.items())
        tokens = "   ".join(f"{budget}: {taken:.0f}" for budget, taken in self.tokens_in_context.items())
        notes = [
            f"nDCG@10          {to_percent(self.ndcg10):.2f}",
            f"gold in context  {budgets}   (% of gold lines in a context of this many tokens)",
            f"tokens taken     {tokens}   (of this budget, on average)",
            f"gate             keeps {to_percent(self.kept):.2f}% of the questions",
            f"latency          p50 {self.latency_p50:.1f} ms, p95 {self.latency_p95:.1f} ms a recall",
            f"left out         {self.left_out} questions without gold, {self.unresolved} unresolved gold ids",
        ]
        if self.false_injection is not None:
            unchanged, mapped = self.false_injection.unchanged, self.false_injection.mapped
            figures = f"{to_percent(unchanged):.2f}%, and {to_percent(mapped):.2f}% with that bank's names"
            notes.insert(4, f"false injection  {figures}, of the questions that a bank can't answer")
        return notes

    def _draw_recall(self, axes: Any) -> None:
        ks = list(self.recall)
        for name, category in sorted(self.categories.items()):
            axes.plot(ks, [to_percent(category.recall[k]) for k in ks], marker=".", linewidth=1, alpha=0.6, label=name)
        axes.plot(ks, [to_percent(self.recall[k]) for k in ks], marker="o", color="black", label="all")
        axes.set(xscale="log", xlabel="k", ylabel="gold lines among the first k (%)", title="Recall", ylim=(0, 100))
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.minorticks_off()
        axes.legend(fontsize="small")

    def _draw_gate(self, axes: Any) -> None:
        curve = self.false_injection.curve if self.false_injection else ()
        for name, label in (
            ("kept", "its own bank"),
            ("unchanged", "another bank"),
            ("mapped", "another bank, its names"),
        ):
            axes.plot([p.threshold for p in curve], [to_percent(getattr(p, name)) for p in curve], label=label)
        axes.set(xlabel="threshold of relevance", ylabel="questions let through (%)", title="Gate", ylim=(0, 100))
        axes.legend(fontsize="small")


def check_plot_path(path: Path) -> None:
    """Check that a plot can be written to this path.

    Raises:
        ConfigError: for an unsupported suffix.
    """
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"cannot plot to {str(path)!r}; expected a file that ends in .png, .svg or .pdf")


def draw_plot(path: Path, title: str, parts: Sequence[Callable[[Any], None]]) -> None:
    """Draw parts of a plot side by side.

    Args:
        path: its suffix is the format.
        title: of the plot.
        parts: functions that draw on axes.

    Raises:
        ConfigError: if the plot can't be written, or matplotlib is missing.
    """
    check_plot_path(path)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError(f"plots need matplotlib; install it with: {extra_command('bench')}") from None
    figure = Figure(figsize=(5 * len(parts), 4), layout="constrained")
    FigureCanvasAgg(figure)
    for draw, axes in zip(parts, figure.subplots(1, len(parts), squeeze=False)[0], strict=True):
        draw(axes)
    figure.suptitle(title)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise ConfigError(f"can't plot to {str(path)!r} ({error.strerror}); name a folder that is there") from None


def _format_table(rows: list[tuple[str, int, Mapping[int, float]]]) -> list[str]:
    width = max(len("category"), *(len(name) for name, _, _ in rows))
    head = f"{'category':<{width}}  questions" + "".join(f"{'R@' + str(k):>8}" for k in rows[0][2])
    return [head] + [
        f"{name:<{width}}  {count:>9}" + "".join(f"{to_percent(share):>8.2f}" for share in recall.values())
        for name, count, recall in rows
    ]


def _false_injection_json(injection: FalseInjection | None) -> dict[str, Any] | None:
    if injection is None:
        return None
    names = ("kept", "unchanged", "mapped")
    curve = [
        {"threshold": point.threshold, **{name: to_percent(getattr(point, name)) for name in names}}
        for point in injection.curve
    ]
    return {"unchanged": to_percent(injection.unchanged), "mapped": to_percent(injection.mapped), "curve": curve}


def to_percent(share: float) -> float:
    """Return a share in percent, rounded to two decimals."""
    return round(100 * share, 2)


def to_percents(shares: Mapping[int, float]) -> dict[str, float]:
    """Return shares by number for JSON."""
    return {str(number): to_percent(share) for number, share in shares.items()}
