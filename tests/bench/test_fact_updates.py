from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from everthread.bench.fact_updates import (
    TURNS_BETWEEN,
    Update,
    UpdateResult,
    as_json,
    list_errors,
    load_updates,
    measure_updates,
    read_updates,
    table,
)
from everthread.errors import BadFile
from everthread.facts.types import Statement
from everthread.types import Line

SMALL_TALK = f'small_talk = [{""""hi", "hello", """ * (TURNS_BETWEEN // 2)}"bye", "goodbye"]\n'
MOVE = """
[[updates]]
speaker = "Nora"
first = "Nora home Porto"
later = "Nora home York"
first_date = "2024-03-01"
later_date = "2024-05-01"
subject = "Nora"
attribute = "home"
old = "Porto"
new = "the city of York / York"
"""
SALE = """
[[updates]]
speaker = "Nora"
first = "Nora owns bike"
later = "Nora owns bike sold"
first_date = "2024-03-01"
later_date = "2024-05-01"
subject = "Nora"
attribute = "owns"
old = "bike"
new = ""
held_out = true
"""
QUESTIONS = """
[questions]
home = ["Where do I live?", "Where does {} live?"]
owns = ["What do I own?", "What does {} own?"]
"""
HEAD = SMALL_TALK + QUESTIONS
MOVED, SOLD = read_updates(HEAD + MOVE + SALE)


def read_words(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
    """Read a fact from each line of three words or more; it ends if there are four."""
    split = [(line, line.text.split(" ")) for line in lines]
    return [
        Statement(words[0], words[1], words[2], (line.seq,), line.said_at, ends=len(words) > 3)
        for line, words in split
        if len(words) > 2
    ]


def read_nothing(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
    """Read no fact."""
    return []


def test_an_update_has_small_talk_of_a_person_and_a_bot_between_its_two_lines() -> None:
    assert (MOVED.subject, MOVED.attribute, MOVED.old, MOVED.new) == (
        "Nora",
        "home",
        ("Porto",),
        ("the city of York", "York"),
    )
    assert len(MOVED.lines) == 2 + TURNS_BETWEEN
    assert [line.text for line in MOVED.lines[:3]] == ["Nora home Porto", "bye", "goodbye"]
    assert [line.role for line in MOVED.lines] == ["user", *["user", "assistant"] * (TURNS_BETWEEN // 2), "user"]
    assert (MOVED.lines[0].said_at, MOVED.lines[-1].said_at) == (
        datetime(2024, 3, 1, 18, tzinfo=UTC),
        datetime(2024, 5, 1, 18, tzinfo=UTC),
    )
    assert MOVED.lines[0].session == "2024-03-01"
    assert len({line.said_at for line in MOVED.lines}) == len(MOVED.lines)


@pytest.mark.parametrize(
    ("subject", "attribute", "question"),
    [
        ("Nora", "home", "Where do I live?"),
        ("Mia", "home", "Where does Mia live?"),
        ("Nora's sister", "home", "Where does my sister live?"),
        ("Nora", "favourite book", "What is my favourite book?"),
        ("Nora's sister", "favourite book", "What is my sister's favourite book?"),
    ],
)
def test_the_speaker_asks_for_the_attribute(subject: str, attribute: str, question: str) -> None:
    row = MOVE.replace('subject = "Nora"', f'subject = "{subject}"').replace('"home"', f'"{attribute}"')
    assert read_updates(HEAD + row)[0].question == question


def test_an_update_that_is_held_out_or_has_no_new_value_is_marked() -> None:
    assert (MOVED.part, SOLD.part, SOLD.new) == ("open", "held-out", ())


def test_the_new_fact_is_found_for_the_present_and_the_old_one_for_the_time_before() -> None:
    assert measure_updates([MOVED, SOLD], read_words) == [
        UpdateResult(MOVED, is_new_now=True, was_old_before=True),
        UpdateResult(SOLD, is_new_now=True, was_old_before=True),
    ]


def test_nothing_is_right_if_nothing_is_found() -> None:
    results = measure_updates([MOVED, SOLD], read_nothing)
    assert [(result.is_new_now, result.was_old_before) for result in results] == [(False, False)] * 2


def test_another_value_and_a_fact_that_has_not_ended_are_wrong() -> None:
    others = [
        replace(MOVED, new=("Leeds",)),
        replace(MOVED, old=("Lisbon",)),
        replace(SOLD, lines=SOLD.lines[:-1]),
    ]
    results = measure_updates(others, read_words)
    assert [(result.is_new_now, result.was_old_before) for result in results] == [
        (False, True),
        (True, False),
        (False, True),
    ]


RESULTS = [UpdateResult(MOVED, True, True), UpdateResult(MOVED, True, False), UpdateResult(SOLD, False, False)]


def test_shares_are_of_each_part() -> None:
    assert as_json(RESULTS) == [
        {"part": "open", "updates": 2, "new_now": 100, "old_before": 50},
        {"part": "held-out", "updates": 1, "new_now": 0, "old_before": 0},
    ]
    assert table(RESULTS).splitlines()[1].split() == ["open", "2", "100.0", "50.0"]


def test_errors_are_listed_of_the_open_part_only() -> None:
    assert list_errors(RESULTS) == [
        "Nora | home | Porto | the city of York / York: not found before",
        "    Nora: Nora home Porto",
        "    Nora: Nora home York",
    ]


def test_the_updates_that_ship_are_valid_and_a_third_is_held_out() -> None:
    updates = load_updates()
    assert Counter(update.part for update in updates) == {"open": 125, "held-out": 50}
    assert load_updates(["held-out"]) == [update for update in updates if update.part == "held-out"]
    assert load_updates(languages=["de"]) == []


@pytest.mark.parametrize(
    ("text", "where", "problem", "remedy"),
    [
        ("updates = [", "", "Invalid value", "write it as TOML 1.0"),
        ("small_talk = ['hi']", "small_talk", "1 lines", "write pairs of lines, at least 30 lines"),
        (HEAD + MOVE.replace('"home"', '"abode"'), "update 1", "no attribute 'abode'", "choose from"),
        (HEAD + MOVE.replace('"Porto"', '""'), "update 1", "old is ''", "write a text"),
        (HEAD + MOVE.replace('"home"', '"hobby"'), "update 1", "no question for 'hobby'", "add one under [questions]"),
        (HEAD + SALE.replace('speaker = "Nora"', ""), "update 1", "speaker is None", "write a text"),
        (HEAD + MOVE.replace("03-01", "13-01"), "update 1", "'2024-13-01' is not a date", "2024-03-03"),
        (HEAD + SALE + MOVE.replace("05-01", "03-01"), "update 2", "2024-03-01 is not after 2024-03-01", "first"),
    ],
)
def test_an_invalid_file_is_refused_with_the_update_and_the_remedy(
    text: str, where: str, problem: str, remedy: str
) -> None:
    with pytest.raises(BadFile) as caught:
        read_updates(text)
    assert caught.value.path == "everthread/bench/facts/updates.toml"
    assert caught.value.where == where
    assert problem in caught.value.message
    assert remedy in caught.value.remedy


def test_a_file_without_updates_has_none() -> None:
    updates: list[Update] = read_updates(SMALL_TALK)
    assert updates == []
