"""Queries about a time only, in small banks and in one too large to be scored exhaustively."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.recall.candidates import MAX_EXHAUSTIVE_LINES
from everthread.recall.time_overview import LINES_PER_STRETCH, OVERVIEW_RELEVANCE
from everthread.testing import HashEmbedder
from everthread.types import Filter, Hit, NewLine
from recall.builders import open_filled

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday
TOKYO = timezone(timedelta(hours=9))


def line_before(text: str, days: float, speaker: str = "Nora", at: datetime = NOW) -> NewLine:
    """Build a line said some days before `at`."""
    role = "assistant" if speaker == "Bot" else "user"
    return NewLine(text, speaker, role, at - timedelta(days=days))  # type: ignore[arg-type]


def texts(hits: Sequence[Hit]) -> list[str]:
    return [hit.line.text for hit in hits]


@pytest.fixture
def week(tmp_path: Path) -> Iterator[Memory]:
    """Open a bank with lines of two people and a bot, over some weeks."""
    lines = [
        line_before("The dentist pulled my tooth.", 40),
        line_before("Mia baked a cake with figs.", 10, "Sam"),
        line_before("I planted beans in the garden.", 9.9),
        line_before("I bought a red bicycle.", 1),
        line_before("Ride it with care, and wear a helmet.", 0.999, "Bot"),
        line_before("Thanks!", 0.998),
        line_before("My cousin lost his keys.", 0.997, "Sam"),
        line_before("It rains.", 0.1),
    ]
    with open_filled(tmp_path, lines) as memory:
        yield memory


# ------------------------------------------------------------------- small banks


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What did we talk about yesterday?",
            {"I bought a red bicycle.", "Ride it with care, and wear a helmet.", "Thanks!", "My cousin lost his keys."},
        ),
        ("What did we talk about today?", {"It rains."}),
        ("What did we talk about last week?", {"Mia baked a cake with figs.", "I planted beans in the garden."}),
        ("What did Sam tell me last week?", {"Mia baked a cake with figs."}),
        ("What did I tell Sam last week?", {"Mia baked a cake with figs.", "I planted beans in the garden."}),
        ("What did Nora say on 12 October?", {"The dentist pulled my tooth."}),
        ("What happened in October 2026?", {"The dentist pulled my tooth."}),
        ("what did we discuss 40 days ago", {"The dentist pulled my tooth."}),
    ],
)
def test_a_query_about_a_time_finds_the_lines_of_that_time(week: Memory, question: str, expected: set[str]) -> None:
    hits = week.recall(question, as_of=NOW)
    assert set(texts(hits)) == expected
    assert {hit.relevance for hit in hits} == {OVERVIEW_RELEVANCE}
    context = week.context(question, as_of=NOW)
    assert context.relevance == OVERVIEW_RELEVANCE
    assert expected <= {line.text for line in context.lines}


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about two days ago?",
        "What did Sam say today?",
        "What happened in 2003?",
        "What did we do on 30 February?",
        "What did we discuss in July?",
    ],
)
def test_a_query_about_a_time_without_lines_finds_nothing(week: Memory, question: str) -> None:
    assert week.recall(question, as_of=NOW) == []
    assert not week.context(question, as_of=NOW)
    assert week.context(question, as_of=NOW).relevance == 0


def test_a_query_about_a_time_in_an_empty_bank_finds_nothing(tmp_path: Path) -> None:
    with open_filled(tmp_path, []) as memory:
        assert memory.recall("What did we talk about yesterday?") == []


def test_without_as_of_times_are_relative_to_now(tmp_path: Path) -> None:
    now = datetime.now().astimezone()
    noon = now.replace(hour=12)
    with open_filled(
        tmp_path, [line_before("I bought a kite.", 1, at=noon), line_before("It flew.", 3, at=noon)]
    ) as memory:
        assert texts(memory.recall("What did I say yesterday?")) == ["I bought a kite."]


def test_an_overview_leaves_out_lines_later_than_as_of(week: Memory) -> None:
    yesterday = NOW - timedelta(days=0.9985)
    assert set(texts(week.recall("What did we talk about today?", as_of=yesterday))) == {
        "I bought a red bicycle.",
        "Ride it with care, and wear a helmet.",
    }


def test_an_overview_ranks_users_before_bots_and_small_talk_last(week: Memory) -> None:
    found = texts(week.recall("What did we talk about yesterday?", as_of=NOW))
    assert found[-1] == "Thanks!"
    assert found.index("I bought a red bicycle.") < found.index("Ride it with care, and wear a helmet.")


def test_an_overview_has_at_most_k_hits(week: Memory) -> None:
    assert len(week.recall("What did we talk about yesterday?", 2, as_of=NOW)) == 2


def test_an_overview_respects_the_filter(week: Memory) -> None:
    question = "What did we talk about yesterday?"
    assert texts(week.recall(question, as_of=NOW, where=Filter(speaker="Sam"))) == ["My cousin lost his keys."]
    assert week.recall(question, as_of=NOW, where=Filter(until=NOW - timedelta(days=2))) == []
    assert texts(week.recall("What did Nora say yesterday?", as_of=NOW, where=Filter(speaker="Sam"))) == []


def test_passages_of_an_overview_show_neighbours_of_other_times(week: Memory) -> None:
    (hit,) = week.recall("What did we talk about today?", as_of=NOW, where=Filter(role="user"))
    assert [line.text for line in hit.passage] == ["It rains."]  # another conversation
    hits = week.recall("What did Sam say yesterday?", as_of=NOW)
    assert [line.text for line in hits[0].passage] == ["Thanks!", "My cousin lost his keys."]


def test_an_overview_leaves_out_retracted_lines(week: Memory) -> None:
    week.retract(8)
    assert week.recall("What did we talk about today?", as_of=NOW) == []


def test_days_are_those_of_the_speakers_time_zone(tmp_path: Path) -> None:
    midnight = datetime(2026, 11, 21, tzinfo=TOKYO)  # in UTC: 15:00 on the day before
    lines = [
        NewLine("Late.", "Ken", said_at=midnight - timedelta(minutes=30)),
        NewLine("Early.", "Ken", said_at=midnight + timedelta(minutes=30)),
    ]
    with open_filled(tmp_path, lines) as memory:
        for clock in (TOKYO, UTC):
            as_of = datetime(2026, 11, 21, 20, tzinfo=clock)
            assert texts(memory.recall("What did Ken say today?", as_of=as_of)) == ["Early."]
            assert texts(memory.recall("What did Ken say yesterday?", as_of=as_of)) == ["Late."]


def test_a_date_without_a_year_means_the_latest_year_with_lines(tmp_path: Path) -> None:
    lines = [NewLine(f"May of {year}.", "Nora", said_at=datetime(year, 5, 8, 12, tzinfo=UTC)) for year in (2021, 2023)]
    with open_filled(tmp_path, lines) as memory:
        assert texts(memory.recall("What did we talk about on 8 May?", as_of=NOW)) == ["May of 2023."]
        assert texts(memory.recall("What did we talk about in May 2021?", as_of=NOW)) == ["May of 2021."]
        earlier = datetime(2023, 5, 1, tzinfo=UTC)
        assert texts(memory.recall("What did we talk about on 8 May?", as_of=earlier)) == ["May of 2021."]


def test_a_query_about_two_times_finds_the_lines_of_both(week: Memory) -> None:
    found = texts(week.recall("What did Sam say yesterday, and what last week?", as_of=NOW))
    assert set(found) == {"Mia baked a cake with figs.", "My cousin lost his keys."}


def test_an_overview_covers_all_sessions_before_more_of_one(tmp_path: Path) -> None:
    """One session is long; the two others have one line each."""
    rich = [
        line_before(f"The ferry to Lisbon was late, and I waited at harbour number {n}.", 10 - n / 1e4)
        for n in range(40)
    ]
    lines = [line_before("I bought a kite.", 11), *rich, line_before("The hens lay again.", 9)]
    with open_filled(tmp_path, lines) as memory:
        found = texts(memory.recall("What did we talk about last week?", 5, as_of=NOW - timedelta(days=2)))
        assert {"I bought a kite.", "The hens lay again."} <= set(found)


def test_a_query_about_a_topic_and_a_time_ranks_lines_of_that_time_first(tmp_path: Path) -> None:
    lines = [
        line_before("I cooked a soup of leeks.", 30),
        line_before("It rained.", 20),
        line_before("I cooked a soup of beets.", 1),
    ]
    with open_filled(tmp_path, lines) as memory:
        assert memory.recall("What soup did I cook yesterday?", as_of=NOW)[0].line.seq == 3
        assert memory.recall("What soup did I cook 30 days ago?", as_of=NOW)[0].line.seq == 1


def test_a_matching_time_does_not_raise_the_relevance_of_a_query(tmp_path: Path) -> None:
    lines = [line_before(f"The ferry to Lisbon number {n} was late.", 1) for n in range(30)]
    with open_filled(tmp_path, lines) as memory:
        plain = memory.context("Who repaired the piano?", as_of=NOW)
        timed = memory.context("Who repaired the piano yesterday?", as_of=NOW)
        assert timed.relevance == pytest.approx(plain.relevance)


# ------------------------------------------------------------------- a large bank


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Open a bank of 4,000 lines over two years, the last of them now; Sam says one in a hundred."""
    lines = [
        NewLine(
            f"On round {n} we saw kite {n % 90} over harbour {n % 7}.",
            "Sam" if n % 100 == 50 else "Nora",
            said_at=NOW - timedelta(hours=4.38 * (4000 - n)),
            session=f"s{n // LINES_PER_STRETCH}",
        )
        for n in range(4000)
    ]
    folder: Path = tmp_path_factory.mktemp("years")
    with Memory.open("years", store=folder, embedder=HashEmbedder(64)) as memory:
        memory.observe_many(lines)
        yield memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "first", "end", "count"),
    [
        ("What did we talk about yesterday?", "2026-11-20", "2026-11-21", 5),
        ("What did we talk about last week?", "2026-11-09", "2026-11-16", 38),
        ("What happened last month?", "2026-10-01", "2026-11-01", 50),
        ("What did we talk about in July 2025?", "2025-07-01", "2025-08-01", 50),
        ("What did we talk about last year?", "2025-01-01", "2026-01-01", 50),
    ],
)
def test_in_a_large_bank_the_lines_of_the_time_are_found(
    years: Memory, question: str, first: str, end: str, count: int
) -> None:
    found = [hit.line for hit in years.recall(question, 50, as_of=NOW)]
    assert len(found) == pytest.approx(count, abs=1)
    assert all(first <= line.said_at.date().isoformat() < end for line in found)


