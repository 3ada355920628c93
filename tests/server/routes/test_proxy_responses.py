"""The Responses API of the proxy, as OpenAI's client uses it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import openai
import pydantic
import pytest
from effort import examples
from hardship import llm, responses, web
from hardship.llm import Raw, Status
from hardship.responses import answer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.common.keys import META_RECALLED, SETTING_REMEMBER
from everthread.server.keys import KeyStore
from everthread.server.proxy.memory_block import OPENING
from everthread.server.server_db import get_path
from server.proxied import FACT, QUESTION, Proxy, bot, serve_proxy, user

JSON_TYPE = {"Content-Type": "application/json"}
TOOL: Any = {"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}, "strict": False}


class City(pydantic.BaseModel):
    """The structured output of a test."""

    city: str


@pytest.fixture
def proxy(proxy: Proxy) -> Proxy:
    """Return the proxy with an upstream that answers each request with a new response."""
    proxy.upstream.behaviours[:] = [answer("Hello there.")]
    return proxy


def post(proxy: Proxy, given: Any, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    """Send an input to the bank."""
    body = {"model": f"m@{proxy.bank}", "input": given, **fields}
    return web.post(f"{proxy.url}/v1/responses", json=body, headers=headers)


def ask(proxy: Proxy, text: str, reply: str, previous: str | None = None, **fields: Any) -> str:
    """Ask in a chain of responses, and return the id of the new one."""
    proxy.upstream.behaviours[:] = [answer(reply)]
    fields |= {"previous_response_id": previous} if previous else {}
    return str(post(proxy, text, **fields).json()["id"])


def sent(proxy: Proxy) -> Any:
    """Return the input of the last request to the upstream."""
    return proxy.upstream.bodies[-1]["input"]


def has_memories(proxy: Proxy) -> bool:
    return OPENING in json.dumps(proxy.upstream.bodies[-1])


# ------------------------------------------------------------------------------ the client


def test_a_message_that_an_sdk_sends_again_to_a_conversation_replaces_its_turn(proxy: Proxy) -> None:
    for text, retries in (("I like tea.", 0), ("I like tea.", 1), ("I like tea.", 0)):
        proxy.upstream.behaviours[:] = [answer(f"Retries: {retries}.")]
        post(proxy, text, headers={"X-Stainless-Retry-Count": str(retries)}, conversation="conv_1")
    assert proxy.texts == ["I like tea.", "Retries: 1.", "I like tea.", "Retries: 0."]


def test_the_client_creates_streams_and_parses_responses(proxy: Proxy) -> None:
    replies = ("How nice.", "In Lisbon, by the sea.", '{"city": "Lisbon"}')
    proxy.upstream.behaviours[:] = [answer(responses.reasoning("Hm."), reply) for reply in replies]
    with proxy.client() as client:
        whole = client.responses.create(model=f"m@{proxy.bank}", input=FACT, instructions="Be kind.")
        assert whole.output_text == "How nice."
        assert proxy.upstream.bodies[-1] == {"model": "m", "input": FACT, "instructions": "Be kind."}
        with client.responses.stream(model=f"m@{proxy.bank}", input=QUESTION) as stream:
            kinds = [event.type for event in stream]
            assert stream.get_final_response().output_text == "In Lisbon, by the sea."
        assert kinds.count("response.output_text.delta") == 5
        block, question = sent(proxy)
        assert (block["type"], block["role"], block["content"][0]["type"]) == ("message", "system", "input_text")
        assert FACT in block["content"][0]["text"]
        assert question == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
        parsed = client.responses.parse(model=f"m@{proxy.bank}", input="Which city?", text_format=City)
        assert parsed.output_parsed == City(city="Lisbon")
    said = [FACT, "How nice.", QUESTION, "In Lisbon, by the sea.", "Which city?", '{"city": "Lisbon"}']
    assert proxy.texts == said
    record = proxy.lines[1].metadata[META_RECALLED]
    assert proxy.lines[1].metadata == {
        META_RECALLED: record,
        "via": "proxy",
        "model": "m-1",
        "response": whole.id,
        "message_id": whole.output[1].id,
    }


def test_the_asynchronous_client_resends_the_items_of_a_conversation(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer(f"Answer {number}.") for number in range(3)]

    async def talk() -> None:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/bank/{proxy.bank}/v1", api_key="x") as client:
            items: list[Any] = []
            for number in range(3):
                items.append(user(f"Question {number}?"))
                response = await client.responses.create(model="m", input=items, store=False)
                items += response.output
            items[-2] = user("Edited?")
            stream = await client.responses.create(model="m", input=items[:-1], store=False, stream=True)
            assert [event.type async for event in stream][-1] == "response.completed"

    asyncio.run(talk())
    assert proxy.texts == ["Question 0?", "Answer 0.", "Question 1?", "Answer 1.", "Edited?", "Answer 2."]
    assert len({line.session for line in proxy.lines}) == 1


def test_items_that_are_only_named_are_part_of_the_history(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer("How nice."), answer("Well."), answer("Better.")]
    first = post(proxy, [user(FACT)]).json()["output"][0]["id"]
    history = [user(FACT), {"type": "item_reference", "id": first}]
    post(proxy, [*history, user("And?")])
    post(proxy, [*history, user("And then?")])
    assert proxy.texts == [FACT, "How nice.", "And then?", "Better."]
    assert len({line.session for line in proxy.lines}) == 1
    assert sent(proxy) == [*history, user("And then?")]


# -------------------------------------------------------------- a history that the upstream has


def test_a_chain_of_responses_is_one_session_and_an_edit_replaces_what_followed(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer(f"Answer {number}.") for number in range(5)]
    with proxy.client() as client:
        model = f"m@{proxy.bank}"
        first = client.responses.create(model=model, input="Question 0?")
        second = client.responses.create(model=model, input="Question 1?", previous_response_id=first.id)
        third = client.responses.create(model=model, input=[user("Question 2?")], previous_response_id=second.id)
        assert proxy.texts == [text for number in range(3) for text in (f"Question {number}?", f"Answer {number}.")]
        assert (sent(proxy), proxy.upstream.bodies[-1]["previous_response_id"]) == ([user("Question 2?")], second.id)
        client.responses.create(model=model, input="Edited?", previous_response_id=first.id)
        assert proxy.texts == ["Question 0?", "Answer 0.", "Edited?", "Answer 3."]
        client.responses.create(model=model, input="Question 3?", previous_response_id=third.id)
    expected = ["Question 0?", "Answer 0.", "Question 1?", "Answer 1.", "Question 2?", "Answer 2.", "Question 3?"]
    assert proxy.texts == [*expected, "Answer 4."]
    assert len({line.session for line in proxy.lines}) == 1


def test_the_lines_of_the_chain_are_not_recalled_and_those_of_others_are(proxy: Proxy) -> None:
    first = ask(proxy, FACT, "How nice.")
    ask(proxy, QUESTION, "In Lisbon.", first)
    assert not has_memories(proxy)
    other = ask(proxy, "Hello?", "Hello.")
    ask(proxy, QUESTION, "In Lisbon.", other)
    assert has_memories(proxy)


def test_memories_that_the_upstream_has_in_its_history_are_not_sent_again(proxy: Proxy) -> None:
    post(proxy, FACT)
    first = ask(proxy, "Hello?", "Hello.")
    second = ask(proxy, QUESTION, "In Lisbon.", first)
    assert has_memories(proxy)
    ask(proxy, "Where did my sister Mia move?", "To Lisbon.", second)
    assert not has_memories(proxy)
    ask(proxy, "Where did my sister Mia move?", "To Lisbon.", first)
    assert has_memories(proxy)


def test_a_response_of_another_bank_is_not_found(proxy: Proxy) -> None:
    first = ask(proxy, FACT, "How nice.")
    others = ask(proxy, "Hello?", "Hello.", first, model=f"m@{proxy.bank}-2")
    assert proxy.texts == [FACT, "How nice."]
    assert [line.text for line in proxy.services.get_memory(f"{proxy.bank}-2").lines()] == ["Hello?", "Hello."]
    ask(proxy, "And?", "Yes.", others)
    assert len({line.session for line in proxy.lines}) == 2


def test_a_conversation_names_the_session(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer("One."), answer(responses.call()), answer("Two.")]
    with proxy.client() as client:
        model = f"m@{proxy.bank}"
        client.responses.create(model=model, input="Hi.", conversation="conv_1")
        called: Any = client.responses.create(model=model, input="Hi.", conversation={"id": "conv_1"}, tools=[TOOL])
        result: Any = responses.result({"call_id": called.output[0].call_id}, "17:00")
        client.responses.create(model=model, input=[result], conversation="conv_1", tools=[TOOL])
    assert proxy.texts == ["Hi.", "One.", "Hi.", "Two."]
    assert {line.session for line in proxy.lines} == {"conv_1"}


def test_of_a_response_in_the_background_the_persons_line_is_stored(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer("Early words.", status="queued"), answer("Hello.")]
    queued = post(proxy, FACT, background=True).json()
    assert proxy.texts == [FACT]
    polled = web.get(f"{proxy.url}/v1/responses/{queued['id']}")
    assert (polled.status_code, proxy.upstream.requests[-1].path) == (404, f"/v1/responses/{queued['id']}")
    post(proxy, "And now?", previous_response_id=queued["id"])
    assert proxy.texts == [FACT, "And now?", "Hello."]
    assert len({line.session for line in proxy.lines}) == 1


# ------------------------------------------------------------------------------------ tools


@pytest.mark.parametrize("words", [(), ("Let me see.",)])
def test_memories_keep_their_place_while_tools_are_called(proxy: Proxy, words: tuple[str, ...]) -> None:
    post(proxy, FACT)
    proxy.upstream.behaviours[:] = [answer(*words, responses.call()), answer("She lives in Lisbon."), answer("Bye.")]
    items: list[Any] = [user(QUESTION)]
    with proxy.client() as client:
        first = client.responses.create(model=f"m@{proxy.bank}", input=items, tools=[TOOL], store=False)
        begun = sent(proxy)
        assert OPENING in str(begun[0])
        assert proxy.texts[2:] == [QUESTION, *words]
        items += [*first.output, responses.result({"call_id": first.output[-1].call_id}, "Lisbon")]
        proxy.memory.observe("My sister Mia lives in a house by the sea in Lisbon.")
        second = client.responses.create(model=f"m@{proxy.bank}", input=items, tools=[TOOL], store=False)
        assert sent(proxy)[: len(begun)] == begun
        items += [*second.output, user("Thanks.")]
        client.responses.create(model=f"m@{proxy.bank}", input=items, tools=[TOOL], store=False)
    session = [line.text for line in proxy.lines if line.session == proxy.lines[-1].session]
    assert session == [QUESTION, "She lives in Lisbon.", "Thanks.", "Bye."]


@pytest.mark.parametrize("words", [(), ("Let me see.",)])
def test_a_turn_with_tools_is_one_turn_of_a_chain(proxy: Proxy, words: tuple[str, ...]) -> None:
    post(proxy, FACT)
    called = [responses.call(), responses.call()]
    proxy.upstream.behaviours[:] = [answer(*words, called[0]), answer(called[1]), answer("In Lisbon."), answer("Bye.")]
    previous = post(proxy, QUESTION).json()["id"]
    assert has_memories(proxy)
    for each in called:
        previous = post(proxy, [responses.result(each, "Lisbon")], previous_response_id=previous).json()["id"]
        assert not has_memories(proxy)  # the upstream has them
    post(proxy, "Thanks.", previous_response_id=previous)
    session = [line.text for line in proxy.lines if line.session == proxy.lines[-1].session]
    assert session == [QUESTION, "In Lisbon.", "Thanks.", "Bye."]


def test_results_of_tools_of_an_unknown_turn_are_passed_on(proxy: Proxy) -> None:
    answered = post(proxy, [responses.result(responses.call(), "Lisbon")], previous_response_id="resp_of_others")
    assert answered.status_code == 200
    assert "x-everthread-error" not in answered.headers
    assert not proxy.services.store.exists(proxy.bank)


# ------------------------------------------------------------------------------ the answers


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_a_response_that_was_not_completed_is_stored_as_partial(proxy: Proxy, status: str) -> None:
    for stream in (False, True):
        proxy.upstream.behaviours[:] = [answer("She moved", status=status)]
        post(proxy, f"Hello {stream}?", stream=stream)
        assert (proxy.lines[-1].text, proxy.lines[-1].metadata["partial"]) == ("She moved", True)


def test_a_refusal_is_no_line(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [answer(responses.refusal("I can't help."))]
    post(proxy, "Hello?")
    assert proxy.texts == ["Hello?"]


def test_a_stream_is_passed_on_byte_for_byte_and_stored_before_its_end(proxy: Proxy) -> None:
    data = responses.stream(responses.events(responses.response("She lives in Lisbon.")))
    raw = Raw(b": ping\r\n\r\n" + data.replace(b"Lisbon", b"Lisb\\u006fn") + b": the end")
    proxy.upstream.behaviours[:] = [raw]
    body = {"model": f"m@{proxy.bank}", "input": "Hello?", "stream": True}
    received, stored = b"", [""]
    with web.stream("POST", f"{proxy.url}/v1/responses", json=body) as answered:
        for piece in answered.iter_raw():
            received += piece
            stored = proxy.texts if b"response.completed" in piece else stored
    assert received == raw.body
    assert stored == ["Hello?", "She lives in Lisbon."]


def test_memories_that_the_upstream_refuses_are_the_beginning_of_the_message(tmp_path: Path) -> None:
    def accept_texts(request: llm.Request) -> Any:
        is_text = isinstance((request.body or {})["input"], str)
        return answer("Yes.")(request) if is_text else Status(400, "no items")  # type: ignore[operator]

    with serve_proxy(tmp_path) as proxy:
        proxy.upstream.behaviours[:] = [accept_texts]
        post(proxy, FACT)
        for expected in (2, 1):  # requests for each
            before = len(proxy.upstream.asked)
            answered = post(proxy, QUESTION)
            assert answered.status_code == 200
            assert "x-everthread-error" not in answered.headers
            assert sent(proxy).startswith(OPENING)
            assert sent(proxy).endswith(QUESTION)
            assert len(proxy.upstream.asked) - before == expected


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_errors_of_the_upstream_are_passed_on(proxy: Proxy, status: int) -> None:
    proxy.upstream.behaviours[:] = [Status(status, "no", "t", "c", retry_after=7)]
    answered = post(proxy, "Hello?")
    assert (answered.status_code, answered.json()["error"]["code"]) == (status, "c")
    assert answered.headers["retry-after"] == "7"
    assert proxy.texts == ["Hello?"]


# ------------------------------------------------------------------------ hints and odd bodies


def test_requests_that_the_person_did_not_make_are_not_remembered(proxy: Proxy) -> None:
    post(proxy, FACT)
    post(proxy, "### Task:\nGenerate a concise, 3-5 word title with an emoji.")
    post(proxy, QUESTION, headers={"X-Everthread-Task": "title_generation"})
    post(proxy, [user(QUESTION), bot("In Lisbon.")])
    assert not has_memories(proxy)
    assert proxy.texts == [FACT, "Hello there."]


def test_codex_names_its_session_and_the_requests_of_its_agents(proxy: Proxy) -> None:
    post(proxy, FACT, headers={"Session-Id": "of-codex"})
    post(proxy, QUESTION, headers={"Session-Id": "of-codex", "X-OpenAI-Subagent": "review"})
    assert [(line.session, line.text) for line in proxy.lines] == [("of-codex", FACT), ("of-codex", "Hello there.")]
    assert not has_memories(proxy)


def test_a_bank_that_remembers_nothing_is_read_and_not_written(proxy: Proxy) -> None:
    proxy.memory.observe(FACT)
    proxy.memory.set_setting(SETTING_REMEMBER, "never")
    previous = post(proxy, QUESTION).json()["id"]
    assert has_memories(proxy)
    post(proxy, QUESTION, previous_response_id=previous)
    assert proxy.texts == [FACT]


def test_hints_of_ours_are_removed_and_errors_have_the_shape_of_the_api(proxy: Proxy) -> None:
    post(proxy, FACT)
    given: Any = {"everthread": {"bank": proxy.bank, "memory": False}, "metadata": {"bank": "x", "k": "v"}}
    post(proxy, QUESTION, **given, model="m", instructions="Be kind.")
    assert proxy.upstream.bodies[-1] == {
        "model": "m",
        "input": QUESTION,
        "instructions": "Be kind.",
        "metadata": {"k": "v"},
    }
    refused = post(proxy, "Hi.", everthread={"budget": "much"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    key = KeyStore(get_path(proxy.services.store)).create(f"responses {proxy.bank}", [proxy.bank], ["chat"])
    own = {"Authorization": f"Bearer {key}"}
    assert post(proxy, "Hi.", headers=own).status_code == 200
    refused = post(proxy, "Hi.", headers=own, model="m@other")
    assert (refused.status_code, refused.json()["error"].keys()) == (403, {"message", "type", "param", "code"})


def test_a_model_with_a_bank_is_known_at_the_paths_beside(proxy: Proxy) -> None:
    for path in ("input_tokens", "compact"):
        body = {"model": f"m@{proxy.bank}", "input": "Hi."}
        web.post(f"{proxy.url}/v1/responses/{path}", json=body)
        assert proxy.upstream.requests[-1].path == f"/v1/responses/{path}"
        assert proxy.upstream.requests[-1].body == {"model": "m", "input": "Hi."}
    assert proxy.texts == []


def test_a_body_that_is_not_understood_is_the_upstreams_to_refuse(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Status(400, "what?")]
    for body in (b"{", b"[]", b'{"model": "m", "input": 3}', b'{"input": ["x"]}', b"\xff"):
        answered = web.post(f"{proxy.url}/v1/responses", content=body, headers=JSON_TYPE)
        assert (answered.status_code, answered.json()["error"]["message"]) == (400, "what?")
        assert proxy.upstream.requests[-1].data == body


CONTENTS = st.text(max_size=6) | st.none() | st.lists(st.fixed_dictionaries({"type": st.just("input_text")}))
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "item_reference", "function_call", "function_call_output", "?"]),
        "role": st.sampled_from(["user", "assistant", "developer", "?"]) | st.integers(),
        "content": CONTENTS,
        "id": st.just("msg_1") | st.integers(),
    },
)
FIELDS = st.fixed_dictionaries(
    {"input": st.text(max_size=6) | st.lists(ITEMS, max_size=4)},
    optional={
        "model": st.text(alphabet="m@é1", max_size=6) | st.integers(),
        "previous_response_id": st.none() | st.just("resp_1") | st.text(max_size=4) | st.integers(),
        "conversation": st.none() | st.text(max_size=4) | st.dictionaries(st.just("id"), st.text(max_size=3)),
        "background": st.booleans() | st.none(),
    },
)


@pytest.mark.slow
@settings(examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FIELDS, st.booleans())
def test_any_body_gets_an_answer_or_an_error_of_the_api(proxy: Proxy, fields: dict[str, Any], stream: bool) -> None:
    headers = {**JSON_TYPE, "X-Everthread-Bank": proxy.bank}
    content = json.dumps({**fields, "stream": stream}).encode()
    answered = web.post(f"{proxy.url}/v1/responses", content=content, headers=headers)
    assert answered.status_code == 200
    assert "x-everthread-error" not in answered.headers
