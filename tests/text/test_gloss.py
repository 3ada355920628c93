from __future__ import annotations

import pytest

from everthread.text.gloss import FOLDER, gloss, is_glossed, is_glossed_word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我的狗叫什么名字？", "I dog called what name ?"),
        ("钢琴和游泳", "piano and swim"),
        ("我在 Google 上班。", "I in Google go to work ."),
        ("我妹妹会开车，哥哥不会。", "I younger sister will drive , older brother unable ."),
    ],
)
def test_each_word_is_replaced_by_an_english_one(text: str, expected: str) -> None:
    assert gloss(text) == expected


def test_the_longest_word_counts() -> None:
    assert (gloss("火"), gloss("火车"), gloss("火车站")) == ("fire", "train", "train stand")


def test_words_without_an_english_one_are_left_out() -> None:
    assert gloss("囧我喜欢猫") == "I like cat"


@pytest.mark.parametrize("text", ["", "。。", "囧囧囧我", "ภาษาไทย", "漢語書寫體"])
def test_a_text_of_which_too_little_is_known_has_no_gloss(text: str) -> None:
    assert gloss(text) in ("", "..")


def test_names_before_the_messages_of_a_dialogue_are_left_out() -> None:
    assert gloss("Anna: 我喜欢猫。\nBob Lee：我喜欢狗。") == "I like cat . I like dog ."
    assert gloss("Python: 我喜欢猫。") == "Python: I like cat ."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我喜欢猫。", True),
        ("I like 猫 and dogs a lot.", False),
        ("猫が好きです。", False),
        ("고양이", False),
        ("A cat.", False),
    ],
)
def test_only_chinese_is_glossed(text: str, expected: bool) -> None:
    assert is_glossed(text) is expected


def test_a_word_of_the_table_is_a_glossed_word() -> None:
    assert is_glossed_word("方便")
    assert not is_glossed_word("方便面条")


def test_the_table_is_small_enough_for_a_wheel() -> None:
    assert (FOLDER / "zh.txt.xz").stat().st_size < 500_000
