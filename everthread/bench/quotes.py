"""Measures how often the line that a chat without a model quotes is the right one, by its relevance.

The banks are the first things people say to a bot, and the lines of a dataset: 10 or 100 in sequence, or all. They are
asked questions that they can answer and questions that they can't: about other lines of the same conversation or, if
all are in the bank, about another conversation with the bank's names.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from everthread import factory
from everthread.bench.first_facts import load_first_facts
from everthread.bench.metrics import share
from everthread.bench.questions import AnnotatedConversation, Question
from everthread.bench.run import foreign_questions
from everthread.chat.offline_answer import find_source, order_by_facts, order_by_speaker, select_memories
from everthread.chat.offline_reply import BUDGET_TOKENS, MIN_RELEVANCE
from everthread.embedders.base import Embedder
from everthread.facts.cache import FactIndex
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.text.questions import is_question
from everthread.types import Context, Line, now

SIZES_LINES = (10, 100)  # of a bank; another holds all lines of a conversation
BOUNDS = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
MAX_BANKS = 6  # of one size, of a conversation
MAX_QUESTIONS = 40  # of each kind, to a bank

T = TypeVar("T")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Quote:
    """The relevance of the line quoted for a question, 0 without one, and whether it is an answer.

    is_answerable says whether the bank has an answer.
    """

    relevance: float
    is_right: bool
    is_answerable: bool


@dataclass(frozen=True, slots=True)
class QuoteRates:
    """Shares (0..1) at a bound of relevance.

    right are the stated lines that answer, among questions with an answer; stated the questions with an answer for
    which a line is stated; false those without an answer for which one is.
    """

    right: float
    stated: float
    false: float


@dataclass(frozen=True, slots=True)
class _Bank:
    group: str
    lines: AnnotatedConversation
    known: Sequence[Question]
    strange: Sequence[str]


def measure_quotes(
    conversations: Sequence[AnnotatedConversation],
    embedder: Embedder | str | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, list[Quote]]:
    """Ask all banks, and return what is quoted, by the kind of bank."""
    banks = [*_build_first_banks(), *_build_banks(conversations)]
    quotes: dict[str, list[Quote]] = defaultdict(list)
    model = factory.open_embedder(embedder)
    with (
        tempfile.TemporaryDirectory(prefix="everthread-quotes-") as folder,
        closing(factory.open_store(folder)) as store,
    ):
        for number, bank in enumerate(banks, 1):
            memory = Memory(f"bank-{number}", store, model, Default())
            memory.observe_many(bank.lines.lines)
            quotes[bank.group].extend(_ask(memory, bank))
            progress(number, len(banks))
    return dict(quotes)


def compute_rates(quotes: Sequence[Quote], bound: float) -> QuoteRates:
    """Compute the shares at a bound."""
    known = [quote for quote in quotes if quote.is_answerable]
    stated = [quote for quote in known if _is_stated(quote, bound)]
    false = share(_is_stated(quote, bound) for quote in quotes if not quote.is_answerable)
    return QuoteRates(share(quote.is_right for quote in stated), len(stated) / max(len(known), 1), false)


def build_json(quotes: Mapping[str, Sequence[Quote]]) -> list[dict[str, object]]:
    """Return the shares by the kind of bank and the bound."""
    return [
        {"banks": group, "bound": bound, **asdict(compute_rates(rows, bound))}
        for group, rows in quotes.items()
        for bound in BOUNDS
    ]


def build_table(quotes: Mapping[str, Sequence[Quote]]) -> str:
    """Return the shares in percent as a table in Markdown: right / stated / false."""
    head = ["| bound |", *(f" {group} |" for group in quotes)]
    rows = [
        f"| {bound:.0%} |" + "".join(f" {_format(compute_rates(group, bound))} |" for group in quotes.values())
        for bound in BOUNDS
    ]
    return "\n".join(["".join(head), "|---|" + "---|" * len(quotes), *rows])


def _format(rates: QuoteRates) -> str:
    return f"{100 * rates.right:.0f} / {100 * rates.stated:.0f} / {100 * rates.false:.1f}"


def _is_stated(quote: Quote, bound: float) -> bool:
    return quote.relevance > 0 and quote.relevance >= bound


def _ask(memory: Memory, bank: _Bank) -> Iterator[Quote]:
    ids = {str(line.key): id for line, id in zip(bank.lines.lines, bank.lines.ids, strict=True)}
    known = [(question.text, question.gold) for question in bank.known]
    facts = memory.read_known(limit=None)
    for text, gold in [*known, *((text, None) for text in bank.strange)]:
        context = recall_for_quote(memory, text, facts)
        answer = find_source(context)
        holding = [hit.relevance for hit in context.hits if answer == hit.source or answer in hit.passage]
        is_right = gold is not None and isinstance(answer, Line) and ids[str(answer.key)] in gold
        yield Quote(max(holding, default=0.0), is_right, gold is not None)


def recall_for_quote(memory: Memory, question: str, facts: FactIndex, speaker: str = "") -> Context:
    """Return the memories from which a chat without a model chooses its answer to a question.

    Args:
        memory: the bank.
        question: the question.
        facts: what is known in the bank.
        speaker: who asks; empty if that is unknown.
    """
    context, moment = memory.context(question, BUDGET_TOKENS, min_relevance=MIN_RELEVANCE), now()
    if is_question(question):
        asked = Line(memory.store.corpus_stats(memory.bank).last_seq + 1, "", "user", speaker, question, moment)
        context = order_by_facts(context, asked, memory, facts, moment)
    return select_memories(order_by_speaker(context, question, memory.store.corpus_stats(memory.bank).names), question)


def _build_first_banks() -> Iterator[_Bank]:
    for own in load_first_facts():
        yield _Bank("first things", own, own.questions, own.unrelated)


def _build_banks(conversations: Sequence[AnnotatedConversation]) -> Iterator[_Bank]:
    for index, own in enumerate(conversations):
        for size in SIZES_LINES:
            stride = max(len(own.lines) // MAX_BANKS, size)
            yield from (_cut(own, first, size) for first in range(0, len(own.lines) - size, stride))
        strange = [mapped for _, mapped in foreign_questions(own, conversations[index - 1])]
        yield _Bank("all lines", own, _thin(own.questions), _thin(strange))


def _cut(own: AnnotatedConversation, first: int, size: int) -> _Bank:
    """Return a bank of some lines in sequence."""
    part = slice(first, first + size)
    cut = replace(own, lines=own.lines[part], ids=own.ids[part])
    known = [question for question in own.questions if question.gold.intersection(cut.ids)]
    strange = [question.text for question in own.questions if question.gold.isdisjoint(cut.ids)]
    return _Bank(f"{size} lines", cut, _thin(known), _thin(strange))


def _thin(items: Sequence[T]) -> Sequence[T]:
    return items[:: max(len(items) // MAX_QUESTIONS, 1)][:MAX_QUESTIONS]
