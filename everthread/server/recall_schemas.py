"""Request and response models of queries to a bank: filters, hits and contexts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, computed_field

from everthread.errors import BadQuery
from everthread.server.pagination import DEFAULT_LIMIT, MAX_LIMIT
from everthread.server.schemas import (
    MAX_BATCH,
    MAX_METADATA_VALUES,
    FoundUnitView,
    LineView,
    NameList,
    RequestBody,
    RoleList,
    View,
    corrected_positions,
    has_at_most,
)
from everthread.stores.conditions import parse_condition
from everthread.types import Filter, Role

CONDITION_DESCRIPTION = (
    'A comparison such as {"field": "metadata.year", "op": ">", "value": 2020}, or {"all": […]}, {"any": […]}, '
    '{"not": …}. Fields: session, speaker, role, key, said_at, metadata.NAME. Operators: == != < <= > >= in, not in, '
    "contains, exists, of which the last needs no value."
)


class FilterBody(RequestBody):
    """A filter of the lines that may be recalled: all given fields must match."""

    session: str | NameList | None = None
    speaker: str | NameList | None = None
    role: Role | RoleList | None = None
    kind: str | NameList | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    category: str | NameList | None = None
    condition: dict[str, Any] | None = Field(None, description=CONDITION_DESCRIPTION)
    key_prefix: str | None = None

    def to_filter(self) -> Filter:
        """Convert to a filter.

        Raises:
            BadQuery: metadata have too many values, or the condition is invalid.
        """
        if not has_at_most(MAX_METADATA_VALUES, self.metadata):
            raise BadQuery(f"invalid metadata: it holds more than {MAX_METADATA_VALUES:,} values; expected a few")
        given = {name: getattr(self, name) for name in ("session", "speaker", "role", "kind", "category")}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        condition = None if self.condition is None else parse_condition(self.condition)
        return Filter(
            **values,
            since=self.since,
            until=self.until,
            metadata=self.metadata,
            condition=condition,
            key_prefix=self.key_prefix,
        )


class QueryBody(RequestBody):
    """A query to a bank. as_of: recall what was known then. exclude: lines that are in the prompt already."""

    query: str
    where: FilterBody | None = None
    as_of: datetime | None = None
    exclude: Annotated[list[int], Field(fail_fast=True)] = Field(default_factory=list)

    def to_filter(self) -> Filter | None:
        """Convert to a filter; None without one."""
        return None if self.where is None else self.where.to_filter()


class SearchBody(RequestBody):
    """A search for lines that contain words; a blank text finds all. before: only lines that follow the one with this
    number."""

    text: str
    where: FilterBody | None = None
    before: int | None = None
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)


class FoundLinesView(View):
    """Part of the lines found, those said last first. next: `before` of the next part; null at the end."""

    items: list[LineView]
    next: int | None


class RecallBody(QueryBody):
    """A query to one bank, or to the banks that are named instead of it. facts: whether what is known of those that the
    query names takes the place of the lines that state it."""

    k: int = Field(10, ge=1, le=MAX_BATCH)
    banks: list[str] | None = Field(None, min_length=1, max_length=MAX_BATCH)
    facts: bool = False


class ContextBody(QueryBody):
    """A query whose result is formatted for a prompt. gate: whether the result is empty if nothing is relevant.
    min_relevance: the minimum relevance of a hit. session: keep passages in view that were recalled for its earlier
    turns. banks: query these instead of this one. deadline_s: seconds after which no model is waited for. facts:
    whether what is known of those that the query names is added; null: the recipe's choice."""

    banks: list[str] | None = Field(None, min_length=1, max_length=MAX_BATCH)
    budget: int = Field(1000, ge=1, le=1_000_000)
    session: str | None = None
    gate: bool = True
    min_relevance: float | None = Field(None, ge=0, le=1)
    deadline_s: float | None = Field(None, ge=0, allow_inf_nan=False)
    facts: bool | None = None


class HitView(View):
    """A line found for a query, among its neighbours. score orders hits and has no unit; relevance is the calibrated
    probability (0..1) that it is relevant to the query; signals are the values that it is computed from."""

    line: LineView
    kind: str
    score: float
    relevance: float
    signals: dict[str, float]
    passage: list[LineView]
    bank: str


class UnitHitView(View):
    """A unit found for a query. Its relevance is its cosine, not calibrated; a fact in the place of its line has the
    line's relevance and passage."""

    unit: FoundUnitView = Field(validation_alias="source")
    kind: str
    score: float
    relevance: float
    signals: dict[str, float]
    passage: list[LineView]
    bank: str


class ContextView(View):
    """The memories recalled for a query, as text for a prompt. cut: hits left out because they exceeded the budget."""

    text: str
    tokens: int
    relevance: float
    lines: list[LineView]
    units: list[FoundUnitView]
    hits: list[HitView | UnitHitView]
    cut: list[HitView | UnitHitView]
    bank: str = ""
    others: list[ContextView] = Field(
        default=[], description="The contexts of the other queried banks, each with its name."
    )
    complete: bool = Field(default=True, description="False if the deadline left out a model.")
    facts: list[FoundUnitView] = Field(default=[], description="What is known, as sentences before the lines.")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def corrects(self) -> dict[int, int]:
        """For each corrected line of a passage, the number of the line whose position it takes."""
        return corrected_positions(line for hit in self.hits for line in hit.passage)


class EvidenceView(View):
    """The memories that a reply was given, as they were then.

    A hit whose line or unit has `retracted_at` was set aside since; corrections: the corrected lines by the numbers of
    the original ones. kept: lines that stayed in context from earlier turns. forgotten: how many were forgotten since.
    others: the number of hits by the name of another bank; shared: the lines of those banks that this one still recalls
    from and the key may read. prompt: the tokens of each part of the prompt; empty if they are not recorded.
    """

    seq: int
    relevance: float
    tokens: int
    hits: list[HitView | UnitHitView]
    kept: list[LineView]
    corrections: dict[int, LineView]
    forgotten: int
    others: dict[str, int]
    shared: dict[str, list[LineView]]
    prompt: dict[str, int]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def corrects(self) -> dict[int, int]:
        """For each corrected line of a passage, the number of the line whose position it takes."""
        return corrected_positions(line for hit in self.hits for line in hit.passage)
