"""Proxies of a Postgres server, each with its own socket: one cuts the client off when it commits, one counts round
trips, and one gives each transaction to another connection, as PgBouncer does."""

from __future__ import annotations

import select
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict

from hardship import postgres


class Proxy:
    """Forwards all messages until a fault is set."""

    def __init__(self, server: str) -> None:
        parts = conninfo_to_dict(server)
        self._host, self._port = str(parts.get("host", "localhost")), int(parts.get("port") or 5432)
        self._folder = Path(tempfile.mkdtemp())
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._folder / f".s.PGSQL.{self._port}"))
        self._listening.listen(64)
        self._open: list[socket.socket] = [self._listening]
        self.url = postgres.build_url(server, host=str(self._folder))
        self.fault: Callable[[], bool] | None = None
        self._faulting = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def set(self, fault: Callable[[], bool]) -> None:
        """Cut the client off at the next COMMIT of a write; `fault` returns whether the server receives the COMMIT."""
        self.fault = fault

    def shut(self) -> None:
        """Stop accepting connections."""
        close(self._listening)
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Stop accepting connections, and close those that are open."""
        self.shut()
        for each in self._open:
            close(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                threading.Thread(target=self._quietly, args=(client,), daemon=True).start()

    def _quietly(self, client: socket.socket) -> None:
        with suppress(OSError, EOFError, ValueError):  # ValueError: a socket was closed during select
            self._serve(client)
        close(client)

    def _connect(self) -> socket.socket:
        local = self._host.startswith("/")
        server = socket.socket(socket.AF_UNIX if local else socket.AF_INET)
        self._open.append(server)
        server.connect(f"{self._host}/.s.PGSQL.{self._port}" if local else (self._host, self._port))
        return server

    def _serve(self, client: socket.socket) -> None:
        server = self._connect()
        deaf = threading.Event()
        threading.Thread(target=self._back, args=(server, client, deaf), daemon=True).start()
        hello = read_exactly(client, 4)
        server.sendall(hello + read_exactly(client, int.from_bytes(hello) - 4))
        prepared: dict[bytes, str] = {}
        writing = False
        for _, message in read_messages(client):
            done = get_statement(message, prepared)
            if done.startswith("BEGIN"):
                writing = "READ ONLY" not in done
            if done == "COMMIT" and writing and self.fault is not None:
                fault, self.fault = self.fault, None
                with self._faulting:
                    heard = fault()
                if not heard:
                    break
                deaf.set()
            server.sendall(message)
        close(server)

    def _back(self, server: socket.socket, client: socket.socket, deaf: threading.Event) -> None:
        """Forward the server's messages to the client, until `deaf` is set."""
        with suppress(OSError):
            while (data := server.recv(65536)) and not deaf.is_set():
                client.sendall(data)
        with self._faulting:  # what a fault does to the server is complete before the client notices and tries again
            close(client)


class Counter(Proxy):
    """Counts the transactions of its clients, and how often they wait for the server.

    Attributes:
        transactions: statements that begin one.
        waits: times that the server sends after the client has sent.
    """

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self.transactions = self.waits = 0

    def _serve(self, client: socket.socket) -> None:
        server = self._connect()
        hello = read_exactly(client, 4)
        server.sendall(hello + read_exactly(client, int.from_bytes(hello) - 4))
        prepared: dict[bytes, str] = {}  # a statement that is sent often is sent by its name
        is_waiting, half = False, b""
        while True:
            for end in select.select([client, server], [], [])[0]:
                data = receive(end)
                if end is client:
                    whole, half = split_messages(half + data)
                    self.transactions += sum(get_statement(each, prepared).startswith("BEGIN") for each in whole)
                self.waits += end is server and is_waiting
                is_waiting = end is client
                (server if end is client else client).sendall(data)


class Pooler(Proxy):
    """Alternates the transactions of a client between two connections."""

    def _serve(self, client: socket.socket) -> None:
        hello = read_exactly(client, 4)
        hello += read_exactly(client, int.from_bytes(hello) - 4)
        servers = [self._connect(), self._connect()]
        for server in servers:
            server.sendall(hello)
            for kind, message in read_messages(server):
                if kind == b"K":  # another number, because the client has no single process
                    message = message[:5] + b"\x00\x00\x00\x01" + message[9:]
                if server is servers[0]:
                    client.sendall(message)
                if kind == b"Z":
                    break
        self._pass(client, servers)

    def _pass(self, client: socket.socket, servers: list[socket.socket]) -> None:
        awaited, between = 0, True  # pending answers; whether the client's last message was complete
        halves = dict.fromkeys((client, *servers), b"")
        while True:
            for end in select.select([client, servers[0]], [], [])[0]:
                whole, halves[end] = split_messages(halves[end] + receive(end))
                for message in whole:
                    if end is client:
                        between = message[:1] in (b"Q", b"S")
                        awaited += between
                        servers[0].sendall(message)
                        continue
                    client.sendall(message)
                    awaited -= message[:1] == b"Z"
                    if message[:1] == b"Z" and message[-1:] == b"I" and between and not awaited:
                        servers.reverse()


def get_statement(message: bytes, prepared: dict[bytes, str]) -> str:
    """Return the statement that a client's message runs, or an empty text.

    Args:
        message: the message.
        prepared: the prepared statements, by name; a new one is added.
    """
    kind, body = message[:1], message[5:]
    if kind == b"Q":
        return body[:-1].decode()
    if kind == b"P":
        name, text = body.split(b"\0")[:2]
        prepared[name] = text.decode()
    return prepared.get(body.split(b"\0")[1], "") if kind == b"B" else ""


def receive(end: socket.socket) -> bytes:
    if data := end.recv(65536):
        return data
    raise EOFError


def split_messages(data: bytes) -> tuple[list[bytes], bytes]:
    """Split data into complete messages of the protocol and the rest."""
    whole = []
    while len(data) >= 5 and len(data) > (length := int.from_bytes(data[1:5])):
        whole.append(data[: length + 1])
        data = data[length + 1 :]
    return whole, data


def read_messages(source: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """Yield the protocol's messages, each as its kind and its bytes."""
    while True:
        head = read_exactly(source, 5)
        yield head[:1], head + read_exactly(source, int.from_bytes(head[1:]) - 4)


def read_exactly(source: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = source.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
