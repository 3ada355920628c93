"""Chooses the search for a query: in one bank or several, over units or lines, by which recipe."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from everthread.bank import validation
from everthread.facts.answering_lines import find_answering_lines
from everthread.facts.cache import MAX_KEPT_STATEMENTS
from everthread.facts.overview import OverviewQuestion
from everthread.recall import fact_hits, multi_bank, unit_search
from everthread.recall.fact_context import FactSource, add_facts, ask_overview, build_unit, find_overview
from everthread.recall.fact_lines import build_line_hit, put_lines_first
from everthread.recall.reader import BankReader
from everthread.recall.rerank.base import Reranker
from everthread.recall.rerank.names import rerank_hits
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.recall.types import ContextLimits, Query, SearchResult
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default
from everthread.text.questions import is_question
from everthread.types import Context, Filter, Hit, now

FactReader = Callable[[Query], FactSource]

MAX_ANSWERING_LINES = 5  # of a question that asks for one fact
CANDIDATES_PER_HIT = 4  # hits that a reranker gets for each hit of the result
DEFAULT_RECIPE = Default()  # finds lines if the bank's own recipe finds only units


def recall(
    recipe: Recipe,
    reader: BankReader,
    query: Query,
    k: int,
    banks: Collection[str] | None = None,
    reranker: Reranker | None = None,
    read_facts: FactReader | None = None,
) -> list[Hit]:
    """Find the best hits of a bank, or of several.

    Args:
        recipe: the bank's recipe.
        reader: the bank.
        query: the query.
        k: the maximum number of hits.
        banks: ids of banks in its store that are searched instead; None: the bank.
        reranker: reorders the hits; None: their order stays.
        read_facts: reads what is known in the bank; None: the hits are lines or units alone.

    Raises:
        BadQuery: as in `search`, or `banks` names no bank.
        NotFound: one of `banks` doesn't exist.
    """
    search_bank = partial(search, recipe)
    if read_facts is not None:
        search_bank = partial(_search_with_facts, recipe, read_facts, reader.bank)
    limit = k if reranker is None else k * CANDIDATES_PER_HIT
    if banks is None:
        query = _correct_spelling(recipe, reader, query)
        hits = search_bank(reader, query, limit).hits
    else:
        hits = multi_bank.recall(reader, banks, query, limit, search_bank)
    return rerank_hits(reranker, query.text, hits)[:k]


def search(recipe: Recipe, reader: BankReader, query: Query, k: int) -> SearchResult:
    """Find the most relevant hits.

    Args:
        recipe: the bank's recipe.
        reader: the bank.
        query: the query; a blank one finds nothing.
        k: maximum number of hits.

    Raises:
        BadQuery: the recipe or the units can't apply the filter, or the query is not a string.
    """
    if kinds := unit_search.requested_unit_kinds(query.where, query.as_of):
        validation.check_query(query.text)
        return reader.search_units(query, kinds, k)
    if isinstance(query.text, str) and not query.text.strip():
        return SearchResult(allowed=reader.allowed_seqs(query))
    validation.check_query(query.text)
    reader.embed_pending(query.exclude)
    return _recipe_for(recipe, query.where).recall(reader, query, k)


def _correct_spelling(recipe: Recipe, reader: BankReader, query: Query) -> Query:
    """Return the query with its spelling corrected, if the recipe wants that and the query is one for lines."""
    is_for_lines = not unit_search.requested_unit_kinds(query.where, query.as_of)
    if recipe.corrects_spelling and is_for_lines and isinstance(query.text, str):
        return reader.correct_spelling(query)
    return query


def _search_with_facts(
    recipe: Recipe, read_facts: FactReader, own_bank: str, reader: BankReader, query: Query, k: int
) -> SearchResult:
    """Find the most relevant hits of one bank, with facts among those of the own one."""
    if reader.bank != own_bank:
        return search(recipe, reader, query, k)
    validation.check_query(query.text)
    source = read_facts(query)
    answer = fact_hits.find_answer(query, source)
    if not answer.facts:
        return search(recipe, reader, query, k)
    result = search(recipe, reader, query, max(k, fact_hits.SEARCH_DEPTH))
    build = partial(build_unit, known=source.known, question=query.text)
    hits = fact_hits.place_facts(result.hits, answer, build, partial(reader.get_visible, allowed=result.allowed))
    return replace(result, hits=hits[:k])


def build_context(
    recipe: Recipe,
    reader: BankReader,
    query: Query,
    limits: ContextLimits,
    banks: Collection[str] | None = None,
    reranker: Reranker | None = None,
    *,
    read_facts: FactReader,
    facts: bool = False,
) -> Context:
    """Lay out the hits of a query as text for a prompt.

    A question for all that is known of someone gets the facts, or without `facts` the lines that state them.

    Args:
        recipe, reader, query, banks, reranker: as for `recall`.
        limits: the limits of the text.
        read_facts: reads what is known in the bank.
        facts: whether to add facts.

    Raises:
        BadQuery, NotFound: as in `recall`.
    """
    build = partial(_build_bank_context, recipe, reranker, read_facts, facts, reader.bank)
    if banks is None:
        context = build(reader, _correct_spelling(recipe, reader, query), limits)
    else:
        context = multi_bank.build_context(reader, banks, query, limits, build)
    return replace(context, complete=False) if reader.deadline is not None and reader.deadline.missed else context


def _build_bank_context(
    recipe: Recipe,
    reranker: Reranker | None,
    read_facts: FactReader,
    facts: bool,
    own_bank: str,
    reader: BankReader,
    query: Query,
    limits: ContextLimits,
) -> Context:
    """Lay out the hits of one bank. Facts are of the own one."""
    recipe_used = _recipe_for(recipe, query.where)
    max_hits = recipe_used.max_hits
    result = search(recipe, reader, query, max_hits if reranker is None else max_hits * CANDIDATES_PER_HIT)
    hits = apply_gate(result, limits, recipe_used.min_relevance)
    if reranker is not None:
        result = replace(result, calibrated=False)
        hits = reader.call_model(partial(rerank_hits, reranker, query.text, hits), hits)
    result = replace(result, hits=hits[:max_hits])
    asked = ask_overview(query) if reader.bank == own_bank else None
    if (
        asked
        and result.is_overview
        and query.where in (None, Filter())
        and find_overview(asked, query, read_facts(query))
    ):
        result = replace(result, hits=[])  # facts, or their lines, say the same in fewer words
    is_wanted = limits.min_relevance is None or limits.min_relevance <= OVERVIEW_RELEVANCE
    if not facts and is_wanted and "line" in recipe_used.kinds and reader.bank == own_bank:
        if asked:
            result = _answer_by_lines(reader, result, query, asked, read_facts(query))
        elif limits.gate and not hits:
            result = _answer_by_fact(reader, result, query, read_facts)
    context = recipe_used.lay_out(reader, result, limits)
    alone = recipe_used.facts_alone
    if not facts or reader.bank != own_bank or not (context.hits or alone or asked):
        return context
    return add_facts(context, query, read_facts(query), limits, asked, alone=alone)


def _answer_by_lines(
    reader: BankReader, result: SearchResult, query: Query, asked: OverviewQuestion, source: FactSource
) -> SearchResult:
    """Put the lines of the facts first that answer a question for all that is known, if there are any."""
    if query.where not in (None, Filter()) or not (found := find_overview(asked, query, source)):
        return result
    read_lines = partial(reader.get_visible, allowed=result.allowed)
    hits = put_lines_first(result.hits, found, source.known, read_lines, query.exclude)
    return replace(result, hits=hits, relevance=max(result.relevance, OVERVIEW_RELEVANCE))


def _answer_by_fact(reader: BankReader, result: SearchResult, query: Query, read_facts: FactReader) -> SearchResult:
    """Add the lines of the fact that a question asks for, to which no line seems relevant, if there is one."""
    if query.where not in (None, Filter()) or not is_question(query.text):
        return result
    if reader.corpus_stats().lines > MAX_KEPT_STATEMENTS:
        return result  # the facts of a large bank are not kept in memory
    source, moment = read_facts(query), query.as_of or now()
    found = find_answering_lines(query.text, source.known, source.find_asker, moment, is_past=query.as_of is not None)
    if not found.is_complete:
        return result
    seqs = [seq for seq in found.answering if seq not in query.exclude][:MAX_ANSWERING_LINES]
    lines = {line.seq: line for line in reader.get_visible(sorted(seqs), result.allowed)}
    hits = [build_line_hit(lines[seq]) for seq in seqs if seq in lines]
    return replace(result, hits=hits, relevance=max(result.relevance, OVERVIEW_RELEVANCE)) if hits else result


def apply_gate(result: SearchResult, limits: ContextLimits, min_relevance: float) -> list[Hit]:
    """Return the hits that are relevant enough for a context; none if the query fails the relevance gate.

    Args:
        result: the hits and the query relevance.
        limits: the limits of the context.
        min_relevance: the least relevance of a hit, unless `limits` has its own.
    """
    if limits.gate and not result.passes:
        return []
    if limits.min_relevance is not None:
        min_relevance = limits.min_relevance
    return [hit for hit in result.hits if hit.relevance >= min_relevance]


def _recipe_for(recipe: Recipe, where: Filter | None) -> Recipe:
    """Return the recipe, or the default if the filter asks for lines and the recipe finds only units."""
    unit_search.check_category(where, recipe.name, recipe.categorised)
    asks_for_lines = where is not None and where.kind is not None and not unit_search.requested_unit_kinds(where)
    return DEFAULT_RECIPE if asks_for_lines and "line" not in recipe.kinds else recipe
