"""The clients that people use, each with a conversation over two sessions through the proxy.

A client that can't be imported here runs in a process of its own, which reads requests and writes replies, one a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ollama
import openai
import pytest
from hardship.llm import Raw
from hardship.responses import answer
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from server.proxied import FACT, QUESTION, Proxy, bot, user
from server.proxy.clients import AI_SDK, FOLDER, LITELLM_PYTHON, needs_ai_sdk

Ask = Callable[[Proxy, list[Any], bool], str]  # sends messages, streamed or not, and returns the reply


def name_bank(proxy: Proxy) -> dict[str, str]:
    return {"X-Everthread-Bank": proxy.bank}


def ask_openai(proxy: Proxy, messages: list[Any], stream: bool) -> str:
    with proxy.client() as client:
        create: Any = client.chat.completions.create
        answer = create(model="m", messages=messages, stream=stream, extra_headers=name_bank(proxy))
        if stream:
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
        return str(answer.choices[0].message.content)


def ask_openai_async(proxy: Proxy, messages: list[Any], stream: bool) -> str:
    async def ask() -> str:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x") as client:
            create: Any = client.chat.completions.create
            answer = await create(
                model="m", messages=messages, stream=stream, extra_body={"everthread": {"bank": proxy.bank}}
            )
            if stream:
                return "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
            return str(answer.choices[0].message.content)

    return asyncio.run(ask())


def build_langchain(proxy: Proxy, **options: bool) -> ChatOpenAI:
    server = {"model": "m", "base_url": f"{proxy.url}/v1", "api_key": "x", "default_headers": name_bank(proxy)}
    return ChatOpenAI.model_validate({**server, **options})


def ask_langchain(proxy: Proxy, messages: list[Any], stream: bool) -> str:
    model = build_langchain(proxy)
    return "".join(chunk.text for chunk in model.stream(messages)) if stream else model.invoke(messages).text


def ask_ollama(proxy: Proxy, messages: list[Any], stream: bool) -> str:
    client: Any = ollama.Client(f"{proxy.url}/bank/{proxy.bank}")
    answer = client.chat("m", messages, stream=stream)
    text = "".join(piece.message.content for piece in answer) if stream else answer.message.content
    client._client.close()
    return str(text)


def answer_as_ollama(text: str, stream: bool) -> Raw:
    """Return an answer of Ollama's own API."""
    end = {"done": True, "done_reason": "stop"}
    whole = {"model": "m", "message": bot(text)}
    lines = [{**whole, "done": False}, {"model": "m", "message": bot(""), **end}] if stream else [{**whole, **end}]
    return Raw("".join(f"{json.dumps(line)}\n" for line in lines).encode(), "application/x-ndjson")


ASKS: dict[str, Ask] = {
    "openai": ask_openai,
    "openai-async": ask_openai_async,
    "langchain": ask_langchain,
    "ollama": ask_ollama,
}


def check_conversation(proxy: Proxy, ask: Ask, stream: bool) -> None:
    """Check that a client's second session recalls the first, and that a regenerated reply replaces the one before."""
    replies = ["How nice for her!", "In Lisbon.", "She has a cat.", "She has a dog."]
    proxy.upstream.behaviours[:] = (
        [answer_as_ollama(reply, stream) for reply in replies] if ask is ask_ollama else list(replies)
    )
    system = {"role": "system", "content": "Be kind."}
    assert ask(proxy, [system, user(FACT)], stream) == "How nice for her!"

    talk = [system, user(QUESTION)]
    assert ask(proxy, talk, stream) == "In Lisbon."
    (block,) = proxy.blocks
    assert FACT in block
    assert proxy.upstream.bodies[-1]["messages"][-1] == user(QUESTION)

    talk += [bot("In Lisbon."), user("Which pet has she?")]
    assert ask(proxy, talk, stream) == "She has a cat."
    assert ask(proxy, talk, stream) == "She has a dog."
    assert proxy.texts == [FACT, "How nice for her!", QUESTION, "In Lisbon.", "Which pet has she?", "She has a dog."]
    assert len({line.session for line in proxy.lines}) == 2
    assert "everthread" not in proxy.upstream.bodies[-1]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_client_in_python_recalls_an_earlier_session(proxy: Proxy, ask: Ask, stream: bool) -> None:
    check_conversation(proxy, ask, stream)


# ------------------------------------------------------------------- clients in processes of their own


@contextmanager
def run_client(*command: str | Path) -> Iterator[Ask]:
    """Run a program of `clients` until the block ends."""
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # else litellm asks the network for prices
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
    ) as process:

        def ask(proxy: Proxy, messages: list[Any], stream: bool) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            request = {"url": f"{proxy.url}/v1", "bank": proxy.bank, "messages": messages, "stream": stream}
            process.stdin.write(f"{json.dumps(request)}\n")
            return str(json.loads(process.stdout.readline())["text"])

        try:
            yield ask
        finally:
            process.terminate()


@needs_ai_sdk
def test_the_ai_sdk_recalls_an_earlier_session(proxy: Proxy) -> None:
    with run_client("node", AI_SDK / "talk.mjs") as ask:
        for stream in (False, True):
            check_conversation(proxy, ask, stream)
            proxy.memory.forget(everything=True)


