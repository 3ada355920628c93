"""Measures an embedder alone: recall of gold lines by cosine, without words, dates or speakers as signals.

The figures serve to choose a model or its quantisation. The module uses no bank, but scans the lines of a conversation.
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
from everthread.embedders import shapes
from everthread.embedders.base import Embedder
from everthread.types import NewLine


@dataclass(frozen=True, slots=True)
class DenseResult:
    """The recall of an embedder alone, as shares, and its times in milliseconds."""

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
    """Measure an embedder on these conversations.

    Args:
        conversations: with their questions.
        embedder: default: the configured one.
    """
    model = factory.open_embedder(embedder)
    model.embed_query("warm")
    recalls: list[dict[int, float]] = []
    query_ms: list[float] = []
    elapsed_s, line_count = 0.0, 0
    for conversation in conversations:
        started_at = time.perf_counter()
        vectors = shapes.embed_texts(model, [format_with_date(line) for line in conversation.lines])  # (N, E, D)
        elapsed_s += time.perf_counter() - started_at
        line_count += len(conversation.lines)
        for question in conversation.questions:
            started_at = time.perf_counter()
            query = model.embed_query(question.text)
            query_ms.append(1000 * (time.perf_counter() - started_at))
            order = np.argsort(-shapes.max_cosines(vectors, query), kind="stable")[: max(KS)]
            ranked = [conversation.ids[index] for index in order]
            recalls.append({k: recall_at(ranked, question.gold, k) for k in KS})
    recall = {k: mean(recalled[k] for recalled in recalls) for k in KS}
    line_ms = 1000 * elapsed_s / max(line_count, 1)
    return DenseResult(model.name, len(recalls), recall, percentile(query_ms, 50), line_ms)


def format_with_date(line: NewLine) -> str:
    """Format a line as it is embedded here: "[8 May 2023] Speaker: text"."""
    day = f"[{line.said_at.day} {line.said_at:%B %Y}] " if line.said_at else ""
    return f"{day}{line.speaker}: {line.text}"
