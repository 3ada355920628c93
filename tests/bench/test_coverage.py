from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everthread.bench.coverage import RenderedContext, share_shown
from everthread.types import Line

AT = datetime(2024, 5, 1, 9, tzinfo=UTC)


def line(text: str, speaker: str = "Ida") -> Line:
    return Line(1, "s", "user", speaker, text, AT)


def test_a_passage_contains_a_line_if_it_contains_its_sentence() -> None:
    context = RenderedContext("[Wednesday, 1 May 2024, 09:00]\nIda: The roof leaks.\nTom: Again?")
    assert context.holds(line("The roof leaks."))
    assert not context.holds(line("The boat leaks a lot more."))


def test_an_excerpt_counts_by_the_words_of_its_line_that_are_asked_for() -> None:
    text = "The roof leaks. We sold the red boat to Tom."
    assert share_shown(text, text, "what was sold") == 1
    assert share_shown("… We sold the red boat to Tom.", text, "A red boat was sold.") == 1
    assert share_shown("The roof leaks. …", text, "A red boat was sold.") == 0
    assert share_shown("The roof leaks. …", text) == pytest.approx(2 / 6)
    assert share_shown("…", "Yes.", "") == share_shown("…", "so it is") == 0


def test_a_line_of_several_rows_is_found_with_the_indentation_of_a_context() -> None:
    assert RenderedContext("Ida: First.\n  Then another.").holds(line("First.\nThen another."))


@pytest.mark.parametrize(
    ("passage", "found"),
    [
        ("- 1 May 2024: We sold the old red car to my uncle Tom.", True),  # all ten words, no speaker
        ("Then we sold THE old red car to a neighbour back home", True),  # seven of ten, in a row
        ("we sold the old red car", False),  # six of ten
        ("tom uncle my to car red old the sold we", False),  # all of them in no order
        ("", False),
    ],
)
def test_a_line_is_found_in_other_words_by_seven_tenths_of_its_tokens(passage: str, found: bool) -> None:
    assert RenderedContext(passage).holds(line("We sold the old red car to my uncle Tom.")) == found


def test_a_short_line_is_not_found_in_another_line_of_its_speaker() -> None:
    assert not RenderedContext("Ida: Nothing much.\nTom: Nothing.").holds(line("Splendid!"))


def test_content_words_of_the_answer_count_in_any_inflection() -> None:
    context = RenderedContext("Ida: We planted two walnut trees.")
    assert context.share(["walnut", "tree", "garden", "plant"]) == 0.75
    assert RenderedContext("").share(["walnut"]) == 0


def test_an_answer_without_words_can_not_be_looked_up() -> None:
    with pytest.raises(ValueError, match="without words"):
        RenderedContext("Ida: Yes.").share([])
