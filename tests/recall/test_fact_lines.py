"""Contexts for questions for all that is known of someone, without facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.recall.time_overview import OVERVIEW_RELEVANCE
from everthread.types import Filter, NewLine
from recall.builders import FIRST, open_with_talk

TALK = (
    "I live in Porto.",
    "The weather is awful today.",
    "My sister Mia works at Acme.",
    "I sold my boat.",
    "I'm allergic to walnuts.",
    "Where does my sister Mia work?",
    "I moved to Berlin in March 2024.",
    "We went to the lake and it was lovely.",
)
ABOUT_ME = "What do you know about me?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_with_talk(tmp_path, TALK) as opened:
        yield opened


def quoted(memory: Memory, question: str, **options: object) -> list[str]:
    context = memory.context(question, **options)  # type: ignore[arg-type]
    assert context.facts == ()
    return [line.text for line in context.lines]


def test_a_question_for_all_that_is_known_gets_the_lines_that_state_it(memory: Memory) -> None:
    lines = [TALK[2], TALK[4], TALK[6]]
    assert quoted(memory, ABOUT_ME) == quoted(memory, "Was weißt du über mich?") == lines
    assert memory.context(ABOUT_ME).relevance == OVERVIEW_RELEVANCE


def test_a_question_about_a_relative_has_the_lines_about_them_first(memory: Memory) -> None:
    assert memory.context("What do you know about my sister?").hits[0].text == TALK[2]


def test_a_question_for_what_has_changed_gets_the_line_of_what_has_ended_and_its_end(
    memory: Memory,
) -> None:
    moment = FIRST + timedelta(days=170)
    memory.observe_many([NewLine("Mia quit Acme.", "Nora", said_at=moment - timedelta(days=1))])
    context = memory.context("What has changed since May?", as_of=moment)
    assert [hit.text for hit in context.hits if hit.relevance == OVERVIEW_RELEVANCE] == [TALK[2], "Mia quit Acme."]


def test_lines_in_the_prompt_are_not_quoted_again(memory: Memory) -> None:
    assert quoted(memory, ABOUT_ME, exclude=[7]) == [TALK[2], TALK[4]]


def test_a_small_budget_has_the_shortest_of_them(memory: Memory) -> None:
    context = memory.context(ABOUT_ME, 40)
    assert context.lines
    assert context.tokens <= 40
    assert context.cut


def test_nothing_is_quoted_for_someone_who_is_unknown_or_with_a_filter(memory: Memory) -> None:
    assert quoted(memory, "What do you know about Zoe?") == []
    assert quoted(memory, ABOUT_ME, where=Filter(speaker="Zoe")) == []
    assert quoted(memory, ABOUT_ME, min_relevance=1.0) == []


def test_all_lines_answer_where_facts_may_not(memory: Memory) -> None:
    assert set(quoted(memory, ABOUT_ME, where=Filter(speaker="Nora"))) == set(TALK)


def test_a_forgotten_line_is_not_quoted(memory: Memory) -> None:
    assert TALK[4] in quoted(memory, ABOUT_ME)
    memory.forget(seq=5)
    assert TALK[4] not in quoted(memory, ABOUT_ME)


def test_a_question_for_one_fact_gets_its_line_if_no_line_seems_relevant(tmp_path: Path) -> None:
    talk = ("finally in Berlin! Our flat is in Neukölln.", *TALK[1:6], "My mum lives in Bristol.", *TALK[7:])
    with Memory.open("jo", store=tmp_path) as bank:
        bank.observe_many(
            NewLine(text, "Jo", said_at=FIRST + timedelta(days=number), session=str(number))
            for number, text in enumerate(talk * 4)
        )
        assert quoted(bank, "Where do I live?") == []
        bank.read_facts()
        assert set(quoted(bank, "Where do I live?")) == set(quoted(bank, "Kit, where do I live?")) == {talk[0]}
        assert quoted(bank, "Where will I live?") == []
        assert quoted(bank, "Where do I live?", where=Filter(speaker="Jo")) == []
