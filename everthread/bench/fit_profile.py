"""Fits a scoring profile on conversations: the weights, the curves of the gate and its threshold.

Every reported figure was measured on a conversation that was left out of the fit. Questions are asked as in `run`; the
loaders read the datasets.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from everthread import factory
from everthread.bench.first_facts import Language, load_first_facts, with_replies
from everthread.bench.fit import Example, fit, logistic, prune_candidates
from everthread.bench.fit_result import FitResult, GateRates
from everthread.bench.fit_settings import (
    AMONG_FRIENDS,
    BY_GLOSS,
    MESSAGE,
    TARGET_KEPT_SHARE,
    WITH_ASSISTANT,
    FitSettings,
)
from everthread.bench.metrics import KS
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.run import replace_names
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recall import relevance
from everthread.recall.types import Query

FOREIGN_BANKS = 4  # foreign banks that are asked the questions of each conversation
SMALL_BANK_STRIDE = 4  # a small bank is also asked every fourth question
SMALL_BANK_LINES = (3, 10, 30, 100)  # lines of the small banks, in turn
MIXED_WEIGHT = 0.2  # share of the total weight given to mixed-in questions
ROUGH_WEIGHTS = {"cosine": 8.0, "bm25_window": 0.4}  # of the plain hybrid score by which negatives are chosen

Floats = npt.NDArray[np.float64]
# Of the questions put to each kind of bank, in fitting the gate; the first two also in fitting the weights.
SOURCE_WEIGHTS = {"full": 1.0, "corpus": 0.4, "small": 0.5, "first": 1.0}


@dataclass(frozen=True, slots=True)
class Trial:
    """One question to one bank: its candidates, and the features of its query that do not depend on weights."""

    asker: str  # the conversation that the question is from
    bank: str
    kind: str  # own, unchanged or mapped; the last two are foreign questions
    # Of the bank: full or small (a whole conversation, or part of one), corpus (a whole one of our corpus), or first
    # (one of `first_facts`).
    source: str
    gold: int  # number of lines that answer it, candidates or not
    example: Example
    query_features: Mapping[str, float]


def cross_validate(
    conversations: Sequence[AnnotatedConversation],
    embedder: Embedder | str | None = None,
    mixed: Sequence[AnnotatedConversation] = (),
    corpus: Sequence[AnnotatedConversation] = (),
    language: Language = "en",
    kind: FitSettings | None = None,
) -> FitResult:
    """Fit a profile on these conversations, and measure each of them with a profile fitted on the others.

    Args:
        conversations: with their questions.
        embedder: default: the configured one.
        mixed: conversations whose questions affect the weights only, with MIXED_WEIGHT of the weight.
        corpus: further conversations, each left out in turn as well, with a weight of their own (SOURCE_WEIGHTS).
            Beside Chinese ones each is in a language of its own, so that their questions are not foreign ones.
        language: of the conversations; an embedder that reads only English gets glosses of Chinese ones.
        kind: the settings; default: by the language, and by whether a bot takes part.

    Raises:
        BadInput: for fewer than three conversations, or a multilingual embedder and Chinese.
    """
    if len(conversations) < 3:
        raise BadInput(
            f"fitting needs at least three conversations, got {len(conversations)}: each is left out in turn"
        )
    assistant = any(line.role == "assistant" for conversation in conversations for line in conversation.lines)
    model = factory.open_embedder(embedder)
    in_english = WITH_ASSISTANT if assistant else AMONG_FRIENDS
    kind = kind or (BY_GLOSS if language == "zh" else in_english)
    if language == "zh" and model.multilingual:
        raise BadInput(f"{model.name} reads Chinese; fit on glosses and words with minilm or hash")
    trials = list(_ask_all(conversations, model, kind.names))
    for trial in _ask_all(corpus, model, kind.names, foreign=language != "zh"):
        trials.append(replace(trial, source="corpus") if trial.source == "full" else trial)
    first_trials = list(_ask_first_facts(model, kind.names, assistant, language))
    extra = [trial.example for trial in _ask_all(mixed, model, kind.names, foreign=False)]
    held_out = {
        conversation.id: _fit_profile(leave_out(trials, conversation.id) + first_trials, extra, kind)
        for conversation in (*conversations, *corpus)
    }
    final = _fit_profile(trials + first_trials, extra, kind)
    for name in {trial.bank for trial in first_trials}:  # these affect only the curve, not the weights
        held_out[name] = replace(
            final, query_model=_fit_gate(trials + leave_out(first_trials, name), final.weights, kind)
        )
    return _measure_fit(conversations, trials, first_trials, held_out, final)


def _measure_fit(
    conversations: Sequence[AnnotatedConversation],
    trials: Sequence[Trial],
    first_trials: Sequence[Trial],
    held_out: Mapping[str, _FittedProfile],
    final: _FittedProfile,
) -> FitResult:
    """Return the final numbers, and the results of each bank with the numbers that were fitted without it."""
    kind = final.kind
    own = {
        source: [trial for trial in trials if (trial.kind, trial.source) == ("own", source)]
        for source in ("full", "corpus")
    }
    probabilities = {
        source: _compute_probabilities(
            [trial for trial in (*trials, *first_trials) if trial.source == source], held_out
        )
        for source in SOURCE_WEIGHTS
    }
    threshold = _choose_threshold(probabilities["full"], kind)
    weights, message_weights = _split_weights(final)
    return FitResult(
        weights=weights,
        message_weights=message_weights,
        query_model=dict(zip(("bias", *kind.query_features), _round(final.query_model), strict=True)),
        hit_model=dict(zip(("bias", "score_share"), _round(final.hit_model), strict=True)),
        threshold=round(threshold, 3),
        questions=len(own["full"]),
        recall=_compute_recall(own["full"], held_out),
        curve=_gate_curve(probabilities["full"], kind),
        corpus=(_compute_recall(own["corpus"], held_out), _gate_curve(probabilities["corpus"], kind))
        if own["corpus"]
        else None,
        banks={
            conversation.id: _measure_bank(
                [trial for trial in trials if trial.bank == conversation.id], held_out, threshold
            )
            for conversation in conversations
        },
        small={
            name: _gate_rates(probabilities[source], threshold)
            for name, source in _name_small_sources().items()
            if source != "corpus" or own["corpus"]
        },
    )


def _split_weights(profile: _FittedProfile) -> tuple[dict[str, float], dict[str, float]]:
    """Return the weights of all texts by signal, and those that only messages have in addition."""
    weights = dict(zip(profile.kind.names, _round(profile.weights), strict=True))
    for_messages = {name for name in weights if name.startswith(MESSAGE)}
    return (
        {name: weight for name, weight in weights.items() if name not in for_messages},
        {name.removeprefix(MESSAGE): weight for name, weight in weights.items() if name in for_messages},
    )


def _name_small_sources() -> dict[str, str]:
    """Return the sources of small banks by what they are, in words."""
    shortest, longest = SMALL_BANK_LINES[0], SMALL_BANK_LINES[-1]
    return {
        f"parts of {shortest} to {longest} lines": "small",
        "the first things people tell a bot": "first",
        "the corpus": "corpus",
    }


# ------------------------------------------------------------------------ asking


def _ask_all(
    conversations: Sequence[AnnotatedConversation], model: Embedder, names: Sequence[str], foreign: bool = True
) -> Iterator[Trial]:
    """Put every question to its own bank and to foreign ones after as many lines, and some to small banks."""
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = factory.open_store(Path(folder))
        recipe = factory.open_recipe("default")
        banks = [Memory(conversation.id, store, model, recipe) for conversation in conversations]
        for index, (conversation, bank) in enumerate(zip(conversations, banks, strict=True)):
            strangers = [
                conversations[index - step] for step in range(1, min(FOREIGN_BANKS, len(conversations) - 1) + 1)
            ]
            yield from _ask_bank(conversation, strangers if foreign else [], bank, names)
        for index, conversation in enumerate(conversations if foreign else ()):
            other = (index + 1) % len(conversations)
            yield from _ask_small_banks(conversation, conversations[other], banks[other], names)
        store.close()


def _ask_bank(
    conversation: AnnotatedConversation,
    strangers: Sequence[AnnotatedConversation],
    bank: Memory,
    names: Sequence[str],
) -> Iterator[Trial]:
    """Put its own questions to a bank, each after the preceding lines, and those of strangers while it grows likewise.

    With strangers' questions to whole banks alone, the curve would learn that small banks can answer.
    """
    seqs: dict[str, int] = {}
    foreign = _spread_questions(strangers)
    asked, asked_foreign = 0, 0
    for count, questions in conversation.questions_by_time():
        lines = bank.observe_many(conversation.lines[len(seqs) : count])
        seqs |= dict(zip(conversation.ids[len(seqs) : count], (line.seq for line in lines), strict=True))
        for question in questions:
            yield _measure(conversation.id, bank, "own", question.text, [seqs[id] for id in question.gold], names)
        asked += len(questions)
        due = len(foreign) * asked // len(conversation.questions)
        for stranger, question in foreign[asked_foreign:due]:
            for kind, text in _foreign_texts(question.text, stranger, conversation):
                yield _measure(stranger.id, bank, kind, text, (), names)
        asked_foreign = due
    bank.observe_many(conversation.lines[len(seqs) :])


def _spread_questions(strangers: Sequence[AnnotatedConversation]) -> list[tuple[AnnotatedConversation, Question]]:
    """Return the questions of all conversations, each with its conversation, by their place in it."""
    placed = [
        (number / len(stranger.questions), index, stranger, question)
        for index, stranger in enumerate(strangers)
        for number, question in enumerate(stranger.questions)
    ]
    return [(stranger, question) for *_, stranger, question in sorted(placed, key=lambda each: each[:2])]


def _ask_small_banks(
    own: AnnotatedConversation, other: AnnotatedConversation, bank: Memory, names: Sequence[str]
) -> Iterator[Trial]:
    """Put one own and one foreign question to small banks, each a few lines around a gold line."""
    for number, (question, foreign) in enumerate(
        zip(own.questions[::SMALL_BANK_STRIDE], other.questions[::SMALL_BANK_STRIDE], strict=False)
    ):
        size, gold_index = SMALL_BANK_LINES[number % len(SMALL_BANK_LINES)], own.ids.index(min(question.gold))
        start = max(0, gold_index - size // 2)
        part = slice(start, start + size)
        small_bank = Memory(f"{own.id}/{number}", bank.store, bank.embedder, bank.recipe)
        stored = zip(own.ids[part], small_bank.observe_many(own.lines[part]), strict=True)
        seqs = [line.seq for id, line in stored if id in question.gold]
        trial = _measure(own.id, small_bank, "own", question.text, seqs, names)
        yield replace(trial, bank=own.id, source="small")
        for kind, text in _foreign_texts(foreign.text, other, own):
            yield replace(_measure(other.id, small_bank, kind, text, (), names), bank=own.id, source="small")


def _ask_first_facts(model: Embedder, names: Sequence[str], assistant: bool, language: Language) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory(prefix="everthread-fit-") as folder:
        store = factory.open_store(Path(folder))
        for facts in load_first_facts(language):
            conversation = with_replies(facts, language) if assistant else facts
            bank = Memory(facts.id, store, model, factory.open_recipe("default"))
            lines = bank.observe_many(conversation.lines)
            seqs = dict(zip(conversation.ids, (line.seq for line in lines), strict=True))
            for question in conversation.questions:
                gold = [seqs[id] for id in question.gold]
                yield replace(_measure(facts.id, bank, "own", question.text, gold, names), source="first")
            for text in conversation.unrelated:
                yield replace(_measure("a stranger", bank, "unchanged", text, (), names), source="first")
        store.close()


def _foreign_texts(
    text: str, own: AnnotatedConversation, other: AnnotatedConversation
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the two forms of a question to a foreign bank: unchanged, and with that bank's names."""
    return ("unchanged", text), ("mapped", replace_names(text, own.speakers, other.speakers))


