from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.bench.fuzzy_match import contains_fact, edit_distance, normalize_tokens

TOKENS = st.lists(st.sampled_from("abc"), max_size=9)


def plain_distance(one: list[str], other: list[str]) -> int:
    """Compute Levenshtein's distance from its recursive definition."""

    @cache
    def rest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        change = rest(i + 1, j + 1) + (one[i] != other[j])
        return min(change, rest(i + 1, j) + 1, rest(i, j + 1) + 1)

    return rest(0, 0)


def plain_score(fact: list[str], passage: list[str]) -> float:
    size = len(fact)
    windows = [passage[n : n + size] for n in range(max(len(passage) - size, 0) + 1)]
    return 100 * (1 - min(plain_distance(window, fact) for window in windows) / size)


@given(TOKENS, TOKENS, st.integers(0, 9))
def test_the_distance_is_levenshteins_up_to_what_is_allowed(one: list[str], other: list[str], allowed: int) -> None:
    expected = plain_distance(one, other)
    distance = edit_distance(one, other, allowed)
    assert distance == expected if expected <= allowed else distance > allowed


@settings(deadline=None)
@given(TOKENS.filter(bool), st.lists(st.sampled_from("abc"), max_size=20), st.sampled_from([0.0, 50.0, 70.0, 100.0]))
def test_a_fact_is_found_if_its_best_window_scores_enough(
    fact: list[str], passage: list[str], threshold: float
) -> None:
    assert contains_fact(fact, passage, threshold) == (plain_score(fact, passage) >= threshold)


def test_three_of_ten_tokens_may_be_wrong_and_no_more() -> None:
    fact = list("abcdefghij")
    assert contains_fact(fact, list("xxxdefghij"), 70)
    assert contains_fact(fact, list("zz") + list("abcdefg") + list("zzz"), 70)
    assert not contains_fact(fact, list("xxxxefghij"), 70)
    assert not contains_fact(fact, list("abcdef"), 70)
    assert contains_fact(fact, list("abcdefg"), 70)


def test_an_empty_fact_is_never_found() -> None:
    assert not contains_fact([], ["a"], 70)


def test_case_and_pauses_make_no_difference() -> None:
    assert normalize_tokens(["Oh", ",", "a", "...", "Kite", "?", "!"]) == ("oh", ".", "a", ".", "kite", "?")
    assert normalize_tokens(["."]) == normalize_tokens([]) == ()
