from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.text.analyzer import STOP_CHARACTERS, STOP_WORDS, terms
from everthread.text.keywords import count_shared, keywords

TEXT = st.text("ab cat Dog's 我的猫喜欢鱼图书馆。，?!\n", max_size=60)


def test_the_most_frequent_words_are_the_keywords() -> None:
    text = "We took the ferry to the island. The ferry was late, and the next ferry left the island without us."
    assert keywords(text, 2) == ["ferri", "island"]


def test_keywords_of_equal_weight_keep_their_order() -> None:
    assert keywords("a heron, a lake and a boat", 2) == ["heron", "lake"]


def test_stop_words_are_not_keywords() -> None:
    assert keywords(" ".join(sorted(STOP_WORDS)), 50) == []
    assert keywords("".join(sorted(STOP_CHARACTERS)), 50) == []


def test_a_term_that_is_rare_in_the_bank_outweighs_a_common_one() -> None:
    text = "My sister saw a heron"
    assert keywords(text, 1) == ["sister"]
    assert keywords(text, 1, {"sister": 400, "see": 90, "heron": 1}, 500) == ["heron"]


def test_a_term_unknown_to_the_bank_is_the_rarest() -> None:
    assert keywords("heron and otter", 1, {"heron": 3}, 500) == ["otter"]


def test_a_frequent_word_outweighs_a_rarer_one() -> None:
    counts = {"ferri": 12, "heron": 10}
    assert keywords("ferry heron ferry ferry", 1, counts, 500) == ["ferri"]


def test_chinese_keywords_are_pairs_without_stop_characters() -> None:
    assert keywords("我在图书馆", 5) == ["图书", "书馆"]
    assert keywords("我想吃苹果，苹果很甜", 1) == ["苹果"]


def test_a_single_character_is_a_keyword_if_there_is_no_pair() -> None:
    assert keywords("我的猫呢？", 5) == ["猫"]


def test_adjacent_scripts_give_keywords_separately() -> None:
    assert keywords("我用Python3写程序", 5) == ["python3", "写程", "程序"]


@pytest.mark.parametrize("text", ["", "  ", "…!? 🎉"])
def test_a_text_without_words_has_no_keywords(text: str) -> None:
    assert keywords(text, 5) == []


@pytest.mark.parametrize("top", [0, -3])
def test_a_number_of_keywords_below_one_is_rejected(top: int) -> None:
    with pytest.raises(BadInput, match=f"top must be at least 1 keyword, got {top}"):
        keywords("a heron", top)


def test_shared_keywords_are_counted() -> None:
    asked = keywords("Does Emi remember the ferries to the island?", 10)
    said = keywords("The ferry to the island was late, Emi laughed.", 10)
    assert count_shared(asked, said) == 3
    assert count_shared(asked, said, ignored_names=["Emi"]) == 2
    assert count_shared(asked, keywords("Emi bakes bread", 10), ignored_names=["emi", "Nora Lind"]) == 0


def test_shared_keywords_are_counted_in_chinese() -> None:
    asked = keywords("小明，你还记得图书馆的钥匙吗？", 10)
    said = keywords("小明把钥匙放在图书馆了", 10)
    assert set(asked) & set(said) == {"小明", "图书", "书馆", "钥匙"}
    assert count_shared(asked, said, ignored_names=["小明"]) == 3
    assert count_shared(asked, keywords("小明喜欢苹果", 10), ignored_names=["小明"]) == 0


def test_only_texts_with_common_keywords_share_any() -> None:
    asked = keywords("我的生日蛋糕是什么味道的？", 10)
    assert (
        count_shared(asked, keywords("生日蛋糕是草莓味道的", 10))
        > count_shared(asked, keywords("她喜欢吃面包", 10))
        == 0
    )


@given(TEXT, st.integers(1, 9))
def test_keywords_are_terms_of_the_text_once_each(text: str, top: int) -> None:
    found = keywords(text, top)
    assert len(found) == len(set(found)) <= top
    assert set(found) <= set(terms(text))
    assert found == keywords(text, top + 5)[:top]


@given(TEXT, TEXT)
def test_the_number_of_shared_keywords_is_symmetric_and_bounded(one: str, other: str) -> None:
    first, second = keywords(one, 5), keywords(other, 5)
    assert count_shared(first, second) == count_shared(second, first) <= min(len(first), len(second))
    assert count_shared(first, first) == len(first)
    assert count_shared(first, first, ignored_names=[one]) == 0