def _measure(asker: str, bank: Memory, kind: str, text: str, gold: Sequence[int], names: Sequence[str]) -> Trial:
    candidates, signals = bank.reader.measure_candidates(Query(text))
    signals, unmatched, _ = bank.reader.measure_best(candidates, signals, names)
    share = candidates.parsed.message_share
    signals |= {MESSAGE + name: share * values for name, values in signals.items()}
    matrix = np.stack([signals[name] for name in names], axis=1)  # (C, S)
    rough = np.array([ROUGH_WEIGHTS.get(name, 0.0) for name in names])
    query_features = relevance.collect_query_features(candidates, signals, np.zeros(len(matrix), np.float32), unmatched)
    example = prune_candidates(Example(bank.bank, matrix, np.flatnonzero(np.isin(candidates.seqs, gold))), rough)
    return Trial(asker, bank.bank, kind, "full", len(gold), example, query_features)


# ----------------------------------------------------------------------- fitting


@dataclass(frozen=True, slots=True)
class _FittedProfile:
    """The numbers fitted on some trials."""

    kind: FitSettings
    weights: Floats
    query_model: Floats  # of the gate's curve, bias first
    hit_model: Floats  # of the curve of one hit, bias first


def leave_out(trials: Sequence[Trial], name: str) -> list[Trial]:
    """Return the trials whose question and bank are both of other conversations."""
    return [trial for trial in trials if name not in (trial.asker, trial.bank)]


