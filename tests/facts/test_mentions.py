"""Tests of who is meant by a pronoun, where someone unknown was mentioned."""

from __future__ import annotations

import pytest

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
