import json
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from effort import examples
from hardship import PATIENCE
from hardship.llm import (
    HTML,
    LATIN,
    MALFORMED,
    Behaviour,
    Cut,
    Endless,
    Mute,
    Picky,
    Raw,
    Reply,
    Request,
    Stall,
    Status,
    closed_port,
    llm_server,
)
from hypothesis import given
from hypothesis import strategies as st

from everthread.errors import ConfigError, LLMDenied, LLMRejected, LLMUnavailable, ModelError, ModelNotFound
from everthread.llms import streaming
from everthread.llms.base import LLM, PushStream, Stream
from everthread.llms.errors import redact_url
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.llms.streaming import MAX_PEEK_BYTES, MAX_REPLY_BYTES, estimate_usage
from everthread.types import JSONValue, Message, Sampling, Usage

CANARY = "zqxcanary"
KEY = "sk-secret"
MESSAGES = [Message("system", "You are Nemo."), Message("user", f"Where is the {CANARY}?")]
SCHEMA: dict[str, JSONValue] = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}


def open_model(url: str, **options: Any) -> OpenAICompatible:
    return OpenAICompatible(url, "m", KEY, **{"timeout": 5.0, "sleep": lambda seconds: None, **options})


def read_reply(llm: LLM, sampling: Sampling | None = None) -> str:
    return "".join(llm.stream(MESSAGES, sampling))


def event(delta: object) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()


# ---------------------------------------------------------------------------------------------- streaming


def test_a_reply_is_streamed_in_the_servers_pieces() -> None:
    with llm_server(Reply(["Un", "der", "", " the\n", "sea."])) as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert list(stream) == ["Un", "der", " the\n", "sea."]
        assert (stream.finish, stream.usage) == ("stop", Usage(11, 7))
        assert list(stream) == []


def test_a_piece_is_yielded_as_soon_as_it_arrives() -> None:
    with llm_server(Stall(["First"])) as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert next(stream) == "First"  # although no second piece ever arrives
        stream.close()


def test_the_request_contains_the_messages_and_the_sampling_options() -> None:
    with llm_server() as server:
        read_reply(open_model(server.url), Sampling(temperature=0.5, max_tokens=90))
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": message.role, "content": message.content} for message in MESSAGES],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.5,
            "max_tokens": 90,
        }
    ]
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_requests_contain_no_values_of_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Mine: {CANARY}\nAuthorization: Bearer {CANARY}")
    with llm_server() as server:
        llm = OpenAICompatible(server.url, "m")
        assert "".join(llm.stream([Message("user", "Hi")])) == llm.complete([Message("user", "Hi")]) == "Hello there."
    assert CANARY not in str(server.requests)
    assert {"x-stainless-os", "x-stainless-arch", "x-stainless-runtime"}.isdisjoint(server.asked[0].headers)
    assert {request.headers["authorization"] for request in server.asked} == {"Bearer none"}


def test_a_refusal_is_streamed_and_is_the_finish_reason() -> None:
    with llm_server(Reply("I'd rather not.", refusal=True)) as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert ("".join(stream), stream.finish) == ("I'd rather not.", "refusal")
        assert open_model(server.url).complete(MESSAGES) == "I'd rather not."


def test_reasoning_is_not_part_of_the_reply() -> None:
    with llm_server(Reply("Aye.", reasoning=CANARY)) as server:
        assert read_reply(open_model(server.url)) == "Aye."


@pytest.mark.parametrize(
    ("sent", "finish"), [("length", "length"), ("content_filter", "content_filter"), ("eos", "stop"), (None, None)]
)
def test_the_finish_reason_is_reported(sent: str | None, finish: str | None) -> None:
    with llm_server(Reply("Aye.", finish=sent)) as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert ("".join(stream), stream.finish) == ("Aye.", finish)


def test_an_empty_reply_is_not_an_error() -> None:
    with llm_server("") as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert (list(stream), stream.finish) == ([], "stop")
        assert open_model(server.url).complete(MESSAGES) == ""


def test_a_finish_reason_ends_a_reply_without_an_end_mark() -> None:
    with llm_server(Reply("Aye.", done=False)) as server:
        assert read_reply(open_model(server.url)) == "Aye."


