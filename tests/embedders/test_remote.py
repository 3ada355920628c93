import gc
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from hardship import PATIENCE
from hardship.loopback import Quiet, serve_handler

from everthread.embedders.remote import RemoteEmbedder
from everthread.errors import EmbedderUnavailable

Reply = Callable[[http.server.BaseHTTPRequestHandler, list[str]], None]


class Server:
    """An /embeddings server on the loopback that returns each scripted reply once, then the last one for ever."""

    def __init__(self, *script: Reply) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.connections = 0
        self.closed = threading.Event()  # set when a connection is closed
        self.url = ""

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append({"path": handler.path, **body})
        self.keys.append(handler.headers["Authorization"])
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        reply(handler, body["input"])


@contextmanager
def serving(*script: Reply, protocol: str = "HTTP/1.0") -> Iterator[Server]:
    served = Server(*script)

    class Handler(Quiet):
        protocol_version = protocol

        def handle(self) -> None:
            served.connections += 1
            super().handle()
            served.closed.set()

        def do_POST(self) -> None:
            served.answer(self)

    with serve_handler(Handler) as url:
        served.url = f"{url}/v1"
        yield served


def send(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def data(rows: list[Any]) -> bytes:
    return json.dumps({"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}).encode()


def send_lengths(handler: http.server.BaseHTTPRequestHandler, texts: list[str]) -> None:
    """Send vectors that identify texts by their length, in reverse order with the correct indexes."""
    items = [{"index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(texts)]
    send(handler, 200, json.dumps({"data": items[::-1]}).encode())


def failing(status: int, body: bytes = b"no", **headers: str) -> Reply:
    return lambda handler, texts: send(handler, status, body, **headers)


def replying(body: bytes) -> Reply:
    return lambda handler, texts: send(handler, 200, body)


def cut(handler: http.server.BaseHTTPRequestHandler, texts: list[str]) -> None:
    send(handler, 200, b'{"data": [{"ind', Content_Length="1000")


def remote(server: Server, **more: Any) -> RemoteEmbedder:
    return RemoteEmbedder(server.url, "m", **{"retries": 2, "sleep": lambda seconds: None, "timeout": 30.0, **more})


def test_remote_vectors_have_unit_length_and_the_order_of_the_texts() -> None:
    with serving(send_lengths) as server:
        embedder = remote(server, batch_size=2, api_key="k")
        vectors = embedder.embed(["a", "abc", "abcdef"])
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], [1, 3, 6], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert vectors.dtype == np.float32
    assert server.requests[0] == {"path": "/v1/embeddings", "model": "m", "input": ["a", "abc"]}
    assert server.requests[1]["input"] == ["abcdef"]
    assert server.keys == ["Bearer k", "Bearer k"]


def test_the_query_of_the_address_follows_the_path() -> None:
    with serving(send_lengths) as server:
        RemoteEmbedder(f"{server.url}?api-version=2", "m").embed_query("abc")
    assert server.requests[0]["path"] == "/v1/embeddings?api-version=2"


def test_a_remote_embedder_without_a_key_sends_none() -> None:
    with serving(send_lengths) as server:
        embedder = remote(server)
        embedder.embed_query("a")
    assert server.keys == [None]


def test_remote_vectors_without_indexes_keep_their_order() -> None:
    body = b'{"data": [{"embedding": [1, 0]}, {"embedding": [0, 2]}]}'
    with serving(replying(body)) as server:
        embedder = remote(server)
        assert embedder.embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_empty_and_invalid_texts_are_made_acceptable_to_a_server() -> None:
    with serving(send_lengths) as server:
        embedder = remote(server)
        embedder.embed(["", "\ud83d"])
    assert server.requests[0]["input"] == [".", "\ufffd"]


def test_an_empty_list_of_texts_sends_no_request() -> None:
    with serving(send_lengths) as server:
        embedder = remote(server)
        assert len(embedder.embed([])) == 0
    assert server.requests == []


@pytest.mark.parametrize("fault", [failing(429), failing(503), cut], ids=["429", "503", "cut"])
def test_a_transient_failure_is_retried(fault: Reply) -> None:
    with serving(fault, send_lengths) as server:
        embedder = remote(server)
        assert embedder.embed_query("abc").shape == (2,)
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", [failing(429), failing(500), cut], ids=["429", "500", "cut"])
def test_a_permanent_failure_is_reported_after_the_last_retry(fault: Reply) -> None:
    with serving(fault) as server:
        embedder = remote(server)
        with pytest.raises(EmbedderUnavailable, match=rf"{server.url}/embeddings.*check"):
            embedder.embed_query("abc")
        assert len(server.requests) == 3


def test_retry_delays_double() -> None:
    waits: list[float] = []
    with serving(failing(500)) as server, pytest.raises(EmbedderUnavailable):
        remote(server, retries=3, sleep=waits.append).embed_query("abc")
    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(("delay", "low", "high"), [("3", 3, 3), ("soon", 0.5, 0.5), ("-1", 0.5, 0.5)])
def test_retry_after_in_seconds_is_respected(delay: str, low: float, high: float) -> None:
    waits: list[float] = []
    script = (failing(429, Retry_After=delay), send_lengths)
    with serving(*script) as server:
        embedder = remote(server, sleep=waits.append)
        embedder.embed_query("abc")
    assert len(waits) == 1
    assert low <= waits[0] <= high


def test_retry_after_as_a_date_is_respected() -> None:
    waits: list[float] = []
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=8), usegmt=True)
    script = (failing(429, Retry_After=later), send_lengths)
    with serving(*script) as server:
        embedder = remote(server, sleep=waits.append)
        embedder.embed_query("abc")
    assert 5 < waits[0] <= 8


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_a_rejected_request_is_not_retried(status: int) -> None:
    with serving(failing(status)) as server:
        embedder = remote(server)
        with pytest.raises(EmbedderUnavailable, match=str(status)):
            embedder.embed_query("abc")
        assert len(server.requests) == 1


def test_no_message_contains_the_key_or_a_password() -> None:
    key = "sk-very-secret"
    with serving(failing(401, f"Incorrect API key: {key}".encode())) as server:
        url = server.url.replace("//", "//user:hush@")
        with pytest.raises(EmbedderUnavailable) as raised:
            RemoteEmbedder(url, "m", api_key=key).embed_query("abc")
    assert "Incorrect API key: [key]" in str(raised.value)
    assert key not in str(raised.value)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "invalid reply"),
        (b"\xff\xfe\x00", "invalid reply"),
        (b"[]", "no list named 'data'"),
        (b'{"data": [7, 8]}', "no list named 'data'"),
        (data([[1.0]]), "1 vectors for 2 texts"),
        (data([[1.0], [float("nan")]]), "NaN or infinity"),
        (data([[1.0], [float("inf")]]), "NaN or infinity"),
        (data([[1.0], [1.0, 2.0]]), "differ in length"),
        (data([[1.0], ["x"]]), "something other than numbers"),
        (data([[1.0], None]), "differ in length"),
        (data([None, None]), "empty"),
        (data([[], []]), "empty"),
        (data([[1.0], [0.0]]), "norm is zero or infinite"),
        (data([[1.0], [1e300]]), "norm is zero or infinite"),
        (data([[1.0], [10**400]]), "differ in length"),
        (b"[" * 100_000, "invalid reply"),
        (b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', "indexes"),
        (b'{"data": [{"index": "a", "embedding": [1]}, {"index": 0, "embedding": [1]}]}', "indexes"),
    ],
)
def test_an_invalid_reply_is_an_error_that_names_the_fault(body: bytes, message: str) -> None:
    with serving(replying(body)) as server, pytest.raises(EmbedderUnavailable, match=message):
        remote(server).embed(["a", "b"])


