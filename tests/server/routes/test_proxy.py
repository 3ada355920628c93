"""The memory proxy over HTTP: real clients before it, and a server of language models with faults after it."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import pytest
from hardship import PATIENCE, SOON, llm, web
from hardship.llm import Cut, Mute, Raw, Reply, Stall, Status
from hardship.loopback import serve_app
from hardship.served import wait_until
from hardship.workers import Workers, two_workers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everthread import Memory, NewLine, NotFound
from everthread.common.keys import META_ECHO, SETTING_REMEMBER
from everthread.recipes.default import Default
from everthread.server.app import create_app
from everthread.server.keys import KeyStore
from everthread.server.proxy import event_stream, exchange, passed_answer
from everthread.server.proxy.conversation_memory import ConversationMemory
from everthread.server.proxy.memory_block import OPENING
from everthread.server.server_db import get_path
from everthread.server.services import Services
from everthread.server.settings import Settings
from everthread.server.workers.bank_locks import BankLocks
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.types import Vector
from server.proxied import BANKS, FACT, QUESTION, Proxy, bot, serve_proxy, user

JSON = {"Content-Type": "application/json"}

# ------------------------------------------------------------------- storing and recalling


def test_both_sides_of_a_conversation_are_stored_and_recalled_in_another(proxy: Proxy) -> None:
    first = proxy.post({"role": "system", "content": "Be kind."}, user(FACT))
    assert first.json()["choices"][0]["message"]["content"] == "Hello there."
    assert [(line.text, line.role) for line in proxy.lines] == [(FACT, "user"), ("Hello there.", "assistant")]
    assert proxy.lines[0].metadata == {"via": "proxy", "model": "m"}
    assert (first.headers["x-everthread-recalled"], proxy.blocks) == ("0", [])

    second = proxy.post(
        {"role": "system", "content": "Be kind."}, user(QUESTION), headers={"X-Everthread-Context": "1"}
    )
    (block,) = proxy.blocks
    assert FACT in block
    assert second.headers["x-everthread-lines"].startswith("1")
    assert second.headers["x-everthread-session"] == proxy.lines[-1].session != proxy.lines[0].session
    roles = [message["role"] for message in proxy.upstream.bodies[-1]["messages"]]
    assert roles == ["system", "system", "user"]


def test_a_reply_has_a_record_of_the_memories_that_its_request_was_given(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.post(user(QUESTION))
    wait_until(lambda: not proxy.memory.backlog)  # while lines wait to be embedded, it isn't certain that none answers
    proxy.post(user("What is 17 times 4?"))
    proxy.post(user("Where does Mia live?"), everthread={"memory": False})
    first, answered, unrelated, without = proxy.lines[1::2]
    (hit,) = [hit for hit in proxy.memory.evidence(answered.seq).hits if hit.seq == 1]
    assert (hit.text, hit.signals.keys() > {"cosine"}) == (FACT, True)
    assert [proxy.memory.evidence(line.seq).hits for line in (first, unrelated)] == [(), ()]
    with pytest.raises(NotFound, match="no memories are recorded"):
        proxy.memory.evidence(without.seq)
    proxy.memory.forget(seq=1)
    assert [hit.seq for hit in proxy.memory.evidence(answered.seq).hits if hit.seq == 1] == []


def test_a_discarded_reply_that_comes_back_has_its_record_again(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = ["In Lisbon.", "In Portugal.", "You're welcome."]
    proxy.post(user(QUESTION))
    proxy.post(user(QUESTION))
    proxy.post(user(QUESTION), bot("In Lisbon."), user("Thanks!"))
    (reply,) = [line for line in proxy.lines if line.text == "In Lisbon."]
    assert 1 in {hit.seq for hit in proxy.memory.evidence(reply.seq).hits}


def test_what_a_reply_quotes_of_its_memories_is_not_found_a_second_time(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = [f"You said: {FACT} Shall we look for flights?"]
    proxy.post(user(QUESTION))
    reply = proxy.lines[-1]
    assert reply.text == f"You said: {FACT} Shall we look for flights?"
    assert reply.metadata[META_ECHO] == [[len("You said: "), len(f"You said: {FACT}")]]
    found = {hit.seq: hit.relevance for hit in proxy.memory.recall("Did Mia move to Lisbon in May?")}
    assert found[1] > 2 * found[reply.seq]


def test_a_body_without_anything_relevant_goes_on_unchanged(proxy: Proxy) -> None:
    body = b'{ "messages":[{"role":"user","content":"caf\\u00e9?"}],\n"x_unknown":1.50,"model" : "m"}'
    headers = {"Content-Type": "application/json", "X-Everthread-Bank": proxy.bank}
    web.post(f"{proxy.url}/v1/chat/completions", content=body, headers=headers).raise_for_status()
    sent = proxy.upstream.requests[-1]
    assert (sent.data, sent.path) == (body, "/v1/chat/completions")
    assert proxy.texts == ["café?", "Hello there."]


def test_a_resent_history_is_stored_once_and_its_lines_are_not_recalled(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.post(user(FACT), bot("Hello there."), user(QUESTION))
    assert proxy.texts == [FACT, "Hello there.", QUESTION, "Hello there."]
    assert len({line.session for line in proxy.lines}) == 1
    assert proxy.blocks == []


def test_a_resent_history_with_characters_that_no_database_stores_is_stored_once(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = ["Zero \0 it is."]
    proxy.post(user("A zero: \0"))
    proxy.post(user("A zero: \0"), bot("Zero \0 it is."), user("Thanks."))
    assert proxy.texts == ["A zero: \ufffd", "Zero \ufffd it is.", "Thanks.", "Zero \ufffd it is."]


def test_lines_that_a_client_has_trimmed_are_recalled(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = ["Lisbon is lovely.", "It was mild.", "Yes."]
    proxy.post(user(FACT))
    proxy.post(user(FACT), bot("Lisbon is lovely."), user("How was the weather?"))
    proxy.post(user("How was the weather?"), bot("It was mild."), user(QUESTION))
    assert FACT in proxy.blocks[0]
    assert len({line.session for line in proxy.lines}) == 1


def test_an_edited_message_replaces_the_first_one(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = ["One.", "Two.", "Three."]
    proxy.post(user("Hi."))
    proxy.post(user("Hi."), bot("One."), user("Tell me a tale."))
    proxy.post(user("Hi."), bot("One."), user("Sing me a song."))
    assert proxy.texts == ["Hi.", "One.", "Sing me a song.", "Three."]


def test_a_regenerated_reply_replaces_the_first_one(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = ["One.", "Two."]
    proxy.post(user("Hi."))
    proxy.post(user("Hi."))
    assert proxy.texts == ["Hi.", "Two."]


@pytest.mark.parametrize("stream", [False, True])
def test_a_spoken_reply_that_the_client_names_by_its_id_stays(proxy: Proxy, stream: bool) -> None:
    spoken = {"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "In Lisbon."}}
    choice = {"index": 0, "delta" if stream else "message": spoken, "finish_reason": "stop"}
    body = json.dumps({"model": "m", "choices": [choice]}).encode()
    raw = Raw(b"data: " + body + b"\n\ndata: [DONE]\n\n") if stream else Raw(body, "application/json")
    proxy.upstream.behaviours[:] = [raw, "Yes."]
    proxy.post(user(QUESTION), stream=stream)
    named = {"role": "assistant", "audio": {"id": "audio_1"}}
    proxy.post(user(QUESTION), named, user("Are you sure?"))
    proxy.post(user(QUESTION), named, user("Are you sure?"), bot("Yes."), user("Thanks."))
    assert proxy.texts == [QUESTION, "In Lisbon.", "Are you sure?", "Yes.", "Thanks.", "Yes."]
    assert len({line.session for line in proxy.lines}) == 1


def test_the_named_session_holds_the_lines(proxy: Proxy) -> None:
    for headers in ({"X-Everthread-Session": "a%20b"}, {"X-OpenWebUI-Chat-Id": "chat"}, {"X-Conversation-Id": "talk"}):
        proxy.post(user("Hi."), headers=headers)
    proxy.post(user("Hi."), everthread={"session": "mine"})
    assert [line.session for line in proxy.lines[::2]] == ["a b", "chat", "talk", "mine"]


def test_the_persons_line_is_stored_before_the_upstream_is_asked(proxy: Proxy) -> None:
    stored: list[str] = []

    def look(request: llm.Request) -> str:
        stored.extend(proxy.texts)
        return "Seen."

    proxy.upstream.behaviours[:] = [look]
    proxy.post(user(FACT))
    assert stored == [FACT]


def test_a_block_that_comes_back_is_removed(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.post(user(QUESTION))
    proxy.post({"role": "system", "content": proxy.blocks[0]}, user("What is 17 times 4?"))
    assert proxy.blocks == []
    assert not any(OPENING in text for text in proxy.texts)


def test_a_client_may_do_without_memories(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    for value in ("off", "False", "0", "no"):
        proxy.post(user(QUESTION), headers={"X-Everthread-Memory": value})
        assert proxy.blocks == []
    proxy.post(user(QUESTION), headers={"X-Everthread-Memory": "on"})
    assert proxy.blocks != []
    proxy.post(user(QUESTION), everthread={"memory": False})
    assert proxy.blocks == []
    assert QUESTION in proxy.texts


def test_a_bank_that_remembers_nothing_is_read_and_not_written(proxy: Proxy) -> None:
    proxy.memory.observe(FACT)
    proxy.memory.set_setting(SETTING_REMEMBER, "never")
    proxy.post(user(QUESTION))
    assert FACT in proxy.blocks[0]
    assert proxy.texts == [FACT]


def test_a_forgotten_turn_gets_no_reply(proxy: Proxy) -> None:
    def forget(request: llm.Request) -> str:
        proxy.memory.forget(everything=True)
        return "Too late."

    proxy.upstream.behaviours[:] = [forget]
    assert proxy.post(user(FACT)).status_code == 200
    assert not proxy.services.store.exists(proxy.bank)


# ------------------------------------------------------------------------------- tools


def test_memories_keep_their_place_while_tools_are_called(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    answer = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    proxy.upstream.behaviours[:] = [
        Raw(json.dumps(answer).encode(), "application/json"),
        "She lives in Lisbon.",
        "Bye.",
    ]
    proxy.post(user(QUESTION))
    first = proxy.upstream.bodies[-1]["messages"]
    assert proxy.lines[-1].metadata["partial"] is True
    proxy.memory.observe("My sister Mia lives in a house by the sea in Lisbon.")
    loop = (user(QUESTION), message, {"role": "tool", "tool_call_id": "1", "content": "Lisbon"})
    proxy.post(*loop)
    second = proxy.upstream.bodies[-1]["messages"]
    assert second[: len(first)] == first
    proxy.post(*loop, bot("She lives in Lisbon."), user("Thanks."))
    session = [line.text for line in proxy.lines if line.session == proxy.lines[-1].session]
    assert session == [QUESTION, "She lives in Lisbon.", "Thanks.", "Bye."]


TOOL_LOOP = (
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "Lisbon"},
)


def test_a_bank_that_was_forgotten_while_tools_are_called_is_not_sent(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    lines = proxy.lines
    proxy.post(user(QUESTION))
    assert FACT in proxy.blocks[0]
    proxy.memory.forget(everything=True)
    for number in range(len(lines)):  # their lines have the numbers of the forgotten ones
        proxy.memory.observe(f"The train number {number} leaves at noon.")
    proxy.post(user(QUESTION), *TOOL_LOOP)
    assert FACT not in json.dumps(proxy.upstream.bodies[-1])


# --------------------------------------------------------------------------- the clients


def test_the_openai_client_streams_and_completes(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = ["One two three.", "Four.", "Five six.", "Seven."]
    model, said = f"m@{proxy.bank}", [user("Count.")]
    with proxy.client() as client:
        stream: Any = client.chat.completions.create(model=model, messages=said, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "One two three."
        said += [bot("One two three."), user("Go on.")]
        answer = client.chat.completions.create(model=model, messages=said)
        assert answer.choices[0].message.content == "Four."
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("unknown")

    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/bank/{proxy.bank}/v1", api_key="x") as client:
            history = [*said, bot("Four."), user("And on.")]
            stream: Any = await client.chat.completions.create(model="m", messages=history, stream=True)
            return [chunk.choices[0].delta.content or "" async for chunk in stream]

    assert "".join(asyncio.run(ask())) == "Five six."
    assert proxy.texts == ["Count.", "One two three.", "Go on.", "Four.", "And on.", "Five six."]
    assert proxy.upstream.asked[-1].headers["authorization"] == "Bearer x"


def test_many_streams_run_at_once(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Reply("One two three four.", delay=0.05)]

    async def ask(client: openai.AsyncOpenAI, number: int) -> str:
        said = [user(f"Number {number}.")]
        stream: Any = await client.chat.completions.create(model=f"m@{proxy.bank}", messages=said, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def ask_all() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(100)))

    assert set(asyncio.run(ask_all())) == {"One two three four."}
    wait_until(lambda: len(proxy.lines) == 200)  # what takes longer than STORING_PATIENCE_S is stored after the answer
    assert len({line.session for line in proxy.lines}) == 100


# ----------------------------------------------------------------------------- the answers

ODD_STREAM = (
    b': comment\r\n\r\ndata: {"choices":[],"x":1.0}\n\n'
    b'event: y\ndata: {"choices":[{"index":0,"delta":{"content":"H\\u0069"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\ndata:[DONE]\n\n: the end'
)
ODD_BODY = b'{ "choices":[{"message":{"content":"H\\u0069"},"finish_reason":"stop"}], "unknown":1e0 }\n'


@pytest.mark.parametrize(
    "raw", [Raw(ODD_STREAM), Raw(ODD_BODY, "application/json; x=1"), Raw(b"[]", "application/json"), Raw(b"\xff")]
)
def test_an_answer_is_passed_on_byte_for_byte(proxy: Proxy, raw: Raw) -> None:
    proxy.upstream.behaviours[:] = [raw]
    answer = proxy.post(user("Hello?"))
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, raw.kind, raw.body)
    assert proxy.texts == (["Hello?", "Hi"] if b"H" in raw.body else ["Hello?"])


def test_headers_of_an_answer_are_passed_on_once(proxy: Proxy) -> None:
    headers = (("Cache-Control", "max-age=5"), ("X-Content-Type-Options", "nosniff"), ("X-Request-Id", "req_1"))
    proxy.upstream.behaviours[:] = [Raw(ODD_BODY, "application/json", headers=headers)]
    given = proxy.post(user("Hello?")).headers
    assert [given.get_list(name) for name, _ in headers] == [[value] for _, value in headers]


def test_blanks_that_keep_a_connection_alive_are_passed_on_at_once(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Raw(b"\n\n", "application/json", unfinished=True)]
    body = {"model": f"m@{proxy.bank}", "messages": [user("Hello?")]}
    with web.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as answer:
        assert next(answer.iter_raw()) == b"\n\n"


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500, 503])
def test_errors_of_the_upstream_are_passed_on(proxy: Proxy, status: int) -> None:
    proxy.upstream.behaviours[:] = [Status(status, "no", "t", "c", retry_after=7)]
    answer = proxy.post(user("Hello?"))
    assert (answer.status_code, answer.json()["error"]["code"], answer.headers["retry-after"]) == (status, "c", "7")
    assert proxy.texts == ["Hello?"]
    proxy.upstream.behaviours[:] = ["Yes."]
    proxy.post(user("Hello?"))
    assert proxy.texts == ["Hello?", "Yes."]


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_of_the_upstream_is_an_error_that_names_the_remedy(proxy: Proxy, status: int) -> None:
    proxy.upstream.behaviours[:] = [Raw(b"", "text/plain", status)]
    answer = proxy.post(user("Hello?"))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (502, "upstream_unreachable")
    assert (
        f"redirects to another address (status {status}); set EVERTHREAD_PROXY_URL to that address" in error["message"]
    )


@pytest.mark.parametrize(
    "refusal",
    [Status(400, "roles must alternate"), Status(500, "Jinja Exception: System message must be at the beginning")],
    ids=["400", "500 of llama.cpp"],
)
def test_memories_that_the_upstream_refuses_are_sent_otherwise_from_then_on(tmp_path: Path, refusal: Status) -> None:
    def accept_alternating(request: llm.Request) -> str | Status:
        roles = [message["role"] for message in (request.body or {})["messages"]]
        return refusal if "system" in roles[1:] else "Yes."

    with serve_proxy(tmp_path) as proxy:
        proxy.upstream.behaviours[:] = [accept_alternating]
        proxy.post({"role": "system", "content": "Be kind."}, user(FACT))
        for expected in (2, 1):  # requests for each
            before = len(proxy.upstream.asked)
            answer = proxy.post({"role": "system", "content": "Be kind."}, user(QUESTION))
            assert answer.status_code == 200
            assert "x-everthread-error" not in answer.headers
            assert proxy.blocks[0].endswith(f"\n\n{QUESTION}")
            assert len(proxy.upstream.asked) - before == expected


def test_a_role_that_was_accepted_at_the_beginning_of_a_conversation_may_be_refused_later(tmp_path: Path) -> None:
    def accept_system_first(request: llm.Request) -> str | Status:
        roles = [message["role"] for message in (request.body or {})["messages"]]
        return Status(400, "roles must alternate") if "system" in roles[1:] else "Yes."

    with serve_proxy(tmp_path) as proxy:
        proxy.upstream.behaviours[:] = [accept_system_first]
        proxy.post(user(FACT))
        proxy.post(user(QUESTION))  # its memories are the first message
        assert proxy.blocks
        answer = proxy.post(user("Hello!"), {"role": "assistant", "content": "Hello, Nora."}, user(QUESTION))
        assert "x-everthread-error" not in answer.headers
        assert proxy.blocks[0].endswith(f"\n\n{QUESTION}")


def test_another_error_of_the_upstream_is_passed_on_at_once_with_memories_as_well(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = [Raw(b"<html>Out of memory</html>", "text/html", 500)]
    before = len(proxy.upstream.asked)
    answer = proxy.post(user(QUESTION))
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html")
    assert answer.content == b"<html>Out of memory</html>"
    assert len(proxy.upstream.asked) - before == 1
    assert int(answer.headers["x-everthread-recalled"]) > 0


def test_memories_that_the_upstream_never_takes_are_left_out(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = [
        lambda request: Status(400, "too long") if OPENING.encode() in request.data else Reply("Yes.")
    ]
    answer = proxy.post(user(QUESTION))
    assert (answer.status_code, answer.headers["x-everthread-error"]) == (200, "memories-refused")
    assert answer.headers["x-everthread-recalled"] == "0"


@pytest.mark.parametrize("how", ["chunk", "reset", "clean"])
def test_a_stream_that_breaks_off_breaks_off_for_the_client_and_is_stored_as_partial(proxy: Proxy, how: Any) -> None:
    proxy.upstream.behaviours[:] = [Cut("She moved ", how)]
    received = b""

    def read() -> None:
        nonlocal received
        body = {"model": f"m@{proxy.bank}", "messages": [user("Hello?")], "stream": True}
        with web.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as answer:
            for piece in answer.iter_raw():
                received += piece

    if how == "clean":
        read()
    else:
        with pytest.raises(httpx.RemoteProtocolError):
            read()
    assert b"moved" in received
    wait_until(lambda: len(proxy.lines) == 2)
    assert (proxy.lines[1].text, proxy.lines[1].metadata["partial"]) == ("She moved", True)


def test_a_client_that_hangs_up_ends_the_upstreams_work_and_the_reply_is_partial(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Stall("She moved ")]
    proxy.upstream.hung_up.clear()
    body = {"model": f"m@{proxy.bank}", "messages": [user("Hello?")], "stream": True}
    with web.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as answer:
        assert any(b"moved" in piece for piece in answer.iter_raw(64))
    assert proxy.upstream.hung_up.wait(PATIENCE)
    wait_until(lambda: len(proxy.lines) == 2)
    assert (proxy.lines[1].text, proxy.lines[1].metadata["partial"]) == ("She moved", True)
    proxy.upstream.behaviours[:] = ["She moved to Lisbon."]
    proxy.post(user("Hello?"))
    assert proxy.texts == ["Hello?", "She moved to Lisbon."]


@pytest.mark.parametrize("repeated", ["", '"model": "m", '])  # a body that isn't understood is passed on as it is
def test_a_running_answer_is_cut_when_its_key_is_revoked(
    tmp_path: Path, repeated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passed_answer, "CHECK_INTERVAL_S", 0.05)
    with serve_proxy(tmp_path, key_required=True) as proxy, closing(KeyStore(get_path(proxy.services.store))) as keys:
        proxy.upstream.behaviours[:] = [Stall("She moved ")]
        headers = {"Authorization": f"Bearer {keys.create('phone', [proxy.bank])}"}
        body = f'{{{repeated}"model": "m", "messages": [{json.dumps(user("Hello?"))}], "stream": true}}'
        url = f"{proxy.url}/bank/{proxy.bank}/v1/chat/completions"
        with web.stream("POST", url, content=body.encode(), headers=JSON | headers) as answer:
            pieces = answer.iter_raw(64)
            next(pieces)
            keys.revoke("phone")
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                b"".join(pieces)
        assert proxy.upstream.hung_up.wait(PATIENCE)


@pytest.mark.parametrize("said", [["Hello?"], []])  # of the second body, nothing is remembered
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_before_there_is_an_answer_ends_the_upstreams_work(
    proxy: Proxy, said: list[str], stream: bool
) -> None:
    proxy.upstream.behaviours[:] = [Mute()]
    proxy.upstream.hung_up.clear()
    body = {"model": f"m@{proxy.bank}", "messages": list(map(user, said)), "stream": stream}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{proxy.url}/v1/chat/completions", json=body, timeout=0.5)
    assert proxy.upstream.hung_up.wait(SOON)
    assert proxy.texts == said


def test_a_reply_that_is_not_read_to_its_end_is_partial(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_LINE_BYTES", 200)
    said = b'data: {"choices":[{"index":0,"delta":{"content":"She moved"}}]}\n\n'
    proxy.upstream.behaviours[:] = [Raw(said + b"data: " + b"x" * 300)]
    assert len(proxy.post(user("Hello?"), stream=True).content) > 300
    wait_until(lambda: len(proxy.lines) == 2)
    assert (proxy.lines[1].text, proxy.lines[1].metadata["partial"]) == ("She moved", True)


def test_a_reply_that_is_cut_off_by_its_length_is_partial(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Reply("She moved", finish="length")]
    proxy.post(user("Hello?"))
    assert proxy.lines[1].metadata["partial"] is True


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_stream_under_another_type_is_passed_on_piece_by_piece_and_stored(proxy: Proxy, kind: str) -> None:
    begun = b'data: {"choices":[{"index":0,"delta":{"content":"She moved"}}]}\n\n'
    proxy.upstream.behaviours[:] = [Raw(begun, kind, unfinished=True)]
    body = {"model": f"m@{proxy.bank}", "messages": [user("Hello?")], "stream": True}
    with web.stream("POST", f"{proxy.url}/v1/chat/completions", json=body) as answer:
        assert next(answer.iter_raw()) == begun  # the upstream has not ended it
    wait_until(lambda: len(proxy.lines) == 2)
    assert (proxy.lines[1].text, proxy.lines[1].metadata["partial"]) == ("She moved", True)
    whole = begun + b'data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}\n\n'
    proxy.upstream.behaviours[:] = [Raw(whole, kind, cut_at=3)]
    assert proxy.post(user("Hello?"), stream=True).content == whole
    assert (proxy.texts, proxy.lines[1].metadata.get("partial")) == (["Hello?", "She moved."], None)


def test_a_reply_is_stored_before_the_client_sees_its_end(proxy: Proxy) -> None:
    for number in range(5):
        proxy.upstream.behaviours[:] = [f"Answer {number}."]
        stream = proxy.post(user(f"Question {number}?"), stream=True)
        assert b"[DONE]" in stream.content
        assert proxy.texts[-1] == f"Answer {number}."


def test_an_answer_that_is_compressed_nonetheless_is_passed_on_compressed_and_read(proxy: Proxy) -> None:
    class Compressed(llm.Handler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._whole(gzip.compress(ODD_BODY), "application/json", 200, {"Content-Encoding": "gzip"})

    listening = llm.Listening(("127.0.0.1", 0), Compressed)
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    app_folder = Path(proxy.services.store.location)
    services = Services(SQLiteStore(app_folder), HashEmbedder(64), None, Default())
    settings = Settings(proxy_url=f"http://127.0.0.1:{listening.server_port}/v1", proxy_bank=proxy.bank)
    with serve_app(create_app(services, settings, closes=True)) as url:
        answer = web.post(f"{url}/v1/chat/completions", json={"model": "m", "messages": [user("Hello?")]})
    listening.shutdown()
    listening.server_close()
    thread.join()
    assert (answer.headers["content-encoding"], answer.content) == ("gzip", ODD_BODY)
    assert proxy.texts == ["Hello?", "Hi"]


def test_an_upstream_that_does_not_answer_is_an_error_of_the_api(tmp_path: Path) -> None:
    with llm.closed_port() as port, serve_proxy(tmp_path / "a", proxy_url=f"http://127.0.0.1:{port}/v1") as proxy:
        answer = proxy.post(user("Hello?"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unreachable")
        assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
        assert (
            f"set EVERTHREAD_PROXY_URL to its address (now http://127.0.0.1:{port}/v1)"
            in answer.json()["error"]["message"]
        )
        assert proxy.texts == ["Hello?"]
        key = KeyStore(get_path(proxy.services.store)).create("remote")
        remote = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "192.0.2.7"}
        assert str(port) not in proxy.post(user("Hello?"), headers=remote).text
    with serve_proxy(tmp_path / "b", proxy_timeout_s=0.2) as proxy:
        proxy.upstream.behaviours[:] = [Mute()]
        answer = proxy.post(user("Hello?"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")


# -------------------------------------------------------------------- what is not remembered


def test_tasks_of_front_ends_are_passed_on_and_not_remembered(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    task = "### Task:\nGenerate a concise, 3-5 word title.\n<chat_history>My sister Mia</chat_history>"
    proxy.post(user(task))
    proxy.post(user(QUESTION), headers={"X-Everthread-Task": "title_generation"})
    proxy.post(user(FACT), bot("Hello there."), {"role": "system", "content": "Describe Mia's sister."})
    assert proxy.blocks == []
    assert proxy.texts == [FACT, "Hello there."]


@pytest.mark.parametrize("header", ["X-OpenWebUI-Chat-Id", "X-Everthread-Session"])
def test_a_temporary_chat_is_passed_on_and_not_remembered(proxy: Proxy, header: str) -> None:
    proxy.post(user(FACT))
    for chat in ("temporary:yH9afbge4In2PUxtAAAF", "local:yH9afbge4In2PUxtAAAF"):
        answer = proxy.post(user(QUESTION), headers={header: chat})
        assert answer.json()["choices"][0]["message"]["content"] == "Hello there."
        assert proxy.blocks == []
    assert proxy.texts == [FACT, "Hello there."]
    proxy.post(user(QUESTION), headers={header: "local:kitchen"})
    assert proxy.lines[-1].session == "local:kitchen"


def test_instructions_after_the_newest_message_keep_their_place(proxy: Proxy) -> None:
    proxy.post(user(FACT), {"role": "system", "content": "[Stay in character.]"})
    proxy.post(user(QUESTION), {"role": "system", "content": "[Stay in character.]"})
    assert proxy.texts == [FACT, "Hello there.", QUESTION, "Hello there."]
    contents = [message["content"] for message in proxy.upstream.bodies[-1]["messages"]]
    assert (FACT in contents[0], contents[1:]) == (True, [QUESTION, "[Stay in character.]"])


def test_a_question_in_a_template_with_documents_is_stored_alone(proxy: Proxy) -> None:
    template = "### Task:\nRespond to the user query using the provided context.\n<context>\nA ferry.\n</context>\n\n"
    proxy.upstream.behaviours[:] = ["At nine.", "Yes."]
    proxy.post(user(f"{template}<user_query>\nWhen does it sail?\n</user_query>"))
    assert "A ferry." in proxy.upstream.bodies[-1]["messages"][-1]["content"]
    proxy.post(user("When does it sail?"), bot("At nine."), user(f"{template}From Lisbon?"))
    assert proxy.texts == ["When does it sail?", "At nine.", "From Lisbon?", "Yes."]


def test_a_reply_that_is_continued_is_corrected_to_the_whole(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Reply("She moved", finish="length"), " to Lisbon.", "She moved to Rome.", "Hm."]
    proxy.post(user("Where is she?"))
    proxy.post(user("Where is she?"), bot("She moved"), stream=True)
    assert proxy.texts == ["Where is she?", "She moved to Lisbon."]
    assert "partial" not in proxy.lines[-1].metadata
    proxy.post(user("Where is she?"), bot("She moved to Lisbon"))
    assert proxy.texts == ["Where is she?", "She moved to Lisbon."]
    proxy.post(user("Who?"), bot("Sure, "))
    assert proxy.texts == ["Where is she?", "She moved to Lisbon.", "Who?", "Sure, Hm."]


def test_a_body_that_is_not_understood_is_the_upstreams_to_refuse(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [Status(400, "what?")]
    for body in (b"{", b"[]", b'{"model": "m", "messages": 3}', b"\xff"):
        answer = web.post(
            f"{proxy.url}/v1/chat/completions", content=body, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "what?")
        assert proxy.upstream.requests[-1].data == body


@pytest.mark.parametrize("messages", ["[]", '["x"]', '[{"role":"user","content":"Hi."}],"messages":[]'])
def test_nothing_of_ours_goes_on_in_a_body_that_is_not_read(proxy: Proxy, messages: str) -> None:
    body = f'{{"model":"m@{proxy.bank}","everthread":{{"budget":9}},"messages":{messages},"x":1.0}}'
    web.post(f"{proxy.url}/v1/chat/completions", content=body, headers=JSON_TYPE)
    assert proxy.upstream.requests[-1].data.decode() == f'{{"model":"m","messages":{messages},"x":1.0}}'
    web.post(f"{proxy.url}/v1/completions", content=body, headers=JSON_TYPE)
    assert proxy.upstream.requests[-1].data.decode() == f'{{"model":"m","messages":{messages},"x":1.0}}'
    assert proxy.texts == []


def test_a_version_of_a_model_is_no_bank_unless_it_is_one(proxy: Proxy) -> None:
    for name, bank in (("claude@default", proxy.bank), (f"claude@default@{proxy.bank}", "default")):
        proxy.post(user("Hi."), model=name, user=bank)
        assert proxy.upstream.bodies[-1]["model"] == "claude@default"
    key = KeyStore(get_path(proxy.services.store)).create(f"default {proxy.bank}", ["default"], ["chat"])
    proxy.post(user("Hi."), model="claude@default", headers={"Authorization": f"Bearer {key}"})
    assert proxy.upstream.bodies[-1]["model"] == "claude"
    proxy.post(user("Hi."), model="claude@default", user=proxy.bank)  # the bank exists now
    assert proxy.upstream.bodies[-1]["model"] == "claude"
    proxy.services.get_memory("default").forget(everything=True)


JSON_TYPE = {"Content-Type": "application/json"}
PARTS = st.text(max_size=6) | st.none() | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}))
CHAT_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "tool", "?"])},
        optional={"content": PARTS, "name": st.text(max_size=4), "tool_calls": st.none() | st.lists(st.integers())},
    ),
    max_size=5,
)
FIELDS = st.fixed_dictionaries(
    {"messages": CHAT_MESSAGES},
    optional={
        "model": st.text(alphabet="m@\ud800é1", max_size=6) | st.integers(),
        "user": st.text(max_size=4) | st.integers(),
        "metadata": st.none() | st.dictionaries(st.sampled_from(["bank", "session_id"]), st.text(max_size=3)),
        "everthread": st.none() | st.dictionaries(st.sampled_from(["bank", "session", "x"]), st.text(max_size=3)),
    },
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FIELDS, st.booleans())
def test_any_body_gets_an_answer_or_an_error_of_the_api(proxy: Proxy, fields: dict[str, Any], stream: bool) -> None:
    content = json.dumps({**fields, "stream": stream}).encode()
    answer = web.post(f"{proxy.url}/v1/chat/completions", content=content, headers=JSON_TYPE)
    assert answer.status_code in (200, 400)
    if answer.status_code == 400:
        assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert "not-stored" not in answer.headers.get("x-everthread-error", "")


# ------------------------------------------------------------------- a memory that fails


@pytest.mark.parametrize("name", ["\ud800@{bank}", "\ud800"])
def test_a_model_whose_name_cannot_be_encoded_fails_no_reply(proxy: Proxy, name: str) -> None:
    proxy.memory.observe(FACT)
    body = json.dumps({"model": name.format(bank=proxy.bank), "messages": [user(QUESTION)]})
    for hint in ({}, {"X-Everthread-Bank": proxy.bank}):
        headers = {"Content-Type": "application/json", **hint}
        answer = web.post(f"{proxy.url}/v1/chat/completions", content=body, headers=headers)
        assert answer.status_code == 200, answer.text


def test_a_recall_that_takes_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    recall = ConversationMemory.recall

    def recall_slowly(*given: Any) -> Any:
        released.wait(PATIENCE)
        return recall(*given)

    with serve_proxy(tmp_path, proxy_patience_s=0.05) as proxy:
        monkeypatch.setattr(ConversationMemory, "recall", recall_slowly)
        answer = proxy.post(user("Hello?"))
        released.set()
        assert (answer.status_code, answer.headers["x-everthread-error"]) == (200, "recall-incomplete")
        assert proxy.texts == ["Hello?", "Hello there."]


def test_an_embedder_that_takes_too_long_leaves_the_lines_that_are_found_by_their_words(tmp_path: Path) -> None:
    released = threading.Event()

    class SlowEmbedder(HashEmbedder):
        def embed_query(self, text: str) -> Vector:
            released.wait(PATIENCE)
            return super().embed_query(text)

    store = SQLiteStore(tmp_path)
    services = Services(store, SlowEmbedder(64), None, Default())
    others = (f"Some other thing number {number} about the garden." for number in range(20))
    services.get_memory("nora", create=True).observe_many(map(NewLine, [FACT, *others]))
    with llm.llm_server("Yes.") as upstream:
        settings = Settings(proxy_url=upstream.url, proxy_patience_s=1.5, proxy_bank="nora")
        with serve_app(create_app(services, settings)) as url:
            body = {"model": "m", "messages": [user("My sister Mia moved to Lisbon, but when, in May?")]}
            answer = web.post(f"{url}/v1/chat/completions", json=body)
            released.set()
        assert "x-everthread-error" not in answer.headers
        assert FACT in upstream.bodies[-1]["messages"][0]["content"]
    store.close()


def test_the_question_is_embedded_once_while_the_message_is_stored(tmp_path: Path) -> None:
    began, embedded = threading.Event(), []

    class Recording(HashEmbedder):
        def embed_query(self, text: str) -> Vector:
            if "Lisbon" in text:
                embedded.append(text)
                began.set()
            return super().embed_query(text)

    class Stored(ConversationMemory):
        def begin(self, *given: Any) -> Any:
            assert began.wait(PATIENCE)
            return super().begin(*given)

    store = SQLiteStore(tmp_path)
    services = Services(store, Recording(64), None, Default())
    services.get_memory("nora", create=True).observe(FACT)
    with llm.llm_server("Yes.") as upstream:
        app = create_app(services, Settings(proxy_url=upstream.url, proxy_patience_s=PATIENCE, proxy_bank="nora"))
        app.state.proxied_conversations = Stored(app.state.conversations, stores_history=True)
        with serve_app(app) as url:
            body = {"model": "m", "messages": [user("My sister moved, didn't she, to Lisbon?")]}
            answer = web.post(f"{url}/v1/chat/completions", json=body)
        assert "x-everthread-error" not in answer.headers
        assert FACT in upstream.bodies[-1]["messages"][0]["content"]
    assert len(embedded) == 1
    store.close()


def test_new_lines_are_embedded_after_the_reply(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    wait_until(lambda: proxy.memory.stats().pending == 0)


@pytest.mark.parametrize("fault", [Status(503), Reply("")])
def test_messages_without_a_reply_are_embedded_and_recalled_as_others(proxy: Proxy, fault: Status | Reply) -> None:
    proxy.upstream.behaviours[:] = [fault, fault, Reply("Yes.")]
    proxy.post(user(FACT))
    proxy.post(user("I sold my red bicycle."))
    assert proxy.texts == [FACT, "I sold my red bicycle."]
    wait_until(lambda: proxy.memory.stats().pending == 0)
    answer = proxy.post(user(QUESTION))
    assert FACT in proxy.blocks[0]
    assert "x-everthread-error" not in answer.headers


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Raw(b"<html>\nSign in</html>", "text/html"), None),
        (Raw(b"\x00\x01\x02", "application/octet-stream"), None),
        (Raw(b"[1, 2]", "application/json"), None),
        (Raw(b"not gzip", "application/json", encoding="gzip"), None),
        (Raw(b"brotli", "application/json", encoding="br"), "reply-not-read"),
    ],
)
def test_a_message_whose_answer_cannot_be_read_is_embedded_without_a_reply(
    proxy: Proxy, answer: Raw, failure: str | None
) -> None:
    proxy.upstream.behaviours[:] = [answer]
    body = {"model": "m", "messages": [user(FACT)]}
    url, headers = f"{proxy.url}/v1/chat/completions", {"X-Everthread-Bank": proxy.bank}
    with httpx.stream("POST", url, json=body, headers=headers) as passed:
        assert b"".join(passed.iter_raw()) == answer.body
        assert passed.headers.get("x-everthread-error") == failure
    assert proxy.texts == [FACT]
    wait_until(lambda: proxy.memory.stats().pending == 0)


def test_messages_to_an_unreachable_server_are_embedded(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with serve_proxy(tmp_path, proxy_url=url) as proxy:
        assert proxy.post(user(FACT)).status_code == 502
        wait_until(lambda: proxy.memory.stats().pending == 0)


def test_a_bank_that_cannot_be_read_or_written_fails_no_reply(proxy: Proxy) -> None:
    proxy.memory.observe(FACT)
    database = min(Path(proxy.services.store.location).rglob(f"{proxy.bank}*"), key=lambda path: len(path.name))
    proxy.bank = next(BANKS)
    database.with_name(database.name.replace(database.stem, proxy.bank)).write_bytes(b"no database" * 1000)
    answer = proxy.post(user("Hello?"))
    assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, "Hello there.")
    assert answer.headers["x-everthread-error"] == "not-stored, not-recalled"
    assert "x-everthread-session" not in answer.headers


@contextmanager
def hold_bank(proxy: Proxy) -> Iterator[None]:
    """Keep everyone else from writing to the bank."""
    names = Path(proxy.services.store.location).rglob(f"{proxy.bank}*")
    with closing(
        sqlite3.connect(min(names, key=lambda path: len(path.name)), isolation_level=None, check_same_thread=False)
    ) as database:
        database.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_that_cannot_be_stored_yet_is_answered_and_stored_later(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with ExitStack() as held:

        def answer(_: llm.Request) -> str:
            held.enter_context(hold_bank(proxy))
            monkeypatch.setattr(exchange, "STORING_PATIENCE_S", 0.05)
            return "She moved."

        proxy.upstream.behaviours[:] = [answer]
        assert b"moved." in proxy.post(user(FACT), stream=stream).content
        assert proxy.texts == [FACT]
    wait_until(lambda: proxy.texts == [FACT, "She moved."])


def test_a_server_that_shuts_down_stores_the_replies_that_it_has_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = Services(SQLiteStore(tmp_path), HashEmbedder(64), None, Default())
    with llm.llm_server("") as upstream, ExitStack() as held:
        proxy = Proxy("", upstream, services, "nora")

        def answer(_: llm.Request) -> str:
            held.enter_context(hold_bank(proxy))
            monkeypatch.setattr(exchange, "STORING_PATIENCE_S", 0.05)
            return "She moved."

        upstream.behaviours[:] = [answer]
        with serve_app(create_app(services, Settings(proxy_url=upstream.url), closes=True)) as proxy.url:
            assert b"moved." in proxy.post(user(FACT)).content
            threading.Timer(0.2, held.close).start()
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        assert [line.text for line in memory.lines()] == [FACT, "She moved."]


# ------------------------------------------------------------------------- banks and keys


def test_each_hint_names_the_bank_in_its_order(proxy: Proxy) -> None:
    names = [next(BANKS) for _ in range(6)]
    headers = {"X-Everthread-Bank": names[0], "X-OpenWebUI-User-Id": names[4]}
    fields: dict[str, Any] = {"everthread": {"bank": names[1]}, "model": f"m@{names[2]}", "user": names[5]}
    path = f"bank/{names[3]}/v1"
    for name in names:
        body = {"model": "m", **fields, "messages": [user("Hi.")]}
        web.post(f"{proxy.url}/{path}/chat/completions", json=body, headers=headers).raise_for_status()
        assert proxy.services.store.exists(name)
        assert proxy.upstream.bodies[-1] == {"model": "m", "messages": [user("Hi.")], "user": names[5]}
        headers.pop("X-Everthread-Bank", None)
        if name == names[1]:
            del fields["everthread"]
        if name == names[2]:
            del fields["model"]
        if name == names[3]:
            path = "v1"
        if name == names[4]:
            headers.clear()
    assert [len(list(proxy.services.get_memory(name).lines())) for name in names] == [2] * 6


def test_two_people_are_kept_apart(proxy: Proxy) -> None:
    nora, emil = next(BANKS), next(BANKS)
    proxy.post(user(FACT), model="m", user=nora)
    answer = proxy.post(user(QUESTION), model="m", user=emil)
    assert (answer.headers["x-everthread-recalled"], proxy.blocks) == ("0", [])
    proxy.post(user(QUESTION), model="m", user=nora)
    assert FACT in proxy.blocks[0]


def test_the_version_of_a_model_is_not_a_bank(proxy: Proxy) -> None:
    proxy.post(user("Hi."), model="claude-3-5-sonnet@20240620", user=proxy.bank)
    assert proxy.upstream.bodies[-1]["model"] == "claude-3-5-sonnet@20240620"
    proxy.post(user("Hi."), model="@cf/meta/llama", user=proxy.bank)
    assert proxy.upstream.bodies[-1]["model"] == "@cf/meta/llama"


def test_invalid_hints_are_named(proxy: Proxy) -> None:
    asked = len(proxy.upstream.asked)
    for headers, fields, named in (
        ({"X-Everthread-Bank": "b" * 201}, {}, "201 characters"),
        ({"X-Everthread-Session": "s" * 201}, {}, "201 characters"),
        ({"X-Everthread-Memory": "maybe"}, {}, "invalid X-Everthread-Memory: got 'maybe', expected on or off"),
        ({}, {"everthread": {"budget": "much"}}, "everthread.budget"),
    ):
        answer = proxy.post(user("Hi."), headers=headers, **fields)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
        assert named in answer.json()["error"]["message"]
    assert len(proxy.upstream.asked) == asked


def test_a_blank_user_counts_as_not_given(proxy: Proxy) -> None:
    fields = {"model": "m", "user": "   "}
    assert proxy.post(user("Hi."), headers={"X-OpenWebUI-User-Id": proxy.bank}, **fields).status_code == 200
    assert proxy.upstream.bodies[-1]["user"] == "   "
    assert proxy.texts[:1] == ["Hi."]


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
def test_users_that_are_named_by_a_safety_identifier_have_banks_of_their_own(proxy: Proxy, path: str) -> None:
    for name in ("ann", "ben"):
        body = {"model": "m", "safety_identifier": f"{proxy.bank}-{name}"}
        field = "input" if path == "responses" else "messages"
        said = {field: [user(f"I am {name}.")]}
        assert web.post(f"{proxy.url}/v1/{path}", json={**body, **said}).status_code == 200
        assert proxy.upstream.bodies[-1]["safety_identifier"] == body["safety_identifier"]
        stored = proxy.services.get_memory(body["safety_identifier"]).lines()
        assert next(stored).text == f"I am {name}."


def test_a_message_that_an_sdk_sends_again_to_a_session_replaces_its_turn(proxy: Proxy) -> None:
    proxy.upstream.behaviours[:] = [llm.Reply(f"Answer {number}.") for number in range(5)]
    for text, retries in (("Hi.", 0), ("I like tea.", 0), ("I like tea.", 1), ("Yes.", 0), ("Yes.", 0)):
        headers = {"X-Everthread-Session": "desk", "X-Stainless-Retry-Count": str(retries)}
        proxy.post(user(text), headers=headers)
    assert proxy.texts == ["Hi.", "Answer 0.", "I like tea.", "Answer 2.", "Yes.", "Answer 3.", "Yes.", "Answer 4."]


@pytest.mark.parametrize("count", ["", "no", "00", "-1"])
def test_a_message_that_is_said_twice_is_kept_twice_whatever_the_count_of_retries_says(
    proxy: Proxy, count: str
) -> None:
    proxy.upstream.behaviours[:] = [llm.Reply(f"Answer {number}.") for number in range(3)]
    for text in ("Hi.", "Yes.", "Yes."):
        proxy.post(user(text), headers={"X-Everthread-Session": "desk", "X-Stainless-Retry-Count": count})
    assert proxy.texts == ["Hi.", "Answer 0.", "Yes.", "Answer 1.", "Yes.", "Answer 2."]


@pytest.mark.parametrize(
    ("fields", "bank", "session"),
    [
        ({"user": 4711, "session_id": 1}, "4711", "1"),
        ({"metadata": {"bank": 4712, "session_id": 2}}, "4712", "2"),
        ({"user": 4713, "conversation": 3}, "4713", "3"),
    ],
)
def test_numbers_name_people_and_sessions_like_texts(
    proxy: Proxy, fields: dict[str, Any], bank: str, session: str
) -> None:
    proxy.post(user(FACT), model="m", **fields)
    assert [(line.text, line.session) for line in proxy.services.get_memory(bank).lines()][:1] == [(FACT, session)]
    assert proxy.post(user(QUESTION), model="m", user=True).headers["x-everthread-recalled"] == "0"


@pytest.mark.parametrize("name", ["u" * 201, "a\nb"])
def test_users_whose_ids_are_no_names_have_banks_of_their_own(proxy: Proxy, name: str) -> None:
    for each in (name, f"{name}2"):
        assert proxy.post(user("Hi."), model="m", user=each).status_code == 200
        bank = f"user-{sha256(each.encode()).hexdigest()}"
        assert next(proxy.services.get_memory(bank).lines()).text == "Hi."


def test_a_key_of_ours_is_for_its_banks_and_never_sent_on(proxy: Proxy) -> None:
    key = KeyStore(get_path(proxy.services.store)).create(f"key of {proxy.bank}", [proxy.bank], ["chat"])
    own = {"Authorization": f"Bearer {key}", "X-Api-Key": key, "X-Goog-Api-Key": key, "X-Other": f"key={key}"}
    assert proxy.post(user("Hi."), headers=own).status_code == 200
    assert not any("et_" in value for value in proxy.upstream.asked[-1].headers.values())
    for other in (
        proxy.post(user("Hi."), headers=own, model="m@other"),
        proxy.post(user("Hi."), headers=own, model="m"),
    ):
        assert (other.status_code, other.json()["error"]["code"]) == (403, "forbidden")
    unknown = proxy.post(user("Hi."), headers={"Authorization": "Bearer et_unknown"})
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (401, "authentication_error")
    reading = KeyStore(get_path(proxy.services.store)).create(f"reading {proxy.bank}", [proxy.bank], ["read"])
    for path in ("models", "anything"):
        answer = web.get(f"{proxy.url}/v1/{path}", headers={"Authorization": f"Bearer {reading}"})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("query", "passed"),
    [
        ("?key={}", ""),
        ("?api_key={}&limit=2", "?limit=2"),
        ("?a=%20b&token=x%2C%65t_{}&c", "?a=%20b&c"),
        ("?key=sk-client", "?key=sk-client"),
    ],
)
def test_a_key_of_ours_in_the_query_is_never_sent_on(proxy: Proxy, query: str, passed: str) -> None:
    key = f"et_{'k' * 40}"
    web.get(f"{proxy.url}/v1/files{query.format(key.removeprefix('et_') if '%65t_' in query else key)}")
    assert proxy.upstream.requests[-1].path == f"/v1/files{passed}"


def test_a_blank_authorization_counts_as_none(proxy: Proxy) -> None:
    assert proxy.post(user("Hello?"), headers={"Authorization": ""}).status_code == 200
    assert web.get(f"{proxy.url}/api/v1/about", headers={"Authorization": ""}).status_code == 200


def test_where_keys_are_required_a_key_of_the_upstream_is_not_enough(tmp_path: Path) -> None:
    with serve_proxy(tmp_path, key_required=True, proxy_key="sk-upstream") as proxy:
        for headers in ({}, {"Authorization": "Bearer sk-client"}):
            assert proxy.post(user("Hi."), headers=headers).status_code == 401
            assert web.get(f"{proxy.url}/v1/models", headers=headers).status_code == 401
        key = KeyStore(get_path(proxy.services.store)).create("all")
        others = dict.fromkeys(("X-Api-Key", "Api-Key", "X-Goog-Api-Key"), "sk-client")
        assert proxy.post(user("Hi."), headers={"Authorization": f"Bearer {key}", **others}).status_code == 200
        assert proxy.upstream.asked[-1].headers["authorization"] == "Bearer sk-upstream"
        assert "sk-client" not in proxy.upstream.asked[-1].headers.values()


def test_a_client_that_another_proxy_names_needs_a_key_of_ours(proxy: Proxy) -> None:
    headers = {"Authorization": "Bearer sk-client", "X-Forwarded-For": "192.0.2.7"}
    assert proxy.post(user("Hi."), headers=headers).status_code == 401


def test_headers_for_this_server_are_not_sent_on(proxy: Proxy) -> None:
    given = {"X-Everthread-Bank": proxy.bank, "Cookie": "a=b", "OpenAI-Organization": "o", "X-Custom": "c"}
    proxy.post(user("Hi."), headers=given)
    sent = proxy.upstream.asked[-1].headers
    assert (sent["openai-organization"], sent["x-custom"], sent["accept-encoding"]) == ("o", "c", "identity")
    assert sent["host"] == proxy.upstream.host.removeprefix("http://")
    assert not {"x-everthread-bank", "cookie"} & sent.keys()


# -------------------------------------------------------------------------- several workers


@pytest.fixture(scope="module")
def upstream_and_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[llm.Server, Workers]]:
    """Yield two workers and their upstream."""
    with llm.llm_server() as upstream, two_workers(tmp_path_factory.mktemp("workers"), upstream.url) as workers:
        yield upstream, workers


def test_a_reply_that_the_client_begins_is_stored_with_its_message_and_memories(proxy: Proxy) -> None:
    proxy.post(user(FACT))
    proxy.upstream.behaviours[:] = ["Lisbon.", "Porto, too.", "Goodbye."]
    answer = proxy.post(user(QUESTION), bot("She lives in "))
    assert "x-everthread-session" in answer.headers
    assert FACT in proxy.blocks[0]
    said = [user(QUESTION), bot("She lives in Lisbon."), user("Where else?")]
    proxy.post(*said, bot("In "), stream=True)
    proxy.post(*said, bot("In Porto, too."), user("Bye."))
    assert proxy.texts[2:] == [*(each["content"] for each in said), "In Porto, too.", "Bye.", "Goodbye."]
    assert len({line.session for line in proxy.lines[2:]}) == 1


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize("before", [[], [user("Look!"), bot("At what?")]], ids=["first", "later"])
def test_the_reply_to_a_picture_without_words_is_stored(proxy: Proxy, before: list[dict[str, Any]]) -> None:
    picture = {"role": "user", "content": [PICTURE]}
    if before:
        proxy.upstream.behaviours[:] = ["At what?"]
        proxy.post(*before[:-1])
    proxy.upstream.behaviours[:] = ["A brown dog.", "A collie."]
    proxy.post(*before, picture)
    assert proxy.texts == [*(each["content"] for each in before), "A brown dog."]
    proxy.post(*before, picture, bot("A brown dog."), user("What breed is it?"))
    assert proxy.texts[len(before) :] == ["A brown dog.", "What breed is it?", "A collie."]
    assert len({line.session for line in proxy.lines}) == 1
    assert not any(line.is_undated for line in proxy.lines)


def test_a_message_that_no_line_can_hold_is_not_stored_and_its_conversation_goes_on(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "STORING_PATIENCE_S", 0.5)
    long = user("ha " * 1_400_000)
    answer = proxy.post(long)
    assert (answer.status_code, answer.headers["x-everthread-error"]) == (200, "not-stored")
    answer = proxy.post(long, bot("Hello there."), user("That was long."))
    assert "x-everthread-error" not in answer.headers
    assert proxy.texts == ["Hello there.", "That was long.", "Hello there."]


def test_a_message_that_can_not_be_stored_later_is_reported_as_not_stored(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "STORING_PATIENCE_S", 0.0)
    proxy.upstream.behaviours[:] = [Reply("Hello there.", first=1.0)]
    assert proxy.post(user("ha " * 1_400_000)).headers["x-everthread-error"] == "not-stored"


def test_a_conversation_goes_on_at_another_worker(upstream_and_workers: tuple[llm.Server, Workers]) -> None:
    upstream, workers = upstream_and_workers
    upstream.behaviours[:] = [f"Answer {number}." for number in range(4)]
    said: list[Any] = []
    for number in range(4):
        said.append(user(f"Question {number}?"))
        with workers.at(workers.sockets()[number % 2]) as client:
            body = {"model": "m@nora", "messages": said}
            answer = client.post("http://127.0.0.1/v1/chat/completions", json=body)
        said.append(answer.json()["choices"][0]["message"])
    lines = stored_lines(workers, "nora")
    assert [line["text"] for line in lines] == [message["content"] for message in said]
    assert len({line["session"] for line in lines}) == 1


def test_a_message_for_a_busy_bank_is_stored_after_the_reply_has_begun(
    upstream_and_workers: tuple[llm.Server, Workers],
) -> None:
    upstream, workers = upstream_and_workers
    upstream.behaviours[:] = ["Hello there."]
    socket = workers.sockets()[0]
    with workers.at(socket) as client:
        body = {"model": "m@mia", "messages": [user("Hello?")], "stream": True}
        with BankLocks(socket.parent).hold("mia", PATIENCE):
            answer = client.send(
                client.build_request("POST", "http://127.0.0.1/v1/chat/completions", json=body), stream=True
            )
            assert (answer.status_code, answer.headers["x-everthread-error"]) == (200, "stored-later")
        assert b"[DONE]" in answer.read()
    wait_until(lambda: len(stored_lines(workers, "mia")) == 2)
    assert [line["text"] for line in stored_lines(workers, "mia")] == ["Hello?", "Hello there."]


def stored_lines(workers: Workers, bank: str) -> list[dict[str, Any]]:
    with workers.at(workers.sockets()[1]) as client:
        answer = client.get(f"/banks/{bank}/lines")
    return list(answer.json().get("items", ()))  # none before the bank exists


# ------------------------------------------------------------------------ models and embeddings


def test_models_are_listed_with_the_banks_of_the_caller(proxy: Proxy) -> None:
    proxy.post(user("Hi."))
    with proxy.client() as client:
        names = [model.id for model in client.models.list()]
        assert names[0] == "m"
        assert f"m@{proxy.bank}" in names
        assert client.models.retrieve(f"m@{proxy.bank}").id == f"m@{proxy.bank}"
        assert proxy.upstream.requests[-1].path == "/v1/models/m"
    key = KeyStore(get_path(proxy.services.store)).create(f"models {proxy.bank}", [proxy.bank, "new/*"], ["chat"])
    with proxy.client(key) as client:
        assert [model.id for model in client.models.list()] == ["m", f"m@{proxy.bank}"]
        with pytest.raises(openai.PermissionDeniedError):
            client.models.retrieve("m@other")


@pytest.mark.parametrize("header", ["X-Everthread-Bank", "X-OpenWebUI-User-Id"])
def test_models_are_listed_alone_for_a_client_that_names_its_bank(proxy: Proxy, header: str) -> None:
    proxy.post(user("Hi."))
    assert len(web.get(f"{proxy.url}/v1/models").json()["data"]) > 1
    listed = web.get(f"{proxy.url}/v1/models", headers={header: proxy.bank}).json()["data"]
    assert [model["id"] for model in listed] == ["m"]
    listed = web.get(f"{proxy.url}/api/tags", headers={header: proxy.bank}).json()["models"]
    assert [model["name"] for model in listed] == ["m"]


def test_texts_are_embedded_by_the_memory_or_by_the_upstream(proxy: Proxy) -> None:
    embedder = HashEmbedder(64)
    first, second = embedder.embed(["Hello.", "Mia"]).tolist()
    with proxy.client() as client:
        answer = client.embeddings.create(model="everthread", input=["Hello.", "Mia"])  # the client asks for base64
        assert [item.embedding for item in answer.data] == [first, second]
        answer = client.embeddings.create(model="everthread", input=["Hello.", "Mia"], encoding_format="float")
        assert [item.embedding for item in answer.data] == [first, second]
        answer = client.embeddings.create(model=embedder.name, input="Mia", dimensions=64)
        assert answer.data[0].embedding == second
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="text-embedding-3-small", input="Mia")
        assert proxy.upstream.requests[-1].path == "/v1/embeddings"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input": []}, "invalid input: expected a text or a list of texts; lists of tokens are not supported"),
        ({"input": [[1, 2]]}, "invalid input: expected a text or a list of texts; lists of tokens are not supported"),
        ({"input": ["x"] * 2049}, "invalid input: got 2049 texts, expected at most 2048"),
        ({"input": "x", "dimensions": 3}, "invalid dimensions: got 3, expected 64"),
        ({"input": "x", "encoding_format": "hex"}, "invalid encoding_format: got 'hex', expected float or base64"),
    ],
)
def test_an_invalid_request_for_embeddings_is_refused(proxy: Proxy, fields: dict[str, Any], message: str) -> None:
    answer = web.post(f"{proxy.url}/v1/embeddings", json={"model": "everthread", **fields})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)


# ----------------------------------------------------------------------------------- Ollama's API


def ollama_lines(*pieces: str) -> Raw:
    """Return an answer of Ollama's, streamed in pieces."""
    lines = [{"model": "m", "message": bot(piece), "done": False} for piece in pieces]
    lines.append({"model": "m", "message": bot(""), "done": True, "done_reason": "stop", "eval_count": 7})
    return Raw(b"".join(json.dumps(line).encode() + b"\n" for line in lines), "application/x-ndjson")


