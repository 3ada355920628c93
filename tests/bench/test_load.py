import pytest
from hardship import postgres

from everthread import Memory
from everthread.bench.load import compare_stores, table
from everthread.testing import HashEmbedder
from everthread.types import Vector


def test_a_folder_and_a_database_are_measured_beside_each_other(database: str) -> None:
    sides = compare_stores(database, [40], embedder="hash")
    assert [(side.store, side.lines) for side in sides] == [("sqlite", 40), ("postgres", 40)]
    assert all(side.recall.p50 > 0 and side.search.p50 > 0 and side.import_rate > 0 for side in sides)
    assert table(sides).count(" x") == 3


class InterruptingEmbedder(HashEmbedder):
    """Raises KeyboardInterrupt after a number of queries."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def embed_query(self, text: str) -> Vector:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return super().embed_query(text)


def test_existing_banks_stay_and_created_ones_are_removed_even_if_interrupted(postgres_server: str) -> None:
    with postgres.database(postgres_server) as url, Memory.open("bench 40", store=url, embedder=HashEmbedder()) as mine:
        mine.observe("Not to be forgotten.")
        embedder = InterruptingEmbedder(10**6)
        compare_stores(url, [40], embedder=embedder)
        calls = 10**6 - embedder.calls  # for both stores
        with pytest.raises(KeyboardInterrupt):
            compare_stores(url, [40], embedder=InterruptingEmbedder(calls // 2 + 1))
        assert mine.store.banks() == ["bench 40"]
        assert [line.text for line in mine.lines()] == ["Not to be forgotten."]
