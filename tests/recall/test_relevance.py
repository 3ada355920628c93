from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from everthread.recall.query_parsing import parse_query
from everthread.recall.relevance import (
    QUERY_FEATURES,
    SATURATED_LINES,
    LogisticModel,
    collect_query_features,
    estimate_relevance,
    log_softmax,
    mentions_unknown_name,
    relevance_weights,
)
from everthread.recall.types import Query
from everthread.recipes.base import Recipe
from everthread.recipes.default import Default, ScoringProfile
from everthread.types import NewLine
from recall.builders import BEGUN, open_filled

SCORES = st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=30)
CURVES = st.builds(
    lambda bias, slope: LogisticModel(bias, {"score_share": slope}), st.floats(-20, 20), st.floats(0, 20)
)


@given(SCORES, CURVES, st.floats(0, 1))
def test_relevance_rises_with_the_score_and_does_not_exceed_that_of_the_query(
    scores: list[float], curve: LogisticModel, query_relevance: float
) -> None:
    found = estimate_relevance(curve, np.sort(np.array(scores, np.float32)), query_relevance)
    assert found.shape == (len(scores),)
    assert (np.diff(found) >= 0).all()
    assert (found >= 0).all()
    assert (found <= np.float32(query_relevance)).all()


def test_no_candidates_yield_no_relevance() -> None:
    assert estimate_relevance(LogisticModel(0, {"score_share": 1}), np.empty(0, np.float32), 1.0).shape == (0,)


@given(SCORES)
def test_log_softmax_yields_the_shares_of_a_softmax(scores: list[float]) -> None:
    found = log_softmax(np.array(scores, np.float64))
    assert (found <= 1e-12).all()
    assert np.exp(found).sum() == pytest.approx(1)
    assert found[np.argmax(scores)] == found.max()  # scores that are equal as floats share the first place


@pytest.mark.parametrize("profile", [Default().friends, Default().assistant], ids=["friends", "assistant"])
def test_the_default_hit_models_rise_with_the_score(profile: ScoringProfile) -> None:
    found = estimate_relevance(profile.hit_model, np.linspace(-50, 50, 101, dtype=np.float32), 1.0)
    assert (np.diff(found) >= 0).all()
    assert found[0] < found[-1]


@given(st.floats(-20, 20), st.dictionaries(st.sampled_from(QUERY_FEATURES), st.floats(-10, 10), min_size=1))
def test_a_logistic_model_predicts_the_logistic_of_the_weighted_features(
    bias: float, weights: dict[str, float]
) -> None:
    values = {name: 0.1 * place for place, name in enumerate(QUERY_FEATURES)}
    x = bias + sum(weight * values[name] for name, weight in weights.items())
    assert LogisticModel(bias, weights).predict(values) == pytest.approx(1 / (1 + np.exp(-x)), rel=1e-9)


def test_a_logistic_model_does_not_overflow() -> None:
    assert LogisticModel(0, {"best_score": 1}).predict({"best_score": 1e9}) == pytest.approx(1)
    assert LogisticModel(0, {"best_score": 1}).predict({"best_score": -1e9}) == pytest.approx(0)


def test_an_empty_bank_yields_all_features(tmp_path: Path) -> None:
    with open_filled(tmp_path, []) as memory:
        found, signals = memory.reader.measure_candidates(Query("Where is the kite?"))
        assert set(collect_query_features(found, signals, np.empty(0, np.float32))) == set(QUERY_FEATURES)
        assert memory.context("Where is the kite?").text == ""


