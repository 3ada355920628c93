"""Fits a scoring profile on conversations: the weights, the curves of the gate and its threshold.

Every reported figure is of a conversation that was left out of the fit. The module knows how questions are put to a
bank (as `run` does) and how `fit` works, and leaves the reading of datasets to the loaders.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everthread import factory
from everthread.bench.first_facts import Language, load_first_facts, with_replies
from everthread.bench.fit import Example, fit, logistic, prune_candidates
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.run import replace_names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recall import relevance
from everthread.recall.types import Query

TARGET_KEPT_SHARE = 0.95  # of the questions that a bank can answer, how many the gate must let through
FOREIGN_BANKS = 4  # strangers' banks that each conversation's questions are asked of
SMALL_BANK_STRIDE = 4  # every fourth question is also put to a small bank
SMALL_BANK_LINES = (3, 10, 30, 100)  # lines of the small banks, in turn
# In a small bank the gate is to let in a stranger's question rather less often than to keep an own one: its own
# questions count for so much less than strangers'.
SMALL_BANK_ODDS = 0.3
MIXED_WEIGHT = 0.4  # of the weight of all questions, what those of the mixed-in conversations have
FRIEND_SIGNALS = (
    "cosine",
    "cosine_near",
    "bm25_window",
    "bm25_session",
    "share",
    "asks",
    "length",
    "speaker",
    "day",
    "month",
    "answers",
    "time",
)
ASSISTANT_SIGNALS = (
    "cosine",
    "cosine_near",
    "cosine_session",
    "bm25_window",
    "bm25_session",
    "asks",
    "length",
    "person",
    "day",
    "month",
    "time",
)
WORD_SIGNALS = ("bm25_window", "share", "length", "person")  # what is left where the embedder can't read the question
ROUGH_WEIGHTS = {"cosine": 8.0, "bm25_window": 0.4}  # the score by which negatives are chosen: a plain hybrid

Floats = npt.NDArray[np.float64]
SIZE_WEIGHTS = {"full": 1.0, "small": 0.5, "first": 1.0}  # what the questions to banks of each size weigh in the gate
KEPT_SHARES = (0.99, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8)


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings chosen by hand for one kind of conversation."""

    names: tuple[str, ...]  # of the signals that are weighed
    ridge: float
    evidence: tuple[str, ...] = tuple(name for name in relevance.EVIDENCE_NAMES if name != "asked")
    given: Mapping[str, float] = field(default_factory=dict)  # weights that these conversations can't tell
    careful: float = SMALL_BANK_ODDS
    curve: tuple[float, ...] = KEPT_SHARES
    let_in: float | None = None  # of strangers' questions, by which the threshold is chosen; None: by KEPT


