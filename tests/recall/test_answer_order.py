"""The order of hits by what their lines state of the fact that a question asks for."""

from datetime import UTC, datetime

import pytest

from everthread.facts.answering_lines import NO_LINES, AnsweringLines
from everthread.recall.answer_order import ANSWER_RELEVANCE, MISLEADING_SHARE, UNKNOWN_RELEVANCE, order_by_answer
from everthread.stores.recall_records import SURE_RELEVANCE
from everthread.types import Context, Hit, Line

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
LINES = {seq: Line(seq, "s", "user", "Nora", f"Line {seq}.", NOON) for seq in range(1, 6)}


def build(*relevances: float) -> Context:
    """Return a context with lines 1, 2 and so on, of these relevances."""
    hits = tuple(Hit(LINES[seq], 1.0, each, {}, (LINES[seq],)) for seq, each in enumerate(relevances, 1))
    return Context("text", 9, tuple(hit.line for hit in hits), hits, (), 0.8)


def order(context: Context, lines: AnsweringLines) -> list[tuple[int, float]]:
    """Return the numbers and the relevances of the hits, ordered."""
    return [(hit.seq, round(hit.relevance, 3)) for hit in order_by_answer(context, lines, LINES.get).hits]


def test_a_line_that_answers_comes_first_and_what_misleads_last() -> None:
    found = AnsweringLines((3,), frozenset({1}), is_complete=True)
    assert order(build(0.8, 0.4, 0.1), found) == [(3, ANSWER_RELEVANCE), (2, 0.4), (1, 0.8 * MISLEADING_SHARE)]


def test_a_line_that_answers_is_added_with_its_place_among_the_sources() -> None:
    found = AnsweringLines((1, 2), is_complete=True)
    later = Context("text", 9, (LINES[3],), (Hit(LINES[3], 1.0, 0.2, {}, (LINES[3],)),), (), 0.1)
    ordered = order_by_answer(later, found, LINES.get)
    assert [hit.seq for hit in ordered.hits] == [1, 3]
    assert [line.seq for line in ordered.lines] == [1, 3]
    assert ordered.relevance == ANSWER_RELEVANCE


def test_the_best_line_that_answers_is_added_even_if_a_worse_one_was_found() -> None:
    found = AnsweringLines((4, 2), is_complete=True)
    assert [seq for seq, _ in order(build(0.4, 0.3), found)] == [4, 1, 2]
    assert [seq for seq, _ in order(build(0.4, 0.3), AnsweringLines((9, 2), is_complete=True))] == [2, 1]


def test_a_line_that_is_gone_is_not_added() -> None:
    assert order(build(0.4), AnsweringLines((9,), is_complete=True)) == [(1, 0.4)]


def test_a_line_that_is_more_relevant_keeps_its_relevance() -> None:
    assert order(build(0.95), AnsweringLines((1,), is_complete=True)) == [(1, 0.95)]


def test_without_a_line_that_answers_those_that_mislead_are_less_relevant() -> None:
    found = AnsweringLines((), frozenset({1}), is_complete=True)
    assert order(build(0.8, 0.2), found) == [(2, 0.2), (1, 0.8 * MISLEADING_SHARE)]


def test_without_a_fact_that_answers_what_is_found_is_in_doubt() -> None:
    assert order(build(0.8, 0.1), AnsweringLines(is_complete=True)) == [(1, UNKNOWN_RELEVANCE), (2, 0.1)]
    assert UNKNOWN_RELEVANCE < SURE_RELEVANCE


def test_if_the_question_asks_for_more_the_present_only_comes_before_the_past() -> None:
    found = AnsweringLines((3,), frozenset({2}))
    assert order(build(0.8, 0.4, 0.1), found) == [(1, 0.8), (3, 0.4), (2, 0.4)]


@pytest.mark.parametrize(
    "found",
    [
        NO_LINES,
        AnsweringLines((1,), frozenset({2})),  # in this order already
        AnsweringLines((), frozenset({1})),
        AnsweringLines((4,), frozenset({1})),  # not found, and no answer by itself
    ],
)
def test_other_hits_stay_as_they_are(found: AnsweringLines) -> None:
    assert order(build(0.8, 0.4, 0.1), found) == [(1, 0.8), (2, 0.4), (3, 0.1)]