def test_a_query_similar_in_meaning_and_words_has_a_greater_match(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite of red paper.", "The ferry leaves at nine."]) as memory:
        near, far = (
            collect_query_features(*memory.reader.measure_candidates(Query(query)), np.zeros(2, np.float32))["match"]
            for query in ("kite of red paper", "tax declaration of the landlord")
        )
        assert near > far


def test_what_no_window_says_about_a_subject_is_uncovered(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite of red paper.", "The ferry leaves at nine."]) as memory:
        said, unsaid = (
            collect_query_features(*memory.reader.measure_candidates(Query(query)), np.zeros(2, np.float32))[
                "uncovered"
            ]
            for query in ("Is the kite red?", "What did the kite cost?")
        )
        assert said == pytest.approx(0, abs=1e-5)
        assert unsaid > 0.5


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("Did Ann ever go to Lisbon?", False),  # Ann speaks, and Lisbon was spoken of
        ("Did Ann ever meet Zelda?", True),
        ("What does Zelda's brother do?", True),
        ("did ann ever meet zelda?", True),
        ("did ann go to lisbon?", False),
        ("did ann ever see a rose?", False),  # a name only with a capital
        ("did ann ever meet xqzara?", False),  # not a known name
        ("Zelda?", False),  # every sentence begins with one
        ("", False),
    ],
)
def test_a_name_without_an_occurrence_in_the_bank_is_unknown(tmp_path: Path, question: str, unknown: bool) -> None:
    with open_filled(tmp_path, [NewLine("I went to Lisbon.", "Ann")]) as memory:
        assert mentions_unknown_name(memory.reader.measure_candidates(Query(question))[0]) is unknown


def test_a_line_that_only_asks_is_not_evidence(tmp_path: Path) -> None:
    with open_filled(
        tmp_path, [NewLine("Where is the kite?", session="a"), NewLine("The ferry leaves at nine.", session="b")]
    ) as memory:
        found, signals = memory.reader.measure_candidates(Query("where is my kite"))
        features = collect_query_features(found, signals, np.array([7, 1], np.float32))
        assert signals["empty"].tolist() == [1, 0]
        assert (features["best_score"], features["match"]) == (1, 0)
        assert features["cosine"] == pytest.approx(max(0, signals["cosine"][1]))


@pytest.mark.parametrize(("lines", "small"), [(1, 1.0), (SATURATED_LINES, 0.0), (2 * SATURATED_LINES, 0.0)])
def test_the_features_of_small_banks_fall_with_the_size_of_the_bank(tmp_path: Path, lines: int, small: float) -> None:
    with open_filled(tmp_path, ["I built a kite."]) as memory:
        found, signals = memory.reader.measure_candidates(Query("kite"))
        found = replace(found, corpus=replace(found.corpus, lines=lines))
        features = collect_query_features(found, signals, np.ones(1, np.float32))
        assert features["small_bank"] == pytest.approx(small)
        assert features["small_bank_score"] == pytest.approx(small)
        assert features["small_bank_cosine"] == pytest.approx(small * features["cosine"])


def thresholded(threshold: float) -> Recipe:
    return replace(
        Default(),
        friends=replace(Default().friends, threshold=threshold),
        assistant=replace(Default().assistant, threshold=threshold),
    )


@examples(8)
@given(st.lists(st.floats(0, 1.01), min_size=4, max_size=4).map(sorted))
def test_a_stricter_threshold_never_adds_lines(thresholds: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder, open_filled(folder, ["I built a kite.", "It rains."]) as memory:
        for question in ("Who built a kite?", "What is the weather like, does it rain?", "invoices"):
            passed = []
            for threshold in thresholds:
                memory.recipe = thresholded(threshold)
                passed.append(bool(memory.context(question).text))
            assert passed == sorted(passed, reverse=True)


def test_without_the_gate_the_threshold_has_no_effect(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite.", "It rains."]) as memory:
        memory.recipe = thresholded(1.01)
        assert memory.context("kite").text == ""
        assert len(memory.context("kite", gate=False, min_relevance=0.0).lines) == 2


def test_relevance_is_returned_whether_or_not_it_passes_the_gate(tmp_path: Path) -> None:
    with open_filled(tmp_path, ["I built a kite.", "It rains."]) as memory:
        relevances = set()
        for threshold in (0.0, 1.01):
            memory.recipe = thresholded(threshold)
            relevances.add(memory.context("kite").relevance)
        assert len(relevances) == 1
        assert 0 <= relevances.pop() <= 1


@pytest.mark.parametrize(
    ("question", "trusts"),
    [("What did Ann cook on 8 May?", True), ("What did Ann cook last week?", False), ("What did Ann cook?", True)],
)
def test_a_matching_relative_time_is_not_evidence(question: str, trusts: bool) -> None:
    weights = {"cosine": 1.0, "day": 4.0, "month": 3.0}
    asked = parse_query(question, ("Ann",), BEGUN)
    assert relevance_weights(asked, weights) == (weights if trusts else {"cosine": 1.0})
