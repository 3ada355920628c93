from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.bm25 import K1, PRIOR_LINES, B, idf, saturation

COUNTS = st.integers(0, 1000)


@given(COUNTS, st.integers(0, 10_000))
def test_the_rarer_a_term_the_more_it_tells(df: int, lines: int) -> None:
    assert idf(df, lines) > 0
    assert idf(df, lines) > idf(df + 1, max(lines, df + 1))


def test_in_a_bank_of_three_lines_no_word_counts_as_common() -> None:
    assert idf(3, 3) > 0.5 * idf(1, 3)


@given(COUNTS, COUNTS)
def test_idf_is_that_of_robertson_and_zaragoza_with_a_hundred_more_lines(df: int, more: int) -> None:
    lines = df + more
    assert idf(df, lines) == pytest.approx(math.log(1 + (lines + PRIOR_LINES - df + 0.5) / (df + 0.5)))


@given(st.integers(0, 500), st.floats(0.5, 5000), st.floats(0.5, 500))
def test_saturation_is_the_formula_of_one_number(tf: int, length: float, mean: float) -> None:
    wanted = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))
    assert float(saturation(np.array(tf), length, mean)) == pytest.approx(wanted, rel=1e-4)


@given(st.floats(0.5, 5000), st.floats(0.5, 500))
def test_more_occurrences_count_more_and_never_without_end(length: float, mean: float) -> None:
    counted = saturation(np.arange(200), length, mean)
    assert counted[0] == 0
    assert (np.diff(counted) > 0).all()
    assert counted[-1] < K1 + 1


def test_the_longer_the_text_the_less_a_term_counts() -> None:
    counted = saturation(np.full(5, 2), np.array([1, 10, 20, 50, 1000]), 20)
    assert (np.diff(counted) < 0).all()


def test_an_empty_bank_divides_by_nothing() -> None:
    assert saturation(np.zeros(3), np.zeros(3), 0.0).tolist() == [0, 0, 0]
