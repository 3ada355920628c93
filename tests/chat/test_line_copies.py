from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.line_copies import find_copy, list_copies, read_listeners
from everthread.memory import Memory
from everthread.stores.base import Store
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import JSONValue

AT = datetime(2026, 3, 3, 18, 0, 0, 123_456, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SQLiteStore(tmp_path)
    yield store
    store.close()


@pytest.fixture
def banks(store: Store) -> list[Memory]:
    """Return two banks that heard the same message and reply, and a third one with other lines of the session."""
    memories = [Memory.open(name, store=store, embedder=HashEmbedder(64)) for name in ("captain", "cook", "mate")]
    for memory in memories[:2]:
        memory.set_setting("character", Character(memory.bank.title(), person="Nora").to_json())
        memory.observe("What is for dinner?", speaker="Nora", session="deck", said_at=AT)
        memory.observe("Soup.", speaker="Cook", role="assistant", session="deck", said_at=AT + timedelta(seconds=2))
    memories[2].observe("Aye.", speaker="Mate", role="assistant", session="deck", said_at=AT)
    memories[0].set_session("deck", metadata={"heard_by": ["captain", "cook", "mate", "gone", "\n", 7]})
    return memories


def test_copies_are_found_by_their_moment_and_speaker_also_after_a_correction(
    store: Store, banks: list[Memory]
) -> None:
    captain, cook, _ = banks
    question, reply = captain.lines()
    assert [(copy.bank, copy.name, copy.line.seq) for copy in list_copies(store, "captain", question)] == [
        ("captain", "Captain", 1),
        ("cook", "Cook", 1),
    ]
    corrected = cook.correct(2, "Stew.")
    assert find_copy(store, "cook", reply) == corrected
    cook.retract(corrected.seq)
    assert find_copy(store, "cook", reply) == next(cook.lines(after=1, include_retracted=True))  # the same text
    assert find_copy(store, "mate", question) is None
    assert [copy.bank for copy in list_copies(store, "captain", reply, lambda banks: [])] == ["captain"]
    cook.forget(seq=2)
    assert [copy.bank for copy in list_copies(store, "captain", reply)] == ["captain"]


def test_the_banks_of_a_session_are_read_from_whatever_its_metadata_hold() -> None:
    group: list[JSONValue] = [{"bank": "cook", "name": "Cook"}, {"bank": "captain", "name": "Captain"}, 3, {}]
    assert read_listeners({"group": group}) == ["cook", "captain"]
    assert read_listeners({"group": "x", "heard_by": ["mate", None]}) == ["mate"]
    assert read_listeners({}) == []
