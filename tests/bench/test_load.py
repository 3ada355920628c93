from pathlib import Path

import pytest

from everthread.bench.load import compare, load, table
from everthread.errors import BadInput
from everthread.stores.sqlite import SQLiteStore


def test_many_clients_talk_to_many_banks_and_each_call_is_timed(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    found = load(store, clients=4, banks=3, seconds=0.5, embedder="hash")
    assert found.errors == ()
    assert found.calls == found.observe.calls + found.recall.calls > 0
    assert store.banks() == ["load 0", "load 1", "load 2"]
    assert sum(store.corpus(bank).lines for bank in store.banks()) == 3 * 40 + found.observe.calls
    assert f"{found.calls:,} calls" in found.text()
    assert found.json()["rate"] == round(found.rate, 1)
    store.close()


def test_a_load_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must be positive, got 0, 3"):
        load(SQLiteStore(tmp_path), clients=0, banks=3)


def test_a_folder_and_a_database_are_measured_beside_each_other(database: str) -> None:
    sides = compare(database, [40], embedder="hash")
    assert [(side.store, side.lines) for side in sides] == [("sqlite", 40), ("postgres", 40)]
    assert all(side.recall.p50 > 0 and side.import_rate > 0 for side in sides)
    assert table(sides).count(" x") == 2
