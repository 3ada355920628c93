"""Searches units (summaries, notes, facts) by meaning and by terms. Pure.

Units are few and self-contained, so the signals of conversations don't apply. A unit's score is the cosine of its
nearest piece to the query, plus the share of the query's terms that it contains. Its relevance is the cosine, clipped
to 0..1. It is not calibrated, unlike that of lines: no curve was fitted for units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import numpy as np

from everthread.errors import BadQuery
from everthread.recall.features import UNKNOWN_COSINE
from everthread.recall.query_parsing import ParsedQuery
from everthread.stores.conditions import MISSING, TEXT_FIELDS, TIME_FIELD, evaluate, find_comparisons, get_metadata
from everthread.stores.filters import allowed_names, check_filter
from everthread.stores.json_text import canonical_json
from everthread.stores.unit_store import UnitKey
from everthread.text.analyzer import count_terms
from everthread.text.bm25 import idf
from everthread.types import Comparison, Filter, Unit

MIN_UNIT_SCORE = 0.5  # of the best unit, for a context with units; set by hand: unrelated units score less


class ScoredUnit(NamedTuple):
    """A unit that was chosen for a query, with its score."""

    unit: Unit
    score: float
    relevance: float
    signals: Mapping[str, float]


def requested_unit_kinds(where: Filter | None, as_of: datetime | None = None) -> tuple[str, ...]:
    """Return the kinds of units that a filter asks for; empty if it asks for lines.

    Raises:
        BadQuery: the filter asks for both, or filters units by a field that only lines have.
    """
    if where is None or check_filter(where, as_of).kind is None:
        return ()
    kinds = tuple(dict.fromkeys(allowed_names(where.kind, "kind")))
    if "line" not in kinds:
        if kinds and (name := next(_fields_of_lines(where), None)):
            raise BadQuery(
                f"where.{name} applies to lines only, not to a {kinds[0]}; filter by since, until or metadata"
            )
        return kinds
    if len(kinds) > 1:
        raise BadQuery(
            f"where.kind asks for lines and for units ({', '.join(kinds)}), whose scores can't be compared; ask for "
            "one after the other"
        )
    return ()


def _fields_of_lines(where: Filter) -> Iterator[str]:
    """Iterate over the fields that a filter restricts and that only lines have."""
    yield from (name for name in ("session", "speaker", "role", "key_prefix") if getattr(where, name) is not None)
    if where.condition is not None:
        for comparison in find_comparisons(where.condition):
            if comparison.field in TEXT_FIELDS:
                yield f"condition.{comparison.field}"


def check_category(where: Filter | None, name: str, categorised: bool) -> None:
    """Raise BadQuery if a filter by category is given to a recipe whose hits have none."""
    if where is not None and where.category is not None and not categorised and not requested_unit_kinds(where):
        raise BadQuery(
            f"invalid where.category {where.category!r}: hits of the recipe {name!r} have no category; "
            "filter by kind as well, as in Filter(kind='summary', category='food')"
        )


def filter_units(units: Sequence[Unit], where: Filter, as_of: datetime | None) -> list[Unit]:
    """Return the units that a filter allows and that were current as of `as_of`.

    Superseded notes are found as well: they describe their time, and later notes may have dropped what they contain.
    """
    known = [unit for unit in units if as_of is None or unit.said_at <= as_of]
    superseded = {(unit.kind, unit.supersedes) for unit in known if unit.kind != "note"}
    return [unit for unit in known if (unit.kind, unit.id) not in superseded and _matches(unit, where)]


def _matches(unit: Unit, where: Filter) -> bool:
    if where.since is not None and (unit.is_undated or unit.said_at < where.since):
        return False
    if where.until is not None and (unit.is_undated or unit.said_at >= where.until):
        return False
    if where.category is not None and unit.category not in allowed_names(where.category, "category"):
        return False
    if where.condition is not None and not evaluate(where.condition, partial(_get_field, unit)):
        return False
    return all(
        key in unit.metadata and canonical_json(unit.metadata[key]) == canonical_json(wanted)
        for key, wanted in where.metadata.items()
    )


def _get_field(unit: Unit, comparison: Comparison) -> object:
    """Return the value of a unit's field in a comparison."""
    if comparison.field == TIME_FIELD:
        return MISSING if unit.is_undated else unit.said_at
    return get_metadata(unit.metadata, comparison)


def idf_overlap(parsed: ParsedQuery, units: Sequence[Unit]) -> list[float]:
    """Return for each unit the share of the query's terms that it contains, weighted by their idf among the units."""
    texts = [count_terms(unit.text).terms.keys() for unit in units]
    weights = {term: idf(sum(term in text for text in texts), len(texts)) for term in parsed.terms}
    mass = sum(weights.values())
    return [sum(weights[term] for term in weights.keys() & text) / mass if mass else 0.0 for text in texts]


def rank_units(
    parsed: ParsedQuery, units: Sequence[Unit], cosines: Mapping[UnitKey, float], k: int
) -> list[ScoredUnit]:
    """Rank units by their cosines and the terms that they share with a query.

    Args:
        parsed: the parsed query.
        units: the units that may be found.
        cosines: the cosine of each unit to the query, by kind and id.
        k: units at most.

    Returns:
        The best units; of equal scores, the later unit first.
    """
    scored: list[ScoredUnit] = []
    for unit, share in zip(units, idf_overlap(parsed, units), strict=True):
        cosine = cosines.get((unit.kind, unit.id), UNKNOWN_COSINE)
        relevance = 0.0 if parsed.is_small_talk else float(np.clip(cosine, 0, 1))
        scored.append(ScoredUnit(unit, cosine + share, relevance, {"cosine": cosine, "share": share}))
    return sorted(scored, key=lambda each: (-each.score, -each.unit.last_seq))[:k]
