"""Vectors of embedders in all valid shapes and some invalid ones."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hardship.embedders import Several

from everthread import Memory, NewLine
from everthread.embedders import shapes
from everthread.errors import ModelError
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors

LINES = ("The ferry leaves at noon. Bread and cheese", "My bicycle is blue. It was stolen from the cellar", "Nothing")


class Shaped(HashEmbedder):
    """An embedder that returns vectors of these shapes."""

    def __init__(self, text: tuple[int, ...], question: tuple[int, ...] = (8,)) -> None:
        super().__init__(8)
        self.text, self.question = text, question

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), *self.text), 0.5, np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.full(self.question, 0.5, np.float32)


class Scaled:
    """An embedder whose vectors have other lengths than one."""

    name, multilingual = "scaled", True

    def __init__(self, model: HashEmbedder) -> None:
        self.model = model

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self.model.embed(texts) * (0.25 + len(texts[0])), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.model.embed_query(text) * 0.04, np.float32)


def test_several_vectors_per_text_or_question_form_one_array() -> None:
    several, one = Several(16), HashEmbedder(16)
    assert shapes.embed_texts(several, LINES).shape == (3, 3, 16)
    assert shapes.embed_question(several, "Where is it?").shape == (2, 16)
    assert shapes.embed_texts(one, LINES).shape == (3, 1, 16)
    assert shapes.embed_question(one, "Where is it?").shape == (16,)
    assert shapes.embed_question(Shaped((8,), (1, 8)), "Where is it?").shape == (8,)


def test_the_best_pair_of_vectors_determines_the_cosine() -> None:
    model = Several(64)
    texts, question = shapes.embed_texts(model, LINES), shapes.embed_question(model, "Is there any cheese?")
    expected = [max(float(a @ b) for a in vectors for b in question) for vectors in texts]
    assert shapes.max_cosines(texts, question).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("model", [HashEmbedder(16), Several(16)])
def test_vectors_of_any_length_are_scaled_to_unit_length(model: HashEmbedder) -> None:
    scaled = Scaled(model)
    for texts in (LINES, ("",)):  # the hash of no word is a vector of zeros
        assert shapes.embed_texts(scaled, texts) == pytest.approx(shapes.embed_texts(model, texts), abs=1e-6)
    question = shapes.embed_question(model, "Where is it?")
    assert shapes.embed_question(scaled, "Where is it?") == pytest.approx(question, abs=1e-6)


def test_vectors_of_unit_length_keep_every_bit() -> None:
    model = HashEmbedder(16)
    assert np.array_equal(shapes.embed_texts(model, LINES)[:, 0], model.embed(LINES))


@pytest.mark.parametrize("text", [(), (2, 2, 8), (0,), (129, 8)])
def test_vectors_of_another_shape_are_an_error_that_names_it(text: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"hash-8 returned vectors of shape \(3, ?.*\) for 3 texts; expected \(texts"):
        shapes.embed_texts(Shaped(text), LINES)


@pytest.mark.parametrize("question", [(), (1, 2, 8), (0,)])
def test_a_question_of_another_shape_is_an_error_that_names_it(question: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"returned a vector of shape \(.*\) for a question; expected \(dimensions"):
        shapes.embed_question(Shaped((8,), question), "Where is it?")


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (Shaped((2, 2, 8)), "returned vectors of shape"),
        (Shaped((8,), (2, 2, 8)), "returned a vector of shape"),
        (Shaped((8,), (4,)), "8 dimensions for texts and 4 for a question"),
    ],
)
def test_lines_with_invalid_vectors_are_stored_and_found_by_their_words(
    embedder: Shaped, message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory.open("alice", store=tmp_path, embedder=embedder) as memory, caplog.at_level(logging.WARNING):
        memory.observe_many(NewLine(text) for text in LINES)
        assert [hit.line.seq for hit in memory.recall("bicycle", 1)] == [2]
        assert message in caplog.text


def test_a_bank_finds_a_line_by_the_nearest_of_its_vectors(tmp_path: Path) -> None:
    embedder = Several(512)
    with Memory.open("alice", store=tmp_path, embedder=embedder, recipe="membot") as memory:
        memory.observe_many(NewLine(text) for text in LINES)
        assert memory.stats().pending == 0
        assert memory.stats().vectors == {"several-512": 3}
        cosines = memory.store.cosines("alice", embedder.name, embedder.embed_query("stolen cellar"), np.arange(1, 4))
        expected = shapes.max_cosines(embedder.embed(LINES), embedder.embed_query("stolen cellar"))
        assert cosines.tolist() == pytest.approx(expected.tolist(), abs=1e-3)
        assert memory.store.check("alice") == []
        memory.correct(2, "My bicycle is back")
        assert memory.reindex() == 0
