from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hardship import PATIENCE

from everthread import Line, Memory, NewLine
from everthread.bank.embedding_backlog import MAX_BACKFILL_LINES
from everthread.chat.chat import Chat
from everthread.embedders.onnx import OnnxEmbedder
from everthread.errors import EmbedderUnavailable, StoreUnavailable
from everthread.recipes.default import Default
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Vector, Vectors


class Embedder(HashEmbedder):
    """Records the texts that it embeds. Fails while `down` is set, and waits until `go` is set."""

    def __init__(self) -> None:
        super().__init__(512)
        self.texts: list[str] = []
        self.down = False
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        if self.down:
            raise EmbedderUnavailable("down")
        self.texts += texts
        return super().embed(texts)

    def embed_query(self, text: str) -> Vector:
        return HashEmbedder(512).embed_query(text)


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


def open_calibrated(folder: Path, embedder: Embedder) -> Memory:
    return calibrate(Memory.open("alice", store=folder, embedder=embedder), embedder)


def calibrate(memory: Memory, embedder: Embedder) -> Memory:
    """Let a memory calibrate the embedder's cosines, and clear the record of the texts embedded for that."""
    memory.reader.encoder.try_embed_query("hello")
    embedder.texts.clear()
    embedder.begun.clear()
    return memory


def defer(memory: Memory, *texts: str) -> list[Line]:
    return memory.replace_lines((), [NewLine(text, "Nora") for text in texts], defer_embedding=True)


def test_a_deferred_line_is_stored_at_once_and_embedded_by_embed_pending(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "Mia moved to Lisbon.")
        assert [line.text for line in memory.lines()] == ["Mia moved to Lisbon."]
        assert (embedder.texts, memory.stats().pending, bool(memory.backlog)) == ([], 1, True)
        memory.backlog.embed_pending()
        assert (embedder.texts, memory.stats().pending, bool(memory.backlog)) == (["Mia moved to Lisbon."], 0, False)
        memory.backlog.embed_pending()
        assert len(embedder.texts) == 1


def test_recall_finds_a_deferred_line_like_any_other(tmp_path: Path, embedder: Embedder) -> None:
    with (
        open_calibrated(tmp_path / "deferred", embedder) as one,
        open_calibrated(tmp_path / "at_once", Embedder()) as two,
    ):
        defer(one, "Mia moved to Lisbon.", "The boat is painted green.")
        for text in ("Mia moved to Lisbon.", "The boat is painted green."):
            two.observe(text, speaker="Nora")
        deferred, embedded = one.recall("Where does Mia live?"), two.recall("Where does Mia live?")
        assert [(hit.line.seq, hit.score) for hit in deferred] == [(hit.line.seq, hit.score) for hit in embedded]
        assert one.stats().pending == 0


