from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.first_person import MAX_CHARS, Person, find_person


@pytest.mark.parametrize(
    "text",
    [
        "I adopted a cat.",
        "We went to Rome",
        "i just got home",
        "I’ve been to Rome.",
        "We have moved.",
        "Yesterday I finally met her.",
        "You know what? I won!",
        "Yes—I… quickly\n“ran”\N{THUMBS UP SIGN}",
    ],
)
def test_a_text_describes_what_its_speaker_experienced(text: str) -> None:
    assert find_person(text) is Person.EXPERIENCE


@pytest.mark.parametrize("text", ["My cat is asleep.", "I need a rest.", "I'm tired", "It's mine!", "We bleed easily."])
def test_a_text_about_its_speaker_describes_nothing_that_happened(text: str) -> None:
    assert find_person(text) is Person.FIRST


@pytest.mark.parametrize("text", ["", "The cat slept.", "You went to Rome.", "Hidden in Iowa", "去了北京"])
def test_a_text_about_others_is_not_in_the_first_person(text: str) -> None:
    assert find_person(text) is Person.NONE


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert find_person("word " * MAX_CHARS + "I went home.") is Person.NONE


@given(st.text(max_size=60))
def test_any_text_has_a_person(text: str) -> None:
    assert find_person(f"I went home. {text}") is Person.EXPERIENCE
    assert find_person(text) in Person
