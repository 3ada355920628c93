"""Texts that only the memory of a process has."""

import time

import pytest

from everthread.server.messaging.unwritten_texts import MAX_UNWRITTEN_TEXTS, UnwrittenTexts


def test_only_the_latest_texts_are_held() -> None:
    texts = UnwrittenTexts()
    numbers = [texts.hold("ann", f"Text {n}") for n in range(MAX_UNWRITTEN_TEXTS + 2)]
    assert [texts.get(number) for number in numbers[:3]] == ["", "", "Text 2"]
    assert texts.get(numbers[-1]) == f"Text {MAX_UNWRITTEN_TEXTS + 1}"


def test_texts_of_a_bank_can_be_dropped() -> None:
    texts = UnwrittenTexts()
    one, two = texts.hold("ann", "One"), texts.hold("bob", "Two")
    texts.drop_bank("ann")
    assert (texts.get(one), texts.get(two)) == ("", "Two")


def test_texts_held_at_the_same_instant_are_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 7)  # a clock as coarse as on some systems
    texts = UnwrittenTexts()
    one, two = texts.hold("ann", "One"), texts.hold("bob", "Two")
    assert (texts.get(one), texts.get(two)) == ("One", "Two")
