from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.analyzer import normalize
from everthread.text.time_expressions import (
    MAX_YEARS_BACK,
    Date,
    Span,
    find_absolute_times,
    find_relative_times,
    find_seasons,
)
from everthread.text.time_words import CALENDAR_YEARS

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday


def days(first: str, end: str) -> Span:
    return Span(datetime.fromisoformat(first), datetime.fromisoformat(end))


# -------------------------------------------------------------------------- dates

MAY_8 = Date(5, None, 8)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was on 8 May?", [MAY_8]),
        ("on the 8th of May", [MAY_8]),
        ("on May 8th", [MAY_8]),
        ("on May 8th, 2023", [Date(5, 2023, 8)]),
        ("May 8, 2023", [Date(5, 2023, 8)]),
        ("8 MAY 2023", [Date(5, 2023, 8)]),
        ("2023-05-08", [Date(5, 2023, 8)]),
        ("2023/5/8", [Date(5, 2023, 8)]),
        ("on 31 Dec 2023", [Date(12, 2023, 31)]),
        ("31-Dec-2023", [Date(12, 2023, 31)]),
        ("on 5 Jan", [Date(1, None, 5)]),
        ("Sept. 5th, 2023", [Date(9, 2023, 5)]),
        ("am 29.12.2023", [Date(12, 2023, 29)]),
        ("12/31/23", [Date(12, 2023, 31)]),
        ("1/5/24", [Date(5, 2024, 1), Date(1, 2024, 5)]),
        ("5/5/24", [Date(5, 2024, 5)]),
        ("5月8日", [MAY_8]),
        ("2023年5月8日的时候", [Date(5, 2023, 8)]),
        ("２０２３年５月８号", [Date(5, 2023, 8)]),
        ("5月去了哪里", [Date(5)]),
        ("between 3 June and 5 July 2024", [Date(6, None, 3), Date(7, 2024, 5)]),
        ("in August", [Date(8)]),
        ("in August 2022", [Date(8, 2022)]),
        ("in August of 2022", [Date(8, 2022)]),
        ("in May", [Date(5)]),
        ("What happened last May?", [Date(5)]),
        ("mid-May", [Date(5)]),
        ("May 2023", [Date(5, 2023)]),
        ("May of 2023", [Date(5, 2023)]),
        ("What may she have said?", []),
        ("May I ask?", []),
        ("in August or on 8 May", [MAY_8]),
        ("They march on Lisbon", []),
        ("in March", [Date(3)]),
        ("the 8 ferries", []),
        ("12:30 on Monday", []),
        ("room 2023", []),
        ("May 20234", []),
        ("version 3.11.2023.4", []),
        ("45/13/24", []),
        ("half of 1/2/3/4", []),
        ("Jan and Dec are friends", []),
        ("", []),
    ],
)
def test_dates_are_found_as_people_write_them(question: str, expected: list[Date]) -> None:
    assert list(find_absolute_times(normalize(question))[0]) == expected


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("what was on 8 may 2023?", "what was on  ?"),
        ("in august or on 8 may", "in august or on  "),
        ("in august of 2022, in lisbon", "in  , in lisbon"),
        ("in 2023", " "),
        ("they may go", "they may go"),
    ],
)
def test_the_question_without_its_dates_is_returned(question: str, rest: str) -> None:
    assert find_absolute_times(question)[1] == rest


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("in 2023", [2023]),
        ("during 1999", [1999]),
        ("in 2022 and in 2023", [2022, 2023]),
        ("in may 2023", []),
        ("in room 2023", []),
        ("in 2023-24", []),
        ("in 20234", []),
        ("in 3023", []),
        ("2023", []),
    ],
)
def test_a_bare_year_is_found_after_a_preposition(question: str, years: list[int]) -> None:
    found = [time for time in find_absolute_times(question)[0] if isinstance(time, Span)]
    assert found == [days(f"{year}-01-01", f"{year + 1}-01-01") for year in years]