def test_the_client_of_ollama_streams_and_completes(proxy: Proxy) -> None:
    whole = {"model": "m", "message": bot("In Lisbon."), "done": True, "done_reason": "stop"}
    proxy.upstream.behaviours[:] = [ollama_lines("How ", "nice."), Raw(json.dumps(whole).encode(), "application/json")]
    client, model = ollama.Client(proxy.url), f"m@{proxy.bank}"
    pieces = client.chat(model, [user(FACT)], stream=True)
    assert "".join(piece.message.content or "" for piece in pieces) == "How nice."
    assert client.chat(model, [user(QUESTION)]).message.content == "In Lisbon."
    assert proxy.upstream.asked[-1].path == "/api/chat"
    assert FACT in proxy.blocks[0]
    assert proxy.texts == [FACT, "How nice.", QUESTION, "In Lisbon."]
    names = [each.model for each in client.list().models]
    assert names[0] == "m"
    assert model in names
    client._client.close()


def test_other_paths_of_ollama_are_passed_on_without_the_bank(proxy: Proxy) -> None:
    for path in ("generate", "show", "embed", "embeddings"):
        answer = web.post(f"{proxy.url}/bank/x/api/{path}", json={"model": f"m@{proxy.bank}", "prompt": "Hi."})
        assert answer.status_code == 404
        sent = proxy.upstream.requests[-1]
        assert (sent.path, (sent.body or {})["model"]) == (f"/api/{path}", "m")
    for path in ("version", "ps", "tags"):
        for method in ("GET", "HEAD"):
            web.request(method, f"{proxy.url}/bank/x/api/{path}")
            assert proxy.upstream.requests[-1].path == f"/api/{path}"
    assert proxy.texts == []


