"""Runs the server with uvicorn: opens its socket, starts one process or several, and shuts them down gracefully."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, cast
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from everthread import config, factory
from everthread.common.fast_imports import without_garbage_collection
from everthread.errors import ConfigError
from everthread.server import logs, tracing
from everthread.server.http_protocol import ConnectionLimits, ProtocolFactory
from everthread.server.metrics import MULTIPROC_DIR_VARIABLE
from everthread.server.models.connection import find_setting
from everthread.server.services import Services
from everthread.server.settings import Settings

if sys.platform == "win32":
    from asyncio import SelectorEventLoop as EventLoop
else:
    from uvloop import Loop as EventLoop
from everthread.server.workers import bank_leases, worker_start
from everthread.server.workers.supervisor import WorkerSupervisor
from everthread.stores.placed.store import list_stores
from everthread.stores.sqlite.store import SQLiteStore

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

log = logging.getLogger("everthread.server")

BACKLOG = 2048  # connections that the system queues until they are accepted
REUSEPORT_BALANCES = sys.platform == "linux"  # whether the system balances connections among sockets of one address
START_TIMEOUT_S = 60  # an unresponsive worker counts as hung after this; on a busy machine one needs ten to start
POLL_INTERVAL_S = 0.05
MACOS_OPEN_FILES = 10_240  # OPEN_MAX: macOS reports no hard limit, and accepts no higher one (setrlimit(2))
DISTANT_ADDRESSES = {"0.0.0.0": "192.0.2.1", "::": "2001:db8::1"}  # for documentation (RFC 5737, RFC 3849)
# After this time a thread hands the interpreter over to one that waits for it, such as that of the event loop; with
# Python's default of 5 ms, requests through the proxy take up to 4 ms longer on a busy machine.
SWITCH_INTERVAL_S = 0.0005


@dataclass(frozen=True, slots=True)
class AppFactory:
    """Builds an app from the names of its parts, which can be passed to a worker process, unlike the parts."""

    store: str | None
    embedder: str | None
    recipe: str | None
    model: str | None
    settings: Settings
    log_level: str = "info"
    multi_process: bool = False  # whether other processes serve the same store
    options: Mapping[str, str] = field(default_factory=dict)  # of the recipe
    scribe: str | None = None  # its model
    tokens: str | None = None  # how they are counted

    def __call__(self) -> ASGIApp:
        """Build the app of one process. The routes are imported only there, because a supervisor answers no request."""
        with worker_start.report_failure():
            with without_garbage_collection():
                from everthread.server import app

            logs.install(self.log_level)
            tracing.install()
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            if self.multi_process:
                _exit_with_parent()
            return app.create_app(self.build_services(), self.settings, closes=True)

    def build_services(self) -> Services:
        """Build the services of one process. Raises ConfigError for an unknown name."""
        recipe, llm = factory.open_recipe(self.recipe, options=self.options), factory.open_llm(self.model)
        has_own_scribe = bool(self.scribe or config.load().scribe_model)
        scribe = factory.open_scribe(llm, self.scribe) if has_own_scribe else None
        count = factory.open_counter(self.tokens)
        store = factory.open_store(self.store)
        for each in list_stores(store):
            if isinstance(each, SQLiteStore):  # opening a bank again takes a third of the time of a reply
                each.max_open_banks = self.settings.max_replies
        services = Services(
            store,
            factory.open_embedder(self.embedder),
            llm,
            recipe,
            multi_process=self.multi_process,
            scribe=scribe,
            model_setting=find_setting(self.model),
            writes_titles=True,
        )
        services.count = count
        return services


def resolve_address(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    """Return the family and the address of a host on this machine.

    Raises:
        ConfigError: if this machine has no such address.
    """
    try:
        candidates = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"host {host!r} is not an address of this machine ({error}); 127.0.0.1 always is") from None
    family, _, _, _, address = candidates[0]
    return family, str(address[0])


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached only from this machine.

    Raises:
        ConfigError: if this machine has no such address.
    """
    return ipaddress.ip_address(resolve_address(host, 0)[1].partition("%")[0]).is_loopback


def open_socket(host: str, port: int, workers: int = 1) -> socket.socket:
    """Open the socket to serve at.

    Args:
        host: a name or an address.
        port: 0 for any free one.
        workers: with several, connections are refused until the workers accept them.

    Raises:
        ConfigError: if the address is unavailable.
    """
    family, address = resolve_address(host, port)
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG)
        return listener if workers == 1 or not REUSEPORT_BALANCES else _reserve_address(listener)
    except OSError as error:
        raise _explain_unavailable(host, port, error) from None


def _explain_unavailable(host: str, port: int, error: OSError) -> ConfigError:
    remedy = {
        errno.EADDRINUSE: "another program uses it, perhaps another Everthread; choose another with --port",
        errno.EACCES: "ports below 1024 are reserved; choose another with --port",
        errno.EADDRNOTAVAIL: "it is not an address of this machine; choose another with --host",
    }.get(error.errno or 0, str(error))
    return ConfigError(f"port {port} of {host} is unavailable: {remedy}")


def _reserve_address(listener: socket.socket) -> socket.socket:
    """Reserve the address, which was just found to be free, for the workers."""
    with listener:
        reserved = socket.socket(listener.family)
        address = listener.getsockname()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if reserved.family == socket.AF_INET6:
        reserved.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    reserved.bind(address)
    # Otherwise another server could listen before the workers do.
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return reserved


