"""Anthropic's Messages API through the proxy: the real client before it, and a scripted server of that API after it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hardship import PATIENCE, llm, web
from hardship.llm import Raw, Request, Stall, Status
from hardship.messages import encode, say, stream_block, words
from hardship.served import wait_until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread.common.keys import META_RECALLED, SETTING_REMEMBER
from everthread.server.keys import KeyStore
from everthread.server.proxy.memory_block import OPENING
from everthread.server.server_db import get_path
from server.proxied import BANKS, FACT, QUESTION, Proxy, bot, serve_proxy, user

if TYPE_CHECKING:
    import anthropic  # at run time in the tests alone, because every worker collects this module

CALL = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"who": "Mia"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "Lisbon"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln+/="}
TOOL: Any = {"name": "look_up", "description": "Looks a person up.", "input_schema": {"type": "object"}}


@pytest.fixture
def messages(proxy: Proxy) -> Proxy:
    """Return the proxy, with an upstream that says hello as this API does."""
    proxy.upstream.behaviours[:] = [say("Hello there.")]
    return proxy


@contextmanager
def connect(proxy: Proxy, key: str = "sk-client", **headers: str) -> Iterator[anthropic.Anthropic]:
    import anthropic

    with anthropic.Anthropic(
        base_url=proxy.url, api_key=key, max_retries=0, timeout=PATIENCE, default_headers=headers
    ) as client:
        yield client


def post(proxy: Proxy, *said: Any, path: str = "", headers: Any = None, **fields: Any) -> httpx.Response:
    body = {"model": f"m@{proxy.bank}", "max_tokens": 100, "messages": said, **fields}
    return web.post(f"{proxy.url}/v1/messages{path}", json=body, headers=headers)


def sent(proxy: Proxy) -> Any:
    """Return the messages of the last request to the upstream."""
    return proxy.upstream.bodies[-1]["messages"]


# ---------------------------------------------------------------------- the client


def test_the_client_streams_and_completes(messages: Proxy) -> None:
    messages.upstream.behaviours[:] = [say("How ", "nice."), say(THOUGHT, "In Lisbon."), say("Two.")]
    model = f"m@{messages.bank}"
    with connect(messages) as client:
        with client.messages.stream(model=model, max_tokens=100, messages=[user(FACT)]) as stream:
            assert "".join(stream.text_stream) == "How nice."
        answer = client.messages.create(model=model, max_tokens=100, system="Be kind.", messages=[user(QUESTION)])
        assert [block.type for block in answer.content] == ["thinking", "text"]
    asked = messages.upstream.asked[-1]
    assert (asked.path, (asked.body or {})["model"], (asked.body or {})["system"]) == ("/v1/messages", "m", "Be kind.")
    assert asked.headers["authorization"] == "Bearer sk-client"
    assert "anthropic-version" in asked.headers
    (newest,) = sent(messages)
    memories, question = newest["content"]
    assert memories["text"].startswith(OPENING)
    assert FACT in memories["text"]
    assert question == words(QUESTION)

    async def ask() -> str:
        import anthropic

        async with anthropic.AsyncAnthropic(base_url=f"{messages.url}/bank/{messages.bank}", api_key="x") as client:
            said = [user(QUESTION), bot("In Lisbon."), user([words("How many sisters?")])]
            async with client.messages.stream(model="m", max_tokens=100, messages=said) as stream:
                return "".join([text async for text in stream.text_stream])

    assert asyncio.run(ask()) == "Two."
    assert messages.texts == [FACT, "How nice.", QUESTION, "In Lisbon.", "How many sisters?", "Two."]
    record = messages.lines[1].metadata[META_RECALLED]
    assert messages.lines[1].metadata == {META_RECALLED: record, "via": "proxy", "model": "m-1"}
    assert len({line.session for line in messages.lines}) == 2


def test_memories_keep_their_place_while_the_client_calls_tools(messages: Proxy) -> None:
    post(messages, user(FACT))
    messages.upstream.behaviours[:] = [
        say(THOUGHT, "Let me see.", CALL, reason="tool_use"),
        say("She lives in Lisbon."),
        say("Bye."),
    ]
    model, said = f"m@{messages.bank}", [user([words(QUESTION)])]
    with connect(messages) as client:

        def ask() -> Any:
            return client.messages.create(model=model, max_tokens=100, messages=said, tools=[TOOL])

        called = ask()
        assert called.stop_reason == "tool_use"
        first = sent(messages)
        assert [block["text"].startswith(OPENING) for block in first[0]["content"]] == [True, False]
        assert messages.lines[-1].metadata["partial"] is True
        messages.memory.observe("My sister Mia lives in a house by the sea in Lisbon.")
        said += [bot([block.model_dump() for block in called.content]), user([RESULT])]
        assert ask().content[0].text == "She lives in Lisbon."
        assert sent(messages)[0] == first[0]
        assert sent(messages)[1]["content"][0] == THOUGHT
        assert sent(messages)[2] == user([RESULT])
        said += [
            bot("She lives in Lisbon."),
            user([RESULT, words("Thanks. Does my sister Mia live in a house by the sea?")]),
        ]
        ask()
    content = sent(messages)[-1]["content"]
    assert [part["type"] for part in content] == ["tool_result", "text", "text"]
    assert FACT in content[1]["text"]
    session = [line.text for line in messages.lines if line.session == messages.lines[-1].session]
    assert session == [
        QUESTION,
        "She lives in Lisbon.",
        "Thanks. Does my sister Mia live in a house by the sea?",
        "Bye.",
    ]


def test_in_a_thread_only_the_new_messages_are_sent_and_the_conversation_is_one_session(messages: Proxy) -> None:
    messages.upstream.behaviours[:] = [say("How nice.", id="msg_1"), say("In Lisbon.", id="msg_2"), say("One.")]
    post(messages, user("Hello."), user(FACT), thread={"type": "create"})
    other = post(messages, user("Tell me a joke."), thread={"type": "continue", "previous_message_id": "msg_unknown"})
    post(messages, user(QUESTION), thread={"type": "continue", "previous_message_id": "msg_1"})
    (newest,) = sent(messages)
    assert newest == user(QUESTION)
    by_session = {
        line.session: [each.text for each in messages.lines if each.session == line.session] for line in messages.lines
    }
    assert list(by_session.values()) == [
        ["Hello.", FACT, "How nice.", QUESTION, "One."],
        ["Tell me a joke.", "In Lisbon."],
    ]
    assert other.headers["x-everthread-session"] in by_session


def test_the_clients_tool_runner_has_its_last_reply_stored(messages: Proxy) -> None:
    import anthropic

    def look_up(who: str) -> str:
        """Look a person up."""
        return f"{who} lives in Lisbon."

    call = {**CALL, "name": "look_up"}
    messages.upstream.behaviours[:] = [
        say("Let me see.", call, reason="tool_use", id="msg_1"),
        say({**call, "id": "t2"}, reason="tool_use", id="msg_2"),
        say("She lives in Lisbon.", id="msg_3"),
    ]
    with connect(messages) as client:
        runner = client.beta.messages.tool_runner(
            model=f"m@{messages.bank}", max_tokens=100, tools=[anthropic.beta_tool(look_up)], messages=[user(QUESTION)]
        )
        runner.until_done()
    assert messages.upstream.bodies[-1]["thread"] == {"type": "continue", "previous_message_id": "msg_2"}
    assert messages.texts == [QUESTION, "She lives in Lisbon."]


def test_a_turn_that_the_upstream_paused_in_a_thread_is_resumed_without_a_message(messages: Proxy) -> None:
    messages.upstream.behaviours[:] = [say("Searching.", reason="pause_turn", id="msg_1"), say("It is in Lisbon.")]
    post(messages, user(QUESTION), thread={"type": "create"})
    post(messages, thread={"type": "continue", "previous_message_id": "msg_1"})
    assert messages.texts == [QUESTION, "It is in Lisbon."]


def test_without_a_thread_no_id_is_kept_and_an_empty_request_is_passed_on(messages: Proxy) -> None:
    post(messages, user(FACT))
    assert "response" not in messages.lines[-1].metadata
    assert post(messages).json()["content"] == [words("Hello there.")]
    assert messages.texts == [FACT, "Hello there."]


def test_errors_of_the_upstream_reach_the_client(messages: Proxy) -> None:
    import anthropic

    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    messages.upstream.behaviours[:] = [Raw(json.dumps(error).encode(), "application/json", 529)]
    with connect(messages) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(model=f"m@{messages.bank}", max_tokens=100, messages=[user("Hi.")])
        assert (caught.value.status_code, caught.value.body) == (529, error)
        begin = encode(
            [{"type": "message_start", "message": {"model": "m", "content": []}}, *stream_block(0, words("She moved "))]
        )
        messages.upstream.behaviours[:] = [Raw(begin + encode([error]))]
        with (
            pytest.raises(anthropic.APIStatusError),
            client.messages.stream(model=f"m@{messages.bank}", max_tokens=100, messages=[user("Hi.")]) as stream,
        ):
            stream.until_done()
    wait_until(lambda: len(messages.lines) == 2)
    assert (messages.texts, messages.lines[1].metadata["partial"]) == (["Hi.", "She moved"], True)


# ------------------------------------------------------------------------ what is passed on


def test_a_body_without_anything_relevant_goes_on_unchanged(messages: Proxy) -> None:
    body = b'{ "messages":[{"role":"user","content":"caf\\u00e9?"}],\n"max_tokens":1e2,"model" : "m"}'
    given = {"Content-Type": "application/json", "X-Everthread-Bank": messages.bank, "anthropic-beta": "a,b"}
    web.post(f"{messages.url}/v1/messages?beta=true", content=body, headers=given)
    asked = messages.upstream.requests[-1]
    assert (asked.path, asked.data, asked.headers["anthropic-beta"]) == ("/v1/messages?beta=true", body, "a,b")
    assert messages.texts[0] == "café?"


def test_a_stream_is_passed_on_byte_for_byte_wherever_it_is_cut(messages: Proxy) -> None:
    stream = say(THOUGHT, "Hi é.")(Request("POST", "/", {}, {"stream": True})).body
    stream = b": x\n\n" + stream.replace(b"\n\n", b"\r\n\r\n", 2)
    for at in range(1, len(stream), 97):
        messages.upstream.behaviours[:] = [Raw(stream, cut_at=at)]
        assert post(messages, user("Hello?"), stream=True).content == stream
    assert messages.texts == ["Hello?", "Hi é."]


def test_memories_that_the_upstream_refuses_are_left_out_and_others_keep_their_role(messages: Proxy) -> None:
    post(messages, user(FACT))
    refused = say("Yes.")

    def refuse(request: Request) -> Any:
        return Status(400, "too long") if OPENING.encode() in request.data else refused(request)

    messages.upstream.behaviours[:] = [refuse]
    answer = post(messages, user(QUESTION))
    assert (answer.status_code, answer.headers["x-everthread-error"]) == (200, "memories-refused")
    messages.upstream.behaviours[:] = [say("Yes.")]
    post(messages, user("Where does my sister Mia live now?"))
    assert OPENING in str(sent(messages))
    messages.upstream.behaviours[:] = ["Yes."]
    messages.post(user("And where does my sister Mia live?"))
    assert [message["role"] for message in sent(messages)] == ["system", "user"]


def test_a_client_that_hangs_up_leaves_a_partial_reply(messages: Proxy) -> None:
    begin = encode([{"type": "message_start", "message": {"content": []}}, *stream_block(0, words("She moved "))])
    messages.upstream.behaviours[:] = [Raw(begin, unfinished=True)]
    messages.upstream.hung_up.clear()
    body = {"model": f"m@{messages.bank}", "max_tokens": 9, "stream": True, "messages": [user("Hello?")]}
    with web.stream("POST", f"{messages.url}/v1/messages", json=body) as answer:
        assert any(b"oved" in piece for piece in answer.iter_raw(64))
    assert messages.upstream.hung_up.wait(PATIENCE)
    wait_until(lambda: len(messages.lines) == 2)
    assert (messages.lines[1].text, messages.lines[1].metadata["partial"]) == ("She moved", True)


def test_a_reply_that_is_cut_off_is_continued_and_corrected_to_the_whole(messages: Proxy) -> None:
    messages.upstream.behaviours[:] = [say("She moved", reason="max_tokens"), say(" to Lisbon.")]
    post(messages, user("Where is she?"), stream=True)
    assert messages.lines[1].metadata["partial"] is True
    post(messages, user("Where is she?"), bot("She moved"), stream=True)
    assert messages.texts == ["Where is she?", "She moved to Lisbon."]
    assert "partial" not in messages.lines[-1].metadata


# ------------------------------------------------------------------------- counting tokens


def test_tokens_are_counted_with_the_memories_and_nothing_is_stored(messages: Proxy) -> None:
    post(messages, user(FACT))
    messages.upstream.behaviours[:] = [Raw(b'{"input_tokens": 99}', "application/json")]
    with connect(messages) as client:
        counted = client.messages.count_tokens(model=f"m@{messages.bank}", messages=[user(QUESTION)])
    assert counted.input_tokens == 99
    assert messages.upstream.asked[-1].path == "/v1/messages/count_tokens"
    expected = sent(messages)
    assert FACT in expected[0]["content"][0]["text"]
    assert messages.texts == [FACT, "Hello there."]
    messages.upstream.behaviours[:] = [say("In Lisbon.")]
    post(messages, user(QUESTION))
    assert sent(messages) == expected


def test_counted_memories_leave_out_what_the_request_contains(messages: Proxy) -> None:
    post(messages, user(FACT))
    talk = (user(FACT), bot("Hello there."), user(QUESTION))
    answer = post(messages, *talk, path="/count_tokens")
    assert (sent(messages), answer.headers["x-everthread-recalled"]) == (list(talk), "0")
    assert messages.texts == [FACT, "Hello there."]
    post(messages, user(QUESTION), bot([CALL]), user([RESULT]))
    loop = sent(messages)
    messages.memory.observe("My sister Mia lives in a house by the sea in Lisbon.")
    post(messages, user(QUESTION), bot([CALL]), user([RESULT]), path="/count_tokens")
    assert sent(messages) == loop


def test_counting_makes_no_bank_and_reads_one_that_remembers_nothing(messages: Proxy) -> None:
    post(messages, user(QUESTION), path="/count_tokens")
    assert not messages.services.store.exists(messages.bank)
    messages.memory.observe(FACT)
    messages.memory.set_setting(SETTING_REMEMBER, "never")
    post(messages, user(QUESTION), path="/count_tokens")
    assert FACT in sent(messages)[0]["content"][0]["text"]
    post(messages, user(QUESTION), path="/count_tokens", headers={"X-Everthread-Memory": "off"})
    assert sent(messages) == [user(QUESTION)]


# ------------------------------------------------------------------ banks, sessions and keys


def test_the_metadata_name_the_bank_and_other_hints_come_first(messages: Proxy) -> None:
    named, other = next(BANKS), next(BANKS)
    post(messages, user("Hi."), model="m", metadata={"user_id": named})
    post(messages, user("Hi."), model="m", metadata={"user_id": named, "bank": other})
    assert messages.upstream.bodies[-1]["metadata"] == {"user_id": named}
    banks = messages.services.store.banks()
    assert {named, other} <= set(banks)


def test_claude_code_names_its_session_and_its_agents_are_not_the_person(messages: Proxy) -> None:
    post(messages, user("Hi."), headers={"X-Claude-Code-Session-Id": "c1"})
    agent = {"X-Claude-Code-Session-Id": "c1", "X-Claude-Code-Agent-Id": "a1"}
    post(messages, user("Find all the tests."), headers=agent)
    assert [(line.text, line.session) for line in messages.lines] == [("Hi.", "c1"), ("Hello there.", "c1")]


def test_of_a_session_of_claude_code_the_talk_is_stored(messages: Proxy) -> None:
    reminder = words("<system-reminder>Today is Monday.</system-reminder>")

    def ask(answer: Any, *said: Any, **fields: Any) -> None:
        messages.upstream.behaviours[:] = [answer]
        headers = {"X-Claude-Code-Session-Id": "c1"}
        assert post(messages, *said, path="?beta=true", headers=headers, stream=True, **fields).status_code == 200

    ask(say("#"), user("quota"), max_tokens=1)
    ask(say("Fixing"), user("<session>\nFix it.\n</session>\n\nWrite the title in the language the user wrote in, …"))
    talk = [user([reminder, words("Fix it.")])]
    ask(say("Let me look.", CALL, reason="tool_use"), *talk)
    talk += [bot([words("Let me look."), CALL]), user([RESULT, reminder])]
    ask(say("Fixed."), *talk)
    talk += [bot("Fixed.")]
    ask(say("run the tests"), *talk, user("[SUGGESTION MODE: Suggest what the user might naturally type next.]"))
    talk[0] = user("Fix it.")  # without the reminder
    talk += [user([words("Thanks."), reminder])]
    ask(say("You're welcome."), *talk)
    ask(say("…"), *talk, user("Your task is to create a detailed summary of the conversation so far, paying …"))
    ask(say("Yes."), user("This session is being continued from a previous conversation that ran out of context. …"))
    assert messages.texts == ["Fix it.", "Fixed.", "Thanks.", "You're welcome."]
    assert {line.session for line in messages.lines} == {"c1"}


def test_a_key_of_ours_is_taken_from_either_header_and_never_sent_on(tmp_path: Path) -> None:
    with serve_proxy(tmp_path, key_required=True) as proxy:
        proxy.upstream.behaviours[:] = [say("Hello.")]
        key = KeyStore(get_path(proxy.services.store)).create("nora", [proxy.bank], ["chat"])
        for headers in (
            {"X-Api-Key": key},
            {"Authorization": f"Bearer {key}"},
            {"X-Api-Key": key, "Authorization": "Bearer sk-ant-x"},
            {"X-Api-Key": "sk-ant-x", "Authorization": f"Bearer {key}"},
        ):
            assert post(proxy, user("Hi."), headers=headers).status_code == 200
            received = proxy.upstream.asked[-1].headers
            assert key not in str(received)
            assert ("sk-ant-x" in str(received)) == ("sk-ant-x" in str(headers))
        refused = post(proxy, user("Hi."), headers={"X-Api-Key": key}, model="m@other")
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
        for given in ({}, {"X-Api-Key": "sk-ant-x"}, {"X-Api-Key": "et_unknown"}):
            assert post(proxy, user("Hi."), headers=given).status_code == 401


def test_a_configured_key_replaces_the_clients(tmp_path: Path) -> None:
    with serve_proxy(tmp_path, proxy_key="sk-ant-server") as proxy:
        proxy.upstream.behaviours[:] = [say("Hello.")]
        assert post(proxy, user("Hi."), headers={"X-Api-Key": "sk-ant-client"}).status_code == 200
        received = proxy.upstream.asked[-1].headers
        assert (received["authorization"], "x-api-key" in received) == ("Bearer sk-ant-server", False)


def test_errors_have_the_shape_of_the_api(messages: Proxy) -> None:
    import anthropic

    with connect(messages, "et_unknown") as client, pytest.raises(anthropic.AuthenticationError) as caught:
        client.messages.create(model="m", max_tokens=100, messages=[user("Hi.")])
    body: Any = caught.value.body
    assert (body["type"], body["error"].keys(), body["error"]["type"]) == (
        "error",
        {"type", "message"},
        "authentication_error",
    )
    url, wrong = f"{messages.url}/bank/x/v1/messages", {"Content-Type": "text/plain"}
    for path in ("", "/count_tokens", "/batches"):
        refused = web.post(f"{url}{path}", content=b"x", headers=wrong)
        assert (refused.status_code, refused.json()["error"]["type"]) == (415, "invalid_request_error")
    refused = post(messages, user("Hi."), everthread={"banks": "nora"})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert "unknown member 'banks'" in refused.json()["error"]["message"]


def test_bodies_that_are_too_large_and_upstreams_that_are_gone_are_errors_of_the_api(tmp_path: Path) -> None:
    with llm.closed_port() as port:
        gone = {"proxy_url": f"http://127.0.0.1:{port}/v1", "proxy_max_body_bytes": 1000}
        with serve_proxy(tmp_path, **gone) as proxy:
            answers = [post(proxy, user(text)) for text in ("x" * 1000, "Hi.")]
    assert [(each.status_code, each.json()["error"]["type"]) for each in answers] == [
        (413, "request_too_large"),
        (502, "api_error"),
    ]


# ------------------------------------------------------------------------------- odd bodies

PARTS = st.sampled_from([words("Hi."), words(""), CALL, RESULT, THOUGHT, {"type": 3}, 3])
BODIES = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "assistant", "system", "?", None])},
                optional={"content": st.none() | st.text(max_size=6) | st.lists(PARTS, max_size=4)},
            ),
            max_size=5,
        )
    },
    optional={
        "model": st.text(alphabet="m@\ud800é1", max_size=6) | st.integers(),
        "metadata": st.none() | st.dictionaries(st.sampled_from(["user_id", "bank"]), st.text(max_size=3)),
        "max_tokens": st.none() | st.integers(0, 3),
    },
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BODIES, st.sampled_from(["", "/count_tokens"]), st.floats(0, 1))
def test_any_body_gets_an_answer_or_an_error_of_the_api(
    messages: Proxy, fields: dict[str, Any], path: str, share: float
) -> None:
    whole = json.dumps(fields).encode()
    for content in (whole, whole[: int(share * len(whole))]):
        answer = web.post(
            f"{messages.url}/v1/messages{path}", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (200, 400)
        if answer.status_code == 400:
            assert answer.json()["type"] == "error"
        assert "not-stored" not in answer.headers.get("x-everthread-error", "")


def test_a_server_that_never_answers_is_given_up_by_its_client(messages: Proxy) -> None:
    import anthropic

    messages.upstream.behaviours[:] = [Stall()]
    with connect(messages) as client, pytest.raises(anthropic.APITimeoutError):
        client.with_options(timeout=0.2).messages.create(
            model=f"m@{messages.bank}", max_tokens=100, messages=[user("Hi.")]
        )
    assert messages.texts == ["Hi."]