def test_excluded_lines_stay_pending_when_others_are_recalled(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        first, second = defer(memory, "Mia moved to Lisbon.", "Where does Mia live?")
        memory.recall("Where does Mia live?", exclude=[first.seq, second.seq])
        assert embedder.texts == []
        memory.context("Where does Mia live?", exclude=[second.seq])
        assert embedder.texts == ["Mia moved to Lisbon."]


def test_recall_waits_for_lines_that_are_being_embedded(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "Mia moved to Lisbon.")
        embedder.go.clear()
        embedding = threading.Thread(target=memory.backlog.embed_pending)
        embedding.start()
        assert embedder.begun.wait(PATIENCE)
        found: list[bool] = []
        recalling = threading.Thread(
            target=lambda: found.append(memory.stats().pending == 1 and bool(memory.recall("Mia")))
        )
        recalling.start()
        recalling.join(0.1)
        assert found == []
        embedder.go.set()
        embedding.join(PATIENCE)
        recalling.join(PATIENCE)
        assert (found, len(embedder.texts), memory.stats().pending) == ([True], 1, 0)


def test_forgotten_and_retracted_lines_are_not_embedded(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        forgotten, retracted, remaining = defer(memory, "a secret", "a mistake", "Mia moved to Lisbon.")
        memory.forget(seq=forgotten.seq)
        memory.retract(retracted.seq)
        memory.backlog.embed_pending()
        assert embedder.texts == [remaining.text]


def test_embed_pending_does_not_recreate_a_forgotten_bank(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "a secret")
        memory.forget(everything=True)
        memory.backlog.embed_pending()
        assert not memory.store.exists("alice")
        assert (embedder.texts, bool(memory.backlog)) == ([], False)


def test_pending_lines_of_an_earlier_process_are_embedded_by_the_next(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "first", "second")  # the process ends here
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "said now")
        memory.backlog.embed_pending()
        assert embedder.texts == ["said now", "first", "second"]
        assert memory.stats().pending == 0


def test_many_lines_without_vectors_are_left_to_reindex(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, *(f"line {number}" for number in range(MAX_BACKFILL_LINES + 1)))
    with open_calibrated(tmp_path, embedder) as memory:
        defer(memory, "said now")
        memory.backlog.embed_pending()
        assert (embedder.texts, memory.stats().pending) == (["said now"], MAX_BACKFILL_LINES + 1)


def test_discarded_lines_are_left_to_embed_missing(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        memory.backlog.discard(memory.replace_lines((), [NewLine("One."), NewLine("Two.")], defer_embedding=True))
        memory.recall("one")
        assert memory.stats().pending == 2
        batches: list[int] = []
        memory.backlog.embed_missing(batches.append)
        assert (memory.stats().pending, batches) == (0, [2])
        memory.backlog.discard(memory.replace_lines((), [NewLine("Three.")], defer_embedding=True))
        embedder.down = True
        memory.backlog.embed_missing()
        assert memory.stats().pending == 1


def test_concurrent_callers_of_embed_missing_embed_each_line_once(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        memory.backlog.discard(memory.replace_lines((), [NewLine("One."), NewLine("Two.")], defer_embedding=True))
        embedder.texts.clear()
        embedder.go.clear()
        callers = [threading.Thread(target=memory.backlog.embed_missing) for _ in range(2)]
        for caller in callers:
            caller.start()
        embedder.go.set()
        for caller in callers:
            caller.join(PATIENCE)
        assert sorted(text for text in embedder.texts if text != "hello") == ["One.", "Two."]


def test_deferred_lines_without_an_embedder_are_found_by_keyword(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        embedder.down = True
        defer(memory, "Mia moved to Lisbon.")
        assert [hit.line.text for hit in memory.recall("Lisbon")] == ["Mia moved to Lisbon."]
        assert (bool(memory.backlog), memory.stats().pending) == (False, 1)


def test_lines_stay_pending_if_their_vectors_can_not_be_stored(tmp_path: Path, embedder: Embedder) -> None:
    class FullStore(SQLiteStore):
        full = True

        def put_vectors(self, *given: object, **named: object) -> None:
            if self.full:
                raise StoreUnavailable("no room")
            super().put_vectors(*given, **named)  # type: ignore[arg-type]

    store = FullStore(tmp_path)
    memory = Memory.open("alice", store=store, embedder=embedder)
    defer(memory, "Mia moved to Lisbon.")
    with pytest.raises(StoreUnavailable):
        memory.backlog.embed_pending()
    assert memory.backlog
    store.full = False
    memory.backlog.embed_pending()
    assert (memory.stats().pending, bool(memory.backlog)) == (0, False)
    store.close()


def test_a_chat_does_not_wait_for_vectors_and_closing_it_embeds_all_lines(tmp_path: Path, embedder: Embedder) -> None:
    with open_calibrated(tmp_path, embedder) as memory:
        embedder.go.clear()
        with Chat(memory, llm=ScriptedLLM(["Lisbon is far.", "In Lisbon."])) as chat:
            assert "".join(chat.reply("Mia moved to Lisbon.")) == "Lisbon is far."
            assert "".join(chat.reply("Where does Mia live now?")) == "In Lisbon."
            assert embedder.texts == []
            embedder.go.set()
        assert sorted(embedder.texts) == sorted(line.text for line in memory.lines())
        assert memory.stats().pending == 0


def test_a_chat_codes_lines_of_an_earlier_version_after_a_turn(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        earlier = Memory("alice", store, OnnxEmbedder(), Default(late_interaction=False))
        earlier.observe("I adopted a greyhound.")
        memory = Memory("alice", store, OnnxEmbedder(), Default())
        with Chat(memory, llm=ScriptedLLM(["Lovely."])) as chat:
            list(chat.reply("Hello there."))
            assert chat.wait(PATIENCE)
        assert not store.lines_without_tokens(
            "alice", memory.embedder.name, "signs-128", 10, roles=memory.recipe.token_roles
        )


def test_deferred_lines_in_postgres_are_embedded_by_recall(database: str, embedder: Embedder) -> None:
    store = PostgresStore(database)
    memory = calibrate(Memory.open("late", store=store, embedder=embedder), embedder)
    forgotten, remaining = defer(memory, "a secret", "Mia moved to Lisbon.")
    memory.forget(seq=forgotten.seq)
    assert [hit.line.seq for hit in memory.recall("Where does Mia live?")] == [remaining.seq]
    assert (embedder.texts, memory.stats().pending) == ([remaining.text], 0)
    defer(memory, "another secret")
    memory.forget(everything=True)
    memory.backlog.embed_pending()
    assert not store.exists("late")
    store.close()
