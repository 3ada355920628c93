"""Strands' memory store on a bank, used by Strands' own agent with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hardship.lost_answer import ForgetfulStore
from strands import Agent
from strands.memory import AddMessagesContext, MemoryManager
from strands.models import Model

from everthread import Memory
from everthread.compat.strands import EverthreadMemoryStore
from everthread.errors import StoreUnavailable
from everthread.testing import HashEmbedder

LISBON = "My sister Mia moved to Lisbon."
QUESTION = "Where did my sister Mia move?"
MAY = datetime(2026, 5, 2, 12, tzinfo=UTC)


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


def add(store: EverthreadMemoryStore, first: int, *messages: dict[str, Any]) -> None:
    numbers = list(range(first, first + len(messages)))
    asyncio.run(store.add_messages([*messages], AddMessagesContext(sequence_numbers=numbers)))


def words(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines(include_wordless=True)]


class Script(Model):  # type: ignore[misc]  # Strands has no types where it is not installed
    """A model that replies by a script, and keeps what it was asked."""

    def __init__(self, *replies: str | dict[str, Any]) -> None:
        self.replies, self.asked = list(replies), list[str]()

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def stream(self, messages: list[dict[str, Any]], *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        self.asked.append(str(messages))
        reply = self.replies.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(reply, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": reply}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": "add_memory"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": str(reply).replace("'", '"')}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(reply, str) else "tool_use"}}


def test_an_agent_remembers_what_was_said_to_another_one(memory: Memory) -> None:
    model = Script("Good for her.", "To Lisbon.")
    for question in (LISBON, QUESTION):
        manager = MemoryManager(stores=[EverthreadMemoryStore(memory)])
        Agent(model=model, memory_manager=manager, callback_handler=None)(question)
    assert "<memory>" not in model.asked[0]
    assert '<entry source="everthread">user, ' in model.asked[1]
    assert f": {LISBON}</entry>" in model.asked[1]
    assert [(line.role, line.text) for line in memory.lines()] == [
        ("user", LISBON),
        ("assistant", "Good for her."),
        ("user", QUESTION),
        ("assistant", "To Lisbon."),
    ]


def test_every_turn_is_stored_although_the_event_loop_ends_with_it(memory: Memory) -> None:
    model, texts = Script("One.", "Two.", "Three."), ["Number 1?", "Number 2?", "Number 3?"]
    manager = MemoryManager(stores=[EverthreadMemoryStore(memory)])
    agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    for text in texts:
        asyncio.run(agent.invoke_async(text))
    assert words(memory) == [texts[0], "One.", texts[1], "Two.", texts[2], "Three."]


def test_a_model_adds_memories_by_the_tool(memory: Memory) -> None:
    model = Script({"entries": [LISBON]}, "Noted.")
    store = EverthreadMemoryStore(memory, extraction=False)
    manager = MemoryManager(stores=[store], add_tool_config=True)
    Agent(model=model, memory_manager=manager, callback_handler=None)("Remember it.")
    assert words(memory) == [LISBON]
    for _ in range(2):
        asyncio.run(manager.add(LISBON, {"metadata": {"sure": True}}))
        asyncio.run(manager.add("She likes tea.", {"metadata": {"sure": True}}))
    assert words(memory) == [LISBON, "She likes tea."]


def test_a_search_returns_dated_entries_and_nothing_if_nothing_is_relevant(memory: Memory) -> None:
    memory.observe(LISBON, speaker="Ann", said_at=MAY, session="s")
    memory.observe("My sister Mia is happy.", speaker="Ann", undated=True, session="s")
    store = EverthreadMemoryStore(memory)
    best, second = asyncio.run(store.search(QUESTION))
    assert best.content == f"Ann, 2 May 2026: {LISBON}"
    assert (best.metadata["seq"], best.metadata["speaker"], best.metadata["session"]) == (1, "Ann", "s")
    assert second.content == "Ann: My sister Mia is happy."
    assert len(asyncio.run(store.search(QUESTION, {"max_search_results": 1}))) == 1
    assert asyncio.run(store.search("Quantum chromodynamics?")) == asyncio.run(store.search(" ")) == []


def test_words_are_stored_without_tools_thoughts_and_files(memory: Memory) -> None:
    blocks = [
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"text": "Look:"},
        {"citationsContent": {"content": [{"text": "Mia is in Lisbon."}], "citations": []}},
        {"toolUse": {"toolUseId": "t", "name": "find", "input": {}}},
    ]
    store = EverthreadMemoryStore(memory, session="s")
    add(store, 0, {"role": "assistant", "content": blocks}, {"role": "user", "content": [{"image": {}}]})
    asyncio.run(store.add_messages([message("Unnumbered.")]))
    assert [(line.session, line.text) for line in memory.lines()] == [
        ("s", "Look:\nMia is in Lisbon."),
        ("s", "Unnumbered."),
    ]


def test_the_messages_of_a_second_agent_are_stored_although_their_numbers_begin_at_0_again(memory: Memory) -> None:
    store = EverthreadMemoryStore(memory)
    add(store, 0, message("Hello."), message("Hi.", "assistant"))
    add(store, 2, message("Hello."))
    add(store, 0, message("Hello."))
    assert words(memory) == ["Hello.", "Hi.", "Hello.", "Hello."]


def test_the_same_words_of_two_agents_that_begin_at_once_are_stored_twice(memory: Memory) -> None:
    store = EverthreadMemoryStore(memory)
    first = AddMessagesContext(sequence_numbers=[0])

    async def begin() -> None:
        await asyncio.gather(*(store.add_messages([message("Hello.")], first) for _ in range(2)))

    asyncio.run(begin())
    assert words(memory) == ["Hello.", "Hello."]


def test_a_batch_that_is_repeated_after_a_lost_answer_is_stored_once(tmp_path: Path) -> None:
    with Memory.open("alice", store=ForgetfulStore(tmp_path), embedder=HashEmbedder(64)) as memory:
        store = EverthreadMemoryStore(memory)
        batch = [message("one"), message("two", "assistant")]
        with pytest.raises(StoreUnavailable):
            add(store, 0, *batch)
        add(store, 0, *batch, message("three"))
        assert words(memory) == ["one", "two", "three"]
        memory.store.close()


def test_a_store_that_is_not_writable_stores_nothing(memory: Memory) -> None:
    manager = MemoryManager(stores=[EverthreadMemoryStore(memory, writable=False)])
    Agent(model=Script("Good."), memory_manager=manager, callback_handler=None)(LISBON)
    assert words(memory) == []
