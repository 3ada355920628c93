"""Tests of the moments that lines give, also where it is unknown when the lines were said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.common.keys import META_UNDATED
from everthread.facts.rules import read_statements
from everthread.types import JSONValue, Line

STORED_AT = datetime(2026, 11, 30, tzinfo=UTC)

RELATIVE = {
    "I moved to Graz in January.": "2026-01",
    "I moved to Graz last year.": "2025",
    "I moved to Graz two years ago.": "2024",
    "I've lived in Graz for three years.": "2023",
    "I've lived in Graz since May.": "2026-05",
    "I sold my bike yesterday.": "2026-11-29",
    "And last year we moved to Graz.": "2025",
    "Ich bin im Januar nach Graz gezogen.": "2026-01",
    "Ich wohne seit drei Jahren in Graz.": "2023",
    "Vivo en Graz desde hace tres años.": "2023",
    "我去年搬到上海了。": "2025",
}
ABSOLUTE = {
    "I moved to Graz in 2019.": "2019",
    "I moved to Graz in May 2019.": "2019-05",
    "I've lived in Graz since 2019.": "2019",
    "Ich wohne seit 2010 in Bonn.": "2010",
    "Vivo en Bonn desde 2010.": "2010",
    "我2010年搬到上海了。": "2010",
}


def read_moment(text: str, **metadata: JSONValue) -> str | None:
    """Return the moment of the one statement of a line."""
    (statement,) = read_statements([Line(1, "s", "user", "Nora", text, STORED_AT, metadata=metadata)])
    return statement.moment


@pytest.mark.parametrize(("text", "moment"), RELATIVE.items())
def test_of_an_undated_line_no_moment_is_known_that_depends_on_when_it_was_said(text: str, moment: str) -> None:
    assert read_moment(text) == moment
    assert read_moment(text, **{META_UNDATED: True}) is None


@pytest.mark.parametrize(("text", "moment"), ABSOLUTE.items())
def test_of_an_undated_line_a_moment_with_a_year_is_known(text: str, moment: str) -> None:
    assert read_moment(text, **{META_UNDATED: True}) == moment


@pytest.mark.parametrize(
    "text",
    [
        "We're moving to Graz in May, Mia got a job at Acme.",
        "I've been here since 2019, Mia works at Acme.",
        "Wir ziehen im Mai um, Mia arbeitet bei Acme.",
    ],
)
def test_the_moment_of_one_clause_is_not_that_of_the_next(text: str) -> None:
    line = Line(1, "s", "user", "Nora", text, STORED_AT)
    (work,) = (each for each in read_statements([line]) if each.attribute == "employer")
    assert (work.value, work.moment) == ("Acme", None)


def test_the_last_day_of_something_is_not_the_day_before() -> None:
    assert read_moment("I quit my job at Acme yesterday.") == "2026-11-29"
    assert read_moment("I've been made redundant from Acme, last day is the 27th.") is None
