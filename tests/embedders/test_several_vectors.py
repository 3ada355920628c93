"""A model of several vectors a text, as `everthread train --vectors 3` writes it."""

from pathlib import Path

import numpy as np
import pytest

from embedders.tiny_model import write_model
from everthread import Memory
from everthread.embedders.onnx import OnnxEmbedder
from everthread.factory import RECIPES

LINES = ("red boat", "green hat", "hat boat")


def test_a_text_has_several_unit_vectors_and_a_question_one(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(write_model(tmp_path / "tiny"))
    vectors, question = embedder.embed(LINES), embedder.embed_query("red boat")
    assert vectors.shape == (3, 3, 8)
    assert question.shape == (8,)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=2), 1.0, atol=1e-6)
    assert embedder.embed([]).shape == (0, 3, 8)


def test_a_line_stored_after_its_question_has_the_vectors_of_a_text(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny")
    asked = OnnxEmbedder(folder)
    asked.embed_query("red boat")
    np.testing.assert_array_equal(asked.embed(["red boat"]), OnnxEmbedder(folder).embed(["red boat"]))


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_stores_and_recalls_with_the_folder_of_such_a_model(recipe: str, tmp_path: Path) -> None:
    folder = str(write_model(tmp_path / "tiny"))
    with Memory.open("alice", store=tmp_path / "banks", embedder="hash", recipe=recipe) as memory:
        for text in LINES:
            memory.observe(text)
    with Memory.open("alice", store=tmp_path / "banks", embedder=folder, recipe=recipe) as memory:
        memory.reindex()
        assert memory.stats().pending == 0
        assert memory.store.check("alice") == []
        memory.recall("red boat", 3)
        assert isinstance(memory.context("red boat", 200).text, str)
