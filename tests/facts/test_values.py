"""Tests of values: sentences that only sound like facts, and values that are only part of one."""

from __future__ import annotations

import pytest

from facts.test_rules import read, show

# A line by Nora, and all that it states.
STATED = {
    "My dog Rex is a German Shepherd.": "Nora | pet | Rex; Rex | kind | dog; Rex | breed | German Shepherd",
    "Superman is my favourite because he's strong": "",
    "Lasagne is my favourite too!": "",
    "A bath and my favourite tunes is usually enough.": "",
    "I love playing hide and seek.": "",
    "I love rock and roll.": "",
    "I'm a huge animal lover.": "",
    "my mum says her husband smokes and I'm worried": "",
    "I'm going to business school next year.": "",
    "I'm going to Oakfield University next year.": "",
    "I go to school at Oakfield School.": "Nora | school | Oakfield School",
    "I might be moving to Delft, where I lived for a year before.": "",
    "I'm back from the swimming school that I run.": "",
    "Write me a brief for the Halden One Kit": "",
    "Write a speech for Halden about our goals": "",
    "Act as a lawyer for Halden.": "",
    "Tell it again, but talk like I am from Delft.": "",
    "My name is Autumn. I am a language model.": "",
    "been a nurse in the sims for weeks": "",
    "Clients: Aunt Fanny's, Halden Inc, Brother Corporation, Oak Inc": "",
    "0:01 Hey, my name is Ida and I'm a nurse. 0:09 Today we talk about work": "",
}


@pytest.mark.parametrize(("text", "stated"), STATED.items())
def test_a_line_states_no_more_than_it_says(text: str, stated: str) -> None:
    assert "; ".join(map(show, read(text))) == stated


def test_a_favourite_with_an_and_in_it_is_not_cut() -> None:
    (favourite,) = read("Pride and Prejudice is my favourite book.")
    assert show(favourite) == "Nora | favourite book | Pride and Prejudice"
