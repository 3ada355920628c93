"""Pydantic AI's conversation store in a bank, and recall by a capability, used by real agents with scripted models."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hardship import steps
from pydantic_ai import Agent, models
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    InMemoryConversationStore,
)
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from everthread import Memory
from everthread.compat.pydantic_ai import EverthreadConversationStore, EverthreadRecall
from everthread.stores.base import Store
from everthread.testing import HashEmbedder

MAY = datetime(2026, 5, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_requests_to_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


@pytest.fixture
def store(memory: Memory) -> EverthreadConversationStore:
    return EverthreadConversationStore(memory)


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text, timestamp=MAY)], timestamp=MAY)


def answered(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], timestamp=MAY)


def talk(*messages: ModelMessage, name: str = "monday") -> Conversation:
    return Conversation(conversation_id=name, messages=list(messages))


def words(memory: Memory) -> list[str]:
    return [line.text for line in memory.lines()]


async def load(store: EverthreadConversationStore, name: str = "monday", **options: Any) -> Conversation:
    loaded = await store.load(name, **options)
    assert loaded is not None
    return loaded


def texts(conversation: Conversation) -> list[str]:
    return [str(getattr(part, "content", "")) for message in conversation.messages for part in message.parts]


MESSAGES: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Where is\0 Mia?")], instructions="Be kind."),
    ModelResponse(parts=[ThinkingPart("I look it up."), ToolCallPart("find", {"who": "Mia"}, "c1")], timestamp=MAY),
    ModelRequest(parts=[ToolReturnPart("find", {"place": "Lisbon"}, "c1")]),
    ModelResponse(parts=[TextPart("In Lis"), TextPart("bon.")], timestamp=MAY, metadata={"n": [1, None]}),
    ModelRequest(parts=[UserPromptPart(["And this?", TextContent("A fish."), ImageUrl("https://example.org/a.png")])]),
    ModelRequest(parts=[UserPromptPart([ImageUrl("https://example.org/b.png")])], timestamp=MAY),
]


def test_messages_come_back_as_they_were_and_what_is_said_is_lines(
    store: EverthreadConversationStore, memory: Memory
) -> None:
    async def use() -> None:
        await store.save(talk(*MESSAGES), scope="work")
        assert (await load(store)).messages == MESSAGES
        assert (await load(store, limit=2)).messages == MESSAGES[-2:]
        assert await store.load("monday", scope="home") is await store.load("tuesday") is None
        assert [record.conversation_id for record in await store.list_conversations(scope="work")] == ["monday"]

    asyncio.run(use())
    assert [(line.role, line.text) for line in memory.lines()] == [
        ("user", "Where is\ufffd Mia?"),
        ("assistant", "In Lisbon."),
        ("user", "And this?\nA fish."),
    ]
    lines = [line for line in memory.lines(include_wordless=True) if "message" in line.metadata]
    assert [line.role for line in lines] == ["user", "assistant", "tool", "assistant", "user", "tool"]
    assert [line.parent for line in lines] == [None, *(line.seq for line in lines[:-1])]
    assert (lines[3].said_at, lines[3].session) == (MAY, "monday")


async def save_with(memory: Memory, *more: ModelMessage) -> None:
    """Save the conversation with more messages."""
    store = EverthreadConversationStore(memory)
    conversation = await store.load("monday") or talk()
    conversation.messages += more
    await store.save(conversation)


def test_a_conversation_goes_on_where_another_process_left_it(memory: Memory, tmp_path: Path) -> None:
    asyncio.run(save_with(memory, said("one"), answered("two")))
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(512)) as other:
        asyncio.run(save_with(other, said("three")))
        asyncio.run(save_with(other))
    assert words(memory) == ["one", "two", "three"]


def test_a_branch_that_was_left_is_not_recalled_but_can_be_gone_back_to(
    store: EverthreadConversationStore, memory: Memory
) -> None:
    async def use() -> None:
        entries = await store.save(talk(said("one"), answered("two"), said("three")))
        revision = (await load(store)).revision
        branched = await store.branch("monday", at=1, expected_revision=revision)
        branched.messages += [answered("four")]
        await store.save(branched)
        assert texts(await load(store)) == words(memory) == ["one", "four"]
        assert [(await store.read_entry(entry.id)).message for entry in entries] == [e.message for e in entries]
        (record,) = await store.list_conversations()
        assert record.branches == [entries[-1].id]
        await store.branch("monday", from_entry=entries[-1].id, expected_revision=record.revision)
        assert texts(await load(store)) == words(memory) == ["one", "two", "three"]
        for rewritten in (talk(said("one"), answered("2")), talk(said("1"))):
            rewritten.revision = (await load(store)).revision
            await store.save(rewritten)
            assert texts(await load(store)) == words(memory) == texts(rewritten)

    asyncio.run(use())


def test_a_message_that_was_retracted_or_corrected_on_the_page_stays_so_in_recall(
    store: EverthreadConversationStore, memory: Memory
) -> None:
    async def use() -> None:
        await store.save(talk(said("one"), answered("two"), said("three"), answered("four")))
        memory.retract(next(line.seq for line in memory.lines() if line.text == "one"))
        memory.correct(next(line.seq for line in memory.lines() if line.text == "two"), "2")
        (record,) = await store.list_conversations()
        await store.branch("monday", at=3, expected_revision=record.revision)
        assert sorted(words(memory)) == ["2", "three"]
        revision = (await load(store)).revision
        await store.branch("monday", from_entry=record.head_id, expected_revision=revision)
        assert sorted(words(memory)) == ["2", "four", "three"]
        assert texts(await load(store)) == ["one", "two", "three", "four"]

    asyncio.run(use())


def test_a_fork_shares_the_messages_before_it_even_if_the_original_is_deleted(
    store: EverthreadConversationStore, memory: Memory, tmp_path: Path
) -> None:
    async def use() -> None:
        await store.save(talk(said("one"), answered("two"), said("Zebulon")))
        for name in ("left", "right"):
            fork = await store.fork("monday", at=2, new_conversation_id=name)
            fork.messages += [said(name)]
            await store.save(fork)
        await store.delete("monday")
        assert texts(await load(store, "left")) == ["one", "two", "left"]
        assert texts(await load(store, "right")) == ["one", "two", "right"]
        await store.delete("left")
        assert texts(await load(store, "right")) == ["one", "two", "right"]
        assert sorted(words(memory)) == ["one", "right", "two"]
        await store.delete("right")
        await store.delete("right")

    asyncio.run(use())
    assert list(memory.lines(include_retracted=True, include_wordless=True)) == []
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_conversation_without_a_message_that_was_forgotten_can_be_loaded_and_goes_on(
    store: EverthreadConversationStore, memory: Memory
) -> None:
    def forget(text: str) -> None:
        memory.forget(seq=next(line.seq for line in memory.lines() if line.text == text))

    async def use() -> None:
        await store.save(talk(said("one"), answered("two"), said("three"), answered("four")))
        forget("two")
        assert texts(await load(store)) == ["one", "three", "four"]
        forget("four")
        conversation = await load(store)
        assert texts(conversation) == ["one", "three"]
        conversation.messages += [answered("five")]
        await store.save(conversation)
        assert texts(await load(store)) == ["one", "three", "five"]
        memory.forget(session="monday")
        assert await store.load("monday") is None

    asyncio.run(use())


def test_of_two_writers_at_one_revision_exactly_one_wins_and_the_other_leaves_nothing(any_store: Store) -> None:
    def attempt(memory: Memory, conversation: Conversation, text: str) -> bool:
        mine = replace(conversation, messages=[*conversation.messages, said(text)])
        try:
            asyncio.run(EverthreadConversationStore(memory).save(mine))
        except ConversationConflict:
            return False
        return True

    conversation = talk()
    memory, other = (Memory.open("alice", store=any_store, embedder=HashEmbedder(64)) for _ in range(2))
    with ThreadPoolExecutor(6) as pool:
        for turn in range(4):  # the first creates the conversation
            names = [f"{turn}-{writer}" for writer in range(6)]
            wins = list(pool.map(attempt, [memory, other] * 3, [conversation] * 6, names))
            assert wins.count(True) == 1
            assert words(memory)[turn:] == [names[wins.index(True)]]
            conversation = asyncio.run(load(EverthreadConversationStore(other)))


def test_the_storage_primitives_refuse_what_the_reference_refuses(store: EverthreadConversationStore) -> None:
    async def use(store: Any) -> list[str]:
        refused = []

        async def attempt(name: str, call: Awaitable[Any]) -> None:
            try:
                await call
            except (ConversationConflict, LookupError) as error:
                refused.append(f"{name}: {type(error).__name__}")

        first = ConversationEntry(id="e1", parent_id=None, message=said("one"))
        record = ConversationRecord(conversation_id="a", head_id="e1", revision="r1")
        await attempt("unknown head", store.write_record(record, expected_revision=None))
        await attempt("known revision", store.write_record(record, new_entries=[first], expected_revision="r0"))
        await attempt("new", store.write_record(record, new_entries=[first], expected_revision=None))
        await attempt("again", store.write_record(record, new_entries=[first], expected_revision=None))
        await attempt("no entry", store.write_record(replace(record, revision="r2"), expected_revision="r1"))
        await attempt("old revision", store.delete_record("a", expected_revision="r1"))
        await attempt("unknown record", store.delete_record("b", expected_revision="r1"))
        await attempt("unknown entry", store.read_entry("e9"))
        await attempt("unknown history", store.read_history("e9"))
        assert await store.read_history(None) == []
        empty = ConversationRecord(conversation_id="b", head_id=None)
        await attempt("empty", store.write_record(empty, expected_revision=None))
        assert [found.conversation_id for found in await store.read_records(limit=1)] == ["b"]
        assert await store.read_record("b") == empty
        await attempt("delete", store.delete_record("a", expected_revision="r2"))
        return refused

    assert asyncio.run(use(store)) == asyncio.run(use(InMemoryConversationStore()))


@pytest.mark.skipif(sys.platform != "linux", reason="files are identified by their descriptors in /proc")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_killed_at_any_step_of_a_save_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    def save_in_steps(name: str, last: int | None = None) -> tuple[int, list[str]]:
        folder = tmp_path / name / "banks"
        shutil.copytree(tmp_path / "before", folder)

        def work() -> None:
            with Memory.open("alice", store=folder, embedder=HashEmbedder(64)) as memory:
                asyncio.run(save_with(memory, said("three"), answered("four")))

        found = steps.record_steps(work, folder.with_suffix(".steps"), last)
        with Memory.open("alice", store=folder, embedder=HashEmbedder(64)) as memory:
            loaded = asyncio.run(load(EverthreadConversationStore(memory)))
            assert texts(loaded) == words(memory)
            asyncio.run(save_with(memory))
        return len(loaded.messages), found

    with Memory.open("alice", store=tmp_path / "before", embedder=HashEmbedder(64)) as memory:
        asyncio.run(save_with(memory, said("one"), answered("two")))
    saved, found = save_in_steps("complete")
    assert saved == 4
    inserts = [place for place, step in enumerate(found) if "INSERT INTO line" in step]
    commit = next(place for place, step in enumerate(found) if step == "COMMIT" and place > inserts[-1])
    assert len(inserts) == 3  # the record and two entries
    assert [save_in_steps(str(last), last)[0] for last in (*inserts, commit)] == [2, 2, 2, 2]


def scripted(replies: list[ModelResponse], asked: list[list[ModelMessage]]) -> FunctionModel:
    """Return a model that replies by a script, and keeps what it was asked."""

    def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        asked.append(list(messages))
        return replies.pop(0)

    return FunctionModel(reply)


def test_an_agent_is_given_what_other_conversations_know_before_the_newest_prompt(
    store: EverthreadConversationStore, memory: Memory
) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Ann", session="last year")
    asked: list[list[ModelMessage]] = []
    call = ModelResponse(parts=[ToolCallPart("today", {})])
    model = scripted([answered("Good."), call, answered("To Lisbon.")], asked)
    agent = Agent(model, instructions="Be kind.", capabilities=[EverthreadRecall(memory)])

    @agent.tool_plain
    def today() -> str:
        return "Monday"

    async def use() -> None:
        for question in ("My sister Mia is here.", "Where did my sister Mia move?"):
            conversation = await store.load("monday") or talk()
            await store.save(await agent.run(question, conversation=conversation))
        stored = await load(store)
        assert [len(message.parts) for message in stored.messages] == [1] * 6
        assert "Lisbon." in texts(stored)[-1]
        assert not any("From the memory" in text for text in texts(stored))

    asyncio.run(use())
    prompts = [
        [str(part.content) for message in request for part in message.parts if isinstance(part, UserPromptPart)]
        for request in asked
    ]
    assert [len(request) for request in asked] == [1, 3, 5]
    assert prompts[1] == prompts[2]  # also after the call of a tool
    first, recalled, question = prompts[2]
    assert (first, question) == ("My sister Mia is here.", "Where did my sister Mia move?")
    assert recalled.startswith("From the memory of earlier conversations")
    assert "Ann: My sister Mia moved to Lisbon." in recalled
    assert "is here" not in recalled
    assert "Mia is here." in words(memory)[1]


def test_an_agent_is_given_nothing_if_nothing_is_relevant_or_it_has_no_prompt(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Ann")
    asked: list[list[ModelMessage]] = []
    agent = Agent(scripted([answered("A."), answered("B.")], asked), capabilities=[EverthreadRecall(memory)])
    asyncio.run(agent.run("Quantum chromodynamics?"))
    asyncio.run(agent.run([ImageUrl("https://example.org/a.png")]))
    assert [len(message.parts) for request in asked for message in request] == [1, 1]


def test_a_branch_is_not_given_again_what_was_said_in_it(memory: Memory, store: EverthreadConversationStore) -> None:
    asked: list[list[ModelMessage]] = []
    agent = Agent(
        scripted([answered("In May."), answered("To Lisbon.")], asked), capabilities=[EverthreadRecall(memory)]
    )

    async def use() -> None:
        await store.save(talk(said("My sister Mia moved to Lisbon."), answered("Good."), said("Hm."), answered("Yes?")))
        await agent.run("When did my sister Mia move?", conversation=await load(store))
        branch = await store.branch("monday", at=2, expected_revision=(await load(store)).revision)
        await agent.run("Where did my sister Mia move?", conversation=branch)

    asyncio.run(use())
    assert [len(request) for request in asked] == [5, 3]
    assert all(len(message.parts) == 1 for request in asked for message in request)


def test_a_fork_is_not_given_again_what_was_said_before_it(memory: Memory, store: EverthreadConversationStore) -> None:
    asked: list[list[ModelMessage]] = []
    model = scripted([answered("In May."), answered("To Lisbon.")], asked)
    agent = Agent(model, capabilities=[EverthreadRecall(memory)])

    async def use() -> None:
        await store.save(talk(said("My sister Mia moved to Lisbon."), answered("Good for her.")))
        fork = await store.fork("monday", at=2, new_conversation_id="tuesday")
        for question in ("When did my sister Mia move?", "Where did my sister Mia move?"):
            await store.save(await agent.run(question, conversation=fork))
            fork = await load(store, "tuesday")

    asyncio.run(use())
    assert [len(request) for request in asked] == [3, 5]
    assert all(len(message.parts) == 1 for request in asked for message in request)
