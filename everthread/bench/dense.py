"""An embedder alone: how many gold lines are among the nearest by cosine, with no words, dates or speakers as signals.

For choosing a model or its quantisation. It uses no bank: an exact scan over the lines of one conversation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from everthread import factory
from everthread.bench.metrics import KS, mean, percentile, recall_at
from everthread.bench.questions import AnnotatedConversation
from everthread.embedders.base import Embedder
from everthread.types import NewLine


@dataclass(frozen=True, slots=True)
class DenseResult:
    """The recall of an embedder by itself (shares), and its times in milliseconds."""

    embedder: str
    questions: int
    recall: Mapping[int, float]
    query_p50: float
    line_mean: float

    def json(self) -> dict[str, Any]:
        return {
            "embedder": self.embedder,
            "questions": self.questions,
            "recall": {str(k): round(100 * share, 2) for k, share in self.recall.items()},
            "query_ms_p50": round(self.query_p50, 2),
            "line_ms_mean": round(self.line_mean, 2),
        }

    def text(self) -> str:
        recall = "  ".join(f"R@{k} {100 * share:.2f}" for k, share in self.recall.items())
        times = f"{self.query_p50:.2f} ms a question, {self.line_mean:.2f} ms a line"
        return f"{self.embedder}, {self.questions} questions: {recall}  ({times})"


def measure_dense(
    conversations: Sequence[AnnotatedConversation], embedder: Embedder | str | None = None
) -> DenseResult:
    """Measure an embedder on these conversations; a line is embedded as "[8 May 2023] Speaker: text"."""
    model = factory.open_embedder(embedder)
    model.embed_query("warm")
    recalls: list[dict[int, float]] = []
    asked: list[float] = []
    spent, lines = 0.0, 0
    for conversation in conversations:
        begun = time.perf_counter()
        vectors = model.embed([with_date(line) for line in conversation.lines])  # (N, D)
        spent, lines = spent + time.perf_counter() - begun, lines + len(conversation.lines)
        for question in conversation.questions:
            begun = time.perf_counter()
            query = model.embed_query(question.text)
            asked.append(1000 * (time.perf_counter() - begun))
            order = np.argsort(-(vectors @ query), kind="stable")[: max(KS)]
            ranked = [conversation.ids[at] for at in order]
            recalls.append({k: recall_at(ranked, question.gold, k) for k in KS})
    recall = {k: mean(each[k] for each in recalls) for k in KS}
    return DenseResult(model.name, len(recalls), recall, percentile(asked, 50), 1000 * spent / max(lines, 1))


def with_date(line: NewLine) -> str:
    """Return a line as it is embedded here."""
    day = f"[{line.said_at.day} {line.said_at:%B %Y}] " if line.said_at else ""
    return f"{day}{line.speaker}: {line.text}"
