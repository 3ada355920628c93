from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.excerpt import _SENTENCE, excerpt
from everthread.stores.text import terms

STORY = (
    "We left at dawn. The road was empty! Did anyone see us? Nobody did. "
    "At noon a heron stood in the reeds. Then it rained until the tents were wet. We ate cold beans."
)


def test_the_sentence_that_answers_is_shown_with_what_stands_around_it() -> None:
    found = excerpt(STORY, terms("Which bird stood in the reeds?"), lambda text: len(text) <= 90)
    assert found == "… At noon a heron stood in the reeds. Then it rained until the tents were wet. …"


def test_what_fits_whole_is_not_cut() -> None:
    assert excerpt(STORY, (), lambda text: True) == STORY


def test_the_beginning_is_shown_where_nothing_is_wanted() -> None:
    assert excerpt(STORY, (), lambda text: len(text) <= 40) == "We left at dawn. The road was empty! …"


def test_where_not_one_sentence_fits_there_is_no_excerpt() -> None:
    assert excerpt(STORY, terms("heron"), lambda text: len(text) <= 10) is None
    assert excerpt("", (), lambda text: True) is None


@given(st.text(max_size=2000))
def test_sentences_are_the_whole_text(text: str) -> None:
    assert "".join(_SENTENCE.findall(text)) == text


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 2000, "一" * 5000, "…\n" * 2000])
def test_a_text_without_sentences_is_shown_in_part_too(text: str) -> None:
    found = excerpt(text, (), lambda part: len(part) <= 400)
    assert found
    assert len(found) <= 400
    assert found.removesuffix(" …") in text
