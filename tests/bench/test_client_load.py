"""Many clients of one store, in one process and in several."""

from contextlib import closing
from pathlib import Path

import pytest

from everthread.bench import client_load
from everthread.bench.client_load import Load, run_load
from everthread.errors import BadInput
from everthread.stores.sqlite.store import SQLiteStore


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_many_clients_talk_to_many_banks_and_each_call_is_timed(tmp_path: Path, processes: int) -> None:
    load = Load(clients=4, banks=3, seconds=0.5, pause_s=0.01, processes=processes)
    result = run_load(tmp_path, load, embedder="hash")
    assert result.errors == ()
    assert result.calls == result.observe.calls + result.recall.calls > 0
    assert result.alone.calls == client_load.CALLS_ALONE
    with closing(SQLiteStore(tmp_path)) as store:
        assert store.banks() == ["load 0", "load 1", "load 2"]
        assert sum(store.corpus_stats(bank).lines for bank in store.banks()) == 3 * 40 + result.observe.calls
    assert f"{result.calls:,} calls" in result.text()
    assert f"{result.ratio:.1f} times its p50 alone" in result.text()
    assert result.json()["rate"] == round(result.rate, 1)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (Load(clients=0, banks=3), "must be positive, got 0, 3"),
        (Load(pause_s=-1), "must not be negative, got -1"),
        (Load(clients=5, processes=2), "5 clients can't be divided among 2 processes"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(tmp_path: Path, load: Load, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run_load(tmp_path, load)