def _fit_profile(trials: Sequence[Trial], extra: Sequence[Example], kind: FitSettings) -> _FittedProfile:
    """Fit the weights on the questions to whole banks and the extra ones, and the curves on these trials."""
    examples = [example for source in ("full", "corpus") for example in _weigh_examples(trials, source)]
    importance = MIXED_WEIGHT / (1 - MIXED_WEIGHT) * sum(each.importance for each in examples) / max(len(extra), 1)
    mixed = [replace(example, importance=importance) for example in extra if len(example.gold)]
    fitted = fit(examples + mixed, kind.ridge)
    weights = np.array([kind.given.get(name, weight) for name, weight in zip(kind.names, fitted, strict=True)])
    shares = np.concatenate([relevance.log_softmax(example.signals @ weights) for example in examples])
    gold = np.concatenate([_is_gold(example) for example in examples])
    importances = np.concatenate([np.full(len(example.signals), example.importance) for example in examples])
    bias, slope = logistic(shares[:, None], gold, importances)
    return _FittedProfile(kind, weights, _fit_gate(trials, weights, kind), np.array([bias, *slope]))


def _weigh_examples(trials: Sequence[Trial], source: str) -> list[Example]:
    """Return the own questions to one kind of bank whose gold is among the candidates, with its weight in all."""
    own = [each.example for each in trials if (each.kind, each.source) == ("own", source) and len(each.example.gold)]
    return [replace(example, importance=SOURCE_WEIGHTS[source] / len(own)) for example in own]