def test_a_complete_reply_does_not_wait_for_the_server_to_disconnect() -> None:
    body = event({"content": "Aye."}) + (
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}], '
        b'"usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    )
    with llm_server(Raw(body, unfinished=True)) as server:
        stream = open_model(server.url).stream(MESSAGES)
        assert ("".join(stream), stream.usage) == ("Aye.", Usage(3, 2))


def test_a_disconnect_after_the_end_is_ignored() -> None:
    body = event({"content": "Aye."}) + b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n\ndata: {"us'
    with llm_server(Raw(body), Raw(body, unfinished=True)) as server:
        for _ in range(2):
            stream = open_model(server.url, timeout=0.5).stream(MESSAGES)
            assert ("".join(stream), stream.finish, stream.usage.estimated) == ("Aye.", "length", True)


def test_comments_and_other_line_ends_are_accepted() -> None:
    body = b": still thinking\r\n\r\nevent: message\r\n" + event({"content": "Aye."}).replace(b"\n", b"\r\n")
    with llm_server(Raw(body + b"data:[DONE]")) as server:
        assert read_reply(open_model(server.url)) == "Aye."


def test_a_split_surrogate_pair_is_joined() -> None:
    body = event({"content": "Hi \ud83d"}) + event({"content": "\ude00 there \ud83d"}) + b"data: [DONE]\n\n"
    with llm_server(Raw(body)) as server:
        pieces = list(open_model(server.url).stream(MESSAGES))
    assert pieces == ["Hi ", "😀 there ", "\ufffd"]


def test_a_message_with_a_lone_surrogate_can_be_sent() -> None:
    with llm_server() as server:
        assert "".join(open_model(server.url).stream([Message("user", "half \ud83d")])) == "Hello there."
    assert server.bodies[0]["messages"][0]["content"] == "half \ufffd"


@pytest.mark.slow
@examples(30)
@given(pieces=st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")), max_size=5))
def test_all_pieces_sent_are_received(pieces: list[str]) -> None:
    with llm_server(Reply(pieces)) as server:
        assert list(open_model(server.url).stream(MESSAGES)) == [piece for piece in pieces if piece]
        assert open_model(server.url).complete(MESSAGES) == "".join(pieces)


def test_a_long_reply_streams() -> None:
    with llm_server(Reply(["x" * 100_000] * 10)) as server:
        assert len(read_reply(open_model(server.url))) == 1_000_000


def test_many_threads_share_a_model() -> None:
    def echo(request: Request) -> str:
        return str((request.body or {})["messages"][0]["content"])

    def ask(number: int) -> bool:
        return "".join(llm.stream([Message("user", f"number {number}")])) == f"number {number}"

    with llm_server(echo) as server, ThreadPoolExecutor(16) as pool:
        llm = open_model(server.url)
        assert all(pool.map(ask, range(64)))
        assert llm.usage == Usage(64 * 11, 64 * 7)


# ---------------------------------------------------------------------------------------------- complete


def test_a_reply_can_be_requested_whole() -> None:
    with llm_server('{"place": "the sea"}') as server:
        llm = open_model(server.url)
        assert llm.complete(MESSAGES, SCHEMA) == '{"place": "the sea"}'
        assert llm.usage == Usage(11, 7)
    json_schema = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert server.bodies[0]["response_format"] == {"type": "json_schema", "json_schema": json_schema}
    assert not server.bodies[0]["stream"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"place": {"type": "string"}}},
        {**SCHEMA, "required": []},
        {**SCHEMA, "properties": {"place": {"type": "string", "default": "here"}}},
        {"type": "array", "items": {"type": "object", "properties": {}}},
        {**SCHEMA, "$defs": {"Place": {"type": "object"}}},
    ],
)
def test_a_schema_that_strict_mode_rejects_is_sent_without_it(schema: dict[str, JSONValue]) -> None:
    with llm_server("{}") as server:
        open_model(server.url).complete(MESSAGES, schema)
    assert server.bodies[0]["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_schema_is_left_out_of_later_requests(status: int) -> None:
    with llm_server(Picky("response_format", "{}", status)) as server:
        llm = open_model(server.url)
        assert [llm.complete(MESSAGES, SCHEMA), llm.complete(MESSAGES, SCHEMA)] == ["{}", "{}"]
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_usage_option_is_left_out_of_later_requests(status: int) -> None:
    with llm_server(Picky("stream_options", "Aye.", status)) as server:
        llm = open_model(server.url)
        assert read_reply(llm) == read_reply(llm) == "Aye."
        assert llm.usage.estimated
    assert ["stream_options" in body for body in server.bodies] == [True, False, False]


def test_a_newer_model_gets_max_completion_tokens() -> None:
    no_max_tokens = Status(400, code="unsupported_parameter", param="max_tokens")
    no_temperature = Status(400, code="unsupported_value", param="temperature")
    with llm_server(no_max_tokens, no_temperature, "Aye.") as server:
        llm = open_model(server.url)
        assert read_reply(llm, Sampling(max_tokens=90, temperature=0.5)) == "Aye."
        assert read_reply(llm, Sampling(max_tokens=80, temperature=0.5)) == "Aye."
    assert [body.get("max_tokens") for body in server.bodies] == [90, None, None, None]
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 90, 90, 80]
    assert ["temperature" in body for body in server.bodies] == [True, True, False, False]


