"""Measures the server with many concurrent chats: the times of replies and first pieces, and the size of the page.

Three processes run on this machine: a language model's server, which streams each reply in REPLY_PIECES pieces at a
steady pace; the server as it is started for users; and this one with the clients. Each client has its own bank with a
few lines, and all send one message at the same moment.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urljoin, urlsplit

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.loopback import HOST, REPLY_PIECES, TIMEOUT_S, run_model, run_process, run_server
from everthread.bench.metrics import percentile
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.types import NewLine, now

CLIENT_COUNT = 200
PIECE_INTERVAL_S = 0.1  # seconds between the pieces
LINES_PER_BANK = 6  # lines of each bank at the start
VISIT_COUNT = 9  # measured visits to the page, after one that also waits for the browser's processes
CHROMIUM_PATH = "/usr/bin/chromium"
LONG_CHAT, LONG_CHAT_LINES = "long-chat", 10_000  # a bank with one chat, which is opened in the page
OPEN_SCRIPT = """async ([hash, seq]) => {
    const start = performance.now();
    location.hash = hash;
    while (!document.querySelector(`#lines [data-seq="${seq}"]`)) await new Promise(requestAnimationFrame);
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    return performance.now() - start;
}"""  # milliseconds until a line of a chat is drawn
MARKS = ("interactive", "read", "whole")  # performance marks that the page sets

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of times in milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class PageVisit:
    """Median milliseconds from the request of the page to its three marks.

    It then accepts a message (interactive), shows the conversation (read), and is loaded completely (whole).
    """

    interactive: float
    read: float
    whole: float


@dataclass(frozen=True, slots=True)
class LongChat:
    """Median milliseconds until a chat of LONG_CHAT_LINES lines is shown: at its end, to continue it, and at its
    beginning, to read it; and the first time, when the server has to load it."""

    first: float
    end: float
    beginning: float


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The results of one round.

    Times are milliseconds from sending a request to the first byte, to the first piece of text, and to the end of the
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
    long_chat: LongChat | None = None


def measure_server(
    clients: int = CLIENT_COUNT,
    workers: int = 1,
    rounds: int = 3,
    browser: bool = False,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> list[ServerResult]:
    """Measure the server in several rounds.

    Args:
        clients: number of clients, which send a message at the same moment.
        workers: number of the server's processes.
        rounds: number of rounds.
        browser: whether to open the page in Chromium too.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for a number below 1.
    """
    if min(clients, workers, rounds) < 1:
        raise BadInput(f"{clients} clients, {workers} workers, {rounds} rounds are too few; give at least 1 of each")
    with (
        tempfile.TemporaryDirectory(prefix="everthread-serve-") as folder,
        run_process(run_model, PIECE_INTERVAL_S) as model,
    ):
        progress(f"{clients} banks: building")
        fill_banks(Path(folder), clients, embedder)
        if browser:
            fill_long_chat(Path(folder), embedder)
        with run_process(run_server, folder, f"http://{HOST}:{model.port}/v1", embedder, workers=workers) as server:
            port = server.port
            page = asyncio.run(_measure_page_files(port))
            opened = _measure_visits(port) if browser and page else None
            long_chat = _measure_long_chat(port) if browser and page else None
            results = []
            for number in range(rounds):
                progress(f"round {number + 1} of {rounds}")
                times = asyncio.run(_send_all(port, clients, number))
                results.append(replace(_summarize(times, clients, workers, page, opened), long_chat=long_chat))
    return results


def _summarize(
    times: list[tuple[float, float, float] | None],
    clients: int,
    workers: int,
    page: dict[str, int],
    opened: tuple[PageVisit, PageVisit] | None,
) -> ServerResult:
    done = [client_times for client_times in times if client_times is not None]
    accepted, first, whole = (get_percentiles([client_times[index] for client_times in done]) for index in range(3))
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


def get_percentiles(seconds: list[float]) -> Percentiles:
    times_ms = [1000 * value for value in seconds]
    return Percentiles(percentile(times_ms, 50), percentile(times_ms, 95), percentile(times_ms, 99))


def table(rounds: list[ServerResult]) -> str:
    """Return the figures for the terminal and the docs."""
    rows = [
        f"{result.clients} at once, {result.workers} workers: whole reply {_format_times(result.whole)}, "
        f"first piece {_format_times(result.first)}, accepted {_format_times(result.accepted)}, {result.errors} errors"
        for result in rounds
    ]
    last = rounds[-1]
    rows.append(f"ideal {last.ideal:.0f} ms; all times are ms, p50 / p95 / p99")
    if last.page:
        rows.append(f"page: {sum(last.page.values()):,} bytes in {len(last.page)} files")
    for name, visit in zip(("first visit", "loaded again"), last.opened or (), strict=False):
        rows.append(
            f"{name}: interactive after {visit.interactive:.0f} ms, read {visit.read:.0f}, whole {visit.whole:.0f}"
        )
    if chat := last.long_chat:
        rows.append(
            f"chat of {LONG_CHAT_LINES:,} lines: shown at its end after {chat.end:.0f} ms (the first time "
            f"{chat.first:.0f}), at its beginning after {chat.beginning:.0f}"
        )
    return "\n".join(rows)


def _format_times(timing: Percentiles) -> str:
    return f"{timing.p50:.0f} / {timing.p95:.0f} / {timing.p99:.0f}"


def as_json(rounds: list[ServerResult]) -> list[dict[str, Any]]:
    """Return the figures by name."""
    return [asdict(result) for result in rounds]


# ------------------------------------------------------------------------ banks


def fill_banks(folder: Path, clients: int, embedder: str | None) -> None:
    """Create a bank for each client, in which a conversation has just begun."""
    model, store = factory.open_embedder(embedder), SQLiteStore(folder)
    texts = synthetic.lines(clients * LINES_PER_BANK)
    for number in range(clients):
        lines = [
            NewLine(
                line.text,
                speaker="Ever" if index % 2 else "user",
                role="assistant" if index % 2 else "user",
                said_at=now().astimezone(),
            )
            for index, line in enumerate(islice(texts, LINES_PER_BANK))
        ]
        Memory(name_bank(number), store, model, factory.open_recipe("default")).observe_many(lines)
    store.close()


def fill_long_chat(folder: Path, embedder: str | None) -> None:
    """Create the bank with one long chat, which ended yesterday."""
    store, start = SQLiteStore(folder), now() - timedelta(days=1, seconds=LONG_CHAT_LINES)
    lines = [
        NewLine(line.text, role="assistant" if n % 2 else "user", session="long", said_at=start + timedelta(seconds=n))
        for n, line in enumerate(islice(synthetic.lines(LONG_CHAT_LINES), LONG_CHAT_LINES))
    ]
    model, recipe = factory.open_embedder(embedder), factory.open_recipe("default")
    Memory(LONG_CHAT, store, model, recipe).observe_many(lines)
    store.close()


def name_bank(number: int) -> str:
    """Return the name of a client's bank."""
    return f"client-{number}"


