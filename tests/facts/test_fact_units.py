"""Statements as units of kind `fact`."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from everthread.facts.fact_units import build_unit, parse_unit
from everthread.facts.types import Statement
from everthread.types import Unit

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
PLAIN = Statement(subject="Nora", attribute="home", value="Lisbon", seqs=(3,), said_at=AT, position=3)
RICH = Statement(
    subject="Nora",
    attribute="job",
    value="baker",
    seqs=(3, 5),
    said_at=AT,
    ends=True,
    moment="2026-04",
    is_event=True,
    writer="model",
    confidence=0.5,
    is_undated=True,
    position=9,
    id=4,
)


@pytest.mark.parametrize("statement", [PLAIN, RICH])
def test_a_statement_is_parsed_from_the_unit_that_was_built_of_it(statement: Statement) -> None:
    new = build_unit(statement, "en")
    unit = Unit(8, new.kind, new.text, new.first_seq, new.last_seq, new.said_at, AT, metadata=new.metadata)
    assert parse_unit(unit) == replace(statement, id=statement.id or unit.id)


def test_a_unit_without_an_attribute_states_its_sentence() -> None:
    parsed = parse_unit(Unit(2, "fact", "Nora likes rain.", 3, 5, AT, AT))
    assert (parsed.attribute, parsed.value, parsed.seqs, parsed.writer) == ("", "Nora likes rain.", (3, 5), "model")


def test_lines_outside_the_unit_s_span_are_ignored() -> None:
    unit = Unit(2, "fact", "Nora lives in Lisbon.", 3, 5, AT, AT, metadata={"attribute": "home", "lines": [3, 40]})
    assert parse_unit(unit).seqs == (3, 5)
