from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.context_packing import fill_context
from everthread.text.formatting import format_line, format_lines
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import Hit, Line
from recall.builders import hit, line

# Realistic counters and pathological ones: not additive, not monotonic, or not zero for an empty text.
COUNTERS: dict[str, TokenCounter] = {
    "estimate": estimate_tokens,
    "letters": len,
    "words": lambda text: len(text.split()),
    "framed": lambda text: 2 + len(text.split()),
    "squared": lambda text: len(text) ** 2,
    "constant": lambda text: 7,
    "nothing": lambda text: 0,
    "erratic": lambda text: crc32(text.encode()) % 90,
}

TEXTS = st.sampled_from(
    ["Yes.", "No, not at all!", "The fern has a new leaf. " * 4, "她说蕨类植物长了新叶", "a\nb", "Rain. " * 200]
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Hit], list[Line]]:
    """Draw hits with passages, and buffer lines, from a few sessions over a few days."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    lines: list[Line] = []
    for number, size in enumerate(sizes):
        begun = draw(st.sampled_from([0, 1, 5.9, 30, 200]))
        for place in range(size):
            lines.append(line(len(lines) + 1, draw(TEXTS), f"s{number}", "Ann", begun + place / 60))
    chosen = draw(st.lists(st.sampled_from(lines), unique_by=lambda each: each.seq, max_size=8))
    hits = [hit(each, [near for near in lines if near.session == each.session][:3] or [each]) for each in chosen]
    return hits, draw(st.lists(st.sampled_from(lines), max_size=8))


def count_lines(text: str) -> int:
    """Count one token per stored line, and none for headings and gaps."""
    return sum(": " in part for part in text.split("\n"))


@pytest.mark.parametrize("count", COUNTERS.values(), ids=COUNTERS)
@given(drawn=conversations(), budget=st.integers(1, 300), min_gain=st.sampled_from([0, 0.01]))
def test_a_context_never_exceeds_its_budget_and_accounts_for_all_hits(
    count: TokenCounter, drawn: tuple[list[Hit], list[Line]], budget: int, min_gain: float
) -> None:
    hits, buffer = drawn
    found = fill_context(hits, buffer, budget, count, 0.25, min_gain=min_gain)
    assert found.tokens <= budget
    assert found.tokens == (count(found.text) if found.text else 0)
    assert found.text == format_lines(found.lines)
    assert list(found.lines) == sorted(found.lines, key=lambda each: (each.said_at, each.seq))
    offered = [each for one in hits for each in (one.line, *one.passage)] + buffer
    assert len({each.seq for each in found.lines}) == len(found.lines)
    assert set(found_seqs := [each.seq for each in found.lines]) <= {each.seq for each in offered}
    assert list(found.hits) == [one for one in hits if one.line.seq in found_seqs]
    assert list(found.cut) == [one for one in hits if one.line.seq not in found_seqs]
    assert all(format_line(each) in found.text for each in found.lines)
    assert found.relevance == 0.25


@given(drawn=conversations())
def test_with_a_sufficient_budget_all_lines_are_included(drawn: tuple[list[Hit], list[Line]]) -> None:
    hits, buffer = drawn
    found = fill_context(hits, buffer, 100_000, estimate_tokens, 0.5)
    assert {each.seq for each in found.lines} == {each.seq for one in hits for each in (one.line, *one.passage)} | {
        each.seq for each in buffer
    }
    assert found.cut == ()


@given(drawn=conversations(), budget=st.integers(1, 20))
def test_hits_take_precedence_over_neighbours_and_neighbours_over_the_buffer(
    drawn: tuple[list[Hit], list[Line]], budget: int
) -> None:
    hits, buffer = drawn
    expected = [one.line.seq for one in hits] + [each.seq for one in hits for each in one.passage]
    expected += [each.seq for each in buffer]
    found = fill_context(hits, buffer, budget, count_lines, 0.5)
    assert {each.seq for each in found.lines} == set(list(dict.fromkeys(expected))[:budget])


@given(drawn=conversations(), budget=st.integers(1, 200), more=st.integers(0, 200))
def test_with_lines_of_equal_size_a_greater_budget_never_loses_a_line(
    drawn: tuple[list[Hit], list[Line]], budget: int, more: int
) -> None:
    small, large = (fill_context(*drawn, size, count_lines, 0.5) for size in (budget, budget + more))
    assert {each.seq for each in small.lines} <= {each.seq for each in large.lines}


def test_a_line_that_is_too_long_is_skipped_and_later_shorter_lines_are_included() -> None:
    hits = [hit(line(1, "Best.")), hit(line(2, "word " * 200)), hit(line(3, "Short."))]
    found = fill_context(hits, [], 50, estimate_tokens, 0.5)
    assert [each.seq for each in found.lines] == [1, 3]
    assert [one.line.seq for one in found.cut] == [2]


def test_hits_that_promise_too_little_for_their_tokens_are_left_out() -> None:
    likely, doubtful = replace(hit(line(1, "Mia works at the bank.")), relevance=0.6), line(3, "I had soup today.")
    short = replace(hit(doubtful), relevance=0.01)
    long = replace(hit(replace(doubtful, seq=4, text="I had soup today. " * 20)), relevance=0.01)
    full = fill_context([likely, long, short], [], 1000, estimate_tokens, 0.6)
    found = fill_context([likely, long, short], [], 1000, estimate_tokens, 0.6, min_gain=0.5)
    assert [one.line.seq for one in full.hits] == [1, 4, 3]
    assert [one.line.seq for one in found.hits] == [1, 3]
    assert found.cut == (long,)


def test_a_hit_is_shown_with_the_lines_around_it_only_if_it_is_likely() -> None:
    asked = [line(seq, "And then?") for seq in (1, 3)]
    likely = replace(hit(line(2, "Yes."), [asked[0], line(2, "Yes.")]), relevance=0.6)
    doubtful = replace(hit(line(4, "No."), [asked[1], line(4, "No.")]), relevance=0.02)
    found = fill_context([likely, doubtful], [], 1000, estimate_tokens, 0.6, min_gain=1)
    assert [each.seq for each in found.lines] == [1, 2, 4]


@given(drawn=conversations(), gains=st.tuples(st.floats(0, 50), st.floats(0, 50)), data=st.data())
def test_asking_more_of_each_token_never_adds_a_line_and_keeps_the_best_hit(
    drawn: tuple[list[Hit], list[Line]], gains: tuple[float, float], data: st.DataObject
) -> None:
    relevances = data.draw(st.lists(st.floats(0, 1), min_size=len(drawn[0]), max_size=len(drawn[0])))
    hits = [replace(each, relevance=chance) for each, chance in zip(drawn[0], relevances, strict=True)]
    less, more = (
        {each.seq for each in fill_context(hits, [], 100_000, estimate_tokens, 0.5, min_gain=gain).lines}
        for gain in sorted(gains)
    )
    assert more <= less
    assert not hits or hits[0].line.seq in more


def test_a_context_without_lines_is_empty() -> None:
    found = fill_context([], [], 10, estimate_tokens, 0.1)
    assert (found.text, found.tokens, found.lines, found.hits, found.cut) == ("", 0, (), (), ())


@pytest.mark.parametrize("frame", [lambda text: 2 + len(text), lambda text: 5], ids=["framed", "constant"])
def test_a_counter_that_counts_even_the_empty_text_leaves_the_context_empty(frame: Callable[[str], int]) -> None:
    found = fill_context([hit(line(1))], [], 1, frame, 0.5)
    assert (found.text, found.tokens, found.lines) == ("", 0, ())
    assert len(found.cut) == 1


def test_a_line_longer_than_the_budget_is_shown_as_its_relevant_excerpt() -> None:
    article = "The harvest was poor. " * 200 + "Our heron has a broken wing. " + "It rained again. " * 200
    hits = [hit(line(1, article, "s", "Ann")), hit(line(2, "It rains.", "s", "Bob"))]
    found = fill_context(hits, [], 100, estimate_tokens, 0.5, ["heron", "wing"])
    assert "Ann: … " in found.text
    assert "Our heron has a broken wing." in found.text
    assert "Bob: It rains." in found.text
    assert found.tokens <= 100
    assert found.hits == tuple(hits)
    assert found.cut == ()


REPLY = "The harvest was poor. " * 40 + "Your heron has a broken wing. " + "It rained again. " * 40


def test_a_long_line_is_shown_as_an_excerpt_so_that_other_hits_have_room() -> None:
    hits = [hit(line(1, REPLY)), hit(line(2, REPLY)), hit(line(3, "Herons eat fish."))]
    whole = fill_context(hits, [], 450, estimate_tokens, 0.5, ["heron", "wing"])
    found = fill_context(hits, [], 450, estimate_tokens, 0.5, ["heron", "wing"], min_gain=0.01)
    assert [each.seq for each in whole.lines] == [1, 3]
    assert [each.seq for each in found.lines] == [1, 2, 3]
    assert found.text.count("heron has a broken wing") == 2
    assert found.hits == tuple(hits)


def test_a_long_neighbour_is_shown_as_an_excerpt_too() -> None:
    asked = line(2, "How is the heron?")
    found = fill_context([hit(asked, [asked, line(3, REPLY)])], [], 300, estimate_tokens, 0.5, ["heron"], min_gain=0.01)
    assert [each.seq for each in found.lines] == [2, 3]
    assert "Your heron has a broken wing." in found.text


def test_long_lines_are_shown_whole_if_the_budget_suffices() -> None:
    hits = [hit(line(1, REPLY)), hit(line(2, "Herons eat fish."), [line(2, "Herons eat fish."), line(3, REPLY)])]
    found = fill_context(hits, [], 2000, estimate_tokens, 0.5, ["heron"], min_gain=0.01)
    assert [each.text for each in found.lines] == [REPLY, "Herons eat fish.", REPLY]


def test_if_the_best_hit_does_not_fit_no_other_takes_its_place() -> None:
    hits = [hit(line(1, "supercalifragilistic " * 20, "s", "Ann")), hit(line(2, "Yes.", "s", "Bob"))]
    found = fill_context(hits, [], 30, estimate_tokens, 0.5)
    assert (found.text, found.lines, found.hits) == ("", (), ())
    assert found.cut == tuple(hits)
