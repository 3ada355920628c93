"""Adds facts to a context: about those that a question names, and which of its lines are no longer true. Pure.

Facts come before the passages, in the room that these leave, so that no line is left out for a fact. A fact that a
passage states is left out. A line that stated what has ended or was replaced since gets a note: "[until March 2026;
then: Berlin]", and one whose fact the person has corrected gets the sentence of the fact. The least relevant lines make
room for notes: without one, what is no longer true would be taken for the present. The relevance gate decides as
without facts: a context without hits gets none. Only a question for all that is known of someone, or for what has
changed (`facts.overview`), is answered by facts alone if need be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from everthread.common.keys import META_UNDATED
from everthread.facts.cache import FactIndex
from everthread.facts.fact_units import FACT
from everthread.facts.overview import OverviewQuestion, parse_overview, select_overview
from everthread.facts.selection import FindAsker, select_facts
from everthread.facts.sentences import describe_end, describe_fact
from everthread.facts.types import Fact
from everthread.recall.context_packing import identify_source
from everthread.recall.types import ContextLimits, Query
from everthread.text.analyzer import detect_language
from everthread.text.formatting import Source, format_facts, format_lines
from everthread.types import Context, Filter, FoundUnit, JSONValue, Line, Unit, now

HEADING = "[What is known]"
MAX_FACTS = 8  # more say little about what was asked
MAX_OVERVIEW_FACTS = 50  # for a question that asks for all


@dataclass(frozen=True, slots=True)
class FactSource:
    """The facts of a bank, and a function that finds the name of the entity that asks."""

    known: FactIndex
    find_asker: FindAsker


def add_facts(
    context: Context,
    query: Query,
    facts: FactSource,
    limits: ContextLimits,
    asked: OverviewQuestion | None,
    *,
    alone: bool = False,
) -> Context:
    """Add facts to a context, and notes to its lines.

    A query with a filter gets none, because facts follow from all lines.

    Args:
        context: the context with lines only.
        query: the query.
        facts: what is known.
        limits: the limits of the context.
        asked: what the query asks for an overview of (`ask_overview`).
        alone: whether to add facts to a context without hits.
    """
    if not facts.known.stored or query.where not in (None, Filter()):
        return context
    overview = find_overview(asked, query, facts)
    if not (context.hits or overview or alone):
        return context
    noted = _add_notes(context, query, facts.known, limits)
    stated = {line.seq for line in context.lines}.union(query.exclude)
    moment, is_past = query.as_of or now(), query.as_of is not None
    found = overview or select_facts(query.text, facts.known, facts.find_asker, moment, is_past=is_past)
    new = islice(
        (fact for fact in found if stated.isdisjoint(fact.seqs)), MAX_OVERVIEW_FACTS if overview else MAX_FACTS
    )
    return _fill(noted, [build_unit(fact, facts.known, query.text) for fact in new], limits)


def ask_overview(query: Query) -> OverviewQuestion | None:
    """Return what a query asks for an overview of; None if it asks for something else."""
    return parse_overview(query.text, query.as_of or now())


def find_overview(asked: OverviewQuestion | None, query: Query, facts: FactSource) -> list[Fact]:
    """Return the facts that answer a question for all that is known of someone, or for what has changed."""
    if asked is None:
        return []
    moment, is_past = query.as_of or now(), query.as_of is not None
    return select_overview(asked, facts.known, facts.find_asker, moment, is_past=is_past)


def _fill(context: Context, units: Sequence[FoundUnit], limits: ContextLimits) -> Context:
    """Put facts before a context's text, as many as there is room for."""
    for count in range(len(units), 0, -1):
        text = "\n\n".join(filter(None, (f"{HEADING}\n{format_facts(units[:count])}", context.text)))
        if (tokens := limits.count(text)) <= limits.tokens:
            return replace(context, text=text, tokens=tokens, facts=tuple(units[:count]))
    return context