def test_a_parameter_is_left_out_only_if_it_caused_the_rejection() -> None:
    with llm_server(Status(400), Status(400), "Aye.") as server:
        llm = open_model(server.url)
        with pytest.raises(LLMRejected):
            read_reply(llm)
        read_reply(llm)
    assert ["stream_options" in body for body in server.bodies] == [True, False, True]


def test_an_oversized_reply_is_rejected() -> None:
    with llm_server("x" * (MAX_REPLY_BYTES + 1)) as server, pytest.raises(LLMUnavailable, match="invalid response"):
        open_model(server.url).complete(MESSAGES)


def test_an_endless_line_of_a_stream_is_rejected() -> None:
    with (
        llm_server(Raw(b"data: " + b"x" * (MAX_REPLY_BYTES + 100_000))) as server,
        pytest.raises(LLMUnavailable, match="invalid response"),
    ):
        read_reply(open_model(server.url))


# ---------------------------------------------------------------------------------------------- usage


def test_usage_is_estimated_if_the_server_reports_none() -> None:
    with llm_server(Reply("Under the sea.", usage=None)) as server:
        llm = open_model(server.url)
        llm.complete(MESSAGES)
        stream = llm.stream(MESSAGES)
        list(stream)
    assert stream.usage == estimate_usage(MESSAGES, "Under the sea.")
    assert llm.usage == stream.usage + stream.usage


def test_usage_includes_its_cost() -> None:
    with llm_server(Reply("Aye.", usage=(1_000_000, 500_000))) as server:
        llm = open_model(server.url, prices=(0.15, 0.60))
        stream = llm.stream(MESSAGES)
        list(stream)
        llm.complete(MESSAGES)
    assert stream.usage.cost == pytest.approx(0.45)
    assert llm.usage.cost == pytest.approx(0.90)


def test_a_stopped_reply_counts_its_received_part() -> None:
    with llm_server(Reply("one two three", delay=0.01)) as server:
        llm = open_model(server.url)
        stream = llm.stream(MESSAGES)
        assert next(stream) == "one"
        stream.close()
        stream.close()
    assert stream.usage == llm.usage == estimate_usage(MESSAGES, "one")


def test_an_unread_stream_counts_its_prompt() -> None:
    with llm_server() as server:
        llm = open_model(server.url)
        stream = llm.stream(MESSAGES)
        stream.close()
        assert list(stream) == []
    assert llm.usage == estimate_usage(MESSAGES, "")


# ---------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("pieces", [[], ["Hel"]])
def test_closing_a_stream_ends_a_waiting_reader(pieces: list[str]) -> None:
    with llm_server(Stall(pieces)) as server, ThreadPoolExecutor() as pool:
        stream = open_model(server.url, timeout=60.0).stream(MESSAGES)
        assert [next(stream) for _ in pieces] == pieces
        waiting = pool.submit(list, stream)
        threading.Event().wait(0.1)  # until the reader waits
        stream.close()
        assert waiting.result(PATIENCE) == []
        assert server.hung_up.wait(PATIENCE)  # the server was disconnected
        assert stream.finish is None


