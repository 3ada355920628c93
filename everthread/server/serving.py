"""Serving: a socket, one process or several, and a stop that lets everybody finish. It knows uvicorn, and no route."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from everthread import open as opening
from everthread.errors import ConfigError
from everthread.server import app, logs
from everthread.server.connections import Limits, Protocol
from everthread.server.engine import Engine
from everthread.server.metrics import FOLDER
from everthread.server.settings import Settings
from everthread.stores.sqlite import SQLiteStore

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

BACKLOG = 2048  # connections that the system holds until they are taken up
BEGIN = 60  # seconds without a word after which a worker counts as hung; on a busy machine one needs ten to begin
PROXIES = "127.0.0.1,::1"  # who is believed when it says for whom it asks: a proxy on this machine
WITHOUT_KEY = (
    "{} can be reached from other machines, and there is no key: make one with `everthread keys new`, or serve at "
    "127.0.0.1, where none is needed"
)


@dataclass(frozen=True, slots=True)
class Given:
    """What an app is made of, as names, so that every worker can make its own of it."""

    store: str | None
    embedder: str | None
    recipe: str | None
    model: str | None
    settings: Settings
    log_level: str = "info"
    several: bool = False  # whether other processes serve the same store

    def __call__(self) -> FastAPI:
        """The app of one process."""
        logs.install(self.log_level)
        return app.create(self.engine(), self.settings, closes=True)

    def engine(self) -> Engine:
        """An engine of its own. ConfigError for a name that is unknown."""
        recipe, llm = opening.recipe(self.recipe), opening.llm(self.model)
        store = opening.store(self.store)
        if isinstance(store, SQLiteStore):  # to open a bank again costs a third of a reply
            store.open_banks = self.settings.streams
        return Engine(store, opening.embedder(self.embedder), llm, recipe, several=self.several)


def address(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    """The address of a host on this machine. ConfigError for a name that is none."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"host {host!r} is no address of this machine ({error}); 127.0.0.1 always is") from None
    family, _, _, _, place = found[0]
    return family, str(place[0])


def loopback(host: str) -> bool:
    """Whether only this machine can reach what is served there. ConfigError for a name that is none."""
    return ipaddress.ip_address(address(host, 0)[1].partition("%")[0]).is_loopback


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on; port 0 is any that is free. ConfigError where it can't be had."""
    family, place = address(host, port)
    try:
        return socket.create_server((place, port), family=family, backlog=BACKLOG)
    except OSError as error:
        remedy = {
            errno.EADDRINUSE: "another program has it, maybe an Everthread that runs; choose another with --port",
            errno.EACCES: "ports below 1024 are the system's; choose another with --port",
            errno.EADDRNOTAVAIL: "it is no address of this machine; choose another with --host",
        }.get(error.errno or 0, str(error))
        raise ConfigError(f"port {port} of {host} can't be had: {remedy}") from None


def url(taken: socket.socket) -> str:
    """The address at which a browser on this machine reaches it."""
    host, port = taken.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run(made: Callable[[], ASGIApp], taken: socket.socket, *, limits: Limits | None = None, workers: int = 1) -> None:
    """Serve until SIGTERM or SIGINT; then nobody new is let in, and what is being answered is finished, for so long as
    the limits say. Returns when all is done. Several workers make the app each, so it must be picklable then.
    """
    limits = limits or Limits()
    _many_files()
    config = uvicorn.Config(
        made,
        factory=True,
        http=cast("type[asyncio.Protocol]", Protocol(limits)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # `logs` writes one without paths, which hold names
        server_header=False,
        forwarded_allow_ips=PROXIES,
        backlog=BACKLOG,
        workers=workers,
        timeout_keep_alive=limits.idle,
        timeout_graceful_shutdown=limits.stop,
        timeout_worker_healthcheck=BEGIN,
    )
    with ExitStack() as stack:
        if workers > 1:
            os.environ[FOLDER] = stack.enter_context(TemporaryDirectory(prefix="everthread-"))
            Multiprocess(config, [taken]).run()
        else:
            for each in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them again once it has stopped
                signal.signal(each, lambda *_: None)
            Stoppable(config).run([taken])


class Stoppable(uvicorn.Server):
    """uvicorn's server, which tells a person at a terminal what it waits for when it is told to stop."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        waiting = len(self.server_state.tasks)
        if waiting and not self.should_exit and sys.stderr.isatty():
            answers = "an answer" if waiting == 1 else f"{waiting} answers"
            print(f"\nfinishing {answers}; Ctrl-C again ends at once", file=sys.stderr)
        super().handle_exit(sig, frame)


def _many_files() -> None:
    """Have this process hold as many connections open as the system lets it; by default it is often few."""
    if resource is not None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS says that there is no limit, and then has one
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
