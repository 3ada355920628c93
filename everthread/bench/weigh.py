"""Choosing a head's numbers from conversations: the weights, the curves of the gate and its threshold.

Every figure reported is of a conversation that was left out of the fit it is measured with. It knows how questions are
put to a bank (as `run` does) and how `fit` works, and leaves the reading of datasets to the loaders.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread import open as opening
from everthread.bench.fit import Example, fit, logistic, pruned
from everthread.bench.metrics import KS
from everthread.bench.questions import Conversation, Question
from everthread.bench.run import renamed
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.models.embed import Embedder
from everthread.recall import gate
from everthread.recall.fuse import SIGNALS

KEPT = 0.95  # of the questions that a bank can answer, how many the gate must let through
OTHERS = 4  # strangers' banks that each conversation's questions are asked of
TINY = 4  # of every so many questions, one is also put to a bank of three lines
MIXED = 0.4  # of the weight of all questions, what those of the mixed-in conversations have
FRIENDS = (
    *("cosine", "cosine_near", "bm25_window", "bm25_session", "share", "asks", "length", "speaker"),
    *("day", "month", "answers", "time"),
)
ASSISTANT = (
    *("cosine", "cosine_near", "cosine_session", "bm25_window", "bm25_session", "asks", "length", "person"),
    *("day", "month", "time"),
)
RIDGES = {FRIENDS: 0.03, ASSISTANT: 0.1}
ROUGH = {"cosine": 8.0, "bm25_window": 0.4}  # the score by which negatives are chosen: a plain hybrid

Floats = npt.NDArray[np.float64]
CURVE = (0.99, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8)


@dataclass(frozen=True, slots=True)
class Put:
    """One question put to one bank: its candidates, and what of the evidence needs no weights."""

    asker: str
    bank: str
    kind: str  # own, unchanged or mapped
    gold: int  # lines that answer it, candidates or not
    example: Example
    evidence: Mapping[str, float]
    tiny: bool  # the bank has three lines


@dataclass(frozen=True, slots=True)
class Point:
    """What a gate lets through, as shares: of a bank's own questions, and of strangers' with and without its names."""

    kept: float
    unchanged: float
    mapped: float

    def json(self) -> dict[str, float]:
        return {name: round(100 * getattr(self, name), 1) for name in ("kept", "unchanged", "mapped")}

    def text(self) -> str:
        return "keeps {kept:.1f} %, lets in {unchanged:.1f} % (names mapped: {mapped:.1f} %)".format(**self.json())


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was fitted on all conversations, and what the left-out ones showed."""

    weights: Mapping[str, float]
    whole: Mapping[str, float]
    hit: Mapping[str, float]
    threshold: float
    questions: int
    recall: Mapping[int, float]  # k -> share, each conversation left out in turn
    curve: Sequence[Point]  # likewise
    tiny: Point  # at the threshold, in banks of three lines

    def json(self) -> dict[str, Any]:
        return {
            "left_out": {
                "questions": self.questions,
                "recall": {str(k): round(100 * value, 2) for k, value in self.recall.items()},
                "gate": [point.json() for point in self.curve],
                "gate_in_three_lines": self.tiny.json(),
            },
            "head": {"weights": self.weights, "whole": self.whole, "hit": self.hit, "threshold": self.threshold},
        }

    def text(self) -> str:
        recall = "  ".join(f"R@{k} {100 * value:.2f}" for k, value in self.recall.items())
        return "\n".join(
            [
                f"each conversation left out in turn, {self.questions} questions: {recall}",
                *(f"  gate {point.text()}" for point in self.curve),
                f"  in banks of three lines, at the threshold: {self.tiny.text()}",
                "fitted on all:",
                json.dumps(self.json()["head"], indent=2),
            ]
        )