@pytest.mark.slow
def test_closing_streams_at_any_time_does_not_affect_others() -> None:
    def read_and_stop(number: int) -> bool:
        stream = llm.stream(MESSAGES)
        threading.Timer(number / 4000, stream.close).start()
        return "one two three four".startswith("".join(stream))

    def read_whole(number: int) -> bool:
        return read_reply(llm) == llm.complete(MESSAGES) == "one two three four"

    with llm_server(Reply("one two three four", delay=0.002)) as server, ThreadPoolExecutor(8) as pool:
        llm = open_model(server.url)
        results = [*pool.map(read_and_stop, range(60)), *pool.map(read_whole, range(4))]
        mixed = [pool.submit((read_and_stop, read_whole)[n % 2], n) for n in range(40)]
        assert all(results)
        assert all(future.result() for future in mixed)


# ---------------------------------------------------------------------------------------------- listening


class Listener:
    """Listens to a stream; records the pieces, their threads and the end."""

    def __init__(self, stream: Stream, max_pieces: int = 99) -> None:
        self.pieces: list[str] = []
        self.threads: set[int] = set()
        self.ended = threading.Event()
        self.max_pieces = max_pieces
        assert isinstance(stream, PushStream)
        stream.listen(self.on_piece, self.ended.set)

    def on_piece(self, piece: str) -> bool:
        self.pieces.append(piece)
        self.threads.add(threading.get_ident())
        return len(self.pieces) < self.max_pieces


def test_a_listener_gets_pieces_without_a_waiting_thread() -> None:
    with llm_server(Reply(["Un", "der", " the", " sea."], delay=0.01)) as server:
        llm = open_model(server.url)
        streams = [llm.stream(MESSAGES) for _ in range(8)]
        before = threading.active_count()
        listeners = [Listener(stream) for stream in streams]
        assert threading.active_count() <= before
        assert all(listener.ended.wait(PATIENCE) for listener in listeners)
        assert [listener.pieces for listener in listeners] == [["Un", "der", " the", " sea."]] * 8
        assert len(set.union(*(listener.threads for listener in listeners))) == 1
        assert [list(stream) for stream in streams] == [[]] * 8
        assert {(stream.finish, stream.usage) for stream in streams} == {("stop", Usage(11, 7))}
        assert llm.usage == Usage(88, 56)


def test_a_listener_that_stops_can_read_on() -> None:
    with llm_server(Reply(["Un", "der", " the", " sea."])) as server:
        stream = open_model(server.url).stream(MESSAGES)
        listener = Listener(stream, max_pieces=2)
        assert listener.ended.wait(PATIENCE)
        assert (listener.pieces, list(stream)) == (["Un", "der"], [" the", " sea."])


def test_an_error_while_listening_is_raised_once_to_the_next_reader() -> None:
    with llm_server(Cut(["Hel"])) as server:
        stream = open_model(server.url).stream(MESSAGES)
        listener = Listener(stream)
        assert listener.ended.wait(PATIENCE)
        assert listener.pieces == ["Hel"]
        with pytest.raises(LLMUnavailable, match="disconnected"):
            next(stream)
        assert list(stream) == []


@pytest.mark.parametrize("pieces", [[], ["Hel"]])
def test_closing_a_stream_ends_its_listener(pieces: list[str]) -> None:
    with llm_server(Stall(pieces)) as server:
        stream = open_model(server.url, timeout=60.0).stream(MESSAGES)
        listener = Listener(stream)
        threading.Event().wait(0.1)
        stream.close()
        assert listener.ended.wait(PATIENCE)
        assert server.hung_up.wait(PATIENCE)
        assert (listener.pieces, list(stream)) == (pieces, [])


def test_listening_to_a_closed_stream_ends_immediately() -> None:
    with llm_server(Reply("one two")) as server:
        stream = open_model(server.url).stream(MESSAGES)
        stream.close()
        listener = Listener(stream)
        assert listener.ended.wait(PATIENCE)
        assert (listener.pieces, list(stream)) == ([], [])


UNFINISHED_AT_EXIT = """
import logging, sys
logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns about slow steps, as on a busy machine
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.types import Message
llm = OpenAICompatible(sys.argv[1], "m")
unread, started, listened = (llm.stream([Message("user", "hello")]) for _ in range(3))
next(started)
listened.listen(lambda piece: True, lambda: None)
print("done")
"""


