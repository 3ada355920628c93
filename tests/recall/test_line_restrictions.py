"""Which lines of a bank a query may find."""

import numpy as np

from everthread.recall.line_restrictions import LineRestrictions
from everthread.types import Seqs


def numbers(*seqs: int) -> Seqs:
    return np.array(seqs, np.int64)


def test_without_restrictions_every_line_may_be_found() -> None:
    lines = LineRestrictions()
    assert lines.drop_excluded(lines.keep_allowed(numbers(1, 2, 3))).tolist() == [1, 2, 3]


def test_lines_that_the_filter_does_not_allow_are_left_out() -> None:
    assert LineRestrictions(allowed=numbers(2, 3, 9)).keep_allowed(numbers(1, 2, 3)).tolist() == [2, 3]
    assert LineRestrictions(allowed=numbers()).keep_allowed(numbers(1, 2, 3)).tolist() == []


def test_lines_in_the_prompt_are_left_out() -> None:
    assert LineRestrictions(exclude=numbers(2, 9)).drop_excluded(numbers(1, 2, 3)).tolist() == [1, 3]
