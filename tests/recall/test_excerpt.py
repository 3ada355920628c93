from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.excerpt import _SENTENCE, choose_excerpt
from everthread.text.analyzer import terms

STORY = (
    "We left at dawn. The road was empty! Did anyone see us? Nobody did. "
    "At noon a heron stood in the reeds. Then it rained until the tents were wet. We ate cold beans."
)


def test_an_excerpt_contains_the_relevant_sentence_and_its_context() -> None:
    found = choose_excerpt(STORY, terms("Which bird stood in the reeds?"), 90, len)
    assert found == "… At noon a heron stood in the reeds. Then it rained until the tents were wet. …"


def test_a_text_that_fits_is_not_cut() -> None:
    assert choose_excerpt(STORY, (), 10_000, len) == STORY


def test_without_query_terms_the_beginning_is_shown() -> None:
    assert choose_excerpt(STORY, (), 40, len) == "We left at dawn. The road was empty! …"


def test_if_no_sentence_fits_there_is_no_excerpt() -> None:
    assert choose_excerpt(STORY, terms("heron"), 10, len) is None
    assert choose_excerpt("", (), 10, len) is None


@given(st.text(max_size=2000))
def test_sentences_cover_the_whole_text(text: str) -> None:
    assert "".join(_SENTENCE.findall(text)) == text


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 2000, "一" * 5000, "…\n" * 2000])
def test_a_text_without_sentences_has_an_excerpt(text: str) -> None:
    found = choose_excerpt(text, (), 400, len)
    assert found
    assert len(found) <= 400
    assert found.removesuffix(" …") in text


@pytest.mark.parametrize("count", [len, lambda text: len(text.split()), lambda text: len(text) ** 2 // 100])
@given(text=st.text("ab. !\n", max_size=500), room=st.integers(1, 200))
def test_no_excerpt_exceeds_its_budget(count: Callable[[str], int], text: str, room: int) -> None:
    found = choose_excerpt(text, ["a"], room, count)
    assert found is None or count(found) <= room


def test_each_sentence_is_counted_once() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    assert choose_excerpt("It rained again. " * 20_000, (), 50_000, count)
    assert sum(counted) < 4 * 20_000 * 17