def weigh(
    conversations: Sequence[Conversation],
    embedder: Embedder | str | None = None,
    mixed: Sequence[Conversation] = (),
) -> Weighed:
    """Fit a head on these conversations, and on all but one for each.

    The questions of the mixed-in conversations join in the weights, with MIXED of the weight, and in nothing else.
    Raises BadInput where there is nothing to leave out.
    """
    if len(conversations) < 3:
        raise BadInput(f"fitting needs at least three conversations, got {len(conversations)}; one is left out in turn")
    names = ASSISTANT if any(line.role == "assistant" for each in conversations for line in each.lines) else FRIENDS
    model = opening.embedder(embedder)
    puts = list(_put(conversations, model, names))
    extra = [put.example for put in _put(mixed, model, names, strangers=False) if not put.tiny]
    own = [put for put in puts if put.kind == "own" and not put.tiny]
    held = {each.id: _head(_without(puts, each.id), extra, RIDGES[names]) for each in conversations}
    ranks = [(_ranks(put.example, held[put.bank].weights), put.gold) for put in own]
    chances = {tiny: _chances([put for put in puts if put.tiny == tiny], held) for tiny in (False, True)}
    threshold = float(np.quantile(chances[False]["own"], 1 - KEPT))
    final = _head(puts, extra, RIDGES[names])
    return Weighed(
        weights=dict(zip(names, _rounded(final.weights), strict=True)),
        whole=dict(zip(("bias", *gate.EVIDENCE), _rounded(final.whole), strict=True)),
        hit=dict(zip(("bias", "share"), _rounded(final.hit), strict=True)),
        threshold=round(threshold, 3),
        questions=len(own),
        recall={k: float(np.mean([(rank < k).sum() / gold for rank, gold in ranks])) for k in KS},
        curve=[_point(chances[False], float(np.quantile(chances[False]["own"], 1 - kept))) for kept in CURVE],
        tiny=_point(chances[True], threshold),
    )


# ------------------------------------------------------------------------ asking


def _put(
    conversations: Sequence[Conversation], model: Embedder, names: Sequence[str], strangers: bool = True
) -> Iterator[Put]:
    """Every question to its own bank, when its time has come, and then to strangers'; some to banks of three lines."""
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = opening.store(Path(folder))
        banks = [Memory(each.id, store, model, opening.recipe("default")) for each in conversations]
        for conversation, bank in zip(conversations, banks, strict=True):
            yield from _own(conversation, bank, names)
        for at, conversation in enumerate(conversations):
            for step in range(1, min(OTHERS, len(conversations) - 1) + 1 if strangers else 0):
                other = (at + step) % len(conversations)
                yield from _strange(conversation, conversations[other], banks[other], names)
            if strangers:
                other = (at + 1) % len(conversations)
                yield from _tiny(conversation, conversations[other], banks[other], names)
        store.close()


def _own(conversation: Conversation, bank: Memory, names: Sequence[str]) -> Iterator[Put]:
    def after(question: Question) -> int:
        return len(conversation.lines) if question.after is None else question.after

    seqs: dict[str, int] = {}
    for count, questions in groupby(sorted(conversation.questions, key=after), after):
        fed = bank.observe_many(conversation.lines[len(seqs) : count])
        seqs |= dict(zip(conversation.ids[len(seqs) : count], (line.seq for line in fed), strict=True))
        for question in questions:
            yield _measured(conversation.id, bank, "own", question.text, [seqs[id] for id in question.gold], names)
    bank.observe_many(conversation.lines[len(seqs) :])


def _strange(own: Conversation, other: Conversation, bank: Memory, names: Sequence[str]) -> Iterator[Put]:
    for question in own.questions:
        for kind, text in _strangely(question.text, own, other):
            yield _measured(own.id, bank, kind, text, (), names)


def _tiny(own: Conversation, other: Conversation, bank: Memory, names: Sequence[str]) -> Iterator[Put]:
    """Banks of three lines: a gold line between its neighbours, asked its own question and a stranger's."""
    for number, (question, odd) in enumerate(zip(own.questions[::TINY], other.questions[::TINY], strict=False)):
        at = own.ids.index(min(question.gold))
        little = Memory(f"{own.id}/{number}", bank.store, bank.embedder, bank.recipe)
        kept = little.observe_many(own.lines[max(0, at - 1) : at + 2])
        seqs = [line.seq for line in kept if line.key in {own.lines[own.ids.index(id)].key for id in question.gold}]
        put = _measured(own.id, little, "own", question.text, seqs, names)
        yield replace(put, bank=own.id, tiny=True)
        for kind, text in _strangely(odd.text, other, own):
            yield replace(_measured(other.id, little, kind, text, (), names), bank=own.id, tiny=True)