def _fit_gate(trials: Sequence[Trial], weights: Floats, kind: FitSettings) -> Floats:
    """Return the curve of the gate (1 + E,), bias first.

    Own and foreign questions have the same total weight, except in small banks (see SMALL_BANK_ODDS); so do the two
    kinds of foreign questions.
    """
    counts = Counter((trial.kind, trial.source) for trial in trials)
    foreign_kinds = Counter(source for asked, source in counts if asked != "own")
    own_odds = {source: 1.0 if source == "full" else kind.small_bank_odds for source in SOURCE_WEIGHTS}

    def weight(trial: Trial) -> float:
        odds = own_odds[trial.source] if trial.kind == "own" else 1 / foreign_kinds[trial.source]
        return 2 * SOURCE_WEIGHTS[trial.source] * odds / (1 + own_odds[trial.source]) / counts[trial.kind, trial.source]

    own = np.array([trial.kind == "own" for trial in trials])
    query_features = np.array([_query_features(trial, weights, kind) for trial in trials])
    bias, slope = logistic(query_features, own, np.array([weight(trial) for trial in trials]))
    return np.array([bias, *slope])


def _query_features(trial: Trial, weights: Floats, kind: FitSettings) -> list[float]:
    counted = [weight * (name not in kind.order_only) for name, weight in zip(kind.names, weights, strict=True)]
    scores = trial.example.signals @ np.array(counted)
    best_score = float(scores.max()) if len(scores) else 0.0  # no line was said in the queried time span
    small_bank_score = trial.query_features["small_bank"] * best_score
    query_features = {**trial.query_features, "best_score": best_score, "small_bank_score": small_bank_score}
    return [query_features[name] for name in kind.query_features]