@pytest.mark.parametrize("given", [{"Content-Type": "application/x-www-form-urlencoded"}, {}])
def test_ollama_takes_json_as_curl_sends_it_and_no_form_of_a_page(proxy: Proxy, given: dict[str, str]) -> None:
    for path in ("chat", "generate"):
        body = json.dumps({"model": f"m@{proxy.bank}", "messages": [user(FACT)], "prompt": "Hi."})
        asked = f"{proxy.url}/api/{path}"
        assert web.post(asked, content=body, headers=given).status_code != 415
        assert proxy.upstream.requests[-1].path == f"/api/{path}"
        assert web.post(asked, content=body, headers={**given, "Origin": proxy.url}).status_code == 415
        assert web.post(asked, content=body, headers={**given, "Origin": "null"}).status_code == 403
    assert proxy.texts[0] == FACT
    assert web.post(f"{proxy.url}/v1/chat/completions", content=b"{}", headers=given).status_code == 415


def test_errors_for_clients_of_ollama_have_its_shape(proxy: Proxy) -> None:
    refused = web.post(f"{proxy.url}/api/chat", json={"model": "m"}, headers={"Authorization": "Bearer et_unknown"})
    assert (refused.status_code, refused.json().keys()) == (401, {"error"})
    refused = web.post(f"{proxy.url}/api/chat", content=b"x", headers={"Content-Type": "text/plain"})
    assert (refused.status_code, refused.json().keys()) == (415, {"error"})
    key = KeyStore(get_path(proxy.services.store)).create(f"ollama {proxy.bank}", [proxy.bank], ["chat"])
    own = {"Authorization": f"Bearer {key}"}
    assert web.post(f"{proxy.url}/api/show", json={"model": "m@other"}, headers=own).status_code == 403


