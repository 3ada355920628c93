from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.events import (
    MAX_EVENT_AGE,
    MAX_PHRASE_CHARS,
    MAX_REMINDED_LINES,
    MIN_RELEVANCE,
    MIN_TURNS_BETWEEN,
    Event,
    ReminderHistory,
    announce,
    find_best_old_hit,
    find_due_events,
    parse_event,
    phrase,
)
from everthread.errors import BadInput
from everthread.languages.wording import load_wording
from everthread.types import Hit, Line, Role

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday
SAID = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)  # a Wednesday

# Each has the day, or the first and the last day, that it announces if said on 18 November 2026.
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
    11-30 | Our trip begins in twelve days.
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
    11-19 | My exam is tomorrow, and I can't sleep.
    11-20 | I had a bad night, because my surgery is on Friday.
    11-21 | We've got tickets for the opera on Saturday night.
    11-19 | Tomorrow is my first day at the new school!
    11-23 11-29 | I'll be in Paris next week.
    11-19 | I need to be at the airport at 5 tomorrow.
    11-25 | We sign the contract for the house on the 25th.
    11-20 | My therapist moved our appointment to Friday.
    11-19 | Exam tomorrow, I'm dying.
    12-03 | I've booked a flight to Oslo for 3 December.
    11-19 | 明天我要交论文。
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
    On Friday, I had my exam.
    I dreamt that my wedding was tomorrow.
    We won the match on Sunday.
    I was so tired after my party on Saturday.
    I finished the course on 3 March.
    You have an interview tomorrow, don't you?
    I'm going to sleep early tonight.
    My mother says it will snow next week.
    Tomorrow, I'm not going to the party.