AMONG_FRIENDS = FitSettings(FRIEND_SIGNALS, ridge=0.03)
WITH_ASSISTANT = FitSettings(ASSISTANT_SIGNALS, ridge=0.1)
# Words alone can't keep nearly all of the own questions without letting in nearly all of the others, so the threshold
# is chosen by the latter. They let in few of small banks anyway.
BY_WORDS = FitSettings(
    names=WORD_SIGNALS,
    ridge=0.03,
    evidence=("top", "small", "asked"),
    given={"person": 1.1275},  # as with an assistant: no bot speaks in them
    careful=1.0,
    curve=(0.9, 0.8, 0.7, 0.6, 0.5, 0.4),
    let_in=0.2,
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One question to one bank: its candidates, and the evidence that needs no weights."""

    asker: str
    bank: str
    kind: str  # own, unchanged or mapped
    size: str  # of the bank: full; small, a part of a conversation; first, one of the `firsts`
    gold: int  # lines that answer it, candidates or not
    example: Example
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GateRates:
    """The shares of questions that a gate accepts: own ones, and foreign ones without and with the bank's names."""

    kept: float
    unchanged: float
    mapped: float

    def json(self) -> dict[str, float]:
        return {name: round(100 * getattr(self, name), 1) for name in ("kept", "unchanged", "mapped")}

    def text(self) -> str:
        return "keeps {kept:.1f} %, lets in {unchanged:.1f} % (names mapped: {mapped:.1f} %)".format(**self.json())


@dataclass(frozen=True, slots=True)
class FitResult:
    """The weights fitted on all conversations, and the results on held-out conversations."""

    weights: Mapping[str, float]
    whole: Mapping[str, float]
    hit: Mapping[str, float]
    threshold: float
    questions: int
    recall: Mapping[int, float]  # k -> share, each conversation left out in turn
    curve: Sequence[GateRates]  # likewise
    small: Mapping[str, GateRates]  # at the threshold, in small banks
    banks: Mapping[
        str, tuple[Mapping[int, float], GateRates]
    ]  # by conversation: its recall, and at the threshold its gate

    def json(self) -> dict[str, Any]:
        return {
            "left_out": {
                "questions": self.questions,
                "recall": _percents(self.recall),
                "gate": [point.json() for point in self.curve],
                "gate_in_small_banks": {name: point.json() for name, point in self.small.items()},
                "banks": {
                    name: {"recall": _percents(recall), "gate": point.json()}
                    for name, (recall, point) in self.banks.items()
                },
            },
            "head": {"weights": self.weights, "whole": self.whole, "hit": self.hit, "threshold": self.threshold},
        }

    def text(self) -> str:
        return "\n".join(
            [
                f"each conversation left out in turn, {self.questions} questions: {_format_recall(self.recall)}",
                *(f"  gate {point.text()}" for point in self.curve),
                *(f"  in {name}, at the threshold: {point.text()}" for name, point in self.small.items()),
                *(
                    f"  {name}: {_format_recall(recall)}, gate {point.text()}"
                    for name, (recall, point) in self.banks.items()
                ),
                "fitted on all:",
                json.dumps(self.json()["head"], indent=2),
            ]
        )


def cross_validate(
    conversations: Sequence[AnnotatedConversation],
    embedder: Embedder | str | None = None,
    mixed: Sequence[AnnotatedConversation] = (),
    by_words: bool = False,
) -> FitResult:
    """Fit a profile on these conversations, and on all but one for each.

    Args:
        conversations: with their questions.
        embedder: default: the configured one.
        mixed: conversations whose questions join in the weights only, with MIXED_WEIGHT of the weight.
        by_words: for conversations in Chinese, which the embedder can't read.

    Raises:
        BadInput: for fewer than three conversations, or a multilingual embedder with by_words.
    """
    if len(conversations) < 3:
        raise BadInput(f"fitting needs at least three conversations, got {len(conversations)}; one is left out in turn")
    assistant = any(line.role == "assistant" for each in conversations for line in each.lines)
    kind = BY_WORDS if by_words else WITH_ASSISTANT if assistant else AMONG_FRIENDS
    model = factory.open_embedder(embedder)
    if by_words and model.multilingual:
        raise BadInput(f"{model.name} reads any script, so that words need not do alone; fit with minilm or hash")
    puts = list(_put(conversations, model, kind.names))
    little = list(_put_firsts(model, kind.names, assistant, "zh" if by_words else "en"))
    extra = [put.example for put in _put(mixed, model, kind.names, strangers=False)]
    own = [put for put in puts if put.kind == "own" and put.size == "full"]
    held = {each.id: _head(_leave_out(puts, each.id) + little, extra, kind) for each in conversations}
    final = _head(puts + little, extra, kind)
    for name in {put.bank for put in little}:  # these have no part in the weights, only in the curve
        held[name] = replace(final, whole=_fit_gate(puts + _leave_out(little, name), final.weights, kind))
    chances = {size: _chances([put for put in puts + little if put.size == size], held) for size in SIZE_WEIGHTS}
    threshold = _threshold(chances["full"], kind)
    return FitResult(
        weights=dict(zip(kind.names, _round(final.weights), strict=True)),
        whole=dict(zip(("bias", *kind.evidence), _round(final.whole), strict=True)),
        hit=dict(zip(("bias", "score_share"), _round(final.hit), strict=True)),
        threshold=round(threshold, 3),
        questions=len(own),
        recall=_recall(own, held),
        curve=[_point(chances["full"], float(np.quantile(chances["full"]["own"], 1 - kept))) for kept in kind.curve],
        banks={
            each.id: _shown([put for put in puts if put.bank == each.id], held, threshold) for each in conversations
        },
        small={
            f"parts of {' to '.join(map(str, SMALL_BANK_LINES[:: len(SMALL_BANK_LINES) - 1]))} lines": _point(
                chances["small"], threshold
            ),
            "the first things people tell": _point(chances["first"], threshold),
        },
    )


# ------------------------------------------------------------------------ asking


def _put(
    conversations: Sequence[AnnotatedConversation], model: Embedder, names: Sequence[str], strangers: bool = True
) -> Iterator[Trial]:
    """Put every question to its own bank, when its time has come, and then to foreign ones; some to small banks."""
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = factory.open_store(Path(folder))
        banks = [Memory(each.id, store, model, factory.open_recipe("default")) for each in conversations]
        for conversation, bank in zip(conversations, banks, strict=True):
            yield from _ask_own_bank(conversation, bank, names)
        for at, conversation in enumerate(conversations):
            for step in range(1, min(FOREIGN_BANKS, len(conversations) - 1) + 1 if strangers else 0):
                other = (at + step) % len(conversations)
                yield from _strange(conversation, conversations[other], banks[other], names)
            if strangers:
                other = (at + 1) % len(conversations)
                yield from _small(conversation, conversations[other], banks[other], names)
        store.close()


def _ask_own_bank(conversation: AnnotatedConversation, bank: Memory, names: Sequence[str]) -> Iterator[Trial]:
    def after(question: Question) -> int:
        return len(conversation.lines) if question.after is None else question.after

    seqs: dict[str, int] = {}
    for count, questions in groupby(sorted(conversation.questions, key=after), after):
        fed = bank.observe_many(conversation.lines[len(seqs) : count])
        seqs |= dict(zip(conversation.ids[len(seqs) : count], (line.seq for line in fed), strict=True))
        for question in questions:
            yield _measure(conversation.id, bank, "own", question.text, [seqs[id] for id in question.gold], names)
    bank.observe_many(conversation.lines[len(seqs) :])


def _strange(
    own: AnnotatedConversation, other: AnnotatedConversation, bank: Memory, names: Sequence[str]
) -> Iterator[Trial]:
    for question in own.questions:
        for kind, text in _strangely(question.text, own, other):
            yield _measure(own.id, bank, kind, text, (), names)


def _small(
    own: AnnotatedConversation, other: AnnotatedConversation, bank: Memory, names: Sequence[str]
) -> Iterator[Trial]:
    """Put a question of its own and a foreign one to parts of a conversation around a gold line."""
    for number, (question, odd) in enumerate(
        zip(own.questions[::SMALL_BANK_STRIDE], other.questions[::SMALL_BANK_STRIDE], strict=False)
    ):
        size, at = SMALL_BANK_LINES[number % len(SMALL_BANK_LINES)], own.ids.index(min(question.gold))
        part = slice(max(0, at - size // 2), max(0, at - size // 2) + size)
        little = Memory(f"{own.id}/{number}", bank.store, bank.embedder, bank.recipe)
        kept = zip(own.ids[part], little.observe_many(own.lines[part]), strict=True)
        seqs = [line.seq for id, line in kept if id in question.gold]
        put = _measure(own.id, little, "own", question.text, seqs, names)
        yield replace(put, bank=own.id, size="small")
        for kind, text in _strangely(odd.text, other, own):
            yield replace(_measure(other.id, little, kind, text, (), names), bank=own.id, size="small")


def _put_firsts(model: Embedder, names: Sequence[str], assistant: bool, language: Language) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = factory.open_store(Path(folder))
        for each in load_first_facts(language):
            told = with_replies(each, language) if assistant else each
            bank = Memory(each.id, store, model, factory.open_recipe("default"))
            seqs = dict(zip(told.ids, (line.seq for line in bank.observe_many(told.lines)), strict=True))
            for question in told.questions:
                gold = [seqs[id] for id in question.gold]
                yield replace(_measure(each.id, bank, "own", question.text, gold, names), size="first")
            for text in told.strange:
                yield replace(_measure("a stranger", bank, "unchanged", text, (), names), size="first")
        store.close()


def _strangely(
    text: str, own: AnnotatedConversation, other: AnnotatedConversation
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return a question as it is put to a foreign bank: unchanged, and with that bank's names."""
    return ("unchanged", text), ("mapped", replace_names(text, own.speakers, other.speakers))


def _measure(asker: str, bank: Memory, kind: str, text: str, gold: Sequence[int], names: Sequence[str]) -> Trial:
    found, signals = bank.reader.measure_candidates(Query(text))
    matrix = np.stack([signals[name] for name in names], axis=1)  # (C, S)
    rough = np.array([ROUGH_WEIGHTS.get(name, 0.0) for name in names])
    evidence = relevance.collect_evidence(found, signals, np.zeros(len(matrix), np.float32))
    example = prune_candidates(Example(bank.bank, matrix, np.flatnonzero(np.isin(found.seqs, gold))), rough)
    return Trial(asker, bank.bank, kind, "full", len(gold), example, evidence)


# ----------------------------------------------------------------------- fitting


@dataclass(frozen=True, slots=True)
class _Head:
    kind: FitSettings
    weights: Floats
    whole: Floats  # bias first
    hit: Floats


def _leave_out(puts: Sequence[Trial], name: str) -> list[Trial]:
    """Return the questions that neither come from this conversation nor were put to its bank."""
    return [put for put in puts if name not in (put.asker, put.bank)]


def _head(puts: Sequence[Trial], extra: Sequence[Example], kind: FitSettings) -> _Head:
    """Fit the numbers to these questions."""
    big = [put.example for put in puts if put.kind == "own" and put.size == "full" and len(put.example.gold)]
    share = MIXED_WEIGHT / (1 - MIXED_WEIGHT) * len(big) / max(len(extra), 1)
    joined = [replace(example, importance=share) for example in extra if len(example.gold)]
    fitted = fit(big + joined, kind.ridge)
    weights = np.array([kind.given.get(name, weight) for name, weight in zip(kind.names, fitted, strict=True)])
    shares = np.concatenate([relevance.log_softmax(example.signals @ weights) for example in big])
    gold = np.concatenate([_is_gold(example) for example in big])
    bias, slope = logistic(shares[:, None], gold, np.ones(len(shares)))
    return _Head(kind, weights, _fit_gate(puts, weights, kind), np.array([bias, *slope]))


def _fit_gate(puts: Sequence[Trial], weights: Floats, kind: FitSettings) -> Floats:
    """(1 + E,) the curve of the gate, bias first. Own and strangers' questions weigh the same in all, and so do the
    two kinds of strangers'; in small banks, see CAREFUL."""
    counts = Counter((put.kind, put.size) for put in puts)
    kinds = Counter(size for asked, size in counts if asked != "own")
    careful = {size: 1.0 if size == "full" else kind.careful for size in SIZE_WEIGHTS}

    def weight(put: Trial) -> float:
        odds = careful[put.size] if put.kind == "own" else 1 / kinds[put.size]
        return 2 * SIZE_WEIGHTS[put.size] * odds / (1 + careful[put.size]) / counts[put.kind, put.size]

    own = np.array([put.kind == "own" for put in puts])
    evidence = np.array([_evidence(put, weights, kind) for put in puts])
    bias, slope = logistic(evidence, own, np.array([weight(put) for put in puts]))
    return np.array([bias, *slope])


def _evidence(put: Trial, weights: Floats, kind: FitSettings) -> list[float]:
    scores = put.example.signals @ weights
    top = float(scores.max()) if len(scores) else 0.0  # none, where nothing was said at the time that is asked of
    found = {**put.evidence, "top": top, "small_top": put.evidence["small"] * top}
    return [found[name] for name in kind.evidence]


def _chance(put: Trial, head: _Head) -> float:
    return float(
        1 / (1 + np.exp(-(head.whole[0] + head.whole[1:] @ np.array(_evidence(put, head.weights, head.kind)))))
    )


def _is_gold(example: Example) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(np.arange(len(example.signals)), example.gold))


def _ranks(example: Example, weights: Floats) -> npt.NDArray[np.intp]:
    """Return the rank of each gold line that was a candidate, from 0."""
    order = np.argsort(-(example.signals @ weights), kind="stable")
    return np.flatnonzero(np.isin(order, example.gold))


def _recall(puts: Sequence[Trial], held: Mapping[str, _Head]) -> dict[int, float]:
    ranks = [(_ranks(put.example, held[put.bank].weights), put.gold) for put in puts]
    return {k: float(np.mean([(rank < k).sum() / gold for rank, gold in ranks])) for k in KS}


def _shown(puts: Sequence[Trial], held: Mapping[str, _Head], threshold: float) -> tuple[dict[int, float], GateRates]:
    """Return what one bank recalls, and lets through at the threshold."""
    full = [put for put in puts if put.size == "full"]
    return _recall([put for put in full if put.kind == "own"], held), _point(_chances(full, held), threshold)


def _threshold(chances: Mapping[str, Floats], kind: FitSettings) -> float:
    """Return the relevance from which a context is let through."""
    if kind.let_in is None:
        return float(np.quantile(chances["own"], 1 - TARGET_KEPT_SHARE))
    return float(np.quantile(chances["unchanged"], 1 - kind.let_in))


def _chances(puts: Sequence[Trial], held: Mapping[str, _Head]) -> dict[str, Floats]:
    """Return the probabilities by kind. Questions without names are the same with another bank's names."""
    own, unchanged, mapped = (
        np.array([_chance(put, held[put.bank]) for put in puts if put.kind == kind])
        for kind in ("own", "unchanged", "mapped")
    )
    return {"own": own, "unchanged": unchanged, "mapped": mapped if len(mapped) else unchanged}


def _point(chances: Mapping[str, Floats], threshold: float) -> GateRates:
    return GateRates(*(float((chances[kind] >= threshold).mean()) for kind in ("own", "unchanged", "mapped")))


def _percents(recall: Mapping[int, float]) -> dict[str, float]:
    return {str(k): round(100 * value, 2) for k, value in recall.items()}


def _format_recall(recall: Mapping[int, float]) -> str:
    return "  ".join(f"R@{k} {100 * value:.2f}" for k, value in recall.items())


def _round(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]
