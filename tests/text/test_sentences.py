from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.formatting import GAP_MARK
from everthread.text.sentences import prefix_length, shorten, split_by_tokens, split_sentences, truncate
from everthread.text.tokens import estimate_tokens

TEXTS = st.text("ab I. ?!\n。，好我…-é1", max_size=120)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I moved. It rained!", ["I moved.", "It rained!"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ('"Come in." She did.', ['"Come in."', "She did."]),
        ("Dr. Smith met Mr. J. Jones, e.g. today.", ["Dr. Smith met Mr. J. Jones, e.g. today."]),
        ("We met at 5 p.m. on Monday.", ["We met at 5 p.m. on Monday."]),
        ("We met at 5 p.m. Then it rained.", ["We met at 5 p.m.", "Then it rained."]),
        ("My dad and I. Only us.", ["My dad and I.", "Only us."]),
        ("It weighs 3.5 kilos.", ["It weighs 3.5 kilos."]),
        ("I was... well, tired. Very.", ["I was... well, tired.", "Very."]),
        ("1. Eggs\n- Milk\n* Bread", ["1. Eggs", "Milk", "Bread"]),
        ("i went home. then i slept", ["i went home.", "then i slept"]),
        ("我搬家了。你好吗？“好！”他说", ["我搬家了。", "你好吗？", "“好！”", "他说"]),
        ("one\u2028two\rthree", ["one", "two", "three"]),
        (" \n ", []),
    ],
)
def test_a_text_is_split_at_the_ends_of_sentences(text: str, found: list[str]) -> None:
    assert split_sentences(text) == found


@given(TEXTS)
def test_sentences_are_substrings_of_the_text_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        assert sentence == sentence.strip()
        at = text.index(sentence, at) + len(sentence)


@given(TEXTS, st.integers(1, 60))
def test_a_shortened_text_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert estimate_tokens(shorten(text, limit)) <= limit
    assert estimate_tokens(truncate(text, limit)) <= limit
    assert estimate_tokens(text[: prefix_length(text, limit)]) <= limit


@given(TEXTS, st.integers(1, 60))
def test_a_shortened_text_is_a_prefix_with_a_gap_mark(text: str, limit: int) -> None:
    cut = shorten(text, limit)
    assert cut == text or text.startswith(cut.removesuffix(GAP_MARK))
    assert cut in ("", text) or cut.endswith(GAP_MARK)


def test_a_text_is_cut_after_a_word_if_it_has_one() -> None:
    assert shorten("I moved to Lisbon last year", 5) == "I moved to Lisbon…"
    assert shorten("I moved, to Lisbon", 3) == "I moved…"
    assert shorten("extraordinarily", 2) == "extrao…"
    assert shorten("我昨天搬到里斯本", 4) == "我昨天…"
    assert shorten("Lisbon", 1) == "Lisbon"
    assert shorten("Lisbon is far", 1) == ""


def test_truncation_prefers_whole_rows_then_sentences_then_words() -> None:
    assert truncate("I moved.\nIt rained all day.\nWe slept.", 9) == "I moved.\nIt rained all day."
    assert truncate("I moved. It rained all day.", 5) == "I moved."
    assert truncate("It rained all day and all night.\nYes.", 5) == "It rained all day…"


@given(TEXTS, st.integers(1, 40))
def test_pieces_join_to_the_text_and_each_fits(text: str, room: int) -> None:
    found = list(split_by_tokens(text, room))
    assert "".join(found) == text
    assert all(estimate_tokens(piece) <= room for piece in found)
