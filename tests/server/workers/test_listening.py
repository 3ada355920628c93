"""Two servers that start at the same port."""

from __future__ import annotations

import asyncio
import socket

import pytest

from everthread.errors import ConfigError
from everthread.server import runner


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_reserved_port_is_not_available_to_another_server(host: str, workers: int) -> None:
    with runner.open_socket(host, 0, 2) as reserved:
        port = reserved.getsockname()[1]
        with pytest.raises(ConfigError, match="another program uses it"):
            runner.open_socket(host, port, workers)
        if runner.REUSEPORT_BALANCES:
            for _ in range(2):  # as the workers do
                socket.create_server((host, port), family=reserved.family, reuse_port=True).close()


@pytest.mark.skipif(not runner.REUSEPORT_BALANCES, reason="workers share one socket")
def test_a_worker_whose_port_another_program_has_taken_reports_it() -> None:
    async def listen(taken: socket.socket) -> None:
        await asyncio.get_running_loop().create_server(asyncio.Protocol, sock=taken)

    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        asyncio.Runner(loop_factory=runner.WorkerEventLoop) as worker,
        pytest.raises(ConfigError, match="another program uses it"),
    ):
        worker.run(listen(taken))
