from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.recipes.goodai.dialogue import UNNAMED, find_question, parse_lines, split_last_turn
from everthread.types import Line

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


def told(text: str) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in parse_lines(text, NOON)]


@pytest.mark.parametrize("between", [" ", "\n", "\n    "])
def test_turns_can_be_on_rows_or_in_one_row(between: str) -> None:
    text = f"Jake Morales: Hey Archie, what do you think?{between}Archie: That would be great."
    assert told(text) == [("Jake Morales", "Hey Archie, what do you think?"), ("Archie", "That would be great.")]


def test_text_without_a_name_is_said_by_someone() -> None:
    assert told("They met at 10:30 in the hall. Ida: Hello.") == [
        (UNNAMED, "They met at 10:30 in the hall."),
        ("Ida", "Hello."),
    ]
    assert told("  ") == []


def test_lines_are_returned_unchanged() -> None:
    line = Line(7, "s", "user", "Ida", "Ben: no.", NOON)
    assert parse_lines([line], NOON) == [line]


@pytest.mark.parametrize(
    ("text", "before", "asked"),
    [
        ("John: I bake. Mary: Do you like it?", "John: I bake.", "Mary: Do you like it?"),
        ("John: I bake.\nMary: Is it hard? Do you like it?", "John: I bake.", "Mary: Is it hard? Do you like it?"),
        ("John bakes bread. Does he like it?", "John bakes bread.", "Does he like it?"),
        ("Does he like it?", "", "Does he like it?"),
        ("", "", ""),
        ("我喜欢面包。他呢？", "我喜欢面包。", "他呢？"),
    ],
)
def test_the_last_turn_or_sentence_is_the_query(text: str, before: str, asked: str) -> None:
    assert split_last_turn(text) == (before, asked)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Max: the first Khan\nRuth: Who has the kite?\nMax:", "Who has the kite?"),
        ("Ruth: I lost it. Where is the kite? Please look.", "Where is the kite?"),
        ("Max: Who was it?\nRuth: the tallest kite", "the tallest kite"),
        ("We met Ida. Does she still fly kites?", "Does she still fly kites?"),
        ("the tallest kite", "the tallest kite"),
        ("风筝在哪里？", "风筝在哪里？"),
        ("  ", ""),
        ("Max:", "Max:"),
    ],
)
def test_the_sentence_that_asks_is_the_last_question_of_the_last_turn(text: str, question: str) -> None:
    assert find_question(text) == question
