from __future__ import annotations

import json
from pathlib import Path

import pytest

from everthread.bench.history import SERVICES, HistoryResult, ImportRun, import_once, table


@pytest.mark.parametrize("service", SERVICES)
def test_an_export_of_any_size_is_written_and_imported_completely_and_then_not_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], service: str
) -> None:
    path = tmp_path / "export.zip"
    size = SERVICES[service](path, 3, 9)
    runs = []
    for _ in range(2):
        import_once(str(path), str(tmp_path / "store"))
        runs.append(ImportRun(**json.loads(capsys.readouterr().out)))
    assert [(run.lines, run.added) for run in runs] == [(27, 27), (27, 0)]
    assert "3 conversations, 0 MB unpacked" in table(HistoryResult(3, size / 1e6, *runs))