def test_a_process_exits_quietly_with_unfinished_replies() -> None:
    with llm_server(Stall(["Hel"])) as server:
        result = subprocess.run(
            [sys.executable, "-X", "dev", "-c", UNFINISHED_AT_EXIT, server.url],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        assert (result.stdout, result.stderr) == ("done\n", "")


# ---------------------------------------------------------------------------------------------- errors

BEFORE_REPLY: list[tuple[Behaviour, type[ModelError], str]] = [
    (Status(401), LLMDenied, r"requires a valid API key \(401\); set EVERTHREAD_LLM_KEY"),
    (Status(403, code="region"), LLMDenied, r"\(403 region\)"),
    (
        Status(404, code="model_not_found"),
        ModelNotFound,
        r"was not found \(404 model_not_found\); check the model's name",
    ),
    (Status(400, kind="bad"), LLMRejected, r"rejected the request \(400 bad\)"),
    (Status(400, param="messages"), LLMRejected, r"\(400\), because of messages"),
    (Status(402), LLMRejected, r"\(402\)"),
    (Status(400, code="context_length_exceeded"), LLMRejected, r"too long .*lower EVERTHREAD_LLM_CONTEXT .it is 8192"),
    (Status(400, "This model's maximum context length is 5"), LLMRejected, "lower EVERTHREAD_LLM_CONTEXT"),
    (Status(413), LLMRejected, "lower EVERTHREAD_LLM_CONTEXT"),
    (Status(429, code="insufficient_quota"), LLMUnavailable, r"\(429 insufficient_quota\); try again later"),
    (Status(429, retry_after=120), LLMUnavailable, "try again in 120 seconds"),
    (Status(500, kind="server_error"), LLMUnavailable, r"failed \(500 server_error\)"),
    (Status(503), LLMUnavailable, r"failed \(503\)"),
    (Status(307), LLMRejected, r"has moved \(307\)"),
    (Status(400, kind=f"the {CANARY} is here", code=CANARY + " x"), LLMRejected, r"request \(400\);"),
    (Mute(), LLMUnavailable, "sent nothing for .* EVERTHREAD_LLM_TIMEOUT"),
    (Raw(b"<html>Bad gateway</html>", "text/html", 502), LLMUnavailable, r"failed \(502\)"),
]
DURING_REPLY: list[tuple[Behaviour, type[ModelError], str]] = [
    (HTML, LLMUnavailable, "returned an invalid response; check that the URL"),
    (MALFORMED, LLMUnavailable, "returned an invalid response"),
    (LATIN, LLMUnavailable, "returned an invalid response"),
    (Raw(b"data: 5\n\n"), LLMUnavailable, "returned an invalid response"),
    (Raw(b"data: " + b"[" * 200_000), LLMUnavailable, "returned an invalid response"),
    (Raw(b'{"choices": []}', "application/json"), LLMUnavailable, "returned an invalid response"),
    (Raw(b""), LLMUnavailable, "disconnected|invalid response"),
    (Raw(b'data: {"choices": 5}\n\n'), LLMUnavailable, "disconnected|invalid response"),
    (
        Raw(f'data: {{"error": {{"message": "{CANARY}", "code": 502}}}}\n\n'.encode()),
        LLMUnavailable,
        "502|invalid response",
    ),
    (Cut(["Hel"]), LLMUnavailable, "disconnected in the middle"),
    (Cut(["Hel"], "reset"), LLMUnavailable, "disconnected in the middle"),
    (Cut(["Hel"], "clean"), LLMUnavailable, "disconnected in the middle|invalid response"),
    (Stall(["Hel"]), LLMUnavailable, "sent nothing for"),
]


def choose_timeout(behaviour: Behaviour, seconds: float) -> float:
    """Return the timeout for a server: short only for a silent one."""
    return seconds if isinstance(behaviour, Mute | Stall) else PATIENCE


def check_message(error: BaseException) -> None:
    """Check that an error is one line with server and model, and that its chain contains neither prompt nor key."""
    text = str(error)
    assert "\n" not in text
    assert text.startswith("language model 'm' at http://127.0.0.1:")
    cause: BaseException | None = error
    while cause is not None:
        assert CANARY not in str(cause)
        assert KEY not in str(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


@pytest.mark.parametrize(("behaviour", "kind", "text"), [*BEFORE_REPLY, *DURING_REPLY])
@pytest.mark.parametrize(
    "request_reply", [read_reply, lambda llm: llm.complete(MESSAGES, SCHEMA)], ids=["streamed", "whole"]
)
def test_an_error_names_model_and_server_but_neither_prompt_nor_key(
    behaviour: Behaviour, kind: type[ModelError], text: str, request_reply: Callable[[LLM], str]
) -> None:
    with llm_server(behaviour) as server:
        with pytest.raises(kind, match=text) as raised:
            request_reply(
                open_model(server.url, timeout=choose_timeout(behaviour, 0.5 if request_reply is read_reply else 0.06))
            )
        check_message(raised.value)
        assert type(raised.value) is kind


@pytest.mark.parametrize(("behaviour", "kind", "text"), BEFORE_REPLY)
def test_an_error_before_the_reply_is_raised_by_the_request(
    behaviour: Behaviour, kind: type[ModelError], text: str
) -> None:
    with llm_server(behaviour) as server, pytest.raises(kind, match=text):
        open_model(server.url, timeout=choose_timeout(behaviour, 0.3)).stream(MESSAGES)


def test_pieces_before_a_disconnect_are_yielded() -> None:
    with llm_server(Cut(["Under", " the"])) as server:
        llm = open_model(server.url)
        stream = llm.stream(MESSAGES)
        assert [next(stream), next(stream)] == ["Under", " the"]
        with pytest.raises(LLMUnavailable, match="disconnected"):
            next(stream)
        assert list(stream) == []
        assert llm.usage == stream.usage == estimate_usage(MESSAGES, "Under the")
    assert len(server.asked) == 1  # a second reply would not continue the first


def test_a_server_error_inside_a_stream_breaks_it_off() -> None:
    body = event({"content": "Hel"}) + b'data: {"choices": [{"delta": {}, "finish_reason": "error"}]}\n\n'
    with (
        llm_server(Raw(body + b"data: [DONE]\n\n")) as server,
        pytest.raises(LLMUnavailable, match=r"disconnected .*error"),
    ):
        read_reply(open_model(server.url))


def test_an_unreachable_server_is_named_without_the_password_in_its_url() -> None:
    with closed_port() as port, pytest.raises(LLMUnavailable, match=r"can't be reached .*refused\); start") as raised:
        open_model(f"http://nemo:{KEY}@127.0.0.1:{port}/v1/?key={KEY}").stream(MESSAGES)
    check_message(raised.value)
    assert f"at http://127.0.0.1:{port}/v1 can't" in str(raised.value)


# ---------------------------------------------------------------------------------------------- retries


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_transient_status_is_retried(status: int) -> None:
    waits: list[float] = []
    with llm_server(Status(status), Status(status), Status(status), "Aye.") as server:
        assert read_reply(open_model(server.url, sleep=waits.append)) == "Aye."
    assert len(server.asked) == 4
    assert [0.375 <= waits[0] <= 0.5, 0.75 <= waits[1] <= 1.0, 1.5 <= waits[2] <= 2.0] == [True] * 3


def test_retries_are_limited() -> None:
    with llm_server(Status(500)) as server, pytest.raises(LLMUnavailable):
        open_model(server.url, retries=2).complete(MESSAGES)
    assert len(server.asked) == 3


def test_retry_after_is_respected() -> None:
    waits: list[float] = []
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=10))
    with llm_server(
        Status(429, retry_after=3), Status(429, retry_after=date), Status(429, retry_after="x"), "Aye."
    ) as s:
        assert read_reply(open_model(s.url, sleep=waits.append)) == "Aye."
    assert waits[0] == 3
    assert 5 < waits[1] <= 10
    assert waits[2] <= 2


