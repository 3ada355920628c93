"""The cost of the server with many concurrent chats: the time of a whole reply compared with the model's own, and of
its first piece; and the size of the page.

Three processes on this machine: a language model's server that streams each reply in REPLY_PIECES pieces at a steady
pace, the server as it is started for users, and here the clients: each with a bank of its own that has a few lines, all
sending one message at the same moment.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urljoin, urlsplit

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.metrics import percentile
from everthread.errors import BadInput, ModelError
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import NewLine, now

CLIENT_COUNT = 200
REPLY_PIECES = 20  # of a reply
PIECE_INTERVAL_S = 0.1  # seconds between them
LINES_PER_BANK = 6  # said in each bank before
VISIT_COUNT = 9  # to the page; a first one more is not counted, for it also waits for the browser's own processes
TIMEOUT_S = 60.0  # seconds for a server to start, and for a reply to end
HOST = "127.0.0.1"
CHROMIUM_PATH = "/usr/bin/chromium"
MARKS = ("interactive", "read", "whole")  # that the page sets

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class PageVisit:
    """Milliseconds from requesting the page, the median of VISIT_COUNT: until it accepts a message, until the
    conversation is shown, and until everything is loaded."""

    interactive: float
    read: float
    whole: float


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The results of one round.

    Times are milliseconds from sending a request: to its first byte, to its first piece of text, and to the end of the
    reply, which is then stored. ideal is the model's own time. page is the bytes of each file of the page; opened is a
    first visit and a reload, None without a browser.
    """

    clients: int
    workers: int
    errors: int
    ideal: float
    accepted: Percentiles
    first: Percentiles
    whole: Percentiles
    page: dict[str, int]
    opened: tuple[PageVisit, PageVisit] | None = None


def measure_server(
    clients: int = CLIENT_COUNT,
    workers: int = 1,
    rounds: int = 3,
    browser: bool = False,
    embedder: str | None = None,
    progress: Progress | None = None,
) -> list[ServerResult]:
    """Measure `rounds` rounds. Raises BadInput for fewer than one of anything."""
    if min(clients, workers, rounds) < 1:
        raise BadInput(f"{clients} clients, {workers} workers, {rounds} rounds are too few; give at least 1 of each")
    progress = progress or (lambda _: None)
    with tempfile.TemporaryDirectory(prefix="everthread-serve-") as folder, _run_process(_run_model) as model:
        progress(f"{clients} banks: building")
        _fill(Path(folder), clients, embedder)
        with _run_process(_run_server, folder, f"http://{HOST}:{model}/v1", embedder, workers=workers) as port:
            page = asyncio.run(_measure_page_files(port))
            opened = _measure_visits(port) if browser and page else None
            results = []
            for number in range(rounds):
                progress(f"round {number + 1} of {rounds}")
                times = asyncio.run(_send_all(port, clients, number))
                results.append(_summarize(times, clients, workers, page, opened))
    return results


def _summarize(
    times: list[tuple[float, float, float] | None],
    clients: int,
    workers: int,
    page: dict[str, int],
    opened: tuple[PageVisit, PageVisit] | None,
) -> ServerResult:
    done = [each for each in times if each is not None]
    accepted, first, whole = (_percentiles([each[index] for each in done]) for index in range(3))
    return ServerResult(
        clients,
        workers,
        clients - len(done),
        1000 * REPLY_PIECES * PIECE_INTERVAL_S,
        accepted,
        first,
        whole,
        page,
        opened,
    )


def _percentiles(seconds: list[float]) -> Percentiles:
    times_ms = [1000 * each for each in seconds]
    return Percentiles(percentile(times_ms, 50), percentile(times_ms, 95), percentile(times_ms, 99))


