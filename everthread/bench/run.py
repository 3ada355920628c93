"""Asks every question of a dataset and measures the results, through the calls that a chatbot makes.

Each conversation is stored in its own bank in a temporary folder.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from everthread import factory
from everthread.bench.coverage import share_shown
from everthread.bench.metrics import KS, mean, ndcg_at, percentile, recall_at, share
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.report import BUDGETS_TOKENS, CategoryResult, FalseInjection, GatePoint, Report
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.types import Context

THRESHOLDS = tuple(round(0.02 * step, 2) for step in range(51))  # 0 to 1, in steps fine enough to choose a threshold
_LETTER = "A-Za-z\u00c0-\u024f"  # letters of names; not \w, because in Chinese no space follows "Bart"

T = TypeVar("T")
Progress = Callable[[int, int], None]  # (questions asked, all questions)


@dataclass(frozen=True, slots=True)
class OwnBankResult:
    """The result of a question to its own bank."""

    question: Question
    ranked: tuple[str, ...]  # ids, best first
    milliseconds: float
    shown: tuple[float, ...]  # the share (0..1) of gold in the context, for each of BUDGETS_TOKENS
    tokens: tuple[int, ...]  # of these contexts
    passed: bool  # whether the gate accepted the context
    relevance: float


@dataclass(frozen=True, slots=True)
class ForeignBankResult:
    """The contexts of a question that the bank can't answer: unchanged, and with that bank's names."""

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
    count = _ProgressCounter(conversations, progress)
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        banks = _open_banks(conversations, Path(folder), recipe, embedder)
        try:
            pairs = zip(banks, conversations, strict=True)
            own = [result for bank, conversation in pairs for result in count(_ask_own(bank, conversation, max(ks)))]
            foreign = list(count(_ask_foreign(conversations, banks)))
        finally:
            banks[0].close()  # all banks are in one store
    named = (dataset, banks[0].recipe.name, banks[0].embedder.name)
    return _build_report(named, conversations, own, foreign, ks)


def replace_names(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """Replace each name in a text by its counterpart: whole words, all at once, possessives too, also in lower case.

    The first word of a longer name is replaced too, because people are called by their first names.
    """
    pairs = dict(zip(names, others, strict=False))
    pairs = {name.split()[0]: other.split()[0] for name, other in pairs.items()} | pairs
    pairs = {name.lower(): other.lower() for name, other in pairs.items()} | pairs
    choice = "|".join(re.escape(name) for name in sorted(pairs, key=len, reverse=True))
    if not choice:
        return text
    return re.sub(rf"(?<![{_LETTER}])(?:{choice})(?![{_LETTER}])", lambda match: pairs[match[0]], text)


def rename_in_questions(conversation: AnnotatedConversation, names: Mapping[str, str]) -> AnnotatedConversation:
    """Return a conversation whose questions call people by other names, as friends do."""
    others = tuple(names), tuple(names.values())
    questions = (replace(each, text=replace_names(each.text, *others)) for each in conversation.questions)
    return replace(conversation, questions=tuple(questions))


def lower_questions(conversation: AnnotatedConversation) -> AnnotatedConversation:
    """Return a conversation whose questions are in lower case and have no question marks, as people type."""
    questions = (replace(each, text=each.text.lower().replace("?", "")) for each in conversation.questions)
    return replace(conversation, questions=tuple(questions))


def rename_accounts(conversation: AnnotatedConversation) -> AnnotatedConversation:
    """Return a conversation whose speakers have accounts without their names, which its texts and questions keep."""
    accounts: dict[str, str] = {}
    for line in conversation.lines:
        accounts.setdefault(line.speaker, f"account{len(accounts) + 1}")
    return replace(
        conversation, lines=tuple(replace(line, speaker=accounts[line.speaker]) for line in conversation.lines)
    )


def gate_curve(own: Sequence[float], unchanged: Sequence[float], mapped: Sequence[float]) -> tuple[GatePoint, ...]:
    """Return the shares of questions that a gate accepts at each threshold, by the relevance of each question."""
    return tuple(
        GatePoint(threshold, *(share(value >= threshold for value in values) for values in (own, unchanged, mapped)))
        for threshold in THRESHOLDS
    )


class _ProgressCounter:
    """Reports progress while results are iterated."""

    def __init__(self, conversations: Sequence[AnnotatedConversation], progress: Progress | None) -> None:
        self._all = sum(
            len(own.questions) + len(foreign_questions(own, conversations[index - 1]))
            for index, own in enumerate(conversations)
        )
        self._done, self._progress = 0, progress

    def __call__(self, results: Iterable[T]) -> Iterator[T]:
        for result in results:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._all)
            yield result


def _open_banks(
    conversations: Sequence[AnnotatedConversation],
    folder: Path,
    recipe: Recipe | str | None,
    embedder: Embedder | str | None,
) -> list[Memory]:
    """Open a bank for each conversation, in one store and with one model."""
    store, model, chosen = factory.open_store(folder), factory.open_embedder(embedder), factory.open_recipe(recipe)
    names = [f"bench-{number}" for number in range(len(conversations))]
    return [Memory.open(name, store=store, embedder=model, recipe=chosen) for name in names]


def _ask_own(bank: Memory, conversation: AnnotatedConversation, max_k: int) -> Iterator[OwnBankResult]:
    """Store the conversation, and ask each question after the lines before it."""
    lines = {str(line.key): (id, line.text) for line, id in zip(conversation.lines, conversation.ids, strict=True)}
    stored = 0
    for count, questions in conversation.questions_by_time():
        bank.observe_many(conversation.lines[stored:count])
        stored = count
        for number, question in enumerate(questions):
            if number == 0:
                bank.recall(question.text, max_k)  # not measured: the first recall after a write reads the new lines
            yield _ask(bank, question, lines, max_k)
    bank.observe_many(conversation.lines[stored:])


def _ask(bank: Memory, question: Question, lines: Mapping[str, tuple[str, str]], max_k: int) -> OwnBankResult:
    """Ask a question of its bank. lines has the id and the text of each line, by its key."""
    started_at = time.perf_counter()
    hits = bank.recall(question.text, max_k)
    elapsed_s = time.perf_counter() - started_at
    gated = bank.context(question.text, BUDGETS_TOKENS[0])
    contexts = [bank.context(question.text, budget, gate=False) for budget in BUDGETS_TOKENS]
    return OwnBankResult(
        question=question,
        ranked=tuple(lines[str(hit.line.key)][0] for hit in hits),
        milliseconds=1000 * elapsed_s,
        shown=tuple(_share_gold(context, question, lines) for context in contexts),
        tokens=tuple(context.tokens for context in contexts),
        passed=bool(gated.text),
        relevance=gated.relevance,
    )


def _share_gold(context: Context, question: Question, lines: Mapping[str, tuple[str, str]]) -> float:
    """Return the share (0..1) of a question's gold in a context; of a line in an excerpt, what that shows of it."""
    shares: dict[str, float] = {}
    for line in context.lines:
        id, text = lines[str(line.key)]
        if id in question.gold:
            shares[id] = share_shown(line.text, text, question.details.get(id, ""))
    return sum(shares.values()) / len(question.gold)


