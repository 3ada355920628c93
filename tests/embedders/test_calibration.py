from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from everthread.bench.first_facts import load_first_facts
from everthread.embedders import calibration
from everthread.embedders.calibration import SHIPPED_CALIBRATION, SHIPPED_MODEL, CosineCalibration, measure_calibration
from everthread.embedders.onnx import OnnxEmbedder
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.types import Vector, Vectors


class Narrow:
    """The shipped model with every cosine c changed to 0.7 + 0.3 c; some other models have such narrow cosines."""

    name = "narrow"
    multilingual = False

    def __init__(self) -> None:
        self.model = OnnxEmbedder()

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self.model.embed(texts)
        return np.hstack([np.full((len(vectors), 1), np.sqrt(0.7)), np.sqrt(0.3) * vectors]).astype(np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.asarray(self.embed([text])[0])


class Same(HashEmbedder):
    """Returns the same vector for every text."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 4), 0.5, np.float32)


def test_the_shipped_models_calibration_is_known_without_embedding() -> None:
    assert OnnxEmbedder().name == SHIPPED_MODEL
    cosines = np.array([0.5, np.nan, -0.1], np.float32)
    assert measure_calibration(OnnxEmbedder()).to_shipped(cosines) is cosines


def test_the_recorded_calibration_of_the_shipped_model_equals_the_measured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SHIPPED_MODEL", "another")
    measured = measure_calibration(OnnxEmbedder())
    assert (measured.mean, measured.spread) == pytest.approx(
        (SHIPPED_CALIBRATION.mean, SHIPPED_CALIBRATION.spread), abs=0.002
    )


def test_narrow_cosines_are_scaled_to_the_shipped_model() -> None:
    measured = measure_calibration(Narrow())
    assert measured.mean > 0.7
    assert measured.to_shipped(np.array([0.7 + 0.3 * 0.42], np.float32)) == pytest.approx(0.42, abs=0.01)


@pytest.mark.slow
def test_the_relevance_gate_works_with_a_model_of_narrow_cosines(tmp_path: Path) -> None:
    alike = total = 0
    for bank in load_first_facts()[:5]:
        with (
            Memory.open(bank.id, store=tmp_path / "shipped", embedder=OnnxEmbedder(), recipe="default") as shipped,
            Memory.open(bank.id, store=tmp_path / "narrow", embedder=Narrow(), recipe="default") as narrow,
        ):
            shipped.observe_many(bank.lines)
            narrow.observe_many(bank.lines)
            for text in (*(question.text for question in bank.questions), *bank.unrelated):
                alike += bool(shipped.context(text)) == bool(narrow.context(text))
                total += 1
    assert alike >= 0.95 * total


def test_a_model_with_constant_cosines_does_not_divide_by_zero() -> None:
    assert np.isfinite(measure_calibration(Same()).to_shipped(np.ones(3, np.float32))).all()


def test_scaling_of_cosines_is_bounded() -> None:
    assert measure_calibration(HashEmbedder(4096)).to_shipped(np.array([0.02], np.float32)) < 0.2


def test_nan_cosines_stay_nan() -> None:
    assert np.isnan(CosineCalibration(0.5, 0.1).to_shipped(np.array([np.nan], np.float32))).all()
