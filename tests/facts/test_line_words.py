"""Statements keep to the words of their lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.facts.line_words import KnownKinds, keep_to_lines
from everthread.facts.types import Statement
from everthread.types import Line

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def line(seq: int, text: str) -> Line:
    return Line(seq, "s", "user", "Nora", text, NOON)


def statement(subject: str, attribute: str, value: str, seq: int) -> Statement:
    return Statement(subject, attribute, value, (seq,), NOON)


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("Ann", "My sister lives in Leeds, and works in Hannover."),
        ("Ed", "My brother lives in Leeds."),
        ("Sam", "My brother lives in Leeds, near Samsung."),
    ],
)
def test_a_name_that_is_only_a_part_of_a_word_is_not_stored(name: str, later: str) -> None:
    relation = later.split()[1]
    known = KnownKinds([statement("Nora", relation, name, 1)])
    kept = keep_to_lines(statement(name, "home", "Leeds", 2), [line(2, later)], known)
    assert kept is not None
    assert kept.subject == f"Nora's {relation}"
    named = keep_to_lines(statement(name, "home", "Leeds", 2), [line(2, f"{name}'s home is Leeds.")], known)
    assert named is not None
    assert named.subject == name


def test_a_name_in_a_text_without_spaces_is_found() -> None:
    said = [line(1, "我妹妹小美住在成都。")]
    kept = keep_to_lines(statement("小美", "home", "成都", 1), said, KnownKinds([]))
    assert kept is not None
    assert kept.subject == "小美"


def test_all_words_of_a_value_are_in_its_lines() -> None:
    said = [line(1, "I went to the bank with a friend.")]
    assert keep_to_lines(statement("Nora", "employer", "bank", 1), said, KnownKinds([])) is not None
    assert keep_to_lines(statement("Nora", "employer", "bank of Norway", 1), said, KnownKinds([])) is None
    assert keep_to_lines(statement("Nora", "favourite friend", "bank", 1), said, KnownKinds([])) is not None
    assert keep_to_lines(statement("Nora", "favourite enemy", "bank", 1), said, KnownKinds([])) is None


def test_the_kind_of_a_favourite_may_be_named_in_other_words() -> None:
    said = [line(1, "Mi película favorita es Alien.")]
    assert keep_to_lines(statement("Nora", "favourite film", "Alien", 1), said, KnownKinds([])) is not None