def test_a_changed_dimension_is_an_error_that_names_it() -> None:
    script = (replying(data([[1.0, 2.0]])), replying(data([[1.0, 2.0, 3.0]])))
    with serving(*script) as server:
        embedder = remote(server)
        embedder.embed_query("a")
        with pytest.raises(EmbedderUnavailable, match="3 dimensions, 2 before"):
            embedder.embed_query("a")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "ftp://host/v1", "nonsense", "http://[", "http://a:b/v1"])
def test_an_unreachable_url_is_an_error_that_names_it(url: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="can't be reached"):
        RemoteEmbedder(url, "m", sleep=lambda seconds: None).embed_query("abc")


def test_a_page_of_a_reverse_proxy_is_not_quoted() -> None:
    page = failing(502, b"<html><h1>502 Bad Gateway</h1></html>")
    with serving(page) as server, pytest.raises(EmbedderUnavailable, match="answered 502; check") as caught:
        remote(server, retries=0).embed_query("a")
    assert server.url in str(caught.value)


def measure_timeout(embedder: RemoteEmbedder, texts: list[str]) -> float:
    """Return the seconds until the embedder gave up."""
    start = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match="ReadTimeout"):
        embedder.embed(texts)
    return time.monotonic() - start


@pytest.mark.parametrize("fault", ["silent", "slow"])
def test_a_hanging_server_times_out(fault: str) -> None:
    over = threading.Event()

    def hang(handler: http.server.BaseHTTPRequestHandler, texts: list[str]) -> None:
        if fault == "slow":
            handler.send_response(200)
            handler.end_headers()
        while not over.wait(0.05):
            if fault == "slow":
                with suppress(OSError):
                    handler.wfile.write(b" ")

    with serving(hang) as server:
        embedder = RemoteEmbedder(server.url, "m", timeout=0.3)
        assert measure_timeout(embedder, ["a"]) > 0.2
        assert measure_timeout(embedder, ["a", "b"]) > 1.2  # more texts may take longer
        over.set()
    assert len(server.requests) == 2


def test_a_delay_longer_than_the_timeout_is_not_started() -> None:
    waits: list[float] = []
    with serving(failing(429, Retry_After="60")) as server, pytest.raises(EmbedderUnavailable, match="answered 429"):
        remote(server, sleep=waits.append).embed_query("a")
    assert waits == []
    assert len(server.requests) == 1


def test_the_connection_is_reused_and_closed_with_the_embedder() -> None:
    with serving(send_lengths, protocol="HTTP/1.1") as server:
        embedder = remote(server)
        for text in ("a", "b"):
            embedder.embed_query(text)
        assert server.connections == 1
        del embedder
        gc.collect()
        assert server.closed.wait(PATIENCE)
