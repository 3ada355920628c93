"""Hostile clients on a real socket are rejected, and others are still served."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hardship import PATIENCE, web
from hardship.served import Served, serve_folder, wait_until

from everthread.common.tls import tls_context

LINE = "/api/v1/banks/alice/lines"
HALF_OPEN = 1000
LONG_TIMEOUT_S = 10 * PATIENCE  # no connection is closed within a test that checks that others are still served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = {"head_timeout_s": 1.0, "write_timeout_s": 1.0}
    with serve_folder(tmp_path_factory.mktemp("banks"), limits, body_timeout_s=1.0) as server:
        yield server


def send_and_receive(server: Served, *parts: bytes, pause: float = 0.0, quiet: float = 0.3) -> bytes:
    """Send bytes. Return the response, up to its end or until nothing has arrived for `quiet` seconds."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
        for part in parts:
            raw.sendall(part)
            time.sleep(pause)
        return receive_until_quiet(raw, quiet)


def receive_until_quiet(raw: socket.socket, quiet: float = 0.3) -> bytes:
    received = b""
    raw.settimeout(PATIENCE)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while more := raw.recv(65536):
            received += more
            if b"\r\n\r\n" in received and b"connection: close" not in received.lower():
                raw.settimeout(quiet)  # the server may keep the connection open
    return received


def status(received: bytes) -> int:
    return int(received.split()[1]) if received else 0


def check_still_serving(server: Served) -> None:
    """Assert that a well-behaved client is served."""
    client = httpx.Client(transport=httpx.HTTPTransport(retries=3, verify=tls_context()), timeout=PATIENCE)
    with client:
        assert client.post(f"{server.url}{LINE}", json={"text": "hello"}).status_code == 201