def _share_address(reserved: socket.socket) -> socket.socket:
    """Open a worker's own socket at the reserved address. Raises ConfigError if it is unavailable."""
    host, port = reserved.getsockname()[:2]
    try:
        return socket.create_server((host, port), family=reserved.family, backlog=BACKLOG, reuse_port=True)
    except OSError as error:
        raise _explain_unavailable(host, port, error) from None


def local_url(listener: socket.socket) -> str:
    """Return the URL at which a browser on this machine reaches the server."""
    host, port = listener.getsockname()[:2]
    return _build_url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)


def network_url(listener: socket.socket) -> str:
    """Return the URL at which other machines reach a server that listens at all addresses; "" if none is known."""
    host, port = listener.getsockname()[:2]
    if host not in DISTANT_ADDRESSES:
        return ""
    with suppress(OSError), socket.socket(listener.family, socket.SOCK_DGRAM) as probe:
        probe.connect((DISTANT_ADDRESSES[host], port))  # chooses the interface, and sends nothing
        return _build_url(probe.getsockname()[0], port)
    return ""


def _build_url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def wait_until_listening(listener: socket.socket) -> bool:
    """Wait until connections are accepted. Return whether they are within START_TIMEOUT_S."""
    url = urlsplit(local_url(listener))
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((url.hostname, url.port), timeout=START_TIMEOUT_S):
            return True
        time.sleep(POLL_INTERVAL_S)
    return False


def run(
    create_app: Callable[[], ASGIApp],
    listener: socket.socket,
    *,
    limits: ConnectionLimits | None = None,
    workers: int = 1,
    on_listening: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in progress within the limits' shutdown timeout.

    Args:
        create_app: builds the app; with several workers it must be picklable, and each calls it.
        listener: from `open_socket`.
        limits: of connections.
        workers: number of processes.
        on_listening: called once connections are accepted.

    Raises:
        EverthreadError: if no worker can start.
    """
    _raise_open_file_limit()
    config = build_config(create_app, limits or ConnectionLimits(), workers)
    with ExitStack() as stack:
        if workers > 1:
            os.environ[MULTIPROC_DIR_VARIABLE] = stack.enter_context(TemporaryDirectory(prefix="everthread-"))
            bank_leases.create_socket_folder(os.environ[MULTIPROC_DIR_VARIABLE])
            threading.Thread(
                target=lambda: on_listening() if wait_until_listening(listener) else None, daemon=True
            ).start()
            supervisor = WorkerSupervisor(config, [listener])
            supervisor.run()
            if supervisor.start_failure is not None:
                raise supervisor.start_failure
        else:
            server = GracefulServer(config, on_listening)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, server.request_exit)
            server.run([listener])


def build_config(create_app: Callable[[], ASGIApp], limits: ConnectionLimits, workers: int = 1) -> uvicorn.Config:
    """Build uvicorn's configuration. For the arguments see `run`."""
    return uvicorn.Config(
        create_app,
        factory=True,
        loop="everthread.server.runner:WorkerEventLoop" if workers > 1 else "everthread.server.runner:EventLoop",
        http=cast("type[asyncio.Protocol]", ProtocolFactory(limits)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # `logs` writes one without paths, which contain names
        server_header=False,
        proxy_headers=False,  # `ProxiedClientMiddleware` reads them
        backlog=BACKLOG,
        workers=workers,
        timeout_keep_alive=limits.idle_timeout_s,
        timeout_graceful_shutdown=limits.shutdown_timeout_s,
        timeout_worker_healthcheck=START_TIMEOUT_S,
    )


class WorkerEventLoop(EventLoop):
    """The event loop of one of several workers.

    If the system balances connections among sockets of one address, the worker listens with a socket of its own;
    with a shared one, the first worker to wake would get most of them. At a second socket it accepts requests that
    other workers forward, until its last request is done.
    """

    _worker_server: asyncio.AbstractServer | None = None

    async def create_server(self, protocol_factory: Any, *args: Any, **kwargs: Any) -> Any:
        if (path := bank_leases.get_socket_path()) is not None:
            self._worker_server = await self.create_unix_server(protocol_factory, str(path), backlog=BACKLOG)
        reserved: socket.socket = kwargs["sock"]
        if REUSEPORT_BALANCES:
            with worker_start.report_failure():
                kwargs["sock"] = _share_address(reserved)
        server = await super().create_server(protocol_factory, *args, **kwargs)
        worker_start.report_listening()
        return server

    def close(self) -> None:
        if self._worker_server is not None:
            self._worker_server.close()
        super().close()


class GracefulServer(uvicorn.Server):
    """uvicorn's server; on a terminal it reports what the shutdown waits for."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_listening()

    def request_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal before uvicorn does: stop as soon as the server has started.

        uvicorn raises the signal again after it has stopped; then this has no effect.
        """
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        pending = len(self.server_state.tasks)
        if pending and not self.should_exit and sys.stderr.isatty():
            answers = "an answer" if pending == 1 else f"{pending} answers"
            print(f"\nfinishing {answers}; press Ctrl-C again to stop at once", file=sys.stderr)
        super().handle_exit(sig, frame)


def _exit_with_parent() -> None:
    """Stop this worker when the supervising process has ended, so that the port is free."""
    parent = multiprocessing.parent_process()

    def stop_after_parent() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_after_parent, name="everthread parent", daemon=True).start()


def _raise_open_file_limit() -> None:
    """Raise the limit of open files, which bounds the number of connections and banks; its default is often low."""
    if resource is not None:
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MACOS_OPEN_FILES if hard_limit == resource.RLIM_INFINITY else hard_limit
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard_limit))