def _strangely(text: str, own: Conversation, other: Conversation) -> tuple[tuple[str, str], tuple[str, str]]:
    """A question as it is put to a stranger's bank: as it stands, and with the stranger's names."""
    return ("unchanged", text), ("mapped", renamed(text, own.speakers, other.speakers))


def _measured(asker: str, bank: Memory, kind: str, text: str, gold: Sequence[int], names: Sequence[str]) -> Put:
    found, signals = bank.measure(text)
    matrix = np.stack([signals[name] for name in names], axis=1)  # (C, S)
    rough = np.array([ROUGH.get(name, 0.0) for name in names])
    evidence = gate.evidence(found, signals, np.zeros(len(matrix), np.float32))
    example = pruned(Example(bank.bank, matrix, np.flatnonzero(np.isin(found.seqs, gold))), rough)
    return Put(asker, bank.bank, kind, len(gold), example, evidence, tiny=False)


# ----------------------------------------------------------------------- fitting


@dataclass(frozen=True, slots=True)
class _Head:
    weights: Floats
    whole: Floats  # bias first
    hit: Floats


def _without(puts: Sequence[Put], name: str) -> list[Put]:
    """The questions that neither come from this conversation nor were put to its bank."""
    return [put for put in puts if name not in (put.asker, put.bank)]


def _head(puts: Sequence[Put], extra: Sequence[Example], ridge: float) -> _Head:
    """The numbers that these questions give."""
    big = [put for put in puts if put.kind == "own" and not put.tiny and len(put.example.gold)]
    share = MIXED / (1 - MIXED) * len(big) / max(len(extra), 1)
    joined = [replace(example, importance=share) for example in extra if len(example.gold)]
    weights = fit([put.example for put in big] + joined, ridge)
    own = np.array([put.kind == "own" for put in puts])
    # Own and strangers' questions weigh the same in all, so do the two kinds of strangers', and tiny banks a third.
    counts = Counter((put.kind, put.tiny) for put in puts)
    weight = [(2.0 if put.kind == "own" else 1.0) / counts[put.kind, put.tiny] / (2 if put.tiny else 1) for put in puts]
    bias, slope = logistic(np.array([_evidence(put, weights) for put in puts]), own, np.array(weight))
    shares = np.concatenate([gate.log_share(put.example.signals @ weights) for put in big])
    gold = np.concatenate([_is_gold(put.example) for put in big])
    hit_bias, hit_slope = logistic(shares[:, None], gold, np.ones(len(shares)))
    return _Head(weights, np.array([bias, *slope]), np.array([hit_bias, *hit_slope]))


def _evidence(put: Put, weights: Floats) -> list[float]:
    top = float((put.example.signals @ weights).max())
    return [top if name == "top" else put.evidence[name] for name in gate.EVIDENCE]


def _whole(put: Put, head: _Head) -> float:
    return float(1 / (1 + np.exp(-(head.whole[0] + head.whole[1:] @ np.array(_evidence(put, head.weights))))))


def _is_gold(example: Example) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(np.arange(len(example.signals)), example.gold))


def _ranks(example: Example, weights: Floats) -> npt.NDArray[np.intp]:
    """The place of each gold line that was a candidate, from 0."""
    order = np.argsort(-(example.signals @ weights), kind="stable")
    return np.flatnonzero(np.isin(order, example.gold))


def _chances(puts: Sequence[Put], held: Mapping[str, _Head]) -> dict[str, Floats]:
    kinds = ("own", "unchanged", "mapped")
    return {kind: np.array([_whole(put, held[put.bank]) for put in puts if put.kind == kind]) for kind in kinds}


def _point(chances: Mapping[str, Floats], threshold: float) -> Point:
    return Point(*(float((chances[kind] >= threshold).mean()) for kind in ("own", "unchanged", "mapped")))


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]


assert set(FRIENDS + ASSISTANT) <= set(SIGNALS)