def test_wrong_hosts_forged_origins_and_broken_heads_are_refused(running: Served) -> None:
    local = b"Host: 127.0.0.1:%d\r\n" % running.port
    for head, expected in (
        (b"GET /healthz HTTP/1.1\r\n" + local, 200),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n", 421),
        (b"GET /healthz HTTP/1.1\r\n", 400),
        (b"GET /healthz HTTP/1.0\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n" + local + b"Host: evil.example\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n" + local + b"Origin: https://evil.example\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\n" + local + b"Origin: null\r\n", 403),
        (b"POST " + LINE.encode() + b" HTTP/1.1\r\n" + local + b"Content-Length: 2\r\nContent-Length: 3\r\n", 400),
        (b"POST " + LINE.encode() + b" HTTP/1.1\r\n" + local + b"Content-Length: -2\r\n", 400),
        (b"GET http://evil.example/ HTTP/1.1\r\n" + local, 400),
        (b"CONNECT evil.example:443 HTTP/1.1\r\n" + local, 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", 400),
    ):
        assert status(send_and_receive(running, head + b"\r\n")) == expected, head[:100]
    with contextlib.suppress(OSError):  # the server may disconnect before everything is sent
        endless = b"GET /healthz HTTP/1.1\r\n" + local + b"X: " + b"x" * 5_000_000 + b"\r\n\r\n"
        assert status(send_and_receive(running, endless)) in (0, 400)
    check_still_serving(running)


def test_a_body_with_two_lengths_closes_the_connection(running: Served) -> None:
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n%s\r\n"
    smuggled = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    received = send_and_receive(running, head % (LINE.encode(), running.port, lengths) + smuggled)
    assert status(received) == 400
    assert b"Content-Length and Transfer-Encoding exclude each other" in received
    assert received.count(b"HTTP/1.1") == 1, "the rest is not a request"
    assert b"connection: close" in received.lower()
    check_still_serving(running)


def test_no_request_path_reaches_the_file_system(tmp_path: Path) -> None:
    with serve_folder(tmp_path) as running:
        check_paths(running, tmp_path)


def check_paths(running: Served, tmp_path: Path) -> None:
    """Assert that paths that lead elsewhere are refused, and that reading creates no file."""
    (tmp_path / "secret.js").write_text("secret", encoding="utf-8")
    up, local = "../" * 20, f"Host: 127.0.0.1:{running.port}\r\n\r\n".encode()
    for path in (
        f"/static/{up}etc/passwd",
        f"/static/{up}{tmp_path}/secret.js".replace("//", "/"),
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%252f..%252fetc%252fpasswd",
        "/static/..%5c..%5cetc%5cpasswd",
        "/static/..\\..\\etc\\passwd",
        "/static//etc/passwd",
        "/static/%00/etc/passwd",
        "/static/app.js%00.png",
        "//etc/passwd",
        "/static/%c0%ae%c0%ae/passwd",
        "/api/v1/banks/..%2f..%2fetc%2fpasswd/lines/1",
        "/api/v1/banks/%2e%2e/lines/1",
        "/static/" + "a" * 5000,
        "/static/" + "a" * 9000,
    ):
        received = send_and_receive(running, b"GET " + path.encode() + b" HTTP/1.1\r\n" + local)
        assert status(received) in (400, 404, 414), (path, received[:300])
        assert b"root:" not in received
        assert b"secret" not in received
    assert {path.name for path in tmp_path.iterdir()} == {"secret.js"}, "reading a bank does not create it"
    check_still_serving(running)


def test_a_body_of_ten_megabytes_is_rejected_and_not_buffered(running: Served) -> None:
    body = b'{"text": "' + b"x" * 10_000_000 + b'"}'
    answer = web.post(f"{running.url}{LINE}", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:everthread:too-large")
    chunks = (b"x" * 100_000 for _ in range(100))
    answer = web.post(f"{running.url}{LINE}", content=chunks, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    check_still_serving(running)


def test_an_endless_or_trickling_body_times_out(running: Served) -> None:
    head = (
        f"POST {LINE} HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    ).encode()
    received = send_and_receive(running, head, b'{"te')
    assert status(received) == 408
    assert b"too-slow" in received
    assert b"connection: close" in received.lower()
    with pytest.raises(OSError, match=r"reset|[Bb]roken|timed out|abort"):
        send_and_receive(running, head, *(b"x" for _ in range(900)), pause=0.1)
    check_still_serving(running)


def test_an_endless_or_trickling_head_closes_the_connection(running: Served) -> None:
    assert send_and_receive(running, b"") == b""
    assert send_and_receive(running, b"GET / HTTP/1.1\r\nHost: 127") == b""
    trickle = (b"GET / HTTP/1.1\r\n", *(b"X: y\r\n" for _ in range(900)))
    with pytest.raises(OSError, match=r"reset|[Bb]roken|abort"):
        send_and_receive(running, *trickle, pause=0.1)
    check_still_serving(running)


def count_accepted_bytes(server: Served, head: bytes, limit: int) -> int:
    """Return how many bytes of an endless head are accepted after `head`."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as raw:
        raw.sendall(head)
        time.sleep(0.3)  # until the request in `head` is being answered
        accepted = 0
        with contextlib.suppress(OSError):  # the server disconnects, or stops reading
            while accepted < limit:
                accepted += raw.send(b"GET / HTTP/1.1\r\nX: " if not accepted else b"x" * 65_536)
        return accepted


def test_an_endless_head_is_not_buffered(running: Served) -> None:
    host = f"Host: 127.0.0.1:{running.port}\r\n\r\n".encode()
    limit = 100_000_000
    assert count_accepted_bytes(running, b"", limit) < limit / 2
    assert count_accepted_bytes(running, b"GET /quiet HTTP/1.1\r\n" + host, limit) < limit / 2, "after a request"
    check_still_serving(running)


def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    with serve_folder(tmp_path, {"head_timeout_s": LONG_TIMEOUT_S}) as server:
        head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
        request, last = head + b"\r\n", head + b"Connection: close\r\n\r\n"
        received = send_and_receive(server, request * 3 + last[:30], last[30:], pause=0.3, quiet=PATIENCE)
        assert received.count(b"HTTP/1.1 200") == 4


def test_a_pause_is_allowed_between_requests_but_not_within_a_head(running: Served) -> None:
    with httpx.Client(base_url=running.url) as client:
        for _ in range(2):
            assert client.get("/healthz").status_code == 200
            time.sleep(1.5)
    request = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as raw:
        raw.sendall(request)
        assert receive_until_quiet(raw).startswith(b"HTTP/1.1 200")
        began = time.perf_counter()
        raw.sendall(request[:20])
        assert receive_until_quiet(raw) == b""
        assert 0.5 < time.perf_counter() - began < PATIENCE
    check_still_serving(running)


def test_a_client_that_stops_reading_is_disconnected(running: Served) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as raw:
        raw.sendall(f"GET /flood HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
        wait_until(lambda: 'route="/flood"' in web.get(f"{running.url}/metrics").text)  # counted when it has ended
        received = receive_until_quiet(raw)
        assert len(received) < 50_000_000, "the rest was never sent"
    check_still_serving(running)


@pytest.fixture
def many_files() -> Iterator[int]:
    """Raise the limit of open files. Return the number of sockets that can be opened, at most a thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = hard if hard != resource.RLIM_INFINITY else 4096
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(limit, 4096)), hard))
    yield min(HALF_OPEN, limit - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("sent", ["nothing", "half a head", "half a body", "a stream that is not read"])
def test_a_thousand_half_open_streams_do_not_block_others(tmp_path: Path, many_files: int, sent: str) -> None:
    host = b"Host: 127.0.0.1\r\n"
    half = {
        "nothing": b"",
        "half a head": b"GET / HTTP/1.1\r\n" + host,
        "half a body": b"POST " + LINE.encode() + b" HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
        b'Content-Length: 100\r\n\r\n{"te',
        "a stream that is not read": b"GET /quiet HTTP/1.1\r\n" + host + b"\r\n",
    }[sent]
    with (
        serve_folder(tmp_path, {"head_timeout_s": LONG_TIMEOUT_S}, body_timeout_s=LONG_TIMEOUT_S) as running,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(many_files):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            raw.sendall(half)
        for _ in range(3):
            check_still_serving(running)


def test_idle_connections_are_closed_when_there_are_too_many(tmp_path: Path) -> None:
    with (
        serve_folder(tmp_path, {"head_timeout_s": 60.0, "max_connections": 50}) as running,
        contextlib.ExitStack() as stack,
    ):
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            for _ in range(200)
        ]
        with web.stream("GET", f"{running.url}/slow") as answer:
            more = [stack.enter_context(socket.create_connection(("127.0.0.1", running.port))) for _ in range(100)]
            assert len([piece for piece in answer.iter_lines() if piece]) == 10, "a client that is being answered stays"
        check_still_serving(running)
        wait_until(lambda: is_closed(idle[0]))
        assert not is_closed(more[-1])


def is_closed(raw: socket.socket) -> bool:
    """Return whether the other side has closed the connection."""
    raw.settimeout(0.05)
    try:
        return raw.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