def _compute_probability(trial: Trial, profile: _FittedProfile) -> float:
    query_features = np.array(_query_features(trial, profile.weights, profile.kind))
    return float(1 / (1 + np.exp(-(profile.query_model[0] + profile.query_model[1:] @ query_features))))


def _is_gold(example: Example) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isin(np.arange(len(example.signals)), example.gold))


def _rank_gold(example: Example, weights: Floats) -> npt.NDArray[np.intp]:
    """Return the rank of each gold line that was a candidate, from 0."""
    order = np.argsort(-(example.signals @ weights), kind="stable")
    return np.flatnonzero(np.isin(order, example.gold))


def _compute_recall(trials: Sequence[Trial], held_out: Mapping[str, _FittedProfile]) -> dict[int, float]:
    ranks = [(_rank_gold(trial.example, held_out[trial.bank].weights), trial.gold) for trial in trials]
    return {k: float(np.mean([(rank < k).sum() / gold for rank, gold in ranks])) for k in KS}


def _measure_bank(
    trials: Sequence[Trial], held_out: Mapping[str, _FittedProfile], threshold: float
) -> tuple[dict[int, float], GateRates]:
    """Return the recall of one bank, and the rates of its gate at the threshold."""
    full = [trial for trial in trials if trial.source == "full"]
    recall = _compute_recall([trial for trial in full if trial.kind == "own"], held_out)
    return recall, _gate_rates(_compute_probabilities(full, held_out), threshold)


def _choose_threshold(probabilities: Mapping[str, Floats], kind: FitSettings) -> float:
    """Return the relevance at or above which the gate accepts a query."""
    if kind.foreign_share is None:
        return float(np.quantile(probabilities["own"], 1 - TARGET_KEPT_SHARE))
    return float(np.quantile(probabilities["unchanged"], 1 - kind.foreign_share))


def _compute_probabilities(trials: Sequence[Trial], held_out: Mapping[str, _FittedProfile]) -> dict[str, Floats]:
    """Return the probabilities by kind. Without mapped questions, as for first facts, the unchanged ones stand in."""
    own, unchanged, mapped = (
        np.array([_compute_probability(trial, held_out[trial.bank]) for trial in trials if trial.kind == kind])
        for kind in ("own", "unchanged", "mapped")
    )
    return {"own": own, "unchanged": unchanged, "mapped": mapped if len(mapped) else unchanged}


def _gate_curve(probabilities: Mapping[str, Floats], kind: FitSettings) -> list[GateRates]:
    if not len(probabilities["unchanged"]):
        return []
    return [_gate_rates(probabilities, float(np.quantile(probabilities["own"], 1 - kept))) for kept in kind.kept_shares]


def _gate_rates(probabilities: Mapping[str, Floats], threshold: float) -> GateRates:
    kept, unchanged, mapped = (
        float((probabilities[kind] >= threshold).mean()) if len(probabilities[kind]) else None
        for kind in ("own", "unchanged", "mapped")
    )
    return GateRates(kept or 0.0, unchanged, mapped)


def _round(values: Floats) -> list[float]:
    return [round(float(value), 4) for value in values]