@pytest.mark.parametrize("path", ["api/pull", "bank/x/api/copy", "api/blobs/sha256:0"])
def test_the_rest_of_ollamas_api_is_refused_in_its_shape(proxy: Proxy, path: str) -> None:
    before = len(proxy.upstream.requests)
    for method in ("POST", "DELETE"):
        refused = web.request(method, f"{proxy.url}/{path}", headers={"Content-Type": "application/json"})
        assert (refused.status_code, refused.json().keys()) == (404, {"error"})
        assert f"{method} /{path} is not passed on" in refused.json()["error"]
    assert len(proxy.upstream.requests) == before
    assert web.get(f"{proxy.url}/api/v1").json()["type"] == "urn:everthread:http"
    assert web.delete(f"{proxy.url}/api/v1/about").status_code == 405


# ------------------------------------------------------------------------------ all other paths


def test_other_paths_are_passed_on_untouched(proxy: Proxy) -> None:
    for method, path, body in (
        ("GET", "files?limit=2", b""),
        ("POST", "completions", b'{"prompt" : "x"}'),
        ("DELETE", "x%2Fy", b""),
        ("OPTIONS", "models", b""),
        ("HEAD", "models", b""),
    ):
        headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-client"}
        web.request(method, f"{proxy.url}/v1/{path}", content=body or None, headers=headers)
        sent = proxy.upstream.requests[-1]
        assert (sent.method, sent.path, sent.data) == (method, f"/v1/{path}", body)
        assert sent.headers["authorization"] == "Bearer sk-client"


