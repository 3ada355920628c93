"""Which words are misspelt, and what may be meant by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.analyzer import STOP_WORDS
from everthread.text.spelling import find_misspelt, is_common, is_listed, list_meant, rank, replace_words


@pytest.mark.parametrize(
    ("text", "misspelt"),
    [
        ("Where does Mia wrok?", ["wrok"]),
        ("which resturant did we liek", ["resturant", "liek"]),
        ("what's my grandmna's name, and when is her birthdya?", ["grandmna", "birthdya"]),
        ("whats for diner? i dont know", []),
        ("maybe the neighbour's colour, or the neighbor's color", []),
        ("a vegan itinerary, and some selfies", []),
        ("does caroline see melanie in lisbon", []),
    ],
)
def test_words_that_are_not_listed_are_misspelt(text: str, misspelt: list[str]) -> None:
    assert find_misspelt(text) == misspelt


@pytest.mark.parametrize(
    "text",
    [
        "Tormod and Xaviera",
        "see http://exampel.com/helllo",
        "write to noraa@exampel.com or @noraa",
        "in foo.barbaz and self.wrnog",
        "under /home/noraa/fiels and C:\\uesrs",
        "the well-knwon half-borther",
        "call read_fiel2",
        "teh tmw",
        "supercalifragilisticexpialidocius",
    ],
)
def test_names_addresses_code_and_short_words_are_no_misspelt_ones(text: str) -> None:
    assert find_misspelt(text) == []


def test_only_the_first_misspelt_words_of_a_text_are_looked_up() -> None:
    assert find_misspelt("wrok wrok birthdya resturant kichten gardne") == ["wrok", "birthdya", "resturant", "kichten"]


@given(st.data())
def test_a_word_with_one_error_may_mean_the_word_without_it(data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(["restaurant", "birthday", "grandma", "bicycle", "kitchen", "wedding"]))
    at = data.draw(st.integers(1, len(word) - 1))
    letter = data.draw(st.sampled_from("aeiolnrstzq"))
    error = data.draw(st.sampled_from(["too many", "too few", "another", "swapped"]))
    misspelt = {
        "too many": word[:at] + letter + word[at:],
        "too few": word[:at] + word[at + 1 :],
        "another": word[:at] + letter + word[at + 1 :],
        "swapped": word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] if at > 1 else word,
    }[error]
    meant = list_meant(misspelt)
    assert misspelt == word or word in meant or not STOP_WORDS.isdisjoint(meant)


def test_a_short_word_may_only_have_two_letters_swapped() -> None:
    assert "work" in list_meant("wrok")
    assert "work" not in list_meant("wokk")


def test_a_word_that_may_be_a_function_word_is_taken_for_one() -> None:
    assert list_meant("thier") == []


def test_common_words_come_before_rare_ones_and_these_before_those_that_are_not_listed() -> None:
    assert rank("house") < rank("trombonist") < rank("qqzzx")
    assert is_listed("trombonist")
    assert not is_listed("qqzzx")
    assert [word for word in ("house", "trombonist", "qqzzx") if is_common(word)] == ["house"]


def test_a_part_of_a_listed_word_is_not_listed() -> None:
    assert not is_listed("ombonis")


def test_a_word_is_replaced_wherever_it_is_misspelt_but_not_in_addresses() -> None:
    text = "wrok, wrok's end: mail wrok@wrok.com"
    assert replace_words(text, {"wrok": "work"}) == "work, work's end: mail wrok@wrok.com"
