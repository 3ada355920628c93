from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.bench.style import burrows_delta, count_phrases, measure_drift, phrases, punctuation, tokens
from everthread.errors import BadInput

SAMPLE = "Arr, blow me down! 'Tis a fine night for it, me hearty, and we be ready to sail!"
PLAIN = "The weather is good, so it would be possible to leave. There are several options that you could consider."


def test_a_text_with_the_samples_function_words_has_no_delta() -> None:
    same, other = burrows_delta(SAMPLE, [SAMPLE, PLAIN])
    assert same == 0
    assert other > 1


def test_delta_ignores_what_a_text_is_about() -> None:
    topic = SAMPLE.replace("night", "kettle").replace("sail", "boil").replace("hearty", "cousin")
    about, style = burrows_delta(SAMPLE, [topic, PLAIN])
    assert about == 0 < style


def test_delta_is_the_mean_difference_of_z_scores() -> None:
    # "me" is 1/2, 0 and 1/4 of the words: mean 1/4, spread sqrt(1/24).
    spread = (1 / 24) ** 0.5
    assert burrows_delta("me sea", ["sea sea", "me sea sea sea"]) == pytest.approx([0.5 / spread, 0.25 / spread])


def test_texts_without_any_function_word_have_no_delta() -> None:
    assert burrows_delta("sea", ["ship", "sail"]) == [0.0, 0.0]


def test_marks_are_compared_by_their_frequency_and_not_by_their_number() -> None:
    assert punctuation("Aye! Aye!", "Aye! Aye! Aye! Aye!") == 0
    assert punctuation("Aye!", "Aye.") == 200


def test_phrases_are_runs_of_words_that_are_not_all_function_words() -> None:
    sample_phrases = phrases("Blow me down, and then")
    assert ("blow", "me") in sample_phrases
    assert ("blow", "me", "down") in sample_phrases
    assert ("and", "then") not in sample_phrases
    assert count_phrases(sample_phrases, "Well, blow me down!") == 3  # blow me, me down, blow me down
    assert count_phrases(sample_phrases, "And then we left.") == 0


def test_chinese_is_counted_by_characters() -> None:
    assert tokens("你好，船长！") == ["你", "好", "船", "长"]
    same, other = burrows_delta("我的船啊，我的海啊", ["我的船啊，我的海啊", "他们在这里吗"])
    assert same == 0 < other


def test_windows_are_numbered_and_a_short_remainder_joins_the_last() -> None:
    drifts = measure_drift(SAMPLE, [PLAIN] * 22, 5)
    assert [(drift.first, drift.replies) for drift in drifts] == [(1, 5), (6, 5), (11, 5), (16, 7)]
    assert [drift.words for drift in drifts] == [len(tokens(PLAIN))] * 4


def test_drift_is_seen_in_every_measure() -> None:
    first, _, last = measure_drift(SAMPLE, [*[SAMPLE] * 10, *[f"{SAMPLE} {PLAIN}"] * 10, *[PLAIN] * 10], 10)
    assert (first.delta, first.punctuation) == (0, 0)
    assert last.delta > 1
    assert last.punctuation > 10
    assert last.phrases == 0 < first.phrases


@pytest.mark.parametrize(
    ("sample", "replies", "named"),
    [
        ("…", ["Aye."] * 9, "no words"),
        (SAMPLE, ["Aye."] * 5, "5 replies make 2 windows of 3"),
        (SAMPLE, [], "0 replies"),
    ],
)
def test_too_little_to_measure_is_an_error_that_says_what_is_missing(
    sample: str, replies: list[str], named: str
) -> None:
    with pytest.raises(BadInput, match=named):
        measure_drift(sample, replies, 3)


@given(st.lists(st.text(max_size=30), min_size=9, max_size=20))
def test_any_replies_have_finite_measures(replies: list[str]) -> None:
    for drift in measure_drift(SAMPLE, replies, 3):
        assert 0 <= drift.delta < 100
        assert drift.words >= 0
        assert drift.punctuation >= 0
        assert drift.phrases >= 0