"""


def line(text: str, said_at: datetime = SAID, seq: int = 1, role: Role = "user", speaker: str = "Nora") -> Line:
    return Line(seq, "s1", role, speaker, text, said_at)


def rows(text: str) -> list[str]:
    return [row.strip() for row in text.strip().splitlines()]


def expected(days: str) -> tuple[date, date]:
    """Parse days written as month and day; each is the next such day after SAID."""
    read = [date(2026 if day >= "11-18" else 2027, *map(int, day.split("-"))) for day in days.split()]
    return read[0], read[-1]


def event(days: str, what: str = "My interview is then.", seq: int = 1) -> Event:
    return Event(line(what, seq=seq), *expected(days), what)


# ------------------------------------------------------------------- upcoming


def test_announcements_are_recognised() -> None:
    wrong = []
    for row in rows(ANNOUNCING):
        days, text = row.split(" | ")
        event = parse_event(line(text))
        if event is None or (event.first_day, event.last_day) != expected(days):
            wrong.append((text, event and (event.first_day, event.last_day)))
    assert len(rows(ANNOUNCING)) >= 40
    assert len(wrong) <= 0.1 * len(rows(ANNOUNCING)), wrong


def test_other_lines_announce_nothing() -> None:
    wrong = [(text, found) for text in rows(NOTHING) if (found := parse_event(line(text)))]
    assert len(rows(NOTHING)) >= 40
    assert len(wrong) <= 0.1 * len(rows(NOTHING)), wrong


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_a_users_line_announces(role: Role) -> None:
    assert parse_event(line("My interview is tomorrow.", role=role)) is None


def test_an_event_has_its_sentence_and_a_day_on_the_speakers_clock() -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=timezone(timedelta(hours=-8)))  # the 19th in UTC
    said = line("Hi!  How are you?\n\nMy interview\tis tomorrow. I'm nervous.", late)
    assert parse_event(said) == Event(said, date(2026, 11, 19), date(2026, 11, 19), "My interview is tomorrow.")


@pytest.mark.parametrize(
    ("said_on", "text", "days"),
    [
        ("2026-11-21", "We have a party this weekend.", ("2026-11-21", "2026-11-22")),
        ("2026-11-22", "We have a party this weekend.", ("2026-11-22", "2026-11-22")),
        ("2026-11-20", "My exam is on Friday.", ("2026-11-27", "2026-11-27")),
        ("2026-12-30", "My exam is on 2 January.", ("2027-01-02", "2027-01-02")),
        ("2026-12-30", "My exam is on 29 February.", ("2028-02-29", "2028-02-29")),
        ("2026-12-10", "My exam is next month.", ("2027-01-01", "2027-01-31")),
        ("2027-01-31", "My exam is on the 31st.", ("2027-03-31", "2027-03-31")),
    ],
)
def test_days_are_relative_to_the_day_of_the_line(said_on: str, text: str, days: tuple[str, str]) -> None:
    event = parse_event(line(text, datetime.fromisoformat(said_on).replace(hour=9, tzinfo=UTC)))
    assert event is not None
    assert (event.first_day.isoformat(), event.last_day.isoformat()) == days


@pytest.mark.parametrize("text", ["My exam was on 2 May 2020.", "My exam is on 2 May 2020.", "My exam is on 31 June."])
def test_a_past_or_impossible_day_is_no_event(text: str) -> None:
    assert parse_event(line(text)) is None


@given(st.text(max_size=80), st.datetimes(timezones=st.just(UTC)))
def test_any_text_of_any_time_can_be_parsed(text: str, said_at: datetime) -> None:
    for said in (text, f"{text} My exam is in 999 months. {text}", f"My exam is on the {text[:2]}th"):
        event = parse_event(line(said, said_at))
        assert event is None or said_at.date() <= event.first_day <= event.last_day


# ------------------------------------------------------------------- due


@pytest.mark.parametrize(
    ("days", "is_due"),
    [
        ("11-20", True),
        ("11-18", True),  # the day of the last conversation was not over
        ("11-21", True),
        ("11-22", True),
        ("11-23", False),
        ("11-19 11-30", True),
        ("11-23 11-29", False),
    ],
)
def test_an_event_is_due_if_it_has_passed_since_the_last_conversation_or_is_near(days: str, is_due: bool) -> None:
    assert bool(find_due_events([event(days)], NOW, SAID)) is is_due


def test_an_event_before_the_last_conversation_or_long_ago_is_not_due() -> None:
    said = line("My interview is soon.")
    old = Event(said, date(2026, 11, 17), date(2026, 11, 17), said.text)
    assert find_due_events([old], NOW, SAID) == []
    assert find_due_events([old], NOW, SAID - 2 * timedelta(days=1)) == [old]
    assert find_due_events([old], datetime(2026, 11, 17, 9, tzinfo=UTC) + MAX_EVENT_AGE, SAID - timedelta(days=3)) == [
        old
    ]
    assert find_due_events([old], datetime(2026, 11, 18, 9, tzinfo=UTC) + MAX_EVENT_AGE, SAID - timedelta(days=3)) == []


def test_named_occasions_and_near_days_come_first() -> None:
    home = event("11-21", "I fly home on Saturday.", 4)
    exam, party, later = event("11-19", seq=1), event("11-20", "Our party is on Friday.", 2), event("11-20", seq=3)
    assert find_due_events([home, exam, party, later], NOW, SAID) == [later, party, exam, home]


# ------------------------------------------------------------------- strong


def hit(relevance: float, hours: float = 48, role: Role = "user", score: float = 1.0) -> Hit:
    old_line = line("I miss the sea.", NOW - timedelta(hours=hours), role=role)
    return Hit(old_line, score, relevance, {}, (old_line,))


def test_the_most_relevant_old_hit_of_a_user_is_chosen() -> None:
    assert find_best_old_hit([hit(0.4), hit(0.7), hit(0.9), hit(0.6)], NOW) == hit(0.9)
    assert find_best_old_hit([hit(0.7, score=1), hit(0.7, score=2)], NOW) == hit(0.7, score=2)
    assert find_best_old_hit([hit(MIN_RELEVANCE, 24)], NOW) == hit(MIN_RELEVANCE, 24)
    weak = [hit(MIN_RELEVANCE - 0.01), hit(0.9, 23.9), hit(0.9, -5), hit(0.9, role="assistant")]
    assert find_best_old_hit(weak, NOW) is find_best_old_hit([], NOW) is None


# ------------------------------------------------------------------- offers


def test_offers_are_spaced_and_never_repeated() -> None:
    assert ReminderHistory().allows(1)
    for turns in range(MIN_TURNS_BETWEEN):
        assert not ReminderHistory(turns, (1,)).allows(2)
    assert ReminderHistory(MIN_TURNS_BETWEEN, (1,)).allows(2)
    assert not ReminderHistory(MIN_TURNS_BETWEEN, (1,)).allows(1)


def test_only_the_latest_offers_are_loaded() -> None:
    offers = ReminderHistory.from_json({"turns": 0, "seqs": list(range(MAX_REMINDED_LINES + 1))})
    assert offers.seqs == tuple(range(1, MAX_REMINDED_LINES + 1))


@given(
    st.builds(
        ReminderHistory,
        st.integers(0, MIN_TURNS_BETWEEN),
        st.lists(st.integers(1), max_size=MAX_REMINDED_LINES).map(tuple),
    )
)
def test_offers_survive_json(offers: ReminderHistory) -> None:
    assert ReminderHistory.from_json(json.loads(json.dumps(offers.to_json()))) == offers


@pytest.mark.parametrize("value", [None, [], {}, {"turns": -1, "seqs": []}, {"turns": 1, "seqs": ["a"]}, {"turns": 1}])
def test_invalid_json_of_offers_is_rejected(value: None) -> None:
    with pytest.raises(BadInput, match=r"invalid offers: got .*, expected what ReminderHistory.to_json returned"):
        ReminderHistory.from_json(value)


# ------------------------------------------------------------------- phrase


@pytest.mark.parametrize(
    ("days", "named"),
    [
        ("11-20", "yesterday"),
        ("11-21", "today"),
        ("11-22", "tomorrow"),
        ("11-19", "19 November 2026 (2 days ago)"),
        ("11-24", "24 November 2026 (in 3 days)"),
        ("11-23 11-29", "the days from 23 November 2026 to 29 November 2026"),
    ],
)
def test_a_phrase_names_the_day_of_the_line_and_of_the_event(days: str, named: str) -> None:
    expected = f'On 18 November 2026 (3 days ago) Nora said: "My interview is then." That was for {named}.'
    assert phrase(event(days), NOW) == expected


@pytest.mark.parametrize(
    ("language", "days", "wanted"),
    [
        ("en", "11-20", "On 18 November 2026 (3 days ago) Nora said: “My interview is then.” That was for yesterday."),
        ("de", "11-20", "Am 18. November 2026 (vor 3 Tagen) sagte Nora: „My interview is then.“ Gemeint war gestern."),
        ("fr", "11-24", "C'était pour le 24 novembre 2026 (dans 3 jours)."),
        ("es", "11-23 11-29", "Era para los días del 23 de noviembre de 2026 al 29 de noviembre de 2026."),
        ("zh", "11-21", "2026年11月18日（3 天前），Nora说：“My interview is then.”说的是今天。"),
        ("ja", "11-22", "2026年11月18日（3日前）、Noraはこう言いました：「My interview is then.」明日のことです。"),
    ],
)
def test_an_event_is_announced_to_people_in_their_language(language: str, days: str, wanted: str) -> None:
    assert announce(event(days), NOW, load_wording(language)).endswith(wanted)


def test_the_phrase_of_a_long_hit_is_one_line() -> None:
    assert phrase(hit(0.9, 24), NOW) == 'On 20 November 2026 (yesterday) Nora said: "I miss the sea."'
    long = line("word\n" * MAX_PHRASE_CHARS)
    assert phrase(Hit(long, 1.0, 0.9, {}, (long,)), NOW).endswith('word…"')
    assert "\n" not in phrase(Hit(long, 1.0, 0.9, {}, (long,)), NOW)
