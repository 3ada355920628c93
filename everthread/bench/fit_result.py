"""The result of a fit: the weights and curves, and what was measured on conversations that were left out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everthread.bench.report import to_percents


@dataclass(frozen=True, slots=True)
class GateRates:
    """The shares of questions that a gate accepts: own ones, and foreign ones without and with the bank's names.

    The last two are None if no foreign questions were asked.
    """

    kept: float
    unchanged: float | None
    mapped: float | None

    def json(self) -> dict[str, float | None]:
        shares = {name: getattr(self, name) for name in ("kept", "unchanged", "mapped")}
        return {name: None if share is None else round(100 * share, 1) for name, share in shares.items()}

    def text(self) -> str:
        form = "keeps {kept:.1f}%"
        if self.unchanged is not None:
            form += ", lets in {unchanged:.1f}% (names mapped: {mapped:.1f}%)"
        return form.format(**self.json())


@dataclass(frozen=True, slots=True)
class FitResult:
    """The weights fitted on all conversations, and the results on held-out conversations."""

    weights: Mapping[str, float]
    message_weights: Mapping[str, float]
    query_model: Mapping[str, float]
    hit_model: Mapping[str, float]
    threshold: float
    questions: int
    recall: Mapping[int, float]  # k -> share
    curve: Sequence[GateRates]
    corpus: tuple[Mapping[int, float], Sequence[GateRates]] | None  # recall and curve, if it was given
    small: Mapping[str, GateRates]  # at the threshold, in small banks
    banks: Mapping[str, tuple[Mapping[int, float], GateRates]]  # by conversation: recall, and gate at the threshold

    def json(self) -> dict[str, Any]:
        return {
            "left_out": {
                "questions": self.questions,
                "recall": to_percents(self.recall),
                "gate": [point.json() for point in self.curve],
                "corpus": None
                if self.corpus is None
                else {"recall": to_percents(self.corpus[0]), "gate": [point.json() for point in self.corpus[1]]},
                "gate_in_small_banks": {name: point.json() for name, point in self.small.items()},
                "banks": {
                    name: {"recall": to_percents(recall), "gate": point.json()}
                    for name, (recall, point) in self.banks.items()
                },
            },
            "head": {
                "weights": self.weights,
                "message_weights": self.message_weights,
                "whole": self.query_model,
                "hit": self.hit_model,
                "threshold": self.threshold,
            },
        }

    def text(self) -> str:
        return "\n".join(
            [
                f"each conversation left out in turn, {self.questions} questions: {_format_recall(self.recall)}",
                *(f"  gate {point.text()}" for point in self.curve),
                *self._corpus_text(),
                *(f"  in {name}, at the threshold: {point.text()}" for name, point in self.small.items()),
                *(
                    f"  {name}: {_format_recall(recall)}, gate {point.text()}"
                    for name, (recall, point) in self.banks.items()
                ),
                "fitted on all:",
                json.dumps(self.json()["head"], indent=2),
            ]
        )

    def _corpus_text(self) -> list[str]:
        if self.corpus is None:
            return []
        recall, curve = self.corpus
        return [f"  the corpus: {_format_recall(recall)}", *(f"    gate {point.text()}" for point in curve)]


def _format_recall(recall: Mapping[int, float]) -> str:
    return "  ".join(f"R@{k} {100 * value:.2f}" for k, value in recall.items())
