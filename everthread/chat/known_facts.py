"""The facts that answer "What do you know about me?" in a chat without a language model, each with its line.

They are found again when the conversation is read later: as of the question, by the lines that were recorded for it.
So nothing that was forgotten or corrected since is among them. Without facts, and for questions for all that was said,
the lines are listed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from everthread.facts.asker import find_asker
from everthread.facts.cache import FactIndex
from everthread.facts.overview import OverviewQuestion, parse_overview, select_overview
from everthread.facts.sentences import describe_fact
from everthread.recall.fact_lines import find_statement
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.stores.base import Store
from everthread.types import Context, Hit, Line

MAX_FACTS = 20  # in a reply; the list of facts has all


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a sentence for the person, with the last line that states it outside a question; or "" with a line."""

    text: str
    line: Line


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """The facts that answer a question.

    Attributes:
        facts: the facts, in the order of the reply.
        since: since when what has changed was asked for; None: all that holds was asked for.
        has_more: whether more is known than a reply has room for.
    """

    facts: tuple[KnownFact, ...] = ()
    since: datetime | None = None
    has_more: bool = False

    @property
    def are_lines(self) -> bool:
        """Return whether lines are listed, without facts."""
        return any(not fact.text for fact in self.facts)


NO_FACTS = KnownFacts()


def ask_known(line: Line) -> OverviewQuestion | None:
    """Return what a line of the person asks for an overview of; None if it asks for something else."""
    return parse_overview(line.text, line.said_at) if line.role == "user" else None


def find_known(
    store: Store, bank: str, known: FactIndex, question: Line, is_shown: Callable[[tuple[int, ...]], bool]
) -> KnownFacts:
    """Find the facts that answer a question, as of its time.

    Args:
        store: the store of the bank.
        bank: its id.
        known: what is known.
        question: the person's line.
        is_shown: whether a fact with these lines may be shown.
    """
    asked = ask_known(question)
    if asked is None or not known.stored:
        return NO_FACTS
    asker = partial(find_asker, store, bank, known, question.speaker)
    found = select_overview(asked, known, asker, question.said_at, is_past=True)
    allowed = [fact for fact in found if fact.seqs and is_shown(fact.seqs)]
    shown = allowed[:MAX_FACTS]
    lines = {line.seq: line for line in store.get(bank, sorted({seq for fact in shown for seq in fact.seqs}))}
    reader = asker() or ""
    facts = (
        KnownFact(describe_fact(fact, asked.language, reader), line)
        for fact in shown
        if (line := find_statement(fact, lines)) is not None
    )
    return KnownFacts(tuple(facts), asked.since, len(allowed) > MAX_FACTS)


def list_lines(lines: Iterable[Line]) -> KnownFacts:
    """Return lines without their facts, in the order in which they were said."""
    current = (line for line in lines if line.retracted_at is None)
    return KnownFacts(tuple(KnownFact("", line) for line in sorted(current, key=lambda line: line.seq)))


def build_context(known: KnownFacts) -> Context:
    """Return the lines of facts as what was recalled for the reply."""
    lines = list({fact.line.seq: fact.line for fact in known.facts}.values())
    hits = tuple(Hit(line, OVERVIEW_RELEVANCE, OVERVIEW_RELEVANCE, {}, (line,)) for line in lines)
    return Context("", 0, tuple(lines), hits, (), OVERVIEW_RELEVANCE)
