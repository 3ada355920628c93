"""Which words and names are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from everthread.text import english_words
from everthread.text.analyzer import STOP_WORDS
from everthread.text.english_words import is_common, is_listed_name, is_mainly_english, is_word, rank, select_words
from everthread.text.spelling import find_unknown_words


def test_common_words_come_before_rare_ones() -> None:
    assert rank("house") < rank("trombonist") == rank("qqzzx")
    assert is_word("trombonist")
    assert not is_word("qqzzx")
    assert [word for word in ("house", "trombonist", "qqzzx") if is_common(word)] == ["house"]


def test_a_part_of_a_listed_word_is_not_listed() -> None:
    assert not is_word("trombonis")


@pytest.mark.parametrize("letter", ["a", "h", "t", "z", "é"])
def test_of_many_words_those_are_selected_that_are_listed(letter: str) -> None:
    words = {
        letter + end for end in ("", "abc", "bout", "ouse", "rombonis", "rombonist", "oo", "ygotes", "lan", "\uffff")
    }
    assert select_words(words) == set(filter(is_word, words))


@pytest.mark.parametrize("name", ["caroline", "lisbon", "mia", "john", "anna"])
def test_names_are_listed_even_if_they_are_rare_words(name: str) -> None:
    assert is_listed_name(name)


@pytest.mark.parametrize("word", ["mark", "rose", "grace", "house", "trombonist", "carolin", "qqzzx"])
def test_other_words_are_no_names(word: str) -> None:
    assert not is_listed_name(word)


@pytest.mark.parametrize("text", ["where does danil live", "does caroline see melanie in lisbon", ""])
def test_a_text_is_mainly_english_if_half_of_its_words_are(text: str) -> None:
    assert is_mainly_english(text)


@pytest.mark.parametrize("text", ["gdzie mieszka danil", "bagaimana cara masak nasi goreng, do you know"])
def test_a_text_in_another_language_with_a_few_english_words_is_not(text: str) -> None:
    assert not is_mainly_english(text)


def test_each_word_and_name_of_the_list_is_known() -> None:
    listed = (Path(english_words.__file__).parent / "words" / "en.txt").read_text(encoding="ascii").split()
    sample = [word for word in listed[::37] if word not in STOP_WORDS]
    assert [word for word in sample if find_unknown_words(f"what is the {word}")] == []
