"""Measures the recipes on the same conversations and questions.

Each conversation is replayed into a bank of its own for each recipe (`replay`), asked its questions, and asked what it
can't answer. One criterion determines for all recipes what a context contains (`coverage`), because not every recipe
finds lines. Vectors of lines are computed once; the cost of writing is measured separately, with the model itself, on
the first lines of the first conversation: session by session, one recipe after the other, so that a busy moment affects
them all.
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

GATED_BUDGET_TOKENS = 1000  # of the context with the gate on
WRITE_COST_LINES = 300  # lines on which the cost of writing is measured
WARMUP_QUESTION = "Is there anything new?"  # not measured: the first query after a write reads the new lines
LINE_KINDS = ("line",)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one of a bank's own questions. Shares are 0..1, by the budget of the context."""

    milliseconds: float
    gold: Mapping[int, float]  # by the text of the context
    numbered: Mapping[int, float] | None  # by the numbers of its lines, where lines are found
    words: Mapping[int, float] | None  # of the answer, where it has any
    laid_out: Mapping[int, int]  # tokens, gate off
    recall: Mapping[int, float] | None  # by k, where lines are found
    gated_tokens: int  # tokens


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """The results of one recipe on one conversation."""

    found: Sequence[QuestionResult]
    strayed: Sequence[tuple[bool, bool]]  # whether anything is shown for what it can't know: as it is, and mapped
    lines: int
    units: int
    scribe_calls: int  # of the scribe
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
        scribe: writes what the recipes need; default: ExtractiveScribe.
        progress: called with messages.

    Raises:
        BadInput: without questions, or if a recipe is named twice.
    """
    if not any(conversation.questions for conversation in conversations):
        raise BadInput(f"{dataset} has no question with gold; choose other conversations")
    chosen = [factory.open_recipe(each) for each in recipes or factory.RECIPES]
    if len({recipe.name for recipe in chosen}) < len(chosen):
        raise BadInput(f"a recipe is named twice: {', '.join(each.name for each in chosen)}; name each once")
    model, writer = factory.open_embedder(embedder), scribe or ExtractiveScribe()
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        store = factory.open_store(Path(folder))
        try:
            progress("what a write costs")
            costs = measure_write_costs(conversations[0], chosen, store, model, writer)
            measured = list(_all(conversations, chosen, store, CachedEmbedder(model), writer, progress))
        finally:
            store.close()
    rows = [_row(recipe, costs[recipe.name], [each for of, each in measured if of is recipe]) for recipe in chosen]
    questions = sum(len(conversation.questions) for conversation in conversations)
    return Comparison(dataset, model.name, writer.name, questions, tuple(rows))


def measure_write_costs(
    conversation: AnnotatedConversation, recipes: Sequence[Recipe], store: Store, embedder: Embedder, scribe: Scribe
) -> dict[str, float]:
    """Return the milliseconds a line for each recipe: embedded, durable, and with all that is written about it."""
    lines = conversation.lines[:WRITE_COST_LINES]
    embedder.embed([WARMUP_QUESTION])
    replays = {each.name: Replay(Memory(f"cost-{each.name}", store, embedder, each), lines, scribe) for each in recipes}
    spent = dict.fromkeys(replays, 0.0)
    said = 0
    for _, session in groupby(lines, lambda line: line.session):
        said += len(list(session))
        for name, replay in replays.items():
            begun = time.perf_counter()
            replay.advance(said)
            spent[name] += time.perf_counter() - begun
    return {name: 1000 * seconds / max(len(lines), 1) for name, seconds in spent.items()}


def _all(
    conversations: Sequence[AnnotatedConversation],
    recipes: Sequence[Recipe],
    store: Store,
    embedder: Embedder,
    scribe: Scribe,
    progress: Progress,
) -> Iterator[tuple[Recipe, ConversationResult]]:
    """Measure each conversation with each recipe."""
    for at, own in enumerate(conversations):
        for recipe in recipes:
            progress(f"{own.id}, {recipe.name}: {len(own.lines)} lines, {len(own.questions)} questions")
            bank = Memory(f"bench-{at}-{recipe.name}", store, embedder, recipe)
            yield recipe, _measure(own, foreign_questions(own, conversations[at - 1]), bank, CountingScribe(scribe))


def _measure(
    own: AnnotatedConversation, odd: Sequence[tuple[str, str]], bank: Memory, scribe: CountingScribe
) -> ConversationResult:
    replay = Replay(bank, own.lines, scribe)
    found: list[QuestionResult] = []
    for count, questions in own.questions_by_time():
        replay.advance(count)
        bank.recall(WARMUP_QUESTION)
        lines = dict(zip(own.ids, replay.lines, strict=False))  # what has been said so far
        found += [_ask(bank, question, lines) for question in questions]
    replay.advance(len(own.lines))
    return ConversationResult(
        found=found,
        strayed=[_recalls_stranger(bank, *pair) for pair in odd],
        lines=len(own.lines),
        units=len(bank.units()),
        scribe_calls=scribe.calls.total(),
        waiting=len(bank.jobs()),
    )


def _recalls_stranger(bank: Memory, text: str, mapped: str) -> tuple[bool, bool]:
    shown = bool(bank.context(text, GATED_BUDGET_TOKENS))
    return shown, shown if mapped == text else bool(bank.context(mapped, GATED_BUDGET_TOKENS))


def _ask(bank: Memory, question: Question, lines: Mapping[str, Line]) -> QuestionResult:
    begun = time.perf_counter()
    hits = bank.recall(question.text, bank.recipe.max_hits)  # as many as a context is made of
    taken = time.perf_counter() - begun
    gated = bank.context(question.text, GATED_BUDGET_TOKENS)
    contexts = {budget: bank.context(question.text, budget, gate=False) for budget in BUDGETS_TOKENS}
    laid = {budget: RenderedContext(context.text) for budget, context in contexts.items()}
    gold = [lines[id] for id in question.gold if id in lines]
    answer = frozenset(terms(question.answer))
    of_lines = bank.recipe.kinds == LINE_KINDS
    ids = {line.seq: id for id, line in lines.items()} if of_lines else {}
    if of_lines and bank.recipe.max_hits < max(KS):
        hits = bank.recall(question.text, max(KS))
    ranked = [ids[hit.line.seq] for hit in hits] if of_lines else []
    return QuestionResult(
        milliseconds=1000 * taken,
        gold={budget: sum(map(text.holds, gold)) / len(question.gold) for budget, text in laid.items()},
        numbered={budget: gold_share(_ids(context, ids), question.gold) for budget, context in contexts.items()}
        if of_lines
        else None,
        words={budget: text.share(answer) for budget, text in laid.items()} if answer else None,
        laid_out={budget: context.tokens for budget, context in contexts.items()},
        recall={k: recall_at(ranked, question.gold, k) for k in KS} if of_lines else None,
        gated_tokens=gated.tokens,
    )


def _ids(context: Context, ids: Mapping[int, str]) -> set[str]:
    return {ids[line.seq] for line in context.lines}


def _row(recipe: Recipe, cost: float, measured: Sequence[ConversationResult]) -> RecipeRow:
    found = [each for part in measured for each in part.found]
    strayed = [each for part in measured for each in part.strayed]
    lines = max(sum(part.lines for part in measured), 1)
    of_lines = recipe.kinds == LINE_KINDS
    return RecipeRow(
        recipe=recipe.name,
        kinds=recipe.kinds,
        gold=_means([each.gold for each in found]),
        numbered=_means([each.numbered for each in found if each.numbered]) if of_lines else None,
        words=_means([each.words for each in found if each.words]),
        laid_out=_means([each.laid_out for each in found]),
        recall=_means([each.recall for each in found if each.recall]) if of_lines else None,
        tokens=mean(each.gated_tokens for each in found),
        kept=share(each.gated_tokens > 0 for each in found),
        unchanged=share(unchanged for unchanged, _ in strayed) if strayed else None,
        mapped=share(mapped for _, mapped in strayed) if strayed else None,
        write_ms=cost,
        units=sum(part.units for part in measured) / lines,
        calls=sum(part.scribe_calls for part in measured) / lines,
        recall_ms=percentile((each.milliseconds for each in found), 50),
        waiting=sum(part.waiting for part in measured),
    )


def _means(values: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the mean for each number; empty without values."""
    return {number: mean(each[number] for each in values) for number in values[0]} if values else {}
