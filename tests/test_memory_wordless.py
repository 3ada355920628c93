"""Lines without words: stored in their place with their metadata, and neither counted, recalled nor shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from everthread import Chat, Filter, Memory, NewLine
from everthread.common.keys import META_UNDATED
from everthread.errors import BadLine, NotFound
from everthread.stores.base import Store
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.transfer import exporting, importing
from everthread.transfer.copy_bank import copy_bank
from everthread.types import NewUnit

CALL = {"tool_call": {"name": "weather", "city": "Lisbon"}}


@pytest.fixture
def talk(memory: Memory) -> Memory:
    """Return a bank with a tool call between a question and its answer."""
    memory.observe_many(
        [
            NewLine("How is the weather in Lisbon?", "Ann", session="s", key="q"),
            NewLine("", "Bot", "assistant", session="s", metadata=CALL, parent="q", key="c"),
            NewLine("It is sunny in Lisbon.", "Bot", "assistant", session="s", parent="c", key="a"),
        ]
    )
    return memory


def test_a_wordless_line_is_in_its_place_with_its_metadata(talk: Memory) -> None:
    question, call, answer = talk.lines(include_wordless=True)
    assert (call.text, call.metadata, call.parent, answer.parent) == ("", CALL, question.seq, call.seq)
    assert talk.get(2) == talk.get(key="c") == call
    assert [line.seq for line in talk.lines()] == [1, 3]


def test_a_wordless_line_is_neither_counted_nor_recalled(talk: Memory) -> None:
    stats, corpus = talk.stats(), talk.store.corpus_stats(talk.bank)
    assert (stats.lines, stats.retracted, stats.pending, corpus.lines, corpus.last_seq) == (2, 0, 0, 2, 3)
    assert talk.sessions()[0].lines == 2
    for hit in talk.recall("the weather in Lisbon", 9):
        assert {line.seq for line in hit.passage} <= {1, 3}
    assert {line.seq for line in talk.context("the weather in Lisbon", gate=False).lines} == {1, 3}
    seqs = talk.store.filter_seqs(talk.bank, Filter(session="s"), None)
    assert seqs is not None
    assert seqs.tolist() == [1, 3]
    assert talk.store.check(talk.bank) == []


def test_a_wordless_line_is_not_embedded(talk: Memory) -> None:
    talk.replace_lines([], [NewLine("", metadata=CALL)], defer_embedding=True)
    assert not talk.backlog
    assert talk.stats().vectors == {talk.embedder.name: 2}
    assert talk.store.lines_without_vectors(talk.bank, "other", 8, 9) == talk.store.get(talk.bank, [1, 2, 3])
    assert talk.reindex() == 0


def test_a_wordless_line_is_retracted_and_forgotten_like_any_other(talk: Memory) -> None:
    assert talk.retract(2).retracted_at is not None
    assert (talk.get(2), talk.stats().retracted, talk.stats().lines) == (None, 0, 2)
    assert talk.store.check(talk.bank) == []
    assert talk.forget(seq=2).lines == 1
    assert [line.seq for line in talk.lines(include_retracted=True, include_wordless=True)] == [1, 3]
    store = talk.store
    assert isinstance(store, SQLiteStore)
    assert not any(b"tool_call" in path.read_bytes() for path in store.folder.iterdir())
    assert talk.store.check(talk.bank) == []


def test_a_retracted_wordless_line_leaves_the_units_around_it(any_store: Store) -> None:
    memory = Memory.open("units", store=any_store, embedder=HashEmbedder(64))
    memory.observe("How is the weather?", session="s")
    call = memory.observe("", session="s", metadata=CALL)
    sunny = memory.observe("It is sunny.", session="s")
    memory.add_unit(NewUnit("summary", "It was sunny.", 1, 3, sunny.said_at, metadata={"session": "s"}))
    memory.retract(call.seq)
    assert [unit.text for unit in memory.units("summary")] == ["It was sunny."]
    assert memory.jobs() == []
    memory.retract(sunny.seq)
    assert memory.units("summary") == []


def test_a_session_can_consist_of_wordless_lines(memory: Memory) -> None:
    memory.observe("", session="t", metadata=CALL)
    assert [(session.id, session.lines, session.last_seq) for session in memory.sessions()] == [("t", 0, 1)]
    assert memory.recall("weather") == []
    assert memory.forget(session="t").lines == 1
    assert memory.sessions() == []


@pytest.mark.parametrize("metadata", [{}, None, {META_UNDATED: True}])
@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_text_without_metadata_of_its_own_is_refused(memory: Memory, text: str, metadata: Any) -> None:
    with pytest.raises(BadLine, match=r"text is empty: .* at least one character that is not blank, or metadata"):
        memory.observe(text, metadata=metadata)


def test_a_blank_text_with_metadata_is_refused(memory: Memory) -> None:
    with pytest.raises(BadLine, match="text is empty"):
        memory.observe(" ", metadata=CALL)


def test_a_wordless_line_can_not_be_corrected(talk: Memory) -> None:
    with pytest.raises(NotFound, match="no line 2 to correct"):
        talk.correct(2, "It is rainy.")


def _by_file(source: Memory, target: Memory, folder: Path) -> None:
    path = folder / "export.jsonl"
    path.write_text("".join(exporting.export(source)))
    importing.import_lines(target, importing.check_file(path, None))


def _by_copy(source: Memory, target: Memory, folder: Path) -> None:
    copy_bank(source, target)


@pytest.mark.parametrize("transfer", [_by_file, _by_copy])
def test_a_wordless_line_moves_to_another_bank(
    talk: Memory, tmp_path: Path, transfer: Callable[[Memory, Memory, Path], None]
) -> None:
    with Memory.open("bob", store=tmp_path / "other", embedder=HashEmbedder(512)) as other:
        for _ in range(2):
            transfer(talk, other, tmp_path)
            assert list(other.lines(include_wordless=True)) == list(talk.lines(include_wordless=True))
            assert other.store.check("bob") == []
            assert other.stats().lines == 2


def test_a_restored_branch_contains_its_wordless_lines(talk: Memory) -> None:
    talk.replace_lines([1, 2, 3], [NewLine("How is the weather in Porto?", "Ann", session="s")])
    talk.restore(3)
    question, call, answer = talk.lines(include_wordless=True)
    assert (question.text, call.metadata["tool_call"], answer.text) == (
        "How is the weather in Lisbon?",
        CALL["tool_call"],
        "It is sunny in Lisbon.",
    )
    assert (call.parent, answer.parent) == (question.seq, call.seq)
    assert talk.store.check(talk.bank) == []


def test_a_line_gets_words_and_loses_them_by_a_correction(memory: Memory) -> None:
    picture = memory.observe("", speaker="Ann", key="p", metadata={"image": "cat.png"}, session="s")
    memory.observe("How sweet!", speaker="Bob", session="s", parent="p")
    caption = memory.correct(picture.seq, "My cat Mimi")
    assert (caption.key, caption.metadata["image"], caption.position) == ("p", "cat.png", 1)
    assert [hit.text for hit in memory.recall("cat Mimi", k=1)] == ["My cat Mimi"]
    memory.correct(caption.seq, "")
    assert [line.text for line in memory.lines(include_wordless=True)] == ["How sweet!", ""]
    assert "My cat Mimi" not in [hit.text for hit in memory.recall("cat Mimi")]
    with pytest.raises(BadLine, match="text is empty"):
        memory.correct(2, "")  # it has nothing else
    with pytest.raises(NotFound, match="no line 1 to correct"):
        memory.correct(picture.seq, "My dog")
    assert memory.store.check(memory.bank) == []


def test_a_conversation_ignores_wordless_lines(talk: Memory) -> None:
    llm = ScriptedLLM(["Sunny, too."])
    chat = Chat(talk, llm=llm, session="s")
    "".join(chat.reply("And in Porto?"))
    assert [line.seq for line in chat.lines] == [1, 3, 4, 5]
