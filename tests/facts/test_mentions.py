"""Tests of who is meant by a pronoun, where someone unknown was mentioned."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.rules import read_statements
from everthread.types import Line
from facts.test_rules import read, show


@pytest.mark.parametrize(
    "text",
    [
        "My sister Ida looks after a girl, she's 3 and allergic to nuts.",
        "My brother Tom met a man on a train, he's a plumber and lives in Delft.",
        "My cousin Ida looks after a toddler, she's two and she has asthma.",
    ],
)
def test_a_pronoun_may_mean_the_unknown_one_that_was_mentioned_last(text: str) -> None:
    assert len(read(text)) == 1  # whose relative it is


def test_what_someone_is_is_no_other_one() -> None:
    found = list(map(show, read("My sister Ida is a woman of few words, she's a judge.")))
    assert found == ["Nora | sister | Ida", "Ida | occupation | judge"]


def read_group(*said: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the subjects and values of statements that are read in lines of several people and a bot, Guide."""
    said_at = datetime(2025, 3, 3, 12, tzinfo=UTC)
    lines = [
        Line(seq, "s", "assistant" if speaker == "Guide" else "user", speaker, text, said_at)
        for seq, (speaker, text) in enumerate(said, 1)
    ]
    return [(each.subject, each.value) for each in read_statements(lines)]


@pytest.mark.parametrize(
    "question",
    [
        "@Anna Keller what's your job?",
        "@anna_keller what's your job?",
        "<@1234> what's your job?",
        "What's your job, Anna?",
        "Hi Anna! What's your job?",
        "Does Anna have a job?",
    ],
)
def test_who_answers_for_another_says_nothing_of_themselves(question: str) -> None:
    greetings = ("Anna Keller", "hi"), ("Ben", "hi")
    for answer in ("Baker.", "Nurse at King's."):
        assert read_group(*greetings, ("Emma", question), ("Ben", answer)) == []
    assert ("Ben", "nurse") in read_group(*greetings, ("Emma", question), ("Ben", "I'm a nurse."))


@pytest.mark.parametrize(
    "question", ["@Anna Keller what's your job?", "@anna what's your job?", "@all what's your job?"]
)
def test_the_one_who_is_asked_in_a_group_answers(question: str) -> None:
    assert read_group(("Ben", "hi"), ("Emma", question), ("Anna Keller", "Baker.")) == [("Anna Keller", "Baker")]


def test_who_asks_a_group_does_not_answer() -> None:
    assert read_group(("Emma", "What's your job?"), ("Emma", "Baker.")) == []


def test_a_bot_asks_the_person_who_spoke_before_or_the_one_that_it_names() -> None:
    said = ("Anna Keller", "hi"), ("Ben", "What can I have for lunch?")
    assert read_group(*said, ("Guide", "Any allergies?"), ("Ben", "Peanuts.")) == [("Ben", "Peanuts")]
    assert read_group(*said, ("Guide", "Any allergies?"), ("Anna Keller", "Peanuts.")) == []
    assert read_group(*said, ("Guide", "Anna, any allergies?"), ("Anna Keller", "Peanuts.")) == [
        ("Anna Keller", "Peanuts")
    ]
    assert read_group(*said, ("Guide", "@all Any allergies?"), ("Anna Keller", "Peanuts.")) == [
        ("Anna Keller", "Peanuts")
    ]
    assert read_group(("Guide", "Any allergies?"), ("Ben", "Peanuts.")) == [("Ben", "Peanuts")]
