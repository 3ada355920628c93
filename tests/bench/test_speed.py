from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.bench import speed, synthetic
from everthread.bench.bulk_embedder import BulkEmbedder
from everthread.bench.speed import Baseline, as_json, measure_speed, table
from everthread.errors import BadInput
from everthread.testing import HashEmbedder


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
    assert row.observe.calls == speed.OBSERVED_LINES
    assert row.recall.calls == row.filtered.calls == row.baseline.calls == speed.QUERY_COUNT
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
