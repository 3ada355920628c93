"""Two servers that start at the same port."""

from __future__ import annotations

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
