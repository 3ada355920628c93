"""Indexes of large banks on Postgres: they find what exhaustive search finds, and follow changes of the lines."""

import logging
import threading
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from hardship import PATIENCE, postgres

from everthread import Filter, Memory, NewLine
from everthread.stores.postgres import schema, vector_index
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.store import PostgresStore
from everthread.testing import HashEmbedder

WORDS = "apple river candle winter garden violin harbour pepper mirror saddle lantern meadow".split()
MANY = 120


@pytest.fixture
def url(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(vector_index, "EXACT_SEARCH_LIMIT", 60)
    with postgres.database(postgres_server) as made:
        yield made


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


def opened(store: PostgresStore, bank: str = "alice", dim: int = 64) -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(dim), recipe="default")


def texts(amount: int = MANY) -> list[str]:
    chance = np.random.default_rng(0)
    return [f"{' '.join(chance.choice(WORDS, 4))} {n}" for n in range(amount)]


def filled(store: PostgresStore, bank: str = "alice", dim: int = 64, amount: int = MANY) -> Memory:
    """Return a large bank with its index."""
    memory = opened(store, bank, dim)
    memory.observe_many([NewLine(text, "Ann" if n % 10 else "Rare") for n, text in enumerate(texts(amount))])
    store.build_indexes(bank)
    return memory


def wait_for_index() -> None:
    """Wait until the index is built."""
    for thread in threading.enumerate():
        if thread.name == "everthread index":
            thread.join(PATIENCE)


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as db:
        return vector_index.all_tables(db)


def near(memory: Memory, text: str, k: int = 40, where: Filter | None = None) -> set[int]:
    among = None if where is None else memory.store.filter_seqs(memory.bank, where, None)
    query = memory.embedder.embed_query(text)
    return set(memory.store.nearest_seqs(memory.bank, memory.embedder.name, query, k, among).tolist())


def test_a_bank_that_grows_large_gets_an_index_by_itself(url: str, store: PostgresStore) -> None:
    memory = opened(store)
    memory.observe_many([NewLine(text, "Ann") for text in texts()])
    wait_for_index()
    assert len(tables(url)) == 1
    assert store.build_indexes("alice") == 0  # it exists


def test_the_index_finds_what_comparing_codes_one_by_one_finds(store: PostgresStore) -> None:
    memory = filled(store)
    for text in texts()[:10]:
        codes = np.array([memory.embedder.embed_query(each) > 0 for each in texts()])
        apart = (codes != (memory.embedder.embed_query(text) > 0)).sum(1)
        surely = {int(at) + 1 for at in np.flatnonzero(apart < np.sort(apart)[39])}
        assert surely <= near(memory, text)
        assert len(near(memory, text)) == 40


def test_all_lines_that_a_filter_allows_are_found_even_if_rare(store: PostgresStore) -> None:
    memory = filled(store)
    rare = {line.seq for line in memory.lines(Filter(speaker="Rare"))}
    assert near(memory, "violin", where=Filter(speaker="Rare")) == rare
    others = {line.seq for line in memory.lines(Filter(speaker="Ann"))}
    assert len(others) > vector_index.EXACT_SEARCH_LIMIT  # enough to use the index
    assert near(memory, "violin", MANY, Filter(speaker="Ann")) == others


def test_lines_observed_later_are_in_the_index(store: PostgresStore) -> None:
    memory = filled(store)
    line = memory.observe("a zebra crossed the bridge", speaker="Ann")
    assert line.seq in near(memory, "zebra bridge crossed", 5)
    assert memory.recall("zebra bridge", k=1)[0].line.seq == line.seq


def test_retracted_and_forgotten_lines_are_not_in_the_index(store: PostgresStore, url: str) -> None:
    memory = filled(store)
    memory.retract(3)
    memory.forget(seq=4)
    with psycopg.connect(url) as db:
        found = db.execute(f"SELECT seq FROM everthread.{vector_index.all_tables(db)[0]}".encode()).fetchall()
    assert {seq for (seq,) in found} == set(range(1, MANY + 1)) - {3, 4}
    assert not near(memory, texts()[2], MANY) & {3, 4}


def test_forgetting_a_bank_drops_its_index_and_its_name_can_be_reused(store: PostgresStore, url: str) -> None:
    filled(store).forget(everything=True)
    assert tables(url) == []
    again = filled(store, dim=32)
    assert len(near(again, "violin")) == 40


def test_reindexing_with_another_model_drops_the_index_of_the_first(store: PostgresStore, url: str) -> None:
    filled(store)
    second = opened(store, dim=32)
    second.reindex()
    store.build_indexes("alice")
    assert len(tables(url)) == 1
    assert len(near(second, "violin")) == 40


@pytest.mark.parametrize("bank", ["50% alice", "a%s", 'o\'hara "the" $1 {0}', "名前"])
def test_a_large_bank_may_have_any_id(store: PostgresStore, url: str, bank: str) -> None:
    memory = filled(store, bank)
    assert len(near(memory, "violin")) == 40
    with psycopg.connect(url) as db:
        shown = db.execute("SELECT tablename || coalesce(indexdef, '') FROM pg_indexes WHERE schemaname = 'everthread'")
        assert not any(bank in row[0] for row in shown)  # readable by every role


def test_banks_that_grow_large_concurrently_all_get_their_index(store: PostgresStore, url: str) -> None:
    def grow(number: int) -> None:
        filled(store, f"bank {number % 3}", amount=MANY)

    threads = [threading.Thread(target=grow, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tables(url)) == 3
    assert all(store.check(f"bank {n}") == [] for n in range(3))


def test_vectors_of_thousands_of_dimensions_are_stored(url: str, store: PostgresStore) -> None:
    wide = opened(store, dim=4096)
    wide.observe_many([NewLine(text, "Ann") for text in texts(30)])
    assert wide.stats().pending == 0
    assert len(near(wide, "violin", 10)) == 10


def test_a_role_restricted_to_one_bank_uses_the_index_that_the_owner_builds(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_index, "EXACT_SEARCH_LIMIT", 60)
    with postgres.role(postgres_server) as role, postgres.database(postgres_server) as owned:
        schema.migrate(Database(owned))
        schema.secure(Database(owned), role)
        bound, owner = PostgresStore(postgres.build_url(owned, user=role, password="zqxsecret")), PostgresStore(owned)
        memory = opened(bound)
        with caplog.at_level(logging.WARNING):
            memory.observe_many([NewLine(text, "Ann") for text in texts()])
            wait_for_index()
        assert "everthread db index URL" in caplog.text
        assert len(near(memory, "violin")) == 40  # by exhaustive search
        assert owner.build_indexes("alice") == 1
        line = memory.observe("a zebra crossed the bridge", speaker="Ann")
        assert line.seq in near(memory, "zebra bridge crossed", 5)
        memory.forget(everything=True)
        opened(bound).observe_many([NewLine(text, "Ann") for text in texts()])  # with the same id
        wait_for_index()
        owner.build_indexes("alice")
        assert len(near(opened(bound), "violin")) == 40
        bound.close()
        owner.close()
