from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from everthread.errors import BadInput, ConfigError, ModelError
from everthread.recall.rerank.models import CrossEncoder, EmbedderMatch
from everthread.recipes.goodai.matching import predict_confidences, resolve_matcher


class Fixed:
    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return self.numbers


def test_each_text_has_its_probability() -> None:
    assert predict_confidences(Fixed(0.25, 1), "fern?", ["a fern", "a kite"]) == [0.25, 1.0]


@pytest.mark.parametrize("numbers", [(0.5,), (0.5, math.nan), (0.5, 0.5, 0.5), (0.5, 1.5), (-0.1, 0.5)])
def test_a_matcher_that_gives_a_text_no_probability_has_failed(numbers: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match="expected a probability, 0 to 1, for each"):
        predict_confidences(Fixed(*numbers), "fern?", ["a fern", "a kite"])


def test_matching_models_have_the_names_that_goodai_ltm_gives_them() -> None:
    found = (
        resolve_matcher("em:minilm"),
        resolve_matcher("st:cross-encoder/stsb-distilroberta-base"),
        resolve_matcher("em:st:some/model"),
    )
    assert [type(each) for each in found] == [EmbedderMatch, CrossEncoder, EmbedderMatch]
    assert [getattr(each, "name", "") for each in found] == [
        "match:all-minilm-l6-v2-int8",
        "cross-encoder:cross-encoder/stsb-distilroberta-base",
        "match:sentence-transformers/some/model",
    ]


def test_a_matching_model_is_taken_as_it_is_and_none_is_none() -> None:
    fixed = Fixed(0.5)
    assert (resolve_matcher(fixed), resolve_matcher(None), resolve_matcher("")) == (fixed, None, None)


@pytest.mark.parametrize("name", ["minilm", "st:", "cross-encoder/stsb-distilroberta-base"])
def test_an_unknown_matching_model_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(ConfigError, match=f"invalid matching model '{name}': expected em:EMBEDDER, such as em:minilm"):
        resolve_matcher(name)


def test_a_model_that_goodai_ltm_trained_is_refused_also_as_a_matching_model() -> None:
    with pytest.raises(ConfigError, match="'em-distilroberta-p5-01' is one of the models that goodai-ltm trained"):
        resolve_matcher("em:em-distilroberta-p5-01")


@pytest.mark.parametrize("given", [5, object()])
def test_what_predicts_nothing_is_no_matching_model(given: Any) -> None:
    with pytest.raises(BadInput, match=r"has no predict\(pairs\)"):
        resolve_matcher(given)