def _ask_foreign(
    conversations: Sequence[AnnotatedConversation], banks: Sequence[Memory]
) -> Iterator[ForeignBankResult]:
    """Ask each bank the questions that it can't answer."""
    for index, (own, bank) in enumerate(zip(conversations, banks, strict=True)):
        for text, mapped in foreign_questions(own, conversations[index - 1]):
            unchanged = bank.context(text, BUDGETS_TOKENS[0])
            yield ForeignBankResult(unchanged, bank.context(mapped, BUDGETS_TOKENS[0]) if mapped != text else unchanged)


def foreign_questions(own: AnnotatedConversation, before: AnnotatedConversation) -> list[tuple[str, str]]:
    """Return questions that a conversation can't answer, each unchanged and with the conversation's names.

    They are the dataset's unrelated questions, or else the questions of the conversation before.
    """
    if own.unrelated:
        return [(text, text) for text in own.unrelated]
    questions = before.questions if before is not own else ()
    return [(question.text, replace_names(question.text, before.speakers, own.speakers)) for question in questions]


def _build_report(
    named: tuple[str, str, str],
    conversations: Sequence[AnnotatedConversation],
    own: Sequence[OwnBankResult],
    foreign: Sequence[ForeignBankResult],
    ks: Sequence[int],
) -> Report:
    names = dict.fromkeys(result.question.category for result in own)
    categories = {name: [result for result in own if result.question.category == name] for name in names}
    times = [result.milliseconds for result in own]
    return Report(
        dataset=named[0],
        recipe=named[1],
        embedder=named[2],
        questions=len(own),
        left_out=sum(conversation.left_out for conversation in conversations),
        unresolved=sum(conversation.unresolved for conversation in conversations),
        recall=_compute_recall(own, ks),
        categories={name: CategoryResult(len(group), _compute_recall(group, ks)) for name, group in categories.items()},
        ndcg10=mean(ndcg_at(result.ranked, result.question.gold, 10) for result in own),
        gold_in_context={
            budget: mean(result.shown[index] for result in own) for index, budget in enumerate(BUDGETS_TOKENS)
        },
        tokens_in_context={
            budget: mean(result.tokens[index] for result in own) for index, budget in enumerate(BUDGETS_TOKENS)
        },
        kept=share(result.passed for result in own),
        false_injection=_compute_false_injection(own, foreign) if foreign else None,
        latency_p50=percentile(times, 50),
        latency_p95=percentile(times, 95),
    )


def _compute_recall(results: Sequence[OwnBankResult], ks: Sequence[int]) -> dict[int, float]:
    return {k: mean(recall_at(result.ranked, result.question.gold, k) for result in results) for k in ks}


def _compute_false_injection(own: Sequence[OwnBankResult], foreign: Sequence[ForeignBankResult]) -> FalseInjection:
    unchanged, mapped = [result.unchanged for result in foreign], [result.mapped for result in foreign]
    return FalseInjection(
        unchanged=share(bool(context.text) for context in unchanged),
        mapped=share(bool(context.text) for context in mapped),
        curve=gate_curve(
            [result.relevance for result in own],
            [context.relevance for context in unchanged],
            [context.relevance for context in mapped],
        ),
    )
