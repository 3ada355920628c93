"""A client that means no good, on a real socket: it is refused, and the others are served meanwhile."""

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
from hardship.served import Served, served, wait_until

LINE = "/api/v1/banks/alice/lines"
HALF_OPEN = 1000
HANGS = 10 * PATIENCE  # seconds that a half-open connection may hold on, where none may keep others out


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, {"head_timeout_s": 1.0, "write_timeout_s": 1.0}, body_timeout_s=1.0) as made:
        yield made


def spoken(server: Served, *parts: bytes, pause: float = 0.0, quiet: float = 0.3) -> bytes:
    """What the server answers to these bytes, until it closes or, after an answer, says nothing for `quiet` seconds."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
        for part in parts:
            raw.sendall(part)
            time.sleep(pause)
        return listened(raw, quiet)


def listened(raw: socket.socket, quiet: float = 0.3) -> bytes:
    heard = b""
    raw.settimeout(PATIENCE)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while more := raw.recv(65536):
            heard += more
            if b"\r\n\r\n" in heard and b"connection: close" not in heard.lower():
                raw.settimeout(quiet)  # it may keep the connection
    return heard


def status(heard: bytes) -> int:
    return int(heard.split()[1]) if heard else 0


def good(server: Served) -> None:
    """A client that means well is answered."""
    client = httpx.Client(transport=httpx.HTTPTransport(retries=3), timeout=PATIENCE)
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
        assert status(spoken(running, head + b"\r\n")) == expected, head[:100]
    with contextlib.suppress(OSError):  # it may hang up before all is sent
        endless = b"GET /healthz HTTP/1.1\r\n" + local + b"X: " + b"x" * 5_000_000 + b"\r\n\r\n"
        assert status(spoken(running, endless)) in (0, 400)
    good(running)


def test_a_body_with_two_lengths_closes_the_connection(running: Served) -> None:
    both = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n%s\r\n"
    smuggled = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    heard = spoken(running, head % (LINE.encode(), running.port, both) + smuggled)
    assert status(heard) == 400
    assert b"Content-Length and Transfer-Encoding exclude each other" in heard
    assert heard.count(b"HTTP/1.1") == 1, "what follows is no request"
    assert b"connection: close" in heard.lower()
    good(running)


def test_no_request_path_reaches_the_file_system(running: Served, tmp_path: Path) -> None:
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
        heard = spoken(running, b"GET " + path.encode() + b" HTTP/1.1\r\n" + local)
        assert status(heard) in (400, 404, 414), (path, heard[:300])
        assert b"root:" not in heard
        assert b"secret" not in heard
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"secret.js"}, "who asks for a bank makes none"
    good(running)


def test_a_body_of_ten_megabytes_is_rejected_and_not_buffered(running: Served) -> None:
    body = b'{"text": "' + b"x" * 10_000_000 + b'"}'
    answer = web.post(f"{running.url}{LINE}", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:everthread:too-large")
    chunks = (b"x" * 100_000 for _ in range(100))
    answer = web.post(f"{running.url}{LINE}", content=chunks, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    good(running)


def test_an_endless_or_trickling_body_times_out(running: Served) -> None:
    head = (
        f"POST {LINE} HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    ).encode()
    heard = spoken(running, head, b'{"te')
    assert status(heard) == 408
    assert b"too-slow" in heard
    assert b"connection: close" in heard.lower()
    with pytest.raises(OSError, match=r"reset|[Bb]roken|timed out|abort"):  # its end, at the latest at the third try
        spoken(running, head, *(b"x" for _ in range(900)), pause=0.1)
    good(running)


def test_an_endless_or_trickling_head_closes_the_connection(running: Served) -> None:
    assert spoken(running, b"") == b""
    assert spoken(running, b"GET / HTTP/1.1\r\nHost: 127") == b""
    trickle = (b"GET / HTTP/1.1\r\n", *(b"X: y\r\n" for _ in range(900)))
    with pytest.raises(OSError, match=r"reset|[Bb]roken|abort"):
        spoken(running, *trickle, pause=0.1)
    good(running)


def flooded(server: Served, begun: bytes, most: int) -> int:
    """How many bytes of a head without an end are taken behind what was sent first."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as raw:
        raw.sendall(begun)
        time.sleep(0.3)  # what was asked is being answered
        took = 0
        with contextlib.suppress(OSError):  # it hangs up, or takes no more
            while took < most:
                took += raw.send(b"GET / HTTP/1.1\r\nX: " if not took else b"x" * 65_536)
        return took


def test_an_endless_head_is_not_buffered(running: Served) -> None:
    host = f"Host: 127.0.0.1:{running.port}\r\n\r\n".encode()
    most = 100_000_000
    assert flooded(running, b"", most) < most / 2
    assert flooded(running, b"GET /quiet HTTP/1.1\r\n" + host, most) < most / 2, "behind a request that is answered"
    good(running)


def test_pipelined_requests_are_answered_in_order(running: Served) -> None:
    request = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode()
    assert spoken(running, request * 3 + request[:30], request[30:], pause=0.3, quiet=3.0).count(b"HTTP/1.1 200") == 4


def test_a_pause_is_allowed_between_requests_but_not_within_a_head(running: Served) -> None:
    with httpx.Client(base_url=running.url) as client:
        for _ in range(2):
            assert client.get("/healthz").status_code == 200
            time.sleep(1.5)
    request = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as raw:
        raw.sendall(request)
        assert listened(raw).startswith(b"HTTP/1.1 200")
        raw.sendall(request[:20])
        began = time.perf_counter()
        assert listened(raw) == b""
        assert 0.5 < time.perf_counter() - began < PATIENCE
    good(running)


def test_a_client_that_stops_reading_is_disconnected(running: Served) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as raw:
        raw.sendall(f"GET /flood HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
        wait_until(lambda: 'route="/flood"' in web.get(f"{running.url}/metrics").text)  # which counts what has ended
        heard = listened(raw)
        assert len(heard) < 50_000_000, "the rest was never sent"
    good(running)


@pytest.fixture
def many_files() -> Iterator[int]:
    """As many sockets as this process may have, and a thousand at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else 4096
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(most, 4096)), hard))
    yield min(HALF_OPEN, most - 200)
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
    with served(tmp_path, {"head_timeout_s": HANGS}, body_timeout_s=HANGS) as running, contextlib.ExitStack() as stack:
        for _ in range(many_files):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            raw.sendall(half)
        for _ in range(3):
            good(running)


def test_idle_connections_are_closed_when_there_are_too_many(tmp_path: Path) -> None:
    with served(tmp_path, {"head_timeout_s": 60.0, "max_connections": 50}) as running, contextlib.ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE))
            for _ in range(200)
        ]
        with web.stream("GET", f"{running.url}/slow") as answer:
            more = [stack.enter_context(socket.create_connection(("127.0.0.1", running.port))) for _ in range(100)]
            assert len([piece for piece in answer.iter_lines() if piece]) == 10, "who asks something stays"
        good(running)
        wait_until(lambda: gone(idle[0]))
        assert not gone(more[-1])


def gone(raw: socket.socket) -> bool:
    """Whether the other side has hung up."""
    raw.settimeout(0.05)
    try:
        return raw.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True