@pytest.mark.parametrize(
    "path",
    ["v1/..%2Fapi%2Fdelete", "v1/x/..%2f%2E%2e%2Fapi", "v1/models/..%2F..%2Fapi%2Fps@{}", "bank/x/v1/%2e%2Fadmin"],
)
def test_a_path_that_leads_above_the_upstreams_is_refused(proxy: Proxy, path: str) -> None:
    proxy.post(user("Hi."))  # creates the bank
    asked = len(proxy.upstream.requests)
    answer = web.get(f"{proxy.url}/{path.format(proxy.bank)}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_path")
    assert len(proxy.upstream.requests) == asked


@pytest.mark.parametrize(
    "path", ["audio/transcriptions", "containers/c/files", "realtime/calls", "skills", "skills/s/versions", "videos"]
)
def test_a_form_with_a_file_is_passed_on(proxy: Proxy, path: str) -> None:
    web.post(f"{proxy.url}/v1/{path}", files={"file": b"sound" * 50_000}, data={"model": "m"})
    sent = proxy.upstream.requests[-1]
    assert sent.path == f"/v1/{path}"
    assert b"sound" * 50_000 in sent.data


def test_the_description_of_a_call_is_passed_on(proxy: Proxy) -> None:
    web.post(f"{proxy.url}/v1/realtime/calls", content=b"v=0", headers={"Content-Type": "application/sdp"})
    assert proxy.upstream.requests[-1].data == b"v=0"


