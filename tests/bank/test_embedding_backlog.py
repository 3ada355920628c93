from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hardship import PATIENCE

from everthread import Line, Memory, NewLine
from everthread.bank.embedding_backlog import MAX_BACKFILL_LINES
from everthread.chat.chat import Chat
from everthread.errors import EmbedderUnavailable, StoreUnavailable
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Vector, Vectors


class Embedder(HashEmbedder):
    """Remembers what it was given to keep; down while it is told to be, and waiting until it is let go."""

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


def opened(folder: Path, embedder: Embedder) -> Memory:
    return seen(Memory.open("alice", store=folder, embedder=embedder), embedder)


def seen(memory: Memory, embedder: Embedder) -> Memory:
    """The memory once it knows how the embedder's cosines lie, for which it has some sentences embedded."""
    memory.reader.encoder.try_embed_query("hello")
    embedder.texts.clear()
    embedder.begun.clear()
    return memory


def late(memory: Memory, *texts: str) -> list[Line]:
    return memory.replace_lines((), [NewLine(text, "Nora") for text in texts], defer_embedding=True)


def test_a_line_that_is_late_is_kept_at_once_and_embedded_when_it_is_caught_up_with(
    tmp_path: Path, embedder: Embedder
) -> None:
    with opened(tmp_path, embedder) as memory:
        late(memory, "Mia moved to Lisbon.")
        assert [line.text for line in memory.lines()] == ["Mia moved to Lisbon."]
        assert (embedder.texts, memory.stats().pending, bool(memory.backlog)) == ([], 1, True)
        memory.backlog.embed_pending()
        assert (embedder.texts, memory.stats().pending, bool(memory.backlog)) == (["Mia moved to Lisbon."], 0, False)
        memory.backlog.embed_pending()
        assert len(embedder.texts) == 1


def test_whoever_recalls_finds_a_late_line_as_any_other(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path / "late", embedder) as one, opened(tmp_path / "soon", Embedder()) as two:
        late(one, "Mia moved to Lisbon.", "The boat is painted green.")
        for text in ("Mia moved to Lisbon.", "The boat is painted green."):
            two.observe(text, speaker="Nora")
        found, wanted = one.recall("Where does Mia live?"), two.recall("Where does Mia live?")
        assert [(hit.line.seq, hit.score) for hit in found] == [(hit.line.seq, hit.score) for hit in wanted]
        assert one.stats().pending == 0


def test_lines_that_are_in_the_prompt_stay_late_when_others_are_recalled(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        first, second = late(memory, "Mia moved to Lisbon.", "Where does Mia live?")
        memory.recall("Where does Mia live?", exclude=[first.seq, second.seq])
        assert embedder.texts == []
        memory.context("Where does Mia live?", exclude=[second.seq])
        assert embedder.texts == ["Mia moved to Lisbon."]


def test_who_recalls_while_lines_are_being_embedded_waits_for_them(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        late(memory, "Mia moved to Lisbon.")
        embedder.go.clear()
        behind = threading.Thread(target=memory.backlog.embed_pending)
        behind.start()
        assert embedder.begun.wait(PATIENCE)
        found: list[bool] = []
        asking = threading.Thread(
            target=lambda: found.append(memory.stats().pending == 1 and bool(memory.recall("Mia")))
        )
        asking.start()
        asking.join(0.1)
        assert found == []
        embedder.go.set()
        behind.join(PATIENCE)
        asking.join(PATIENCE)
        assert (found, len(embedder.texts), memory.stats().pending) == ([True], 1, 0)


def test_what_is_forgotten_or_taken_back_is_not_embedded(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        gone, back, stays = late(memory, "a secret", "a mistake", "Mia moved to Lisbon.")
        memory.forget(seq=gone.seq)
        memory.retract(back.seq)
        memory.backlog.embed_pending()
        assert embedder.texts == [stays.text]


def test_a_bank_that_is_forgotten_does_not_come_back(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        late(memory, "a secret")
        memory.forget(everything=True)
        memory.backlog.embed_pending()
        assert not memory.store.exists("alice")
        assert (embedder.texts, bool(memory.backlog)) == ([], False)


def test_lines_that_a_process_left_behind_come_along_with_the_next(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        late(memory, "left", "behind")  # the process ends here
    with opened(tmp_path, embedder) as memory:
        late(memory, "said now")
        memory.backlog.embed_pending()
        assert embedder.texts == ["said now", "left", "behind"]
        assert memory.stats().pending == 0


def test_many_lines_without_a_vector_are_left_to_reindex(tmp_path: Path, embedder: Embedder) -> None:
    with opened(tmp_path, embedder) as memory:
        late(memory, *(f"line {number}" for number in range(MAX_BACKFILL_LINES + 1)))
    with opened(tmp_path, embedder) as memory:
        late(memory, "said now")
        memory.backlog.embed_pending()
        assert (embedder.texts, memory.stats().pending) == (["said now"], MAX_BACKFILL_LINES + 1)


def test_without_an_embedder_late_lines_stay_without_a_vector_and_are_found_by_their_words(
    tmp_path: Path, embedder: Embedder
) -> None:
    with opened(tmp_path, embedder) as memory:
        embedder.down = True
        late(memory, "Mia moved to Lisbon.")
        assert [hit.line.text for hit in memory.recall("Lisbon")] == ["Mia moved to Lisbon."]
        assert (bool(memory.backlog), memory.stats().pending) == (False, 1)


def test_where_the_vectors_cannot_be_kept_the_lines_are_late_still(tmp_path: Path, embedder: Embedder) -> None:
    class Full(SQLiteStore):
        full = True

        def put_vectors(self, *given: object, **named: object) -> None:
            if self.full:
                raise StoreUnavailable("no room")
            super().put_vectors(*given, **named)  # type: ignore[arg-type]

    store = Full(tmp_path)
    memory = Memory.open("alice", store=store, embedder=embedder)
    late(memory, "Mia moved to Lisbon.")
    with pytest.raises(StoreUnavailable):
        memory.backlog.embed_pending()
    assert memory.backlog
    store.full = False
    memory.backlog.embed_pending()
    assert (memory.stats().pending, bool(memory.backlog)) == (0, False)
    store.close()


def test_in_a_chat_nobody_waits_for_vectors_and_when_it_is_closed_all_have_theirs(
    tmp_path: Path, embedder: Embedder
) -> None:
    with opened(tmp_path, embedder) as memory:
        embedder.go.clear()
        with Chat(memory, llm=ScriptedLLM(["Lisbon is far.", "In Lisbon."])) as chat:
            assert "".join(chat.reply("Mia moved to Lisbon.")) == "Lisbon is far."
            assert "".join(chat.reply("Where does Mia live now?")) == "In Lisbon."
            assert embedder.texts == []
            embedder.go.set()
        assert sorted(embedder.texts) == sorted(line.text for line in memory.lines())
        assert memory.stats().pending == 0


def test_late_lines_in_postgres_are_caught_up_with_as_well(database: str, embedder: Embedder) -> None:
    store = PostgresStore(database)
    memory = seen(Memory.open("late", store=store, embedder=embedder), embedder)
    gone, stays = late(memory, "a secret", "Mia moved to Lisbon.")
    memory.forget(seq=gone.seq)
    assert [hit.line.seq for hit in memory.recall("Where does Mia live?")] == [stays.seq]
    assert (embedder.texts, memory.stats().pending) == ([stays.text], 0)
    late(memory, "another secret")
    memory.forget(everything=True)
    memory.backlog.embed_pending()
    assert not store.exists("late")
    store.close()