def test_a_retry_after_header_of_minutes_is_not_awaited() -> None:
    waits: list[float] = []
    with llm_server(Status(429, retry_after=120)) as server:
        with pytest.raises(LLMUnavailable, match="try again in 120 seconds"):
            read_reply(open_model(server.url, sleep=waits.append))
        server.behaviours[0] = Status(429, retry_after=8)
        with pytest.raises(LLMUnavailable, match="in 8 seconds"):
            read_reply(open_model(server.url, retries=100, sleep=waits.append))
    assert waits == [8, 8]


def test_a_refused_connection_is_retried() -> None:
    waits: list[float] = []
    with closed_port() as port, pytest.raises(LLMUnavailable):
        open_model(f"http://127.0.0.1:{port}/v1", sleep=waits.append).stream(MESSAGES)
    assert len(waits) == 3


def test_a_silent_server_is_not_retried() -> None:
    with llm_server(Mute()) as server, pytest.raises(LLMUnavailable):
        open_model(server.url, timeout=0.2).stream(MESSAGES)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 413, 307])
def test_a_permanent_status_is_not_retried(status: int) -> None:
    with llm_server(Status(status)) as server, pytest.raises(ModelError):
        read_reply(open_model(server.url))
    assert len(server.asked) == 1


# ---------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "url", ["", "localhost:11434/v1", "ftp://host/v1", "http://", "http://host:port/v1", "http://["]
)
def test_an_invalid_address_is_rejected(url: str) -> None:
    with pytest.raises(
        ConfigError, match=f"^{re.escape(repr(url))} is not the address of a language model; expected one such as"
    ):
        OpenAICompatible(url, "m")


