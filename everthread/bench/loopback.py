"""Runs servers on this machine for benchmarks: Everthread's, and that of a scripted language model."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple
from uuid import uuid4

from everthread.errors import ModelError

REPLY_PIECES = 20
TIMEOUT_S = 60.0  # seconds for a server to start, and for a reply to end
HOST = "127.0.0.1"


class Running(NamedTuple):
    """A server that is running."""

    port: int
    process: BaseProcess


@contextmanager
def run_process(target: Callable[..., None], *arguments: object, workers: int = 1) -> Iterator[Running]:
    """Run a server process until the block ends, alone or with workers of its own.

    Args:
        target: its main function, which gets the listening socket, `workers`, and `arguments`.
        arguments: further arguments.
        workers: number of processes.

    Raises:
        ModelError: it does not respond.
    """
    from everthread.server import runner

    with runner.open_socket(HOST, 0, workers) as listening:
        port = listening.getsockname()[1]
        process = multiprocessing.get_context("spawn").Process(
            target=target, args=(listening, workers, *arguments), daemon=workers == 1
        )
        process.start()
    try:
        wait_for_server(port)
        yield Running(port, process)
    finally:
        process.terminate()
        process.join(TIMEOUT_S)


def wait_for_server(port: int) -> None:
    """Wait until a server responds. Raises ModelError if none does."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=TIMEOUT_S) as client:
            client.sendall(f"GET /api/v1/about HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
            if client.recv(1):
                return
        time.sleep(0.05)
    raise ModelError(f"no server responds at port {port} after {TIMEOUT_S:.0f} seconds")


def run_server(listening: socket.socket, workers: int, folder: str, model: str, embedder: str | None) -> None:
    """Run the server."""
    from everthread.server import runner
    from everthread.server.settings import Settings

    app_factory = runner.AppFactory(
        folder, embedder, "default", f"{model}#m", Settings(), "warning", multi_process=workers > 1
    )
    runner.run(app_factory, listening, workers=workers)


def run_model(listening: socket.socket, workers: int, piece_interval_s: float) -> None:
    """Run a language model's server, which streams a piece every `piece_interval_s`."""

    async def serve() -> None:
        create_protocol = partial(ModelProtocol, piece_interval_s)
        async with await asyncio.get_running_loop().create_server(create_protocol, sock=listening):
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


class ModelProtocol(asyncio.Protocol):
    """The model's side of one connection, which answers one request.

    It is minimal because it shares the processors with the server that is measured. Each
    reply is different, because the memory proxy recognises conversations by their replies.
    """

    def __init__(self, piece_interval_s: float) -> None:
        """Wait for a request.

        Args:
            piece_interval_s: seconds between the pieces.
        """
        self._piece_interval_s = piece_interval_s
        self._id = uuid4().hex[:8]
        self._request = b""
        self._started_at = 0.0
        self._sent_pieces = 0
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._request += data
        head, end, body = self._request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if end and not self._started_at and len(body) >= int(length[1] if length else 0):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            self._started_at = asyncio.get_running_loop().time()
            self._schedule_piece()

    def _schedule_piece(self) -> None:
        asyncio.get_running_loop().call_at(
            self._started_at + (self._sent_pieces + 1) * self._piece_interval_s, self._send_piece
        )

    def _send_piece(self) -> None:
        if self._transport.is_closing():  # the client has disconnected
            return
        content = f"word {self._sent_pieces} of {self._id} "
        self._transport.write(_format_event({"choices": [{"index": 0, "delta": {"content": content}}]}))
        self._sent_pieces += 1
        if self._sent_pieces < REPLY_PIECES:
            self._schedule_piece()
            return
        self._transport.write(_format_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
        usage = {"prompt_tokens": 100, "completion_tokens": 2 * REPLY_PIECES}
        self._transport.write(_format_event({"choices": [], "usage": usage}) + b"data: [DONE]\n\n")
        self._transport.close()


def _format_event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"
