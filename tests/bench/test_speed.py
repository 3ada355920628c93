from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from everthread.bench import synthetic
from everthread.bench.speed import Baseline, BulkEmbedder, as_json, measure_speed, table
from everthread.errors import BadInput
from everthread.testing import HashEmbedder


def test_bulk_vectors_are_of_unit_length_and_near_for_shared_words() -> None:
    bulk = BulkEmbedder(HashEmbedder())
    vectors = bulk.embed(["the red kite flew", "a red kite flew away", "seventeen old tractors", "…"])
    assert vectors.shape == (4, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert np.array_equal(bulk.embed_query("the red kite flew"), vectors[0])


def test_the_baseline_finds_a_line_by_its_words(tmp_path: Path) -> None:
    bulk = BulkEmbedder(HashEmbedder())
    lines = list(synthetic.lines(200))
    baseline = Baseline(tmp_path / "baseline.db", len(lines))
    baseline.fill(iter(lines), bulk)
    for index in (3, 70, 199):
        text = lines[index].text
        assert baseline.recall(text, bulk.embed_query(text))[0] == index + 1
    assert baseline.close() > 200 * 384 * 4


@pytest.mark.slow
def test_a_small_run_measures_everything() -> None:
    steps: list[str] = []
    (row,) = measure_speed([300], embedder="hash", progress=steps.append)
    assert row.lines == 300
    assert row.observe.calls == 100
    assert row.recall.calls == row.filtered.calls == row.baseline.calls == 200
    assert all(
        figure > 0 for figure in (row.recall.p50, row.observe.p50, row.import_rate, row.bulk_rate, row.cold_start_ms)
    )
    assert row.resident_bytes > 1 << 20
    assert row.disk_bytes > 0
    assert json.loads(json.dumps(as_json([row])))[0]["recall"]["p95"] == row.recall.p95
    assert "300" in table([row]).splitlines()[1]
    assert steps[1] == "300 lines: building"


@pytest.mark.parametrize("sizes", [[], [0], [1000, -1]])
def test_impossible_sizes_are_refused(sizes: list[int]) -> None:
    with pytest.raises(BadInput, match="expected whole numbers from 1"):
        measure_speed(sizes, embedder="hash")
