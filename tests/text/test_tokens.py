from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.tokens import LETTERS_PER_TOKEN, estimate_tokens

ALPHABET = st.text(st.sampled_from("ab Zé9\n.,'_-猫が가ไ🙂\u0301"), max_size=40)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   ", 0),
        ("fern", 1),
        ("the fern, please", 4),
        ("lighthouse", 2),
        ("2024", 2),
        ("don't", 3),
        ("一只猫", 3),
        ("猫cat猫", 3),
        ("ねこ", 2),
        ("고양이", 3),
        ("🙂🙂", 2),
        ("a\n\nb", 3),
        ("a_b", 3),
    ],
)
def test_short_words_digits_marks_and_cjk_characters_are_one_each(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=60), st.text(max_size=60))
def test_two_texts_together_are_never_more_than_both(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(ALPHABET, ALPHABET)
def test_joining_saves_at_most_one_token(one: str, other: str) -> None:
    assert estimate_tokens(one) + estimate_tokens(other) - 1 <= estimate_tokens(one + other)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_longer_text_is_never_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one) <= estimate_tokens(one + other)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_space_between_them_makes_the_count_exact(one: str, other: str) -> None:
    assert estimate_tokens(f"{one} {other}") == estimate_tokens(one) + estimate_tokens(other)


@given(st.integers(1, 100))
def test_a_long_word_is_a_token_every_few_letters(letters: int) -> None:
    assert estimate_tokens("a" * letters) == -(-letters // LETTERS_PER_TOKEN)


@given(st.text(max_size=100))
def test_every_character_that_shows_costs_something_and_at_most_one(text: str) -> None:
    assert estimate_tokens(text) <= len(text)
    assert estimate_tokens(text) > 0 or not any(char.isalnum() for char in text)
