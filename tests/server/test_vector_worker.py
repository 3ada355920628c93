from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hardship import PATIENCE
from hardship.served import wait_until

from everthread.bank import embedding_backlog
from everthread.embedders.onnx import OnnxEmbedder
from everthread.facts import bank_facts
from everthread.facts.types import Statement
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.server.services import Services
from everthread.server.vector_worker import VectorWorker
from everthread.stores.sqlite import bank_file
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Line, NewLine, Vectors


class SlowEmbedder(HashEmbedder):
    """Waits until `go` is set; sets `begun` when it is asked for more than a probe."""

    def __init__(self) -> None:
        super().__init__(64)
        self.begun, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) > 1:
            self.begun.set()
            assert self.go.wait(PATIENCE)
        return super().embed(texts)


@pytest.fixture
def embedder() -> SlowEmbedder:
    return SlowEmbedder()


@pytest.fixture
def memories(tmp_path: Path, embedder: SlowEmbedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Memory]]:
    """Yield the memories of two banks in stores of their own, each with two lines without vectors."""
    monkeypatch.setattr(bank_file, "LOCK_TIMEOUT_S", 0.1)
    with ExitStack() as stack:
        opened = [stack.enter_context(Memory.open(name, store=tmp_path / name, embedder=embedder)) for name in "ab"]
        for memory in opened:
            lines = [NewLine("One."), NewLine("Two.")]
            memory.backlog.discard(memory.replace_lines((), lines, defer_embedding=True))
        yield opened


def pending(memories: list[Memory]) -> list[int]:
    return [memory.stats().pending for memory in memories]


def test_the_lines_of_several_banks_are_embedded(memories: list[Memory], embedder: SlowEmbedder) -> None:
    worker = VectorWorker()
    embedder.go.set()
    for memory in (*memories, memories[0]):
        worker.add(memory)
    assert worker.join(PATIENCE)
    assert pending(memories) == [0, 0]


def test_a_closed_worker_finishes_its_batch_and_embeds_no_other_bank(
    memories: list[Memory], embedder: SlowEmbedder
) -> None:
    worker = VectorWorker()
    worker.add(memories[0])
    assert embedder.begun.wait(PATIENCE)
    worker.add(memories[1])
    worker.close(timeout=0)
    embedder.go.set()
    assert worker.join(PATIENCE)
    worker.add(memories[1])
    assert pending(memories) == [0, 2]


def test_reading_for_facts_makes_way_for_lines_without_vectors(
    memories: list[Memory], embedder: SlowEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_facts, "BATCH_LINES", 1)
    worker, begun, go, found = VectorWorker(), threading.Event(), threading.Event(), list[int]()

    def read(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
        begun.set()
        assert go.wait(PATIENCE)
        found.append(memories[1].stats().pending)
        return []

    memories[0].statement_reader = read
    embedder.go.set()
    worker.add_facts(memories[0])
    assert begun.wait(PATIENCE)
    worker.add(memories[1])
    go.set()
    assert worker.join(PATIENCE)
    assert found == [2, 0]
    assert [memory.fact_cache.count_unread() for memory in memories] == [0, 0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_that_ends_the_thread_keeps_no_other_bank_from_its_vectors(
    memories: list[Memory], embedder: SlowEmbedder
) -> None:
    begun, go = threading.Event(), threading.Event()
    threads = list[threading.Thread]()

    def fail(lines: Sequence[Line], known: Sequence[Statement]) -> list[Statement]:
        threads.append(threading.current_thread())
        begun.set()
        assert go.wait(PATIENCE)
        raise ZeroDivisionError

    memories[0].statement_reader = fail
    embedder.go.set()
    worker = VectorWorker()
    worker.add_facts(memories[0])
    assert begun.wait(PATIENCE)
    worker.add(memories[1])
    go.set()
    assert worker.join(PATIENCE)
    assert pending(memories) == [2, 0]
    assert memories[1].fact_cache.count_unread() == 0
    for thread in threads:
        thread.join(PATIENCE)  # so that its error is reported in this test


def test_a_store_that_fails_is_reported_and_the_other_banks_are_embedded(
    memories: list[Memory], embedder: SlowEmbedder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memories[0].store.close()
    (tmp_path / "a" / "a.bank").write_bytes(b"not a bank")
    worker = VectorWorker()
    embedder.go.set()
    for memory in memories:
        worker.add(memory)
    assert worker.join(PATIENCE)
    assert pending(memories[1:]) == [0]
    assert "lines have no vectors or were not read for facts yet" in caplog.text


def test_a_bank_that_cannot_be_written_now_is_embedded_later(
    tmp_path: Path, memories: list[Memory], embedder: SlowEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="everthread.server")
    worker = VectorWorker(retry_delay_s=0.01)
    embedder.go.set()
    with closing(sqlite3.connect(tmp_path / "a" / "a.bank", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for memory in memories:
            worker.add(memory)
        wait_until(lambda: pending(memories) == [2, 0] and "which is tried again" in caplog.text)
        assert not worker.join(0)
    assert worker.join(PATIENCE)
    assert pending(memories) == [0, 0]


def test_other_banks_do_not_wait_for_a_store_that_is_down(
    tmp_path: Path, memories: list[Memory], embedder: SlowEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="everthread.server")
    worker = VectorWorker(retry_delay_s=2 * PATIENCE)
    embedder.go.set()
    with closing(sqlite3.connect(tmp_path / "a" / "a.bank", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        worker.add(memories[0])
        wait_until(lambda: "which is tried again" in caplog.text)
        assert not worker.join(0.5)  # meanwhile it begins to wait
        worker.add(memories[1])
        wait_until(lambda: pending(memories) == [2, 0])
    assert caplog.text.count("which is tried again") == 1
    worker.close(PATIENCE)


def test_a_bank_that_an_earlier_version_wrote_is_coded_as_soon_as_the_server_opens_it(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        earlier = Memory("alice", store, OnnxEmbedder(), Default(late_interaction=False))
        for text in ("I adopted a greyhound.", "My printer has no more ink."):
            earlier.observe(text)
        services = Services(store, OnnxEmbedder(), None, Default())
        services.get_memory("alice")
        assert services.vectors.join(PATIENCE)
        assert not store.lines_without_tokens("alice", earlier.embedder.name, "signs-128", 10)


def test_words_of_an_earlier_analyser_are_analysed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 1)
    with Memory.open("a", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"Line {n}.") for n in range(5)])
    with closing(sqlite3.connect(tmp_path / "a.bank")) as db, db:
        db.execute("UPDATE bank SET analyser = analyser - 1")
    with Memory.open("a", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.stats().outdated == 4
        worker = VectorWorker()
        worker.add_earlier(memory)
        assert worker.join(PATIENCE)
        assert memory.stats().outdated == 0
