"""The servers that benchmarks run on this machine."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from everthread.bench.loopback import HOST, ModelProtocol

INTERVAL_S = 0.05


def test_the_model_stops_streaming_to_a_disconnected_client(caplog: pytest.LogCaptureFixture) -> None:
    async def leave() -> None:
        with socket.create_server((HOST, 0)) as listening:
            async with await asyncio.get_running_loop().create_server(
                lambda: ModelProtocol(INTERVAL_S), sock=listening
            ):
                with socket.create_connection(listening.getsockname()) as client:
                    client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
                    await asyncio.sleep(2.5 * INTERVAL_S)
                    assert b"word 0" in client.recv(1000)
                await asyncio.sleep(12 * INTERVAL_S)  # asyncio warns at the fifth piece without a reader

    with caplog.at_level(logging.WARNING, "asyncio"):
        asyncio.run(leave())
    assert not caplog.records
