"""Compares the memory proxy with a direct connection to the same model: the time to the first byte of a reply.

Three processes run on this machine: a language model's server, which begins a reply at once and streams it in
REPLY_PIECES pieces; Everthread's server, as it is started for users, in front of it; and this one with the clients.
The requests through the proxy and the direct ones take turns, so that a busy machine affects both.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from everthread import factory
from everthread.bench import synthetic
from everthread.bench.loopback import HOST, TIMEOUT_S, run_model, run_process, run_server
from everthread.bench.serve import Percentiles, Progress, TimedClient, fill_banks, get_percentiles, name_bank
from everthread.bench.speed import store_synthetic_lines
from everthread.errors import BadInput, ModelError
from everthread.memory import Memory

BANK_LINES = 10_000
TURN_COUNT = 50  # measured turns of each length
MAX_WARMUP_TURNS = 30  # of a new conversation, while recall waits for its history to be embedded
STREAM_COUNT = 100
SHORT_MESSAGES = 10  # messages of a short conversation, with the newest
LONG_MESSAGES = 500
PIECE_INTERVAL_S = 0.02  # seconds between the pieces of a reply
BANK = "large"
FRAME = re.compile(rb"\r\n[0-9a-f]+\r\n")  # between the chunks of a response
PIECE = re.compile(rb'"content": "([^"]*)"')


@dataclass(frozen=True, slots=True)
class FirstByte:
    """Milliseconds from a request to the first byte of its answer, through the proxy and without it."""

    proxy: Percentiles
    direct: Percentiles

    @property
    def added(self) -> float:
        """Return how much later the first byte comes through the proxy (p50)."""
        return self.proxy.p50 - self.direct.p50

    @property
    def ratio(self) -> float:
        """Return how many times as long the first byte takes through the proxy (p50)."""
        return self.proxy.p50 / self.direct.p50


@dataclass(frozen=True, slots=True)
class ProxyResult:
    """The results of one run.

    short and long are turns of conversations of at least SHORT_MESSAGES and LONG_MESSAGES messages, one at a time, in a
    bank of `lines` lines. at_once is `streams` conversations that begin at the same moment, each in a bank of its own.
    errors are replies of these that did not arrive completely. failures are replies, of all three kinds, for which the
    memory failed or was too slow.
    """

    lines: int
    turns: int
    streams: int
    short: FirstByte
    long: FirstByte
    at_once: FirstByte
    errors: int
    failures: int

    @property
    def length_ratio(self) -> float:
        """Return how many times as long the first byte of a turn takes in a long conversation (p50)."""
        return self.long.proxy.p50 / self.short.proxy.p50


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request: seconds to its first byte, its text, and whether the memory failed for it.

    text is empty if the answer did not arrive completely.
    """

    first_s: float
    text: str
    failed: bool


def measure_proxy(
    lines: int = BANK_LINES,
    turns: int = TURN_COUNT,
    streams: int = STREAM_COUNT,
    embedder: str | None = None,
    progress: Progress = lambda text: None,
) -> ProxyResult:
    """Measure the memory proxy in one run.

    Args:
        lines: lines of the bank at the start.
        turns: measured turns of short conversations, and of a long one.
        streams: conversations that begin at the same moment.
        embedder: name of the embedder; default: the configured one.
        progress: called with messages.

    Raises:
        BadInput: for a number below 1.
        ModelError: a reply to a single request did not arrive.
    """
    if min(lines, turns, streams) < 1:
        raise BadInput(f"{lines} lines, {turns} turns, {streams} streams are too few; give at least 1 of each")
    with (
        tempfile.TemporaryDirectory(prefix="everthread-proxy-") as folder,
        run_process(run_model, PIECE_INTERVAL_S) as model,
    ):
        progress(f"{lines:,} lines: storing")
        with Memory.open(BANK, store=Path(folder), embedder=factory.open_embedder(embedder)) as memory:
            store_synthetic_lines(memory, lines)
        fill_banks(Path(folder), streams, embedder)
        with run_process(run_server, folder, f"http://{HOST}:{model.port}/v1", embedder) as server:
            progress(f"{turns} turns of {SHORT_MESSAGES} and of {LONG_MESSAGES} messages")
            short, long, failed_turns = asyncio.run(_measure_turns(server.port, model.port, lines, turns))
            progress(f"{streams} at once")
            direct = asyncio.run(_send_at_once(model.port, streams, through_proxy=False))
            proxied = asyncio.run(_send_at_once(server.port, streams, through_proxy=True))
    done = [answer for answer in proxied if answer.text]
    return ProxyResult(
        lines,
        turns,
        streams,
        short,
        long,
        _compare(done, [answer for answer in direct if answer.text]),
        streams - len(done),
        failed_turns + sum(answer.failed for answer in done),
    )


def table(result: ProxyResult) -> str:
    """Return the figures for the terminal and the docs."""
    rows = {
        f"turns of {SHORT_MESSAGES} messages": result.short,
        f"turns of {LONG_MESSAGES} messages": result.long,
        f"{result.streams} at once": result.at_once,
    }
    return "\n".join(
        [
            f"first byte in ms, p50 / p99; {result.turns} turns each, in a bank of {result.lines:,} lines",
            *(f"{name:<21} {_format(times)}" for name, times in rows.items()),
            f"{LONG_MESSAGES} messages to {SHORT_MESSAGES}: {result.length_ratio:.2f} times",
            f"{result.errors} errors at once; the memory failed for {result.failures} replies",
        ]
    )


