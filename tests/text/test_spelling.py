"""Which words may be misspelt, and what may be meant by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.english_words import is_word
from everthread.text.spelling import find_unknown_words, is_sure_correction, list_candidates, replace_words


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Where does Mia wrok?", ["wrok"]),
        ("which resturant did we liek", ["resturant", "liek"]),
        ("what's my grandmna's name, and when is her birthdya?", ["grandmna", "birthdya"]),
        ("whats for diner? i dont know", []),
        ("maybe the neighbour's colour, or the neighbor's color", []),
        ("do i like matcha, kombucha or a vegan brioche? and which influencer has my merch?", []),
        ("does caroline see melanie in lisbon", []),
        ("What did Oscaar do in Ocotber, or on Tuesdy?", ["Ocotber", "Tuesdy"]),
        ("What did Agust say on 3 Febuary?", ["Febuary"]),
    ],
)
def test_words_that_are_not_listed_may_be_misspelt(text: str, unknown: list[str]) -> None:
    assert find_unknown_words(text) == unknown


@pytest.mark.parametrize(
    "text",
    [
        "where are Tormod and Xaviera",
        "is it http://exampel.com/helllo",
        "did you write to noraa@exampel.com or @noraa",
        "is it in foo.barbaz and self.wrnog",
        "is it under /home/noraa/fiels or C:\\uesrs",
        "is he my half-borther",
        "can you fix def calcualte(resturant): return 1",
        "what is `calcualte` about",
        "how is it teh",
    ],
)
def test_capitalised_words_addresses_code_and_short_words_are_taken_as_they_are(text: str) -> None:
    assert find_unknown_words(text) == []


@pytest.mark.parametrize(
    "text",
    ["hvor bor danil?", "gdzie mieszka danil", "nerede danil yasiyor?", "dimana danil tinggal", "unde locuieste danil"],
)
def test_a_text_that_is_not_mainly_english_is_taken_as_it_is(text: str) -> None:
    assert find_unknown_words(text) == []


def test_a_long_text_is_taken_as_it_is() -> None:
    text = "which resturant was it, the one where we had dinner on my birthday "
    assert find_unknown_words(text * 5) == ["resturant"]
    assert find_unknown_words(text * 7) == []


def test_only_the_first_unknown_words_of_a_text_are_looked_up() -> None:
    text = "was it wrok wrok birthdya resturant kichten gardne or what is it"
    assert find_unknown_words(text) == ["wrok", "birthdya", "resturant", "kichten"]


@given(st.data())
def test_what_is_meant_by_a_word_with_one_error_is_a_candidate(data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(["restaurant", "birthday", "grandma", "bicycle", "kitchen", "wedding"]))
    at = data.draw(st.integers(1, len(word) - 2))
    letter = data.draw(st.sampled_from("aeiolnrstzq"))
    misspelt = data.draw(
        st.sampled_from(
            [
                word[:at] + letter + word[at:],
                word[:at] + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    assert is_word(misspelt) or word in list_candidates(misspelt)


@pytest.mark.parametrize("misspelt", ["restaurent", "resraurant", "restaurat", "resstaurant", "restuarant"])
def test_letters_that_are_often_confused_swapped_doubled_or_left_out_are_errors(misspelt: str) -> None:
    assert list_candidates(misspelt) == ["restaurant"]


def test_other_letters_are_not_confused() -> None:
    assert "matter" not in list_candidates("matteo")


def test_of_a_short_word_two_letters_may_be_swapped_or_one_doubled() -> None:
    assert "work" in list_candidates("wrok")
    assert "house" in list_candidates("housse")
    assert "work" not in list_candidates("wokk")
    assert "mark" not in list_candidates("marek")


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("proffesion", ["profession"]),
        ("tommorow", ["tomorrow"]),
        ("acommodation", ["accommodation"]),
        ("bokks", ["books"]),
        ("Febuary", ["February"]),
        ("ocotber", ["october"]),
        ("Agust", ["August"]),
        ("Wendesday", ["Wednesday"]),
        ("Novembre", ["November"]),
        ("Frida", []),
        ("Marche", []),
    ],
)
def test_double_letters_months_and_weekdays_are_meant(misspelt: str, meant: list[str]) -> None:
    assert list_candidates(misspelt) == meant


@pytest.mark.parametrize(
    ("misspelt", "meant", "sure"),
    [
        ("proffesion", "profession", True),
        ("startegy", "strategy", True),
        ("Febuary", "February", True),
        ("statins", "stations", False),
        ("moto", "motto", False),
    ],
)
def test_double_or_swapped_letters_of_longer_words_months_and_weekdays_are_sure(
    misspelt: str, meant: str, *, sure: bool
) -> None:
    assert is_sure_correction(misspelt, meant) == sure


def test_no_name_is_meant() -> None:
    assert "caroline" not in list_candidates("carroline")


def test_a_word_that_may_be_a_function_word_is_taken_for_one() -> None:
    assert list_candidates("thier") == []


def test_a_word_is_replaced_wherever_it_is_misspelt_but_not_in_addresses() -> None:
    text = "wrok, wrok's end: mail wrok@wrok.com"
    assert replace_words(text, {"wrok": "work"}) == "work, work's end: mail wrok@wrok.com"