def table(rounds: list[ServerResult]) -> str:
    """Return the figures for the terminal and the docs."""
    shown = [
        f"{each.clients} at once, {each.workers} workers: whole reply {_format_times(each.whole)}, "
        f"first piece {_format_times(each.first)}, taken {_format_times(each.accepted)}, {each.errors} errors"
        for each in rounds
    ]
    last = rounds[-1]
    shown.append(f"ideal {last.ideal:.0f} ms; all times are ms, p50 / p95 / p99")
    if last.page:
        shown.append(f"page: {sum(last.page.values()):,} bytes in {len(last.page)} files")
    for name, each in zip(("first visit", "loaded again"), last.opened or (), strict=False):
        shown.append(
            f"{name}: interactive after {each.interactive:.0f} ms, read {each.read:.0f}, whole {each.whole:.0f}"
        )
    return "\n".join(shown)


def _format_times(timing: Percentiles) -> str:
    return f"{timing.p50:.0f} / {timing.p95:.0f} / {timing.p99:.0f}"


def as_json(rounds: list[ServerResult]) -> list[dict[str, Any]]:
    """Return the figures by name."""
    return [asdict(each) for each in rounds]


# ------------------------------------------------------------------------ banks


def _fill(folder: Path, clients: int, embedder: str | None) -> None:
    """Create a bank for each client, in which a conversation has just begun."""
    model, store = factory.open_embedder(embedder), SQLiteStore(folder)
    said = synthetic.lines(clients * LINES_PER_BANK)
    for number in range(clients):
        lines = [
            NewLine(
                line.text,
                speaker="Ever" if at % 2 else "user",
                role="assistant" if at % 2 else "user",
                said_at=now().astimezone(),
            )
            for at, line in enumerate(islice(said, LINES_PER_BANK))
        ]
        Memory(_bank(number), store, model, factory.open_recipe("default")).observe_many(lines)
    store.close()


def _bank(number: int) -> str:
    return f"client-{number}"


# ---------------------------------------------------------------------- clients


async def _send_all(port: int, clients: int, number: int) -> list[tuple[float, float, float] | None]:
    """Return the times of each client: to the response's head, the first piece, and the end; None after an error."""
    return await asyncio.gather(
        *(_send_message(port, _bank(client), number * clients + client) for client in range(clients))
    )


async def _send_message(port: int, bank: str, number: int) -> tuple[float, float, float] | None:
    """Send one message. number makes it unique, so that nothing is cached."""
    body = json.dumps(
        {"text": f"My sister Mia called again, for the {number}th time: what did I tell you of her?"}
    ).encode()
    head = f"POST /api/v1/banks/{bank}/chat/current/reply HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client = _Client(head.encode() + body)
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: client, HOST, port)
        async with asyncio.timeout(TIMEOUT_S):
            ended = await client.ended
        transport.close()
    except (OSError, TimeoutError):
        return None
    return (client.accepted, client.first, ended) if client.done and client.first else None


class _Client(asyncio.Protocol):
    """Sends a request and reads its response. Minimal, for it shares the processors with the server."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.begun = time.perf_counter()
        self.accepted = self.first = 0.0
        self.done = False
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        at = time.perf_counter() - self.begun
        self.accepted = self.accepted or at
        self.first = self.first or (at if b"event: piece" in data else 0.0)
        self.done = self.done or b"event: done" in self._tail + data
        self._tail = data[-20:]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(time.perf_counter() - self.begun)


async def _measure_page_files(port: int) -> dict[str, int]:
    """Return the bytes of each file of the page; empty without a page."""
    import httpx

    sizes: dict[str, int] = {}
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}") as http:
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            answer = await http.get(path)
            if path in sizes or answer.status_code != 200:
                continue
            sizes[path] = int(answer.headers.get("content-length", len(answer.content)))
            waiting += _find_files(str(answer.url.join(".")), answer.text) if _names_files(answer.headers) else []
    return sizes


def _names_files(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith(("text/html", "text/javascript", "text/css"))


def _find_files(base: str, text: str) -> list[str]:
    """Return the server's files that a page, a style sheet or a module names."""
    found = re.findall(r"""["'](\.?/[\w./-]+\.(?:js|css|svg|woff2))["']""", text)
    return [urlsplit(urljoin(base, each)).path for each in found]