def test_a_date_without_a_year_spans_every_year_latest_first() -> None:
    spans = list(Date(5, None, 8).spans(NOW))
    assert spans[0] == days("2026-05-08", "2026-05-09")
    assert spans[1] == days("2025-05-08", "2025-05-09")
    assert len(spans) == MAX_YEARS_BACK


def test_a_month_ends_at_the_start_of_the_next() -> None:
    assert list(Date(12, 2025).spans(NOW)) == [days("2025-12-01", "2026-01-01")]


def test_29_february_exists_only_in_leap_years() -> None:
    assert [span.first.year for span in Date(2, None, 29).spans(NOW)] == [2024, 2020, 2016, 2012, 2008]


@pytest.mark.parametrize("date", [Date(2, 2023, 30), Date(13, 2023), Date(5, 0, 8), Date(12, 9999)])
def test_an_invalid_date_has_no_span(date: Date) -> None:
    assert list(date.spans(NOW)) == []


# ------------------------------------------------------------------ relative times


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did she say yesterday?", days("2026-11-20", "2026-11-21")),
        ("What did she say yesterday evening?", days("2026-11-20T17:00", "2026-11-21")),
        ("What did she say the day before yesterday?", days("2026-11-19", "2026-11-20")),
        ("What did she say last night?", days("2026-11-20T18:00", "2026-11-21T05:00")),
        ("What did she say today?", days("2026-11-21", "2026-11-22")),
        ("What did she say this morning?", days("2026-11-21T05:00", "2026-11-21T12:00")),
        ("What was said tonight?", days("2026-11-21T18:00", "2026-11-22T05:00")),
        ("What did she say last week?", days("2026-11-09", "2026-11-16")),
        ("What did she say this week?", days("2026-11-16", "2026-11-23")),
        ("What did she say last weekend?", days("2026-11-14", "2026-11-16")),
        ("What did she say last month?", days("2026-10-01", "2026-11-01")),
        ("What was said this month?", days("2026-11-01", "2026-12-01")),
        ("What did she say last year?", days("2025-01-01", "2026-01-01")),
        ("What did she say on Monday?", days("2026-11-16", "2026-11-17")),
        ("What did she say last Monday?", days("2026-11-16", "2026-11-17")),
        ("What did she say last Saturday?", days("2026-11-14", "2026-11-15")),
        ("What did she say on Sunday morning?", days("2026-11-15T05:00", "2026-11-15T12:00")),
        ("What did she say this Tuesday?", days("2026-11-17", "2026-11-18")),
        ("What did she say two days ago?", days("2026-11-19", "2026-11-20")),
        ("What did she say 10 days ago?", days("2026-11-11", "2026-11-12")),
        ("What did she say a week ago?", days("2026-11-11", "2026-11-18")),
        ("What did she say a couple of weeks ago?", days("2026-11-04", "2026-11-11")),
        ("What did she say 3 months ago?", days("2026-08-07", "2026-09-07")),
        ("What did she say a year ago?", days("2025-05-23", "2026-05-23")),
        ("What did she say in the last few days?", days("2026-11-18", "2026-11-22")),
        ("What have we done over the past week?", days("2026-11-14", "2026-11-22")),
        ("I was ill last month. What did we do yesterday?", days("2026-11-20", "2026-11-21")),
        ("tell me what she said yesterday", days("2026-11-20", "2026-11-21")),
        ("WHAT DID SHE SAY   LAST\nWEEK？", days("2026-11-09", "2026-11-16")),
    ],
)
def test_relative_times_are_computed_from_the_time_of_asking(question: str, expected: Span) -> None:
    assert find_relative_times(normalize(question), NOW)[0] == (expected,)


