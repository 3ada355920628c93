"""The memory and the open files of a process that uses one bank after the other."""

from pathlib import Path

import pytest

from everthread.bench.open_banks import STEPS, measure_open_banks
from everthread.errors import BadInput


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_each_step_has_its_memory_and_open_files(tmp_path: Path, served: bool) -> None:
    steps = list[str]()
    result = measure_open_banks(tmp_path, 2 * STEPS, served=served, embedder="hash", progress=steps.append)
    assert [row.banks for row in result.footprints] == list(range(2, 2 * STEPS + 1, 2))
    assert all(row.resident_bytes > 2**20 and row.open_files > 2 for row in result.footprints)
    assert len(list(tmp_path.glob("*open*"))) >= 2 * STEPS
    assert len(steps) == STEPS
    assert result.text().splitlines()[1:] == steps


def test_too_few_banks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="got 3, expected at least"):
        measure_open_banks(tmp_path, 3)