def _measure_visits(port: int) -> tuple[PageVisit, PageVisit]:
    """Return how soon the page is ready in a Chromium by its own marks: for first visits with an empty cache, and after
    a reload."""
    from playwright.sync_api import Page, sync_playwright

    def visit(page: Page) -> list[float]:
        page.wait_for_selector("html[data-ready]")
        return [page.evaluate(f"performance.getEntriesByName('{mark}')[0].startTime") for mark in MARKS]

    found: tuple[list[list[float]], list[list[float]]] = [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM_PATH, args=["--no-sandbox"])
        for number in range(1 + VISIT_COUNT):
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(f"http://{HOST}:{port}/#/visit-{number}")
                found[0].append(visit(page))
                page.reload()
                found[1].append(visit(page))
        browser.close()
    first, again = (PageVisit(*(median(times) for times in zip(*each[1:], strict=True))) for each in found)
    return first, again


# -------------------------------------------------------------------- processes


@contextmanager
def _run_process(target: Callable[..., None], *given: object, workers: int = 1) -> Iterator[int]:
    """Run a process that serves at a port until the block ends, alone or with workers of its own."""
    from everthread.server import runner as serving

    with serving.open_socket(HOST, 0, workers) as listening:
        port = listening.getsockname()[1]
        started = multiprocessing.get_context("spawn").Process(
            target=target, args=(listening, workers, *given), daemon=workers == 1
        )
        started.start()
    try:
        _wait_for_server(port)
        yield port
    finally:
        started.terminate()
        started.join(TIMEOUT_S)


def _wait_for_server(port: int) -> None:
    """Wait until a server responds. Raises ModelError if none does."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=TIMEOUT_S) as asking:
            asking.sendall(f"GET /api/v1/about HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
            if asking.recv(1):
                return
        time.sleep(0.05)
    raise ModelError(f"no server responds at port {port} after {TIMEOUT_S:.0f} seconds")


def _run_server(listening: socket.socket, workers: int, folder: str, model: str, embedder: str | None) -> None:
    """Run the server itself."""
    from everthread.server import runner as serving
    from everthread.server.settings import Settings

    given = serving.AppFactory(
        folder, embedder, "default", f"{model}#m", Settings(), "warning", multi_process=workers > 1
    )
    serving.run(given, listening, workers=workers)


def _run_model(listening: socket.socket, workers: int) -> None:
    """Run a language model's server that streams each reply in REPLY_PIECES pieces, one each PIECE_INTERVAL_S."""

    async def serving() -> None:
        async with await asyncio.get_running_loop().create_server(_Model, sock=listening):
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serving())


class _Model(asyncio.Protocol):
    """Answers one request; also minimal."""

    def __init__(self) -> None:
        self._request = b""
        self._begun = 0.0
        self._sent_pieces = 0
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._request += data
        head, end, body = self._request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if end and not self._begun and len(body) >= int(length[1] if length else 0):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            self._begun = asyncio.get_running_loop().time()
            self._wait()

    def _wait(self) -> None:
        asyncio.get_running_loop().call_at(self._begun + (self._sent_pieces + 1) * PIECE_INTERVAL_S, self._send_piece)

    def _send_piece(self) -> None:
        if self._transport.is_closing():  # the client has disconnected
            return
        self._transport.write(_chunk({"choices": [{"index": 0, "delta": {"content": f"word {self._sent_pieces} "}}]}))
        self._sent_pieces += 1
        if self._sent_pieces < REPLY_PIECES:
            self._wait()
            return
        self._transport.write(_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
        usage = {"prompt_tokens": 100, "completion_tokens": 2 * REPLY_PIECES}
        self._transport.write(_chunk({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")
        self._transport.close()


def _chunk(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
