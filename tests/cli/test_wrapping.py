"""Rows that end at words, however the text arrives."""

import pytest

from everthread.cli.wrapping import WordWrapper, cell_width


def wrap(*pieces: str, width: int = 12, indent: int = 0) -> str:
    written: list[str] = []
    wrapper = WordWrapper(lambda text, _: written.append(text), width)
    wrapper.indent = indent
    for piece in pieces:
        wrapper.feed(piece)
    wrapper.flush()
    return "".join(written)


def test_a_row_ends_at_the_last_word_that_fits() -> None:
    assert wrap("one two three four five") == "one two\nthree four\nfive"
    assert wrap("exactly twel ve") == "exactly twel\nve"


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_text_in_pieces_is_wrapped_like_a_whole_one(size: int) -> None:
    text = "one two three, four  five\nsix seven eightnine tenelevenandtwelve 猫です。ok 猫猫猫猫猫猫猫"
    assert wrap(*(text[at : at + size] for at in range(0, len(text), size))) == wrap(text)


def test_wide_characters_take_two_columns_and_a_row_may_end_after_each() -> None:
    assert cell_width("a猫é e\u0301") == 6
    assert wrap("猫猫猫猫猫猫猫") == "猫猫猫猫猫猫\n猫"


def test_a_row_of_wide_characters_neither_ends_with_an_opening_mark_nor_begins_with_a_closing_one() -> None:
    assert wrap("猫猫猫猫猫猫。猫") == "猫猫猫猫猫\n猫。猫"
    assert wrap("猫猫猫猫猫「猫」") == "猫猫猫猫猫\n「猫」"


def test_rows_that_continue_a_row_are_indented_and_the_next_row_is_not() -> None:
    assert wrap("- one two three\nfour", indent=2) == "- one two\n  three\nfour"


def test_a_word_longer_than_a_row_is_written_whole() -> None:
    assert wrap("a " + "x" * 20 + " b") == "a\n" + "x" * 20 + "\nb"


def test_styles_within_a_word_stay_together() -> None:
    written: list[tuple[str, str]] = []
    wrapper = WordWrapper(lambda text, style: written.append((text, style)), 10)
    for text, style in (("longer ", ""), ("bo", "bold"), ("ld", "bold"), (", end", "")):
        wrapper.feed(text, style)
    wrapper.flush()
    assert written == [("longer", ""), ("\n", ""), ("bold", "bold"), (",", ""), (" ", ""), ("end", "")]