def build_unit(fact: Fact, known: FactIndex, question: str) -> FoundUnit:
    """Build the unit of a fact, with the sentence for it in the language of a question."""
    metadata: dict[str, JSONValue] = {
        "subject": fact.subject,
        "attribute": fact.attribute,
        "value": fact.value,
        "lines": [*fact.seqs],
    }
    if fact.undated:
        metadata[META_UNDATED] = True
    unit = Unit(
        id=known.stored[fact.id].unit_id,
        kind=FACT,
        text=describe_fact(fact, detect_language(question)),
        first_seq=min(fact.seqs, default=0),
        last_seq=max(fact.seqs, default=0),
        said_at=fact.said_at,
        valid_from=fact.said_at,
        metadata=metadata,
    )
    return FoundUnit(unit, "", FACT)


def _add_notes(context: Context, query: Query, known: FactIndex, limits: ContextLimits) -> Context:
    """Add to each line what it states that is no longer true, in full or, if there is no room, only until when.

    If that is too long as well, the least relevant lines are left out, those without a note first.
    """
    full = {line.seq: note for line in context.lines if (note := describe_outdated(line, known, query.as_of))}
    if not full or format_lines(context.sources) != context.text:  # the text is of another form
        return context
    short = {line.seq: _describe_shortly(line, known, query.as_of) for line in context.lines if line.seq in full}
    for left in _leave_out(context, full):
        for notes in (full, short):
            sources = tuple(_add_note(source, notes) for source in left)
            text = format_lines(sources)
            if (tokens := limits.count(text)) <= limits.tokens:
                included = tuple(hit for hit in context.hits if _is_among(hit.source, left))
                cut = tuple(hit for hit in context.hits if not _is_among(hit.source, left))
                context = replace(context, text=text, tokens=tokens, sources=sources)
                return replace(context, hits=included, cut=(*cut, *context.cut))
    return context


def _leave_out(context: Context, noted: Collection[int]) -> Iterator[list[Source]]:
    """Yield the lines of a context, with one less each time; the best hit stays."""
    hits = [hit.source for hit in context.hits]
    others = [source for source in context.sources if not _is_among(source, hits)]
    order = [*others, *reversed(hits[1:])]
    order.sort(key=lambda source: isinstance(source, Line) and source.seq in noted)
    left = list(context.sources)
    yield left
    for source in order:
        left = [each for each in left if not _is_among(each, [source])]
        yield left


def _is_among(source: Source, others: Sequence[Source]) -> bool:
    """Return whether a line or a unit is one of others, also as an excerpt."""
    return identify_source(source) in map(identify_source, others)


def describe_outdated(line: Line, known: FactIndex, as_of: datetime | None = None) -> str:
    """Describe what a line states that is no longer true, such as "until August 2024; then: York"; else "".

    A fact of the line that the person has corrected is a sentence with the right value.
    """
    ended = _find_ended(line, as_of, known)
    return "; ".join((*_describe_ended(line, ended, ended, known), *_state_corrected(line, known)))


def _find_ended(line: Line, as_of: datetime | None, known: FactIndex) -> list[Fact]:
    """Return the facts that a line states and that have ended or were replaced."""
    moment = as_of or now()
    return [fact for fact in known.ended_facts(line.seq, as_of) if fact.until and fact.until <= moment]


def _describe_ended(line: Line, described: Sequence[Fact], ended: Sequence[Fact], known: FactIndex) -> list[str]:
    """Describe some of what a line states that has ended; with the values, if it states something else as well."""
    is_all = len(ended) == 1 and not known.has_current(line.seq)
    notes = ((fact.value, describe_end(fact, detect_language(line.text))) for fact in described)
    return [note if is_all else f"{value}: {note}" for value, note in notes]


def _state_corrected(line: Line, known: FactIndex) -> list[str]:
    """Return the sentences of the facts of a line that the person has corrected."""
    return [describe_fact(fact, detect_language(line.text)) for fact in known.corrected_facts(line.seq, line.text)]


def _describe_shortly(line: Line, known: FactIndex, as_of: datetime | None) -> str:
    """Describe only until when it held what a line states, and what the person has corrected."""
    ended = _find_ended(line, as_of, known)
    last = sorted(ended, key=lambda fact: fact.until or fact.said_at)[-1:]
    ends = _describe_ended(line, [replace(fact, replaced_by=None) for fact in last], ended, known)
    return "; ".join((*ends, *_state_corrected(line, known)))


def _add_note(source: Source, notes: Mapping[int, str]) -> Source:
    if not isinstance(source, Line) or source.seq not in notes:
        return source
    return replace(source, text=f"{source.text} [{notes[source.seq]}]")
