from __future__ import annotations

from pathlib import Path

import pytest

from everthread.transfer.services.conversation import BrokenConversation, Conversation, ReadOptions
from everthread.types import NewUnit
from transfer.services.companion_examples import MEM0, plain
from transfer.services.reading import read_entries, shown


@pytest.mark.parametrize("value", [MEM0, MEM0["results"]])
def test_memories_are_facts_with_their_ids_and_times(tmp_path: Path, value: object) -> None:
    first, second = read_entries("mem0", tmp_path, {"memories.json": plain(value)})
    assert isinstance(first, NewUnit)
    assert isinstance(second, NewUnit)
    assert (first.kind, first.text, second.text) == ("fact", "Likes blue doors", "Has a dog")
    assert first.said_at.isoformat() == "2025-06-02T13:00:00-07:00"
    assert first.metadata == {"source": "mem0", "id": "f1", "user_id": "nora"}


def test_memories_may_be_lines_of_their_users(tmp_path: Path) -> None:
    newest_first = [{**MEM0["results"][1], "role": "assistant", "agent_id": "Aria"}, MEM0["results"][0]]
    files = {"memories.json": plain(newest_first)}
    (conversation,) = read_entries("mem0", tmp_path, files, ReadOptions(facts_as_lines=True))
    assert isinstance(conversation, Conversation)
    assert shown(conversation) == [("nora", "Likes blue doors"), ("Aria", "Has a dog")]
    assert (conversation.id, [message.id for message in conversation.messages]) == ("nora", ["f1", "f2"])


def test_a_broken_memory_leaves_the_others(tmp_path: Path) -> None:
    value = [MEM0["results"][0], {"id": 1, "memory": "x"}, {"id": "f3"}]
    fact, *broken = read_entries("mem0", tmp_path, {"memories.json": plain(value)})
    assert isinstance(fact, NewUnit)
    assert all(isinstance(entry, BrokenConversation) for entry in broken)
    assert len(broken) == 2
