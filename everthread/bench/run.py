"""Asks every question of a dataset and measures the results, through the calls that a chatbot makes.

Each conversation is stored in a bank of its own in a temporary folder. The module knows `Memory`, and no dataset or
store.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from everthread import factory
from everthread.bench.metrics import KS, gold_share, mean, ndcg_at, percentile, recall_at, share
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.report import BUDGETS_TOKENS, CategoryResult, FalseInjection, GatePoint, Report
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.types import Context

THRESHOLDS = tuple(round(0.02 * step, 2) for step in range(51))  # 0 to 1, in steps fine enough to choose a threshold
_LETTER = (
    "A-Za-z\u00c0-\u024f"  # letters of names; not \w, for Chinese writes "Bart" without a space before what follows
)

T = TypeVar("T")
Progress = Callable[[int, int], None]  # (questions asked, questions in all)


@dataclass(frozen=True, slots=True)
class OwnBankResult:
    """The result of a question to its own bank."""

    question: Question
    ranked: tuple[str, ...]  # ids, best first
    milliseconds: float
    shown: tuple[frozenset[str], ...]  # the ids in the context, for each of BUDGETS
    passed: bool  # whether the gate let anything through
    relevance: float


@dataclass(frozen=True, slots=True)
class ForeignBankResult:
    """The results of a question to a bank that can't answer it: as it is, and with that bank's names."""

    unchanged: Context
    mapped: Context


def run_benchmark(
    conversations: Sequence[AnnotatedConversation],
    *,
    dataset: str,
    recipe: Recipe | str | None = None,
    embedder: Embedder | str | None = None,
    progress: Progress | None = None,
    ks: Sequence[int] = KS,
) -> Report:
    """Measure a recipe and an embedder on these conversations.

    Args:
        conversations: with their questions.
        dataset: its name.
        recipe: default: the configured one.
        embedder: default: the configured one.
        progress: called with the number of questions asked, and of all.
        ks: the cut-offs of recall.

    Raises:
        BadInput: without questions.
    """
    if not any(conversation.questions for conversation in conversations):
        raise BadInput(f"{dataset} has no question with gold; choose other conversations")
    count = _Count(conversations, progress)
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        banks = _open(conversations, Path(folder), recipe, embedder)
        try:
            pairs = zip(banks, conversations, strict=True)
            asked = [answer for bank, conversation in pairs for answer in count(_ask(bank, conversation, max(ks)))]
            strayed = list(count(_stray(conversations, banks)))
        finally:
            banks[0].close()  # one store holds them all
    named = (dataset, banks[0].recipe.name, banks[0].embedder.name)
    return _report(named, conversations, asked, strayed, ks)


def replace_names(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """Replace each name in a text by its counterpart: whole words, all at once, possessives too.

    The first word of a longer name is replaced as well: people are called by their first names.
    """
    pairs = dict(zip(names, others, strict=False))
    pairs = {name.split()[0]: other.split()[0] for name, other in pairs.items()} | pairs
    choice = "|".join(re.escape(name) for name in sorted(pairs, key=len, reverse=True))
    if not choice:
        return text
    return re.sub(rf"(?<![{_LETTER}])(?:{choice})(?![{_LETTER}])", lambda match: pairs[match[0]], text)


def gate_curve(own: Sequence[float], unchanged: Sequence[float], mapped: Sequence[float]) -> tuple[GatePoint, ...]:
    """Return what a gate lets through at each threshold, by the relevance of each question."""
    return tuple(
        GatePoint(threshold, *(share(value >= threshold for value in values) for values in (own, unchanged, mapped)))
        for threshold in THRESHOLDS
    )


class _Count:
    """Reports progress."""

    def __init__(self, conversations: Sequence[AnnotatedConversation], progress: Progress | None) -> None:
        befores = [conversations[at - 1] for at in range(len(conversations))]
        self._all = sum(
            len(own.questions) + len(foreign_questions(own, before))
            for own, before in zip(conversations, befores, strict=True)
        )
        self._done, self._progress = 0, progress

    def __call__(self, results: Iterable[T]) -> Iterator[T]:
        for result in results:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._all)
            yield result


def _open(
    conversations: Sequence[AnnotatedConversation],
    folder: Path,
    recipe: Recipe | str | None,
    embedder: Embedder | str | None,
) -> list[Memory]:
    """Open a bank for each conversation, in one store and with one model."""
    store, model, chosen = factory.open_store(folder), factory.open_embedder(embedder), factory.open_recipe(recipe)
    names = [f"bench-{number}" for number in range(len(conversations))]
    return [Memory.open(name, store=store, embedder=model, recipe=chosen) for name in names]


def _ask(bank: Memory, conversation: AnnotatedConversation, most: int) -> Iterator[OwnBankResult]:
    """Store the conversation, and ask each question after the number of lines that it names."""
    ids = {str(line.key): id for line, id in zip(conversation.lines, conversation.ids, strict=True)}
    fed = 0
    for count, questions in conversation.questions_by_time():
        bank.observe_many(conversation.lines[fed:count])
        fed = count
        for number, question in enumerate(questions):
            if number == 0:
                bank.recall(question.text, most)  # not measured: the first recall after a write reads the new lines
            yield _answer(bank, question, ids, most)
    bank.observe_many(conversation.lines[fed:])


def _answer(bank: Memory, question: Question, ids: Mapping[str, str], most: int) -> OwnBankResult:
    begun = time.perf_counter()
    hits = bank.recall(question.text, most)
    taken = time.perf_counter() - begun
    gated = bank.context(question.text, BUDGETS_TOKENS[0])
    contexts = [bank.context(question.text, budget, gate=False) for budget in BUDGETS_TOKENS]
    return OwnBankResult(
        question=question,
        ranked=tuple(ids[str(hit.line.key)] for hit in hits),
        milliseconds=1000 * taken,
        shown=tuple(frozenset(ids[str(line.key)] for line in context.lines) for context in contexts),
        passed=bool(gated.text),
        relevance=gated.relevance,
    )


def _stray(conversations: Sequence[AnnotatedConversation], banks: Sequence[Memory]) -> Iterator[ForeignBankResult]:
    """Ask each bank the questions that it can't answer."""
    for at, (own, bank) in enumerate(zip(conversations, banks, strict=True)):
        for text, mapped in foreign_questions(own, conversations[at - 1]):
            unchanged = bank.context(text, BUDGETS_TOKENS[0])
            yield ForeignBankResult(unchanged, bank.context(mapped, BUDGETS_TOKENS[0]) if mapped != text else unchanged)


