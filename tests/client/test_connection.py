from collections.abc import Iterator

import pytest
from hardship import forked
from hardship.loopback import EchoPort, serve_handler

from everthread.client.connection import Connection
from everthread.errors import ConfigError


@pytest.fixture
def connection() -> Iterator[Connection]:
    with serve_handler(EchoPort) as url:
        opened = Connection(url, None)
        yield opened
        opened.close()


def get_port(connection: Connection) -> int:
    port: int = connection.request("GET", "port")["port"]
    return port


def test_a_forked_process_does_not_use_the_connection_of_its_parent(connection: Connection) -> None:
    port = get_port(connection)

    def work() -> None:
        assert get_port(connection) != port

    assert forked.exits_cleanly(forked.fork_child(work))
    assert get_port(connection) == port


def test_a_request_after_closing_opens_another_connection(connection: Connection) -> None:
    port = get_port(connection)
    connection.close()
    assert get_port(connection) != port


@pytest.mark.parametrize("url", [7, "", "127.0.0.1:7391", "ftp://host"])
def test_a_url_without_a_scheme_of_the_web_is_rejected(url: str) -> None:
    with pytest.raises(ConfigError, match="invalid URL"):
        Connection(url, None)