# ---------------------------------------------------------------------- clients


async def _send_all(port: int, clients: int, number: int) -> list[tuple[float, float, float] | None]:
    """Return the times of each client: to the response's head, the first piece, and the end; None after an error."""
    return await asyncio.gather(
        *(_send_message(port, name_bank(client), number * clients + client) for client in range(clients))
    )


async def _send_message(port: int, bank: str, number: int) -> tuple[float, float, float] | None:
    """Send a message, which `number` makes unique so that nothing is cached, and return its times."""
    body = json.dumps(
        {"text": f"My sister Mia called again, for the {number}th time: what did I tell you of her?"}
    ).encode()
    head = f"POST /api/v1/banks/{bank}/chat/current/reply HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client = TimedClient(head.encode() + body)
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: client, HOST, port)
        async with asyncio.timeout(TIMEOUT_S):
            ended = await client.ended
        transport.close()
    except (OSError, TimeoutError):
        return None
    return (client.accepted, client.first, ended) if client.done and client.first else None


class TimedClient(asyncio.Protocol):
    """Sends a request and reads its response. It is minimal because it shares the processors with the server."""

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.started_at = time.perf_counter()
        self.accepted = self.first = 0.0
        self.done = False
        self.ended: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        elapsed_s = time.perf_counter() - self.started_at
        self.accepted = self.accepted or elapsed_s
        self.first = self.first or (elapsed_s if b"event: piece" in data else 0.0)
        self.done = self.done or b"event: done" in self._tail + data
        self._tail = data[-20:]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(time.perf_counter() - self.started_at)