def foreign_questions(own: AnnotatedConversation, before: AnnotatedConversation) -> list[tuple[str, str]]:
    """Return questions that a conversation can't answer, as they are and with its own names.

    They are the dataset's, or else those of the conversation before.
    """
    if own.strange:
        return [(text, text) for text in own.strange]
    others = before.questions if before is not own else ()
    return [(question.text, replace_names(question.text, before.speakers, own.speakers)) for question in others]


def _report(
    named: tuple[str, str, str],
    conversations: Sequence[AnnotatedConversation],
    asked: Sequence[OwnBankResult],
    strayed: Sequence[ForeignBankResult],
    ks: Sequence[int],
) -> Report:
    names = dict.fromkeys(answer.question.category for answer in asked)
    kinds = {name: [answer for answer in asked if answer.question.category == name] for name in names}
    times = [answer.milliseconds for answer in asked]
    return Report(
        dataset=named[0],
        recipe=named[1],
        embedder=named[2],
        questions=len(asked),
        left_out=sum(conversation.left_out for conversation in conversations),
        unresolved=sum(conversation.unresolved for conversation in conversations),
        recall=_recall(asked, ks),
        categories={name: CategoryResult(len(answers), _recall(answers, ks)) for name, answers in kinds.items()},
        ndcg10=mean(ndcg_at(answer.ranked, answer.question.gold, 10) for answer in asked),
        gold_in_context={
            budget: mean(gold_share(answer.shown[place], answer.question.gold) for answer in asked)
            for place, budget in enumerate(BUDGETS_TOKENS)
        },
        kept=share(answer.passed for answer in asked),
        false_injection=_injection(asked, strayed) if strayed else None,
        latency_p50=percentile(times, 50),
        latency_p95=percentile(times, 95),
    )


def _recall(asked: Sequence[OwnBankResult], ks: Sequence[int]) -> dict[int, float]:
    return {k: mean(recall_at(answer.ranked, answer.question.gold, k) for answer in asked) for k in ks}


def _injection(asked: Sequence[OwnBankResult], strayed: Sequence[ForeignBankResult]) -> FalseInjection:
    unchanged, mapped = [each.unchanged for each in strayed], [each.mapped for each in strayed]
    return FalseInjection(
        unchanged=share(bool(context.text) for context in unchanged),
        mapped=share(bool(context.text) for context in mapped),
        curve=gate_curve(
            [answer.relevance for answer in asked],
            [context.relevance for context in unchanged],
            [context.relevance for context in mapped],
        ),
    )
