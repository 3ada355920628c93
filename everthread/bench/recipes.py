"""Measures the recipes on the same conversations and questions.

Each conversation is replayed into one bank for each recipe (`replay`), which is asked its own questions and questions
that it can't answer. Not every recipe finds lines, so one criterion decides for all recipes whether a context contains
a line (`coverage`). Vectors of lines are computed once. The cost of writing is measured separately, with the embedder
itself, on the first lines of the first conversation: session by session, one recipe after the other, so that a busy
moment of the machine affects all of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from everthread import factory
from everthread.bench.comparison import Comparison, RecipeRow
from everthread.bench.coverage import RenderedContext
from everthread.bench.metrics import KS, gold_share, mean, percentile, recall_at, share
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.replay import CachedEmbedder, CountingScribe, Replay
from everthread.bench.report import BUDGETS_TOKENS
from everthread.bench.run import foreign_questions
from everthread.embedders.base import Embedder
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.recipes.base import Recipe
from everthread.scribes.base import Scribe
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.base import Store
from everthread.text.analyzer import terms
from everthread.types import Context, Line

GATED_BUDGET_TOKENS = 1000  # budget of the context with the gate on
WRITE_COST_LINES = 300  # lines on which the cost of writing is measured
WARMUP_QUESTION = "Is there anything new?"  # not measured: the first query after a write reads the new lines
LINE_KINDS = ("line",)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question to its own bank. Shares are 0..1, by the budget of the context."""

    milliseconds: float
    gold: Mapping[int, float]  # by the text of the context
    numbered: Mapping[int, float] | None  # by the numbers of its lines, if lines are found
    words: Mapping[int, float] | None  # of the answer, if it has any
    laid_out: Mapping[int, int]  # tokens, gate off
    recall: Mapping[int, float] | None  # by k, if lines are found
    gated_tokens: int


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """The results of one recipe on one conversation."""

    own: Sequence[QuestionResult]
    foreign: Sequence[tuple[bool, bool]]  # for each: whether the bank shows anything, unchanged and with its names
    lines: int
    units: int
    scribe_calls: int
    waiting: int  # jobs that the scribe has not done


def compare_recipes(
    conversations: Sequence[AnnotatedConversation],
    recipes: Sequence[Recipe | str] = (),
    *,
    dataset: str,
    embedder: Embedder | str | None = None,
    scribe: Scribe | None = None,
    progress: Progress = lambda text: None,
) -> Comparison:
    """Measure recipes.

    Args:
        conversations: with their questions.
        recipes: default: all that come with Everthread.
        dataset: its name.
        embedder: default: the configured one.
        scribe: writes summaries and notes; default: ExtractiveScribe.
        progress: called with messages.

    Raises:
        BadInput: without questions, or if a recipe is named twice.
    """
    if not any(conversation.questions for conversation in conversations):
        raise BadInput(f"{dataset} has no question with gold; choose other conversations")
    chosen = [factory.open_recipe(recipe) for recipe in recipes or factory.RECIPES]
    if len({recipe.name for recipe in chosen}) < len(chosen):
        raise BadInput(f"a recipe is named twice: {', '.join(recipe.name for recipe in chosen)}; name each once")
    model, writer = factory.open_embedder(embedder), scribe or ExtractiveScribe()
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        store = factory.open_store(Path(folder))
        try:
            progress("what a write costs")
            costs = measure_write_costs(conversations[0], chosen, store, model, writer)
            measured = list(_measure_all(conversations, chosen, store, CachedEmbedder(model), writer, progress))
        finally:
            store.close()
    rows = [
        _build_row(recipe, costs[recipe.name], [result for other, result in measured if other is recipe])
        for recipe in chosen
    ]
    questions = sum(len(conversation.questions) for conversation in conversations)
    return Comparison(dataset, model.name, writer.name, questions, tuple(rows))


def measure_write_costs(
    conversation: AnnotatedConversation, recipes: Sequence[Recipe], store: Store, embedder: Embedder, scribe: Scribe
) -> dict[str, float]:
    """Return the milliseconds a line for each recipe, including its embedding and the scribe's work."""
    lines = conversation.lines[:WRITE_COST_LINES]
    embedder.embed([WARMUP_QUESTION])
    replays = {
        recipe.name: Replay(Memory(f"cost-{recipe.name}", store, embedder, recipe), lines, scribe) for recipe in recipes
    }
    elapsed_s = dict.fromkeys(replays, 0.0)
    count = 0
    for _, session in groupby(lines, lambda line: line.session):
        count += len(list(session))
        for name, replay in replays.items():
            started_at = time.perf_counter()
            replay.advance(count)
            elapsed_s[name] += time.perf_counter() - started_at
    return {name: 1000 * seconds / max(len(lines), 1) for name, seconds in elapsed_s.items()}


