from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recall.proactive import GAP, KEPT, LONGEST, PAST, STRONG, Event, Offers, due, phrase, strong, upcoming
from everthread.types import Hit, Line, Role

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday
SAID = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)  # a Wednesday

# Each with the day, or the first and the last, that it is for when it is said on 18 November 2026.
ANNOUNCING = """
    11-19 | My interview is tomorrow.
    11-19 | Hello there! I have an exam tomorrow and I'm terrified.
    11-18 | We have a concert tonight!
    11-18 | I'm seeing the dentist this afternoon.
    11-23 11-29 | My surgery is next week.
    12-01 12-31 | We're moving to Porto next month.
    11-28 11-29 | I'm running a race next weekend.
    11-23 | I start my new job next Monday.
    11-20 | We fly to Rome on Friday.
    11-20 | My flight leaves Friday at six.
    11-21 11-22 | My parents are visiting this weekend.
    12-01 12-03 | I'm getting married in two weeks!
    11-21 | Our trip begins in 3 days.
    05-12 | My thesis defence is on 12 May.
    12-24 | We're having a party on December 24th.
    12-03 | I have a doctor's appointment on the 3rd.
    11-20 | The day after tomorrow I leave for the mountains.
    11-19 | Tomorrow I'm going to the hospital for a scan.
    11-24 | I've got a meeting with my boss on Tuesday.
    11-22 | On Sunday we celebrate my mother's birthday.
    11-25 | It's my birthday next Wednesday.
    11-19 | I have my driving test tomorrow morning, wish me luck!
    11-18 | I have a date tonight.
    11-23 11-29 | We will visit my grandmother next week.
    11-27 | The deadline for my paper is next Friday.
    12-18 | I'm due on 18 December.
    11-21 11-22 | At the weekend I'm driving to the coast with Tom.
    11-21 | My brother gets married on Saturday.
    11-19 | I'm flying home tomorrow.
    11-18 | We're having dinner with his parents this evening.
    11-23 | I go back to work on Monday.
    12-14 12-22 | We move house in a month.
    11-19 | I'm so nervous, my recital is tomorrow!
    11-19 | 我明天面试。
    11-20 | 后天我要做手术了。
    11-25 | 我下周三考试。
    11-23 11-29 | 我们下周搬家。
    11-18 | 我今晚有个约会！
    11-21 11-22 | 周末我要去看演唱会。
    12-01 12-31 | 我下个月结婚。
    05-12 | 我5月12日要去北京出差。
    11-21 | 三天后我们去旅行。
    11-20 | 周五我去看医生。
"""

NOTHING = """
    Are you free tomorrow?
    Is my interview tomorrow or on Friday?
    I'm not going to the party tomorrow.
    If I go to the concert tomorrow, I'll wear the red dress.
    She said "my exam is tomorrow" and left.
    See you tomorrow!
    I'll tell you about it tomorrow.
    Tomorrow is Friday.
    It will rain tomorrow.
    There's a storm coming next week.
    I had my exam on Friday.
    We were in Rome last weekend.
    My interview was on Monday.
    I love Fridays.
    I play football every Friday.
    I may have a cold.
    My birthday is my favourite day.
    I'm going to bed.
    We might fly to Rome next month.
    Maybe I'll visit her next week.
    My appointment tomorrow was cancelled.
    I won't be at the meeting on Tuesday.
    I wish my holiday started tomorrow.
    Tom has a flight tomorrow.
    The match is on Saturday.
    He starts his new job next week.
    I went to the dentist on Tuesday.
    What shall I wear for my date tonight?
    I never know what tomorrow brings.
    Tonight's moon is beautiful.
    I have always loved the sea.
    The tomorrow of our childhood never came.
    Unless I start tomorrow, it's too late.
    I took my driving test on 12 May.
    Good night, talk to you tomorrow.
    Thanks, you too.
    I feel better today.
    My sister lives in Rome.
    I can't come to your party on Friday.
    We met on Saturday, at the concert.
    明天会下雨。
    你明天有空吗？
    我明天不去面试。
    如果我明天考试，就不能来了。
    我上周五考试了。
    他下周结婚。
    我可能下个月去旅行。
    我喜欢周末。
    明天见！
"""


def line(text: str, said_at: datetime = SAID, seq: int = 1, role: Role = "user", speaker: str = "Nora") -> Line:
    return Line(seq, "s1", role, speaker, text, said_at)


def rows(text: str) -> list[str]:
    return [row.strip() for row in text.strip().splitlines()]


def expected(days: str) -> tuple[date, date]:
    """The days written as month and day, in the year from the day on which they were named."""
    read = [date(2026 if day >= "11-18" else 2027, *map(int, day.split("-"))) for day in days.split()]
    return read[0], read[-1]


def event(days: str, what: str = "My interview is then.", seq: int = 1) -> Event:
    return Event(line(what, seq=seq), *expected(days), what)


# ------------------------------------------------------------------- upcoming


def test_lines_that_announce_something_are_told() -> None:
    wrong = []
    for row in rows(ANNOUNCING):
        days, text = row.split(" | ")
        found = upcoming(line(text))
        if found is None or (found.first, found.last) != expected(days):
            wrong.append((text, found and (found.first, found.last)))
    assert len(rows(ANNOUNCING)) >= 40
    assert len(wrong) <= 0.1 * len(rows(ANNOUNCING)), wrong


def test_lines_that_announce_nothing_are_told() -> None:
    wrong = [(text, found) for text in rows(NOTHING) if (found := upcoming(line(text)))]
    assert len(rows(NOTHING)) >= 40
    assert len(wrong) <= 0.1 * len(rows(NOTHING)), wrong
