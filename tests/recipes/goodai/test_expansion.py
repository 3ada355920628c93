from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.errors import BadInput
from everthread.recipes.goodai.chunk_queue import ChunkQueue
from everthread.recipes.goodai.expansion import (
    LINE,
    NO_EXPANSION,
    PARAGRAPH,
    SECTION,
    SENTENCE,
    Expansion,
    Passage,
    drop_redundant,
    expand,
)
from everthread.recipes.goodai.tokenizers import words

SHIPPED = (SENTENCE, LINE, PARAGRAPH, SECTION, NO_EXPANSION)


def queue_of(*texts: str, capacity: int = 4, separated: bool = False) -> ChunkQueue:
    queue = ChunkQueue(capacity)
    for text in texts:
        queue.add(text, words(text))
        if separated:
            queue.separate()
    return queue


def passage(queue: ChunkQueue, place: int, expansion: Expansion) -> str:
    return expand(queue, queue.chunk(queue.ids()[place]), expansion).text


def test_a_chunk_grows_to_whole_sentences() -> None:
    queue = queue_of("One two. Three four five six seven eight! Nine ten.")
    assert queue.chunk(queue.ids()[2]).text == "four five six seven "
    assert passage(queue, 2, SENTENCE) == "Three four five six seven eight!"


def test_a_chunk_that_ends_with_a_sentence_grows_by_the_next() -> None:
    queue = queue_of("One two three. Four five. Six seven eight.")
    assert passage(queue, 0, SENTENCE) == "One two three. Four five."


def test_without_a_limit_in_reach_a_chunk_grows_to_the_maximum() -> None:
    queue = queue_of(" ".join(f"w{n}" for n in range(100)))
    found = expand(queue, queue.chunk(queue.ids()[20]), SENTENCE)
    assert (found.start, found.end) == (40 - 24, 44 + 24)


def test_lines_take_at_least_sixteen_tokens_on_either_side() -> None:
    text = "\n".join(f"w{n}" for n in range(100))
    queue = queue_of(text)
    found = expand(queue, queue.chunk(queue.ids()[20]), LINE)
    assert (found.start, found.end) == (40 - 16, 44 + 16 + 1)


def test_a_paragraph_ends_at_an_empty_line_and_not_at_a_line_break() -> None:
    queue = queue_of("a b\n\nc d\ne f g h\n \ni j")
    assert queue.chunk(queue.ids()[2]).text == "e f g h\n \n"
    assert passage(queue, 2, PARAGRAPH) == "c d\ne f g h\n \ni j"
    assert passage(queue, 1, PARAGRAPH) == "c d\ne f g h"


def test_an_empty_line_between_two_texts_ends_a_paragraph() -> None:
    queue = queue_of("a b c d e\n", "\n", "f g h i j")
    assert passage(queue, 0, PARAGRAPH) == "a b c d e"


def test_a_section_extends_to_the_separators() -> None:
    queue = queue_of("a b c. d e f\n\ng h", "i j", separated=True)
    assert passage(queue, 0, SECTION) == "a b c. d e f\n\ng h"
    assert passage(queue, 0, NO_EXPANSION) == "a b c."


@pytest.mark.parametrize("expansion", SHIPPED)
def test_no_passage_crosses_a_separator(expansion: Expansion) -> None:
    queue = queue_of("a b c", "d e f", "g h i", separated=True)
    found = {passage(queue, place, expansion) for place in range(len(queue))}
    assert found <= {"a b c", "d e f", "g h i", "c", "f", "i"}


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="ab. \n!", min_size=1, max_size=60), min_size=1, max_size=5),
    st.integers(1, 8),
    st.sampled_from(SHIPPED),
)
def test_a_passage_contains_its_chunk_and_stays_within_the_maximum(
    texts: list[str], capacity: int, expansion: Expansion
) -> None:
    queue = queue_of(*texts, capacity=capacity)
    for chunk in map(queue.chunk, queue.ids()):
        found, (first, end) = expand(queue, chunk, expansion), queue.bounds(chunk.run)
        assert max(first, chunk.start - expansion.most) <= found.start <= max(first, chunk.start - expansion.least)
        assert min(end, chunk.end + expansion.least) <= found.end <= min(end, chunk.end + expansion.most)
        assert chunk.text.strip() in found.text


def spans(*pairs: tuple[int, int], run: int = 1) -> list[tuple[Passage, int]]:
    return [(Passage(run, start, end, ""), place) for place, (start, end) in enumerate(pairs)]


def kept(found: list[tuple[Passage, int]], redundancy: float = 0.75) -> list[int]:
    return [place for _, place in drop_redundant(found, redundancy)]


def test_a_passage_with_three_quarters_seen_is_left_out() -> None:
    assert kept(spans((0, 10), (2, 6), (7, 11), (8, 16))) == [0, 3]
    assert kept(spans((0, 3), (0, 4))) == [0]


def test_a_passage_left_out_makes_no_other_redundant() -> None:
    assert kept(spans((0, 30), (5, 35), (30, 34))) == [0, 2]


def test_equal_positions_in_two_runs_are_two_passages() -> None:
    assert kept(spans((0, 4)) + spans((0, 4), run=2)) == [0, 0]


def test_redundancy_of_one_drops_only_fully_covered_passages() -> None:
    assert kept(spans((0, 10), (1, 10), (1, 11)), 1.0) == [0, 2]


def test_invalid_expansions_are_rejected() -> None:
    with pytest.raises(BadInput, match="invalid expansion by 5 to 4 tokens"):
        Expansion(None, 5, 4)
