"""Segments of text messages: counted as in the standard, and split between words."""

import unicodedata

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.messaging import splitting
from everthread.server.sms.channel import SMS
from everthread.server.sms.segments import (
    BASIC,
    EXTENDED,
    MAX_MESSAGES,
    MAX_SEGMENTS,
    count_fitting,
    count_segments,
    is_gsm,
)

ALPHABET = "".join(sorted(BASIC)) + "".join(sorted(EXTENDED))
TEXTS = st.one_of(
    st.text(alphabet=ALPHABET, max_size=4000),
    st.lists(st.text(alphabet="abcdefg€{é", min_size=1, max_size=30), max_size=500).map(" ".join),
    st.text(alphabet="你好世界。，记得 😀é a\n", max_size=2500),
    st.text(max_size=300),
)


def split(text: str) -> list[str]:
    return splitting.split(text, count_fitting)


def test_the_alphabet_matches_the_standard() -> None:
    assert len(BASIC) == 127  # 128 codes, one of which is the escape to the extension table
    assert len(EXTENDED) == 10
    assert not BASIC & EXTENDED


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("ж" * 70, 1),
        ("ж" * 71, 2),
        ("ж" * 134, 2),
        ("ж" * 135, 3),
        ("😀" * 35, 1),
        ("😀" * 36, 2),
        ("a" * 159 + "…", 3),  # one character outside the alphabet makes the whole text wide: 160 units
    ],
)
def test_segments_are_counted_as_in_the_standard(text: str, count: int) -> None:
    assert count_segments(text) == count


def test_no_character_is_split_across_segments() -> None:
    # 306 septets would fit into two segments, but the euro sign is moved to the second one.
    assert count_segments("a" * 152 + "€" + "a" * 152) == 3
    assert count_segments("ж" * 66 + "😀" + "ж" * 66) == 3  # 134 units, likewise


@examples(150)
@given(TEXTS)
def test_joined_messages_are_the_text_and_each_is_within_the_limit(text: str) -> None:
    parts = split(text)
    assert "".join(parts) == text
    assert all(part and count_segments(part) <= MAX_SEGMENTS and len(part) <= 1600 for part in parts)


@examples(100)
@given(st.lists(st.text(alphabet="abcdeé€你", min_size=1, max_size=40), min_size=50, max_size=600))
def test_words_are_not_split(words: list[str]) -> None:
    assert [word for part in split(" ".join(words)) for word in part.split()] == words


def test_a_text_without_spaces_is_split_after_punctuation() -> None:
    parts = split("我们昨天谈过你的妹妹，她搬到里斯本了。" * 60)
    assert len(parts) > 1
    assert all(part[-1] in "，。" for part in parts)


@pytest.mark.parametrize("sign", ["👩‍👩‍👧", "👍🏽", "❤️"])
def test_a_sign_of_several_characters_is_not_split(sign: str) -> None:
    parts = split(sign * 600)
    assert len(parts) > 1
    assert all(part == sign * (len(part) // len(sign)) for part in parts)


def test_a_reply_beyond_the_limit_ends_in_dots() -> None:
    parts = SMS.split("word " * 3000)
    assert len(parts) == MAX_MESSAGES
    assert parts[-1].endswith("word ...")
    assert all(count_segments(part) <= MAX_SEGMENTS for part in parts)
    assert all(map(is_gsm, parts))


def test_messages_are_stripped_and_a_blank_reply_sends_none() -> None:
    assert SMS.split("  hello\n") == ["hello"]
    assert SMS.split(" \n ") == []
    assert all(part == part.strip() for part in SMS.split("one two  three   " * 200))


def test_combining_marks_stay_with_their_letters() -> None:
    text = unicodedata.normalize("NFD", "ệ") * 700
    assert all(unicodedata.category(part[0]) != "Mn" for part in split(text))