def test_an_overview_of_a_long_time_covers_all_of_it(years: Memory) -> None:
    found = years.recall("What did we talk about last year?", 50, as_of=NOW)
    assert len({hit.line.said_at.month for hit in found}) >= 10
    assert len({hit.line.session for hit in found}) >= 40


def test_in_a_large_bank_the_few_lines_of_one_speaker_are_found(years: Memory) -> None:
    found = years.recall("What did Sam tell me last month?", 50, as_of=NOW)
    assert {hit.line.speaker for hit in found} == {"Sam"}
    assert len(found) in (1, 2)
    nobody = Filter(speaker="Nobody")
    assert years.recall("What did we talk about last month?", as_of=NOW, where=nobody) == []


def test_recall_returns_as_many_hits_as_requested(years: Memory) -> None:
    assert (
        len(years.recall("What did we talk about last year?", MAX_EXHAUSTIVE_LINES + 100, as_of=NOW))
        == MAX_EXHAUSTIVE_LINES + 100
    )


def test_a_short_context_of_an_overview_has_informative_lines_before_short_ones(tmp_path: Path) -> None:
    informative = [f"I repaired the {n}. window of the boat house and painted it green." for n in range(12)]
    lines = [
        NewLine(text, "Ann", said_at=NOW - timedelta(days=1))
        for each in informative
        for text in (each, "Hm.", "Yes, ok.")
    ]
    with Memory.open("bank", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.observe_many(lines)
        context = memory.context("What did we talk about yesterday?", 150, as_of=NOW)
        assert context.hits
        assert {hit.line.text for hit in context.hits} <= set(informative)
