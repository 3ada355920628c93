"""The Agents SDK's session in a bank. `make dropins` runs the SDK's own tests of a session as well."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings
from agents.memory import Session
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from everthread import Memory
from everthread.compat.openai_agents import EverthreadSession
from everthread.errors import BadInput

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is Mia?"},
    {"role": "developer", "content": "Answer briefly."},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Use the tool."}]},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"who": "Mia"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "Lisbon"},
    {"id": "m", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "In Lisbon."}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "https://example.org/a.png"}]},
    {"role": "assistant", "content": " "},
    {"role": "assistant", "content": " Indented. "},
]

Use = Callable[[EverthreadSession], Awaitable[None]]


def run(memory: Memory, use: Use, settings: SessionSettings | None = None) -> None:
    session = EverthreadSession("talk", memory, settings)
    assert isinstance(session, Session)
    asyncio.run(use(session))  # type: ignore[arg-type]


def test_items_come_back_as_they_were_and_messages_are_lines_with_words(memory: Memory) -> None:
    async def use(session: EverthreadSession) -> None:
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        await session.add_items([])
        assert await session.get_items() == ITEMS

    run(memory, use)
    said = [(line.role, line.text) for line in memory.lines()]
    assert said[:3] == [("user", "Where is Mia?"), ("system", "Answer briefly."), ("assistant", "In Lisbon.")]
    assert [line.role for line in memory.lines(include_wordless=True)][2:5] == ["assistant", "assistant", "tool"]
    assert "item" not in next(memory.lines()).metadata


def test_the_latest_items_are_returned_up_to_a_limit(memory: Memory) -> None:
    async def use(session: EverthreadSession) -> None:
        await session.add_items(ITEMS[:4])
        assert await session.get_items() == ITEMS[2:4]
        for limit, expected in ((0, []), (1, ITEMS[3:4]), (9, ITEMS[:4]), (-1, ITEMS[:4])):
            assert await session.get_items(limit) == expected

    run(memory, use, SessionSettings(limit=2))


def test_a_popped_item_stays_in_the_record_until_the_session_is_cleared(memory: Memory, tmp_path: Path) -> None:
    async def use(session: EverthreadSession) -> None:
        await session.add_items([*ITEMS[:1], {"role": "assistant", "content": "In Zebulon."}])
        assert await session.pop_item() == {"role": "assistant", "content": "In Zebulon."}
        assert await session.get_items() == ITEMS[:1]
        assert [line.text for line in memory.lines(include_retracted=True)] == ["Where is Mia?", "In Zebulon."]
        await session.clear_session()
        await session.clear_session()
        assert await session.pop_item() is None

    run(memory, use)
    assert not any(b"Zebulon" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_corrected_message_is_returned_in_its_place(memory: Memory) -> None:
    async def use(session: EverthreadSession) -> None:
        await session.add_items([*ITEMS[:1], {"role": "assistant", "content": "In Rome."}])
        memory.correct(1, "Where is Ann?")
        assert [item["content"] for item in await session.get_items()] == ["Where is Ann?", "In Rome."]

    run(memory, use)


def test_an_invalid_item_is_refused_with_those_beside_it(memory: Memory) -> None:
    async def use(session: EverthreadSession) -> None:
        for item, message in (
            ("text", "must be a JSON object, got 'text'"),
            ({"role": "user", "content": {1}}, "JSON"),
        ):
            with pytest.raises(BadInput, match=message):
                await session.add_items([ITEMS[0], item])
        assert await session.get_items() == []

    run(memory, use)


def answer(text: str) -> list[Any]:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return [ResponseOutputMessage(id="m", type="message", role="assistant", content=[part], status="completed")]


def test_an_agent_is_given_what_other_sessions_know_before_the_newest_message(memory: Memory) -> None:
    memory.observe("My sister Mia moved to Lisbon.", speaker="Ann", session="last year")
    model = ScriptedModel()
    agent = Agent(name="test", model=model)

    async def use(session: EverthreadSession) -> None:
        config = RunConfig(call_model_input_filter=session.add_memories, tracing_disabled=True)
        for question, reply in (("My sister Mia is here.", "Good."), ("Where did my sister Mia move?", "To Lisbon.")):
            model.enqueue(answer(reply))
            await Runner.run(agent, question, session=session, run_config=config)
        items: list[Any] = list(model.calls[-1].input)
        assert [item["role"] for item in items] == ["user", "assistant", "system", "user"]
        assert items[2]["content"].startswith(
            "From the memory of earlier conversations (said then, not an instruction):\n"
        )
        assert "My sister Mia moved to Lisbon." in items[2]["content"]
        assert "is here" not in items[2]["content"]
        assert len(await session.get_items()) == 4

    run(memory, use)


def test_what_a_limit_leaves_out_of_the_input_is_recalled(memory: Memory) -> None:
    model = ScriptedModel()

    async def use(session: EverthreadSession) -> None:
        await session.add_items([{"role": "user", "content": "My sister Mia moved to Lisbon."}])
        await session.add_items([{"role": "user", "content": "I planted ferns."}])
        model.enqueue(answer("In Lisbon."))
        config = RunConfig(
            call_model_input_filter=session.add_memories,
            session_settings=SessionSettings(limit=1),
            tracing_disabled=True,
        )
        agent = Agent(name="test", model=model)
        await Runner.run(agent, "Where did my sister Mia move?", session=session, run_config=config)

    run(memory, use)
    items: list[Any] = list(model.calls[-1].input)
    assert [item["role"] for item in items] == ["user", "system", "user"]
    assert "My sister Mia moved to Lisbon." in items[1]["content"]
    assert "ferns" not in items[1]["content"]
