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


def test_each_text_gets_its_probability() -> None:
    assert predict_confidences(Fixed(0.25, 1), "fern?", ["a fern", "a kite"]) == [0.25, 1.0]


@pytest.mark.parametrize("numbers", [(0.5,), (0.5, math.nan), (0.5, 0.5, 0.5), (0.5, 1.5), (-0.1, 0.5)])
def test_a_matcher_without_a_probability_for_each_text_raises_an_error(numbers: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match="expected one probability from 0 to 1 per text"):
        predict_confidences(Fixed(*numbers), "fern?", ["a fern", "a kite"])


def test_matching_models_have_their_names_in_goodai_ltm() -> None:
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


def test_a_matching_model_is_returned_unchanged_and_no_name_opens_no_model() -> None:
    fixed = Fixed(0.5)
    assert (resolve_matcher(fixed), resolve_matcher(None), resolve_matcher("")) == (fixed, None, None)


@pytest.mark.parametrize("name", ["minilm", "st:", "cross-encoder/stsb-distilroberta-base"])
def test_an_unknown_matching_model_is_rejected_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown matching model '{name}'; expected em:EMBEDDER, such as em:minilm"):
        resolve_matcher(name)


def test_a_model_trained_by_goodai_ltm_is_rejected_as_a_matching_model() -> None:
    with pytest.raises(ConfigError, match="'em-distilroberta-p5-01' is one of goodai-ltm's own models"):
        resolve_matcher("em:em-distilroberta-p5-01")


@pytest.mark.parametrize("given", [5, object()])
def test_an_object_without_predict_is_rejected(given: Any) -> None:
    with pytest.raises(BadInput, match=r"has no method predict\(pairs\)"):
        resolve_matcher(given)
