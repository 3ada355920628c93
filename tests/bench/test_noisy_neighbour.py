from pathlib import Path

import pytest

from everthread.bench import noisy_neighbour
from everthread.bench.noisy_neighbour import measure_noisy_neighbour
from everthread.errors import BadInput
from everthread.stores.sqlite.store import SQLiteStore

pytestmark = pytest.mark.slow  # it runs the benchmark


def test_small_banks_are_asked_without_and_with_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CHUNK_LINES": 200, "SMALL_QUERY_COUNT": 80, "QUERY_COUNT": 20}.items():
        monkeypatch.setattr(noisy_neighbour, name, value)
    store = SQLiteStore(tmp_path)
    progress_calls: list[str] = []
    result = measure_noisy_neighbour(store, banks=2, lines=400, embedder="hash", progress=progress_calls.append)
    lines = {bank: store.corpus_stats(bank).lines for bank in store.banks()}
    assert lines == {"small 0": 100, "small 1": 100, "large": 400}
    assert min(result.before.p50, result.after.p50, result.during.p50, result.large.p50) > 0
    assert result.before.calls == result.after.calls == result.during.calls == 80
    assert result.large.calls == 20
    assert progress_calls[-1] == "400 of 400 lines of the large bank"
    assert result.text().count("p50") == 4
    measure_noisy_neighbour(store, banks=2, lines=400, embedder="hash")  # resumes without new lines
    assert store.corpus_stats("large").lines == 400
    store.close()


def test_a_large_bank_with_too_few_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 10,000, got 2 and 5"):
        measure_noisy_neighbour(SQLiteStore(tmp_path), banks=2, lines=5)
