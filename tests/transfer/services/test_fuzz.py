from __future__ import annotations

from pathlib import Path

from transfer.services.fuzz import read_many

FILES = 150


def test_damaged_exports_give_lines_or_an_error(tmp_path: Path) -> None:
    outcomes = read_many(FILES, seed=1, folder=tmp_path)
    assert sum(outcomes.values()) == FILES
    assert sum(times for outcome, times in outcomes.items() if outcome.endswith("read")) > FILES // 3
