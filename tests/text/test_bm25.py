from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.text.bm25 import K1, PRIOR_LINES, B, idf, saturation

COUNTS = st.integers(0, 1000)


@given(COUNTS, st.integers(0, 10_000))
def test_a_rarer_term_has_a_higher_idf(df: int, lines: int) -> None:
    assert idf(df, lines) > 0
    assert idf(df, lines) > idf(df + 1, max(lines, df + 1))


def test_a_term_in_all_of_three_lines_keeps_most_of_its_weight() -> None:
    assert idf(3, 3) > 0.5 * idf(1, 3)


@given(COUNTS, COUNTS)
def test_idf_equals_the_formula_of_robertson_and_zaragoza_with_the_prior_lines(df: int, more: int) -> None:
    lines = df + more
    assert idf(df, lines) == pytest.approx(math.log(1 + (lines + PRIOR_LINES - df + 0.5) / (df + 0.5)))


@given(st.integers(0, 500), st.floats(0.5, 5000), st.floats(0.5, 500))
def test_saturation_equals_the_scalar_formula(tf: int, length: float, mean: float) -> None:
    wanted = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))
    assert float(saturation(np.array(tf), length, mean)) == pytest.approx(wanted, rel=1e-4)


@given(st.floats(0.5, 5000), st.floats(0.5, 500))
def test_saturation_grows_with_occurrences_and_is_bounded(length: float, mean: float) -> None:
    counted = saturation(np.arange(200), length, mean)
    assert counted[0] == 0
    assert (np.diff(counted) > 0).all()
    assert counted[-1] < K1 + 1


def test_saturation_decreases_with_the_length_of_the_text() -> None:
    counted = saturation(np.full(5, 2), np.array([1, 10, 20, 50, 1000]), 20)
    assert (np.diff(counted) < 0).all()


def test_saturation_of_an_empty_bank_is_zero() -> None:
    assert saturation(np.zeros(3), np.zeros(3), 0.0).tolist() == [0, 0, 0]
