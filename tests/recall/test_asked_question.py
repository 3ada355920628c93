"""A bank is read in one transaction, and its questions are embedded before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hardship.proxy import Counter

from everthread import Memory
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Vector

LINES = (("Ann", "My sister Mia moved to Lisbon."), ("Bob", "Mia loves boats."), ("Ann", "Thanks, Bobby! I sail."))


class CallingEmbedder(HashEmbedder):
    """Lists the banks of a store whenever it embeds a question, and counts the questions."""

    store: Store
    questions = 0

    def embed_query(self, text: str) -> Vector:
        self.questions += 1
        self.store.banks()
        return super().embed_query(text)


@pytest.fixture
def counter(database: str) -> Iterator[Counter]:
    with Counter(database) as made:
        yield made


def fill(store: Store, bank: str, embedder: HashEmbedder | None = None) -> Memory:
    memory = Memory.open(bank, store=store, embedder=embedder or HashEmbedder(), recipe="default")
    for speaker, text in LINES:
        memory.observe(text, speaker=speaker)
    return memory


@pytest.mark.parametrize("question", ["What did Ann say about boats?", "Where does Mia live?"])
def test_a_recall_is_one_transaction_and_three_round_trips(counter: Counter, question: str) -> None:
    with closing(PostgresStore(counter.url)) as store:
        memory = fill(store, f"counted {question}")
        hits = memory.recall(question)
        counter.transactions = counter.waits = 0
        assert memory.recall(question) == hits
        looks = 2 if "Mia" in question else 1  # what Mia is called is read before the question is embedded
        assert counter.transactions == looks
        assert counter.waits <= 3 + 4 * (looks - 1)  # 4: the statistics, the name's records, its lines, the end


def test_a_recall_is_one_transaction_in_a_file(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        memory = fill(store, "alice")
        memory.recall("What did Ann say about boats?")
        statements: list[str] = []
        for reader in store._bank("alice").file._idle:
            reader.db.set_trace_callback(statements.append)
        memory.recall("What did Ann say about boats?")
        assert statements.count("BEGIN") == 1
        assert len(statements) <= 12


def test_no_connection_is_held_while_a_question_is_embedded(database: str) -> None:
    embedder = CallingEmbedder()
    with closing(PostgresStore(database, max_connections=1, timeout_s=5)) as embedder.store:
        memory = fill(embedder.store, "held", embedder)
        for question in ("What did Ann say about boats?", "Where does Mia live?", "Does Bobby sail?"):
            assert memory.recall(question)
        assert embedder.questions == 3


def test_a_question_is_read_with_the_speakers_of_the_moment(any_store: Store) -> None:
    bank = "moment"
    memory = fill(any_store, bank)
    memory.recall("What did Ann say about boats?")
    other = Memory.open(bank, store=any_store, embedder=HashEmbedder())
    other.observe("I row boats.", speaker="Zoe")
    fresh = Memory.open(bank, store=any_store, embedder=HashEmbedder())
    question = "What did Zoe say about boats?"
    assert memory.recall(question) == fresh.recall(question)
    assert memory.recall(question)[0].signals["speaker"] == 1


def test_a_known_question_is_embedded_once(tmp_path: Path) -> None:
    embedder = CallingEmbedder()
    with closing(SQLiteStore(tmp_path)) as embedder.store:
        memory = fill(embedder.store, "alice", embedder)
        memory.recall("What did Ann say about boats?")
        memory.recall("What did Bob say about boats?")
        assert embedder.questions == 2