@pytest.mark.parametrize(
    "question",
    [
        "I slept badly last night.",
        "When I was in Rome last week I lost my ring",
        "We went over the plan yesterday. What should we do now?",
        "Where was I? In Rome, last week.",
        "I was ill. What do you want to do today?",
        "How was the Sunday roast?",
        "What did she say about today's menu?",
        "Did you like yesterday's cake?",
        "Where was last week's parcel?",
        "How long did the last week of school last?",
        "What happened before yesterday?",
        "Has it been better than last week?",
        "What have we done since Monday?",
        "What's on today?",
        "What are we doing on Friday?",
        "What did I say I'd do on Friday?",
        "What did we plan for this weekend?",
        "What did she say about next week?",
        "What did she say on Sundays?",
        "What happened more than a week ago?",
        "What happened a second ago?",
        "What happened half a year ago?",
        "What happened long ago?",
        "How are you this morning?",
        "What lasted?",
        "",
    ],
)
def test_an_ambiguous_expression_is_not_a_time(question: str) -> None:
    assert find_relative_times(normalize(question), NOW) == ((), normalize(question).strip())


def test_the_question_without_its_relative_times_is_returned() -> None:
    assert (
        find_relative_times("what did mia cook last week for us?", NOW)[1].split()
        == "what did mia cook for us?".split()
    )


def test_today_is_the_day_on_the_askers_own_clock() -> None:
    late = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    tokyo = late.astimezone(timezone(timedelta(hours=9)))
    assert find_relative_times("what did we do today?", late)[0] == (days("2026-11-20", "2026-11-21"),)
    assert find_relative_times("what did we do today?", tokyo)[0] == (days("2026-11-21", "2026-11-22"),)


@pytest.mark.parametrize("now", [datetime.min, datetime.max])
def test_no_times_are_computed_near_the_ends_of_the_calendar(now: datetime) -> None:
    assert find_relative_times("what happened 999 years ago?", now)[0] == ()


@given(
    st.datetimes(datetime(CALENDAR_YEARS[0], 1, 1), datetime(CALENDAR_YEARS[-1], 12, 31)),
    st.sampled_from(["yesterday", "last month", "999 years ago", "in the last 999 months", "this week", "on sunday"]),
)
def test_every_relative_time_begins_before_it_ends(now: datetime, expression: str) -> None:
    (span,) = find_relative_times(f"what did we do {expression}?", now)[0]
    assert isinstance(span, Span)
    assert span.first < span.end
    assert span.first <= now


@given(st.text(max_size=60), st.datetimes())
def test_a_question_without_times_is_unchanged(text: str, now: datetime) -> None:
    for found, rest in (find_absolute_times(normalize(text)), find_relative_times(normalize(text), now)):
        assert found or rest.split() == normalize(text).split()


def test_a_week_is_a_short_span_and_a_month_is_not() -> None:
    assert days("2026-11-14", "2026-11-22").is_short
    assert not days("2026-11-01", "2026-12-01").is_short


# ------------------------------------------------------------------ seasons


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did we talk about last spring?", days("2026-03-01", "2026-06-01")),
        ("What did we talk about last autumn?", days("2025-09-01", "2025-12-01")),
        ("What did we talk about this fall?", days("2026-09-01", "2026-12-01")),
        ("What did we talk about in the winter?", days("2025-12-01", "2026-03-01")),
        ("What did we talk about in summer 2025?", days("2025-06-01", "2025-09-01")),
        ("What did I say in the spring of 2024?", days("2024-03-01", "2024-06-01")),
        ("what happened over the summer", days("2026-06-01", "2026-09-01")),
        ("What did I do this past winter?", days("2025-12-01", "2026-03-01")),
    ],
)
def test_a_season_is_the_latest_one_or_that_of_its_year(question: str, expected: Span) -> None:
    assert find_seasons(normalize(question), NOW)[0] == (expected,)


@pytest.mark.parametrize(
    "question",
    ["What will we do next summer?", "Which spring rolls did she like?", "Did she fall?", "I was in Rome last summer."],
)
def test_other_springs_and_falls_are_no_seasons(question: str) -> None:
    assert find_seasons(normalize(question), NOW) == ((), normalize(question))
