"""Servers at a port of this machine, in a thread, for as long as a block lasts."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers, and tells nobody."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def answering(handler: type[Quiet]) -> Iterator[str]:
    """The URL at which a handler answers, each connection in a thread of its own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """The URL at which uvicorn serves an app."""
    with socket.create_server(("127.0.0.1", 0)) as taken:  # whoever connects before it has begun waits
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([taken],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
