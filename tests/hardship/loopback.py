"""Servers at a port of this machine, in a thread, until a block ends."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers without logging."""

    def log_message(self, format: str, *args: object) -> None:
        """Discard the message."""


class EchoPort(Quiet):
    """Keeps connections open, and answers a GET with the client's port, which is another for each connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = json.dumps({"port": self.client_address[1]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_handler(handler: type[Quiet]) -> Iterator[str]:
    """Serve a handler, each connection in a thread of its own; yield the URL."""
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
def serve_app(app: ASGIApp) -> Iterator[str]:
    """Serve an app with uvicorn; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as taken:  # earlier connections wait
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([taken],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