def _format(times: FirstByte) -> str:
    proxy, direct = times.proxy, times.direct
    return (
        f"proxy {proxy.p50:.1f} / {proxy.p99:.1f}, direct {direct.p50:.1f} / {direct.p99:.1f}, "
        f"{times.added:.1f} more, {times.ratio:.1f} times"
    )


def as_json(result: ProxyResult) -> dict[str, Any]:
    """Return the figures by name."""
    figures = asdict(result)
    for name in ("short", "long", "at_once"):
        times: FirstByte = getattr(result, name)
        figures[name] |= {"added": times.added, "ratio": times.ratio}
    return figures | {"length_ratio": result.length_ratio}


def _compare(proxied: list[Answer], direct: list[Answer]) -> FirstByte:
    return FirstByte(*(get_percentiles([answer.first_s for answer in answers]) for answers in (proxied, direct)))


# ---------------------------------------------------------------- conversations


class Conversation:
    """A client's conversation, which it resends as a whole with each turn."""

    def __init__(self, texts: Iterator[str], message_count: int) -> None:
        """Begin with a history that the proxy has never seen.

        Args:
            texts: what is said in it.
            message_count: messages of the first turn, with the newest.
        """
        self._texts = texts
        self._messages: list[dict[str, str]] = []
        for _ in range((message_count - 2) // 2):
            self._add(next(texts), next(texts))

    @property
    def message_count(self) -> int:
        """Return the number of messages of the next turn."""
        return len(self._messages) + 1

    async def ask(self, port: int, path: str) -> Answer:
        """Say the next text. Raises ModelError if no whole reply arrives."""
        text = next(self._texts)
        answer = await send(port, path, [*self._messages, {"role": "user", "content": text}])
        if not answer.text:
            raise ModelError(f"no whole reply arrived from port {port}; run it again when the machine is less busy")
        self._add(text, answer.text)
        return answer

    async def repeat(self, port: int, path: str) -> Answer:
        """Send the last turn again, to another server."""
        return await send(port, path, self._messages[:-1])

    def _add(self, text: str, reply: str) -> None:
        self._messages += [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]


async def _measure_turns(port: int, model_port: int, skip: int, turns: int) -> tuple[FirstByte, FirstByte, int]:
    """Measure turns of short and of long conversations alternately. The first `skip` synthetic lines are not said.

    Returns:
        The times of short and of long conversations, and for how many turns the memory failed.
    """
    texts = (line.text for line in synthetic.lines(sys.maxsize, skip=skip))
    lengths = (SHORT_MESSAGES, LONG_MESSAGES)
    talks: dict[int, Conversation] = {}
    proxied: dict[int, list[Answer]] = {length: [] for length in lengths}
    direct: dict[int, list[Answer]] = {length: [] for length in lengths}
    for _ in range(turns):
        for length in lengths:
            if length not in talks or talks[length].message_count >= 2 * length:
                talks[length] = await _begin(texts, length, port)
            proxied[length].append(await talks[length].ask(port, build_path(BANK)))
            direct[length].append(await talks[length].repeat(model_port, build_path()))
    short, long = (_compare(proxied[length], direct[length]) for length in lengths)
    return short, long, sum(answer.failed for length in lengths for answer in proxied[length])


async def _begin(texts: Iterator[str], message_count: int, port: int) -> Conversation:
    """Begin a conversation, and continue it until its history is stored and embedded."""
    talk = Conversation(texts, message_count)
    for _ in range(MAX_WARMUP_TURNS):
        if not (await talk.ask(port, build_path(BANK))).failed:
            break
    return talk


async def _send_at_once(port: int, streams: int, *, through_proxy: bool) -> list[Answer]:
    """Begin conversations at the same moment."""
    texts = [f"My sister Mia called, for the {number}th time: what did I tell you of her?" for number in range(streams)]
    paths = [build_path(name_bank(number) if through_proxy else None) for number in range(streams)]
    messages = [[{"role": "user", "content": text}] for text in texts]
    return await asyncio.gather(*(send(port, path, message) for path, message in zip(paths, messages, strict=True)))


def build_path(bank: str | None = None) -> str:
    """Return the path of requests for a bank, or of requests to the model's server."""
    return f"/bank/{bank}/v1/chat/completions" if bank else "/v1/chat/completions"


# ---------------------------------------------------------------------- client


async def send(port: int, path: str, messages: list[dict[str, str]]) -> Answer:
    """Send a request for a streamed reply, and read its answer.

    Args:
        port: of the server on this machine.
        path: of the request.
        messages: the conversation.
    """
    client = StreamClient(build_request(port, path, messages))
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: client, HOST, port)
        async with asyncio.timeout(TIMEOUT_S):
            await client.ended
        transport.close()
    except (OSError, TimeoutError):
        return Answer(0.0, "", failed=False)
    return Answer(client.accepted, client.read_text(), b"\r\nx-everthread-error:" in client.received)


def build_request(port: int, path: str, messages: list[dict[str, str]]) -> bytes:
    """Return the bytes of a request for a streamed reply. For the arguments see `send`."""
    body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


class StreamClient(TimedClient):
    """Reads a streamed reply of the chat completions API."""

    def __init__(self, request: bytes) -> None:
        super().__init__(request)
        self.received = bytearray()
        self.begun = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.begun.set()
        super().data_received(data)
        self.received += data

    def read_text(self) -> str:
        """Return the reply; empty if it is not complete."""
        body = FRAME.sub(b"", self.received)
        return b"".join(PIECE.findall(body)).decode() if b"data: [DONE]" in body else ""
