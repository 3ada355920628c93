"""Collected only if the extra `train` is installed (see conftest.py)."""

from pathlib import Path

import numpy as np
import pytest
from embedders.test_export import make_folder

from everthread import Memory
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import BadInput, ConfigError
from everthread.training.model import TrainableModel
from everthread.training.pairs import Pair
from everthread.training.trainer import TrainingConfig, train

pytestmark = pytest.mark.filterwarnings("default")  # torch's exporter warns about itself
WORDS = "the red boat sank at dawn nobody saw it".split()
PAIRS = [
    Pair(f"{first} {second}", f"{second} {third} {first} {fourth}")
    for first in WORDS
    for second in WORDS
    for third, fourth in (("red", "it"), ("boat", "dawn"), ("saw", "nobody"), ("at", "the"))
]


@pytest.mark.parametrize("vectors", [1, 3])
def test_a_trained_model_is_measured_exported_and_opened_by_a_memory(vectors: int, tmp_path: Path) -> None:
    config = TrainingConfig(epochs=2, vectors=vectors, encoder_rate=1e-3)
    result = train(PAIRS, make_folder(tmp_path / "tiny"), tmp_path / "out", config, force=True)
    assert result.written
    assert result.before.questions == result.after.questions > 0
    embedder = OnnxEmbedder(tmp_path / "out")
    assert embedder.embed(["red boat"]).shape == ((1, 64) if vectors == 1 else (1, 3, 64))
    with Memory.open("alice", store=tmp_path / "banks", embedder=str(tmp_path / "out")) as memory:
        memory.observe("the red boat sank")
        assert memory.stats().vectors == {embedder.name: 1}
        assert [hit.line.seq for hit in memory.recall("red boat", 1)] == [1]


def test_several_vectors_begin_with_those_of_the_base(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    base, several = TrainableModel(folder), TrainableModel(folder, 3)
    np.testing.assert_allclose(several.embed_query("red boat"), base.embed_query("red boat"), atol=1e-5)
    np.testing.assert_allclose(several.embed(["red boat"])[:, 0], base.embed(["red boat"]), atol=1e-5)


def test_the_base_is_left_if_its_share_is_1(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    config = TrainingConfig(epochs=1, encoder_rate=1.0, base_share=1.0)
    train(PAIRS, folder, tmp_path / "out", config, force=True)
    vector = OnnxEmbedder(tmp_path / "out").embed_query("red boat")
    assert vector @ TrainableModel(folder).embed_query("red boat") > 0.99  # of int8


def test_a_worse_model_is_not_written_unless_forced(tmp_path: Path) -> None:
    harmful = TrainingConfig(epochs=3, encoder_rate=1.0)
    folder = make_folder(tmp_path / "tiny")
    result = train(PAIRS, folder, tmp_path / "out", harmful)
    assert result.after.mrr < result.before.mrr
    assert not result.written
    assert not (tmp_path / "out").exists()


def test_too_few_pairs_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too few pairs"):
        train(PAIRS[:20], tmp_path, tmp_path / "out")


def test_several_vectors_need_mean_pooling(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mean pooling"):
        TrainableModel(make_folder(tmp_path / "tiny", "cls_token"), 3)
