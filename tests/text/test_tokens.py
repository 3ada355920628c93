from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.tokens import LETTERS_PER_TOKEN, estimate_tokens

ALPHABET = st.text(st.sampled_from("ab Zé9\n.,…’'_-猫が가ไ🙂\u0301"), max_size=40)


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
def test_a_short_word_number_mark_or_cjk_character_is_one_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=60), st.text(max_size=60))
def test_joined_texts_have_at_most_the_sum_of_their_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(ALPHABET, ALPHABET)
def test_joining_saves_at_most_one_token(one: str, other: str) -> None:
    assert estimate_tokens(one) + estimate_tokens(other) - 1 <= estimate_tokens(one + other)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_longer_text_never_has_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one) <= estimate_tokens(one + other)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_space_between_them_makes_the_count_exact(one: str, other: str) -> None:
    assert estimate_tokens(f"{one} {other}") == estimate_tokens(one) + estimate_tokens(other)


@given(st.integers(1, 100))
def test_a_long_word_is_one_token_per_few_letters(letters: int) -> None:
    assert estimate_tokens("a" * letters) == -(-letters // LETTERS_PER_TOKEN)


@given(st.text(max_size=100))
def test_a_visible_character_costs_at_most_one_token(text: str) -> None:
    assert estimate_tokens(text) <= len(text)
    assert estimate_tokens(text) > 0 or not any(char.isalnum() for char in text)


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_text_has_the_same_tokens_beside_a_letter_of_another_script(text: str) -> None:
    assert estimate_tokens(f"{text}猫") == estimate_tokens(text) + 1


@given(st.text(st.sampled_from("abZ9 \n.…‘’“”–—"), max_size=60))
def test_typographic_marks_cost_as_much_as_a_full_stop(text: str) -> None:
    plain = "".join("." if char in "…‘’“”–—" else char for char in text)
    assert estimate_tokens(text) == estimate_tokens(plain)
    assert estimate_tokens(f"{text}猫") == estimate_tokens(text) + 1
