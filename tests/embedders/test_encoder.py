from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from everthread.embedders.encoder import Encoder
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors


class Recording:
    """An embedder that records the texts it gets."""

    name = "recording"

    def __init__(self, multilingual: bool) -> None:
        self.multilingual = multilingual
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return HashEmbedder().embed(texts)

    def embed_query(self, text: str) -> Vector:
        self.texts.append(text)
        return HashEmbedder().embed_query(text)


@pytest.mark.parametrize(
    ("multilingual", "expected"), [(False, "I like cat ."), (True, "我喜欢猫。")], ids=["English", "multilingual"]
)
def test_an_embedder_for_english_gets_chinese_as_a_gloss(multilingual: bool, expected: str) -> None:
    embedder = Recording(multilingual)
    encoder = Encoder(embedder)
    encoder.embed(["我喜欢猫。"])
    assert encoder.try_embed_query("我喜欢猫。") is not None
    assert embedder.texts[:2] == [expected, expected]


@pytest.mark.parametrize("text", ["猫が好きです", "ภาษาไทย", "漢語書寫體"])
def test_a_question_without_a_gloss_has_no_vector(text: str) -> None:
    assert Encoder(HashEmbedder()).try_embed_query(text) is None


def test_a_line_and_a_question_with_one_text_have_one_vector() -> None:
    encoder = Encoder(HashEmbedder())
    question = encoder.try_embed_query("我喜欢猫。")
    assert question is not None
    assert np.allclose(encoder.embed(["我喜欢猫。"])[0].vectors[0], question)