# ----------------------------------------------------------------------------------- the guard


def test_bodies_have_a_limit_of_their_own(tmp_path: Path) -> None:
    with serve_proxy(tmp_path, max_body_bytes=1000, proxy_max_body_bytes=50_000) as proxy:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}
        assert proxy.post(user([{"type": "text", "text": "Who is it?"}, picture])).status_code == 200
        answer = proxy.post(user("x" * 60_000))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        answer = web.post(f"{proxy.url}/v1/chat/completions", content=b"x", headers={"Content-Type": "text/plain"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "wrong_type")
        web.post(f"{proxy.url}/v1/files", files={"file": b"x" * 60_000})
        assert b"x" * 60_000 in proxy.upstream.requests[-1].data


def test_pages_of_other_sites_are_refused_unless_they_are_named(tmp_path: Path) -> None:
    page, other = (
        {"Origin": "https://chat.example.org", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
    )
    with serve_proxy(tmp_path, proxy_origins=("https://chat.example.org",)) as proxy:
        path = f"{proxy.url}/v1/chat/completions"
        asked = httpx.options(path, headers={**page, "Access-Control-Request-Headers": "authorization"})
        assert (asked.status_code, asked.headers["access-control-allow-headers"]) == (204, "authorization")
        answer = proxy.post(user("Hi."), headers=page)
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page["Origin"])
        assert "origin" not in proxy.upstream.asked[-1].headers
        assert httpx.options(path, headers=other).status_code == 403
        refused = proxy.post(user("Hi."), headers=other)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "foreign_origin")
        assert web.get(f"{proxy.url}/api/v1/about", headers=page).status_code == 403


def test_no_page_of_another_site_is_allowed_by_default(proxy: Proxy) -> None:
    answer = proxy.post(user("Hi."), headers={"Origin": "https://chat.example.org"})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["v1/models", "bank/x/v1/models", "%76%31/models", "bank/a%2Fb/v1/x", "api/tags"])
def test_no_page_of_another_site_can_link_to_the_upstream(proxy: Proxy, path: str) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    asked = len(proxy.upstream.requests)
    assert web.get(f"{proxy.url}/{path}", headers=link).status_code == 403
    assert len(proxy.upstream.requests) == asked