async def _measure_page_files(port: int) -> dict[str, int]:
    """Return the bytes of each file of the page, without those of libraries; empty without a page."""
    import httpx

    sizes: dict[str, int] = {}
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{port}") as http:
        paths = ["/"]
        while paths:
            path = paths.pop()
            response = await http.get(path)
            if _without_version(path) in sizes or response.status_code != 200:
                continue
            sizes[_without_version(path)] = int(response.headers.get("content-length", len(response.content)))
            paths += _find_files(str(response.url.join(".")), response.text) if _names_files(response.headers) else []
    return sizes


def _without_version(path: str) -> str:
    """Return the path of a file of the page that is the same in each of its versions."""
    return re.sub(r"^/static/[0-9a-f]{12}/", "/static/", path)


def _names_files(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith(("text/html", "text/javascript", "text/css"))


def _find_files(base: str, text: str) -> list[str]:
    """Return the server's files that a page, a style sheet or a module names, without those of libraries."""
    references = re.findall(r"""["'](\.?/[\w./-]+\.(?:js|css|svg|woff2))["']""", text)
    return [urlsplit(urljoin(base, reference)).path for reference in references if "vendor/" not in reference]


def _measure_visits(port: int) -> tuple[PageVisit, PageVisit]:
    """Return the times of the page in Chromium, by its performance marks: with an empty cache, and after a reload."""
    from playwright.sync_api import Page, sync_playwright

    def visit(page: Page) -> list[float]:
        page.wait_for_selector("html[data-ready]")
        return [page.evaluate(f"performance.getEntriesByName('{mark}')[0].startTime") for mark in MARKS]

    first_times: list[list[float]] = []
    reload_times: list[list[float]] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM_PATH, args=["--no-sandbox"])
        for number in range(1 + VISIT_COUNT):
            with browser.new_context() as context:
                page = context.new_page()
                page.goto(f"http://{HOST}:{port}/#/visit-{number}")
                first_times.append(visit(page))
                page.reload()
                reload_times.append(visit(page))
        browser.close()
    first, again = (
        PageVisit(*(median(times) for times in zip(*visits[1:], strict=True))) for visits in (first_times, reload_times)
    )
    return first, again


def _measure_long_chat(port: int) -> LongChat:
    """Return the times in which Chromium shows the long chat, from a page that shows another."""
    from playwright.sync_api import sync_playwright

    home, times = f"#/{LONG_CHAT}", {1: list[float](), LONG_CHAT_LINES: list[float]()}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM_PATH, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://{HOST}:{port}/{home}")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_load_state("networkidle")
        for _ in range(1 + VISIT_COUNT):
            for view, seq in (("talk", LONG_CHAT_LINES), ("read", 1)):
                times[seq].append(page.evaluate(OPEN_SCRIPT, [f"{home}/{view}/long", seq]))
                page.evaluate("hash => { location.hash = hash }", home)
                page.wait_for_selector("#lines .welcome")
        browser.close()
    first, *later = times[LONG_CHAT_LINES]
    return LongChat(first, median(later), median(times[1][1:]))