@needs_ai_sdk
def test_the_ai_sdk_names_the_replies_of_a_conversation(proxy: Proxy) -> None:
    command = ("node", AI_SDK / "responses.mjs")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:

        def say(text: str, kept: int) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            request = {"url": f"{proxy.url}/v1", "bank": proxy.bank, "text": text, "kept": kept, "stream": kept > 2}
            process.stdin.write(f"{json.dumps(request)}\n")
            return str(json.loads(process.stdout.readline())["text"])

        proxy.upstream.behaviours[:] = [answer(f"Answer {number}.") for number in range(4)]
        assert [say(f"Question {number}?", 2 * number) for number in range(3)] == [
            "Answer 0.",
            "Answer 1.",
            "Answer 2.",
        ]
        assert say("Edited?", 2) == "Answer 3."
        process.terminate()
    assert [item.get("type") for item in proxy.upstream.bodies[-2]["input"]][1::2] == ["item_reference"] * 2
    assert proxy.texts == ["Question 0?", "Answer 0.", "Edited?", "Answer 3."]
    assert len({line.session for line in proxy.lines}) == 1


@pytest.mark.litellm
def test_litellm_recalls_an_earlier_session(proxy: Proxy) -> None:
    with run_client(LITELLM_PYTHON, FOLDER / "litellm" / "talk.py") as ask:
        for stream in (False, True):
            check_conversation(proxy, ask, stream)
            proxy.memory.forget(everything=True)


# ------------------------------------------------------------------------------- tools and structures


def call_tool(name: str, arguments: dict[str, str]) -> Raw:
    """Return an answer that calls a tool."""
    call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Raw(json.dumps(answer).encode(), "application/json")


def look_up(name: str) -> str:
    """Look up where a person lives.

    Args:
        name: of the person.
    """
    return f"{name} lives in Lisbon."


def check_tool_loop(proxy: Proxy) -> None:
    """Check that the memories stayed at their place, and that the question and the last reply are what was said."""
    first, second = (body["messages"] for body in proxy.upstream.bodies[-2:])
    assert FACT in first[0]["content"]
    assert second[: len(first)] == first
    assert second[-1]["content"] == "Mia lives in Lisbon."
    assert proxy.texts == [FACT, "Hello there.", QUESTION, "She lives in Lisbon."]


def test_tools_of_the_openai_client_are_called_with_the_memories_in_their_place(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = [call_tool("look_up", {"name": "Mia"}), "She lives in Lisbon."]
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    talk: list[Any] = [user(QUESTION)]
    with proxy.client() as client:
        create = client.chat.completions.create
        message = create(model="m", messages=talk, tools=tools, extra_headers=name_bank(proxy)).choices[0].message
        call: Any = (message.tool_calls or [])[0]
        result = look_up(**json.loads(call.function.arguments))
        talk += [message, {"role": "tool", "tool_call_id": call.id, "content": result}]
        answer = create(model="m", messages=talk, tools=tools, extra_headers=name_bank(proxy))
    assert answer.choices[0].message.content == "She lives in Lisbon."
    assert proxy.upstream.bodies[-1]["tools"] == tools
    check_tool_loop(proxy)


def test_langchain_continues_a_response(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer("How nice for her!"), answer("In Lisbon."), answer("She has a cat.")]
    model = build_langchain(proxy, use_responses_api=True, use_previous_response_id=True)
    assert model.invoke([("user", FACT)]).text == "How nice for her!"
    talk: list[Any] = [("user", QUESTION)]
    talk += [model.invoke(talk), ("user", "Which pet has she?")]
    assert "".join(chunk.text for chunk in model.stream(talk)) == "She has a cat."
    assert proxy.upstream.bodies[-1]["previous_response_id"] == talk[1].response_metadata["id"]
    assert FACT in str(proxy.upstream.bodies[-2]["input"][0])
    assert proxy.texts == [FACT, "How nice for her!", QUESTION, "In Lisbon.", "Which pet has she?", "She has a cat."]
    assert len({line.session for line in proxy.lines}) == 2


def test_tools_of_langchain_are_called_with_the_memories_in_their_place(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = [call_tool("look_up", {"name": "Mia"}), "She lives in Lisbon."]
    search = tool(look_up)
    model = build_langchain(proxy).bind_tools([search])
    talk: list[Any] = [("user", QUESTION)]
    message = model.invoke(talk)
    talk += [message, search.invoke(message.tool_calls[0])]
    assert model.invoke(talk).text == "She lives in Lisbon."
    check_tool_loop(proxy)


class Residence(BaseModel):
    city: str


def test_structured_replies_of_the_openai_client_are_parsed_and_stored_as_said(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = ['{"city": "Lisbon"}']
    with proxy.client() as client:
        parse, stream = client.chat.completions.parse, client.chat.completions.stream
        said: Any = {"model": "m", "messages": [user(QUESTION)], "extra_headers": name_bank(proxy)}
        assert parse(**said, response_format=Residence).choices[0].message.parsed == Residence(city="Lisbon")
        assert proxy.upstream.bodies[-1]["response_format"]["json_schema"]["name"] == "Residence"
        with stream(**said, response_format=Residence) as events:
            final = events.get_final_completion()
        assert final.choices[0].message.parsed == Residence(city="Lisbon")
    assert FACT in proxy.blocks[0]
    assert proxy.texts == [FACT, "Hello there.", QUESTION, '{"city": "Lisbon"}']
