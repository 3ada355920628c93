"""Choosing a head's numbers from conversations: the weights, the curves of the gate and its threshold.

Every figure reported is of a conversation that was left out of the fit it is measured with. It knows how questions are
put to a bank (as `run` does) and how `fit` works, and leaves the reading of datasets to the loaders.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread import open as opening
from everthread.bench.fit import Example, fit, logistic, pruned
from everthread.bench.metrics import KS
from everthread.bench.questions import Conversation
from everthread.bench.run import renamed
from everthread.memory import Memory
from everthread.models.embed import Embedder
from everthread.recall import gate
from everthread.recall.fuse import SIGNALS

KEPT = 0.95  # of the questions that a bank can answer, how many the gate must let through
OTHERS = 4  # strangers' banks that each conversation's questions are asked of
FRIENDS = (
    *("cosine", "cosine_near", "bm25_window", "bm25_session", "share", "asks", "length", "speaker"),
    *("day", "month", "answers", "time"),
)
ASSISTANT = (
    *("cosine", "cosine_near", "cosine_session", "bm25_window", "bm25_session", "asks", "length", "person"),
    "age",
)
ROUGH = {"cosine": 8.0, "bm25_window": 0.4}  # the score by which negatives are chosen: a plain hybrid

Floats = npt.NDArray[np.float64]
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Put:
    """One question put to one bank: its candidates, and the evidence that needs no weights. gold is empty elsewhere."""

    asker: str
    bank: str
    kind: str  # own, unchanged or mapped
    example: Example
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was fitted on all conversations, and what the left-out ones showed."""

    weights: Mapping[str, float]
    whole: Mapping[str, float]
    hit: Mapping[str, float]
    threshold: float
    questions: int
    recall: Mapping[int, float]  # k -> share, each conversation left out in turn
    curve: Sequence[tuple[float, float, float]]  # (kept, unchanged, mapped), likewise

    def json(self) -> dict[str, Any]:
        return {
            "left_out": {
                "questions": self.questions,
                "recall": {str(k): round(100 * value, 2) for k, value in self.recall.items()},
                "gate": [
                    {"kept": round(100 * k, 1), "unchanged": round(100 * u, 1), "mapped": round(100 * m, 1)}
                    for k, u, m in self.curve
                ],
            },
            "head": {"weights": self.weights, "whole": self.whole, "hit": self.hit, "threshold": self.threshold},
        }

    def text(self) -> str:
        recall = "  ".join(f"R@{k} {100 * value:.2f}" for k, value in self.recall.items())
        gate_rows = [
            f"  keeps {100 * k:5.1f} %   lets in {100 * u:5.1f} % (names mapped: {100 * m:5.1f} %)"
            for k, u, m in self.curve
        ]
        head = json.dumps(self.json()["head"], indent=2)
        return "\n".join(
            [f"left out in turn, {self.questions} questions: {recall}", *gate_rows, "fitted on all:", head]
        )


def weigh(conversations: Sequence[Conversation], embedder: Embedder | str | None = None) -> Weighed:
    """Fit a head on these conversations, and on all but one for each."""
    names = ASSISTANT if any(line.role == "assistant" for each in conversations for line in each.lines) else FRIENDS
    puts = list(_put(conversations, opening.embedder(embedder), names))
    own = [put for put in puts if put.kind == "own"]
    held = {each.id: _head(_without(puts, each.id)) for each in conversations}
    ranks = [_ranks(put.example, held[put.bank].weights) for put in own]
    chances = {
        kind: np.array([_whole(put, held[put.bank]) for put in puts if put.kind == kind])
        for kind in ("own", "unchanged", "mapped")
    }
    final = _head(puts)
    return Weighed(
        weights=dict(zip(names, _rounded(final.weights), strict=True)),
        whole=dict(zip(("bias", *gate.EVIDENCE), _rounded(final.whole), strict=True)),
        hit=dict(zip(("bias", "score"), _rounded(final.hit), strict=True)),
        threshold=round(float(np.quantile(chances["own"], 1 - KEPT)), 3),
        questions=len(own),
        recall={k: float(np.mean([(rank < k).mean() for rank in ranks])) for k in KS},
        curve=[_point(chances, kept) for kept in (0.99, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8)],
    )


# ------------------------------------------------------------------------ asking