def test_an_address_is_shown_without_its_secrets() -> None:
    assert redact_url("https://nemo:pass@[::1]:8000/v1/?key=secret#x") == "https://[::1]:8000/v1"
    with pytest.raises(ConfigError, match="'ftp://host/v1'"):
        redact_url("ftp://nemo:pass@host/v1")


@pytest.mark.parametrize("key", ["sk-…", "sk-\nX-Evil: 1"])
def test_an_invalid_key_is_rejected_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="copy it again") as raised:
        OpenAICompatible("http://localhost/v1", "m", key)
    assert "sk-" not in str(raised.value)


def test_importing_loads_no_http_client() -> None:
    modules = "everthread.llms.openai_compatible, everthread.factory"
    code = f"import sys, {modules}; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# -------------------------------------------------------------- bodies of errors


@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("damage", [{"broken": True}, {"packed": True}])
def test_an_error_with_an_unreadable_body_keeps_its_class(status: int, stream: bool, damage: dict[str, bool]) -> None:
    with llm_server(Status(status, **damage)) as server:  # type: ignore[arg-type]
        llm = open_model(server.url, retries=1)
        with pytest.raises(ModelError, match=rf"\({status}\)") as raised:
            read_reply(llm) if stream else llm.complete(MESSAGES)
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("stream", [True, False])
def test_an_endless_error_body_is_read_only_in_part(stream: bool) -> None:
    with llm_server(endless := Endless(500)) as server:
        llm = open_model(server.url, retries=1)
        with pytest.raises(LLMUnavailable, match=r"failed \(500\)"):
            read_reply(llm) if stream else llm.complete(MESSAGES)
        assert len(server.asked) == 2
    assert len(endless.sent) * 65_536 < 400 * MAX_PEEK_BYTES  # with the buffers of two connections


def test_a_slow_endless_error_body_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_PEEK_S", 0.3)
    with llm_server(endless := Endless(401, rate=100)) as server:
        with pytest.raises(LLMDenied):
            read_reply(open_model(server.url))
        assert len(endless.sent) < 50


def test_the_public_text_of_an_error_names_the_model_without_its_address() -> None:
    with closed_port() as port:
        llm = OpenAICompatible(f"http://127.0.0.1:{port}/v1", "m", retries=0)
        with pytest.raises(LLMUnavailable, match=f"127.0.0.1:{port}") as raised:
            llm.complete([Message("user", "Hello.")])
    assert raised.value.public.startswith("language model 'm' can't be reached; ")
    assert "127.0.0.1" not in raised.value.public
    assert str(port) not in raised.value.public
    assert pickle.loads(pickle.dumps(raised.value)).public == raised.value.public


def test_the_public_text_of_an_error_without_an_address_is_its_message() -> None:
    assert ModelError("the matcher gave no scores").public == "the matcher gave no scores"


def test_the_query_of_the_address_follows_each_path() -> None:
    with llm_server("Hello.") as server:
        model = open_model(f"{server.url}/?api-version=2")
        assert read_reply(model) == "Hello."
        model.models()
    assert [request.path for request in server.requests] == [
        "/v1/chat/completions?api-version=2",
        "/v1/models?api-version=2",
    ]