def _measure_all(
    conversations: Sequence[AnnotatedConversation],
    recipes: Sequence[Recipe],
    store: Store,
    embedder: Embedder,
    scribe: Scribe,
    progress: Progress,
) -> Iterator[tuple[Recipe, ConversationResult]]:
    """Measure each conversation with each recipe."""
    for index, conversation in enumerate(conversations):
        foreign = foreign_questions(conversation, conversations[index - 1])
        for recipe in recipes:
            progress(
                f"{conversation.id}, {recipe.name}: {len(conversation.lines)} lines, "
                f"{len(conversation.questions)} questions"
            )
            bank = Memory(f"bench-{index}-{recipe.name}", store, embedder, recipe)
            yield recipe, _measure(conversation, foreign, bank, CountingScribe(scribe))


def _measure(
    conversation: AnnotatedConversation, foreign: Sequence[tuple[str, str]], bank: Memory, scribe: CountingScribe
) -> ConversationResult:
    replay = Replay(bank, conversation.lines, scribe)
    results: list[QuestionResult] = []
    for count, questions in conversation.questions_by_time():
        replay.advance(count)
        bank.recall(WARMUP_QUESTION)
        lines = dict(zip(conversation.ids, replay.lines, strict=False))  # the lines until now
        results += [_ask(bank, question, lines) for question in questions]
    replay.advance(len(conversation.lines))
    return ConversationResult(
        own=results,
        foreign=[_shows_anything(bank, *pair) for pair in foreign],
        lines=len(conversation.lines),
        units=len(bank.units()),
        scribe_calls=scribe.calls.total(),
        waiting=len(bank.jobs()),
    )


def _shows_anything(bank: Memory, text: str, mapped: str) -> tuple[bool, bool]:
    """Return whether the bank shows anything for a foreign question: unchanged, and with the bank's names."""
    shown = bool(bank.context(text, GATED_BUDGET_TOKENS))
    return shown, shown if mapped == text else bool(bank.context(mapped, GATED_BUDGET_TOKENS))


def _ask(bank: Memory, question: Question, lines: Mapping[str, Line]) -> QuestionResult:
    started_at = time.perf_counter()
    hits = bank.recall(question.text, bank.recipe.max_hits)  # as many as a context is made of
    elapsed_s = time.perf_counter() - started_at
    gated = bank.context(question.text, GATED_BUDGET_TOKENS)
    contexts = {budget: bank.context(question.text, budget, gate=False) for budget in BUDGETS_TOKENS}
    rendered = {budget: RenderedContext(context.text) for budget, context in contexts.items()}
    gold = [lines[id] for id in question.gold if id in lines]
    answer = frozenset(terms(question.answer))
    finds_lines = bank.recipe.kinds == LINE_KINDS
    ids = {line.seq: id for id, line in lines.items()} if finds_lines else {}
    if finds_lines and bank.recipe.max_hits < max(KS):
        hits = bank.recall(question.text, max(KS))
    ranked = [ids[hit.line.seq] for hit in hits] if finds_lines else []
    return QuestionResult(
        milliseconds=1000 * elapsed_s,
        gold={budget: sum(map(text.holds, gold)) / len(question.gold) for budget, text in rendered.items()},
        numbered={budget: gold_share(_collect_ids(context, ids), question.gold) for budget, context in contexts.items()}
        if finds_lines
        else None,
        words={budget: text.share(answer) for budget, text in rendered.items()} if answer else None,
        laid_out={budget: context.tokens for budget, context in contexts.items()},
        recall={k: recall_at(ranked, question.gold, k) for k in KS} if finds_lines else None,
        gated_tokens=gated.tokens,
    )


def _collect_ids(context: Context, ids: Mapping[int, str]) -> set[str]:
    return {ids[line.seq] for line in context.lines}


def _build_row(recipe: Recipe, cost: float, results: Sequence[ConversationResult]) -> RecipeRow:
    own = [answer for result in results for answer in result.own]
    foreign = [answer for result in results for answer in result.foreign]
    lines = max(sum(result.lines for result in results), 1)
    finds_lines = recipe.kinds == LINE_KINDS
    return RecipeRow(
        recipe=recipe.name,
        kinds=recipe.kinds,
        gold=_means([answer.gold for answer in own]),
        numbered=_means([answer.numbered for answer in own if answer.numbered]) if finds_lines else None,
        words=_means([answer.words for answer in own if answer.words]),
        laid_out=_means([answer.laid_out for answer in own]),
        recall=_means([answer.recall for answer in own if answer.recall]) if finds_lines else None,
        tokens=mean(answer.gated_tokens for answer in own),
        kept=share(answer.gated_tokens > 0 for answer in own),
        unchanged=share(unchanged for unchanged, _ in foreign) if foreign else None,
        mapped=share(mapped for _, mapped in foreign) if foreign else None,
        write_ms=cost,
        units=sum(result.units for result in results) / lines,
        calls=sum(result.scribe_calls for result in results) / lines,
        recall_ms=percentile((answer.milliseconds for answer in own), 50),
        waiting=sum(result.waiting for result in results),
    )


def _means(values: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the mean for each number; empty without values."""
    return {number: mean(value[number] for value in values) for number in values[0]} if values else {}
