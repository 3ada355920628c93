"""Tests of the lists of words that distinguish names from other words."""

from __future__ import annotations

import pytest

from everthread.facts.name_words import is_chinese_word, is_likely_name


@pytest.mark.parametrize("word", ["方案", "高兴", "方便"])
def test_a_chinese_word_is_no_name(word: str) -> None:
    assert is_chinese_word(word)


@pytest.mark.parametrize("name", ["陈静", "王建国", "小雨", "海燕", "星星"])
def test_a_chinese_name_is_no_word_even_if_the_list_has_it(name: str) -> None:
    assert not is_chinese_word(name)


def test_an_english_word_that_is_no_name_is_unlikely_to_be_one() -> None:
    assert is_likely_name("Winston")
    assert not is_likely_name("table")