def _put(conversations: Sequence[Conversation], model: Embedder, names: Sequence[str]) -> Iterator[Put]:
    """Every question to its own bank, when its time has come, and then to strangers'."""
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = opening.store(Path(folder))
        banks = [Memory(each.id, store, model, opening.recipe("default")) for each in conversations]
        for conversation, bank in zip(conversations, banks, strict=True):
            yield from _own(conversation, bank, names)
        for at, conversation in enumerate(conversations):
            for step in range(1, min(OTHERS, len(conversations) - 1) + 1):
                other = (at + step) % len(conversations)
                for question in conversation.questions:
                    mapped = renamed(question.text, conversation.speakers, conversations[other].speakers)
                    for kind, text in (("unchanged", question.text), ("mapped", mapped)):
                        yield _measured(conversation.id, banks[other], kind, text, (), names)
        store.close()


def _own(conversation: Conversation, bank: Memory, names: Sequence[str]) -> Iterator[Put]:
    def after(count: int | None) -> int:
        return len(conversation.lines) if count is None else count

    seqs: dict[str, int] = {}
    for count, questions in groupby(
        sorted(conversation.questions, key=lambda each: after(each.after)), lambda each: after(each.after)
    ):
        fed = bank.observe_many(conversation.lines[len(seqs) : count])
        seqs |= dict(zip(conversation.ids[len(seqs) : count], (line.seq for line in fed), strict=True))
        for question in questions:
            yield _measured(conversation.id, bank, "own", question.text, [seqs[id] for id in question.gold], names)
    bank.observe_many(conversation.lines[len(seqs) :])


def _measured(asker: str, bank: Memory, kind: str, text: str, gold: Sequence[int], names: Sequence[str]) -> Put:
    found, signals = bank.measure(text)
    matrix = np.stack([signals[name] for name in names], axis=1)  # (C, S)
    rough = np.array([ROUGH.get(name, 0.0) for name in names])
    evidence = gate.evidence(found, signals, np.zeros(len(matrix), np.float32))
    example = pruned(Example(bank.bank, matrix, np.flatnonzero(np.isin(found.seqs, gold))), rough)
    return Put(asker, bank.bank, kind, example, evidence)


# ----------------------------------------------------------------------- fitting


@dataclass(frozen=True, slots=True)
class _Head:
    weights: Floats
    whole: Floats  # bias first
    hit: Floats


def _without(puts: Sequence[Put], name: str) -> list[Put]:
    """The questions that neither come from this conversation nor were put to its bank."""
    return [put for put in puts if name not in (put.asker, put.bank)]


def _head(puts: Sequence[Put]) -> _Head:
    """The numbers that these questions give."""
    weights = fit([put.example for put in puts if len(put.example.gold)])
    own = np.array([put.kind == "own" for put in puts])
    # Own and strangers' questions weigh the same in all, and so do the two kinds of strangers' questions.
    counts = {kind: sum(put.kind == kind for put in puts) for kind in ("own", "unchanged", "mapped")}
    importance = np.array([(2.0 if put.kind == "own" else 1.0) / counts[put.kind] for put in puts])
    bias, slope = logistic(np.array([_evidence(put, weights) for put in puts]), own, importance)
    scores = np.concatenate([put.example.signals @ weights for put in puts if put.kind == "own"])
    gold = np.concatenate([_is_gold(put.example) for put in puts if put.kind == "own"])
    hit_bias, hit_slope = logistic(scores[:, None], gold, np.ones(len(scores)))
    return _Head(weights, np.array([bias, *slope]), np.array([hit_bias, *hit_slope]))


def _evidence(put: Put, weights: Floats) -> list[float]:
    top = float((put.example.signals @ weights).max())
    return [top if name == "top" else put.evidence[name] for name in gate.EVIDENCE]


def _whole(put: Put, head: _Head) -> float:
    return float(1 / (1 + np.exp(-(head.whole[0] + head.whole[1:] @ np.array(_evidence(put, head.weights))))))


def _is_gold(example: Example) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(np.arange(len(example.signals)), example.gold))


def _ranks(example: Example, weights: Floats) -> npt.NDArray[np.intp]:
    """(G,) the place of each gold line, from 0."""
    order = np.argsort(-(example.signals @ weights), kind="stable")
    return np.flatnonzero(np.isin(order, example.gold))


def _point(chances: Mapping[str, Floats], kept: float) -> tuple[float, float, float]:
    threshold = np.quantile(chances["own"], 1 - kept)
    return kept, *(float((chances[kind] >= threshold).mean()) for kind in ("unchanged", "mapped"))  # type: ignore[return-value]


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]


assert set(FRIENDS + ASSISTANT) <= set(SIGNALS)
