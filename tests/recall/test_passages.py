from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.common.keys import META_CORRECTS
from everthread.recall.passages import (
    SeqRange,
    build_passage,
    list_ranges,
    map_by_position,
    merge_ranges,
    neighbour_seqs,
)
from everthread.recipes.default import Default
from everthread.types import Line, NewLine
from recall.builders import BEGUN, line, open_filled

PARTY = ["I plan a surprise.", "The surprise is a piano.", "Done."]
RANGES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 8)).map(lambda pair: (pair[0], sum(pair))), max_size=12)


def correction(seq: int, original: int) -> Line:
    """Build a line that corrects another."""
    return replace(line(seq), metadata={META_CORRECTS: original})


def covered_seqs(ranges: list[SeqRange]) -> set[int]:
    return {seq for first, last in ranges for seq in range(first, last + 1)}


@given(st.lists(st.integers(1, 100), max_size=8), st.integers(0, 5))
def test_neighbour_seqs_are_unique_ascending_and_within_the_width(seqs: list[int], width: int) -> None:
    assert neighbour_seqs(seqs, width) == [
        near for near in range(1, 110) if any(abs(near - seq) <= width for seq in seqs)
    ]  # fmt: skip


@given(RANGES)
def test_merged_ranges_cover_the_same_lines_and_neither_overlap_nor_adjoin(ranges: list[SeqRange]) -> None:
    merged = merge_ranges(ranges)
    assert covered_seqs(merged) == covered_seqs(ranges)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(merged))
    assert merge_ranges(merged) == merged
    assert merge_ranges(reversed(ranges)) == merged


def test_a_range_extends_from_first_to_last_line_and_corrections_have_their_own() -> None:
    assert list_ranges([line(4), line(5), line(9)]) == [(4, 9)]
    assert list_ranges([line(4), correction(90, 5), line(6)]) == [(4, 6), (90, 90)]
    assert list_ranges([correction(90, 5), correction(91, 6)]) == [(90, 90), (91, 91)]


def test_a_correction_takes_the_original_position_unless_it_is_occupied() -> None:
    assert map_by_position([line(4), correction(90, 5)]) == {4: line(4), 5: correction(90, 5)}
    assert map_by_position([line(5), correction(90, 5)]) == {5: line(5), 90: correction(90, 5)}
    assert map_by_position([correction(90, 5), correction(91, 5)]) == {5: correction(90, 5), 91: correction(91, 5)}
    assert map_by_position([correction(90, 99)]) == {90: correction(90, 99)}  # no line can correct a later one


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=20), st.sets(st.integers(1, 20)), st.integers(0, 4))
def test_a_passage_contains_the_existing_neighbours_in_the_session(
    sessions: list[str], missing: set[int], width: int
) -> None:
    lines = [line(seq, session=name) for seq, name in enumerate(sessions, 1)]
    around = {each.seq: each for each in lines if each.seq not in missing}
    for each in around.values():
        found = build_passage(each, each.seq, around, width)
        assert each in found
        assert list(found) == [
            other for other in around.values() if abs(other.seq - each.seq) <= width and other.session == each.session
        ]


@pytest.mark.parametrize("width", [0, 1, 3])
def test_a_passage_without_neighbours_is_the_line_alone(width: int) -> None:
    hit_line = line(7)
    assert build_passage(hit_line, 7, {7: hit_line}, width) == (hit_line,)


@examples(12)
@given(
    sessions=st.lists(st.sampled_from(["a", "b"]), min_size=4, max_size=10),
    retracted=st.sets(st.integers(1, 10), max_size=3),
    forgotten=st.sets(st.integers(1, 10), max_size=3),
    width=st.integers(1, 4),
)
def test_recalled_passages_stay_in_their_session_without_removed_lines(
    sessions: list[str], retracted: set[int], forgotten: set[int], width: int
) -> None:
    lines = [NewLine(f"The garden gate number {n}", "Ann", session=name) for n, name in enumerate(sessions, 1)]
    with tempfile.TemporaryDirectory() as folder, open_filled(folder, lines) as memory:
        memory.recipe = replace(Default(), neighbours=width)
        removed = {seq for seq in retracted | forgotten if seq <= len(lines)}
        for seq in removed:
            if seq in forgotten:
                memory.forget(seq=seq)
            else:
                memory.retract(seq)
        hits = memory.recall("garden gate", k=20)
        assert {found.line.seq for found in hits} == set(range(1, len(lines) + 1)) - removed
        for found in hits:
            numbers = [each.seq for each in found.passage]
            assert numbers == sorted(numbers)
            assert found.line in found.passage
            assert {each.session for each in found.passage} == {found.line.session}
            assert not removed & set(numbers)
            assert all(abs(number - found.line.seq) <= width for number in numbers)


def test_a_neighbour_later_than_as_of_is_not_shown(tmp_path: Path) -> None:
    lines = [NewLine(text, "Ann", said_at=BEGUN + timedelta(days=n), session="s") for n, text in enumerate(PARTY)]
    with open_filled(tmp_path, lines) as memory:
        (found,) = memory.recall("surprise", as_of=BEGUN)
        assert found.passage == (found.line,)
        assert len(memory.context("surprise", session="s", gate=False).lines) == 3
        context = memory.context("surprise", session="s", gate=False, as_of=BEGUN)  # the buffer has all three
        assert [line.text for line in context.lines] == ["I plan a surprise."]
