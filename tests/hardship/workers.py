"""`everthread serve --workers 2`, with access to each worker at its own socket."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from everthread.common.tls import tls_context
from hardship import PATIENCE
from hardship.served import Served, start_command, wait_until


def alive(at: Path) -> bool:
    """Return whether a worker accepts connections at its socket; the file exists before that, and afterwards."""
    with socket.socket(socket.AF_UNIX) as end:
        return end.connect_ex(str(at)) == 0


class Workers:
    """The workers of a running server."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served, self.folder = served, folder

    def sockets(self) -> list[Path]:
        return sorted(
            path for path in self.folder.glob("everthread-*/workers/*") if path.is_socket() and not path.is_symlink()
        )

    def at(self, socket: Path) -> httpx.Client:
        """Return a client of this worker, as if its requests came through the port."""
        return httpx.Client(
            transport=httpx.HTTPTransport(uds=str(socket), verify=tls_context()),
            base_url="http://127.0.0.1/api/v1",
            timeout=PATIENCE,
        )

    def claims(self) -> list[str]:
        """Return the names of the sockets of the workers that own banks, once for each bank."""
        return [path.readlink().name for path in self.folder.glob("everthread-*/workers/*") if path.is_symlink()]

    def kill(self, socket: Path) -> None:
        os.kill(int(socket.name), signal.SIGKILL)


@contextmanager
def two_workers(store: Path, model: str, *more: str) -> Iterator[Workers]:
    """Start two workers with the model at this URL, and yield them once both answer."""
    with tempfile.TemporaryDirectory(prefix="et", dir="/tmp") as folder:  # short, because paths of sockets are limited
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = folder
        try:
            command = ("-m", "everthread", "--embedder", "hash", "--store", str(store), "serve", "--port", "0")
            with start_command(*command, "--workers", "2", "--model", f"{model}#m", *more) as served:
                workers = Workers(served, Path(folder))
                wait_until(lambda: sum(map(alive, workers.sockets())) == 2, PATIENCE)
                for each in workers.sockets():
                    with workers.at(each) as client:
                        client.get("/about").raise_for_status()
                yield workers
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before


class Reading:
    """Reads a reply in the background. `text` is the part received; `status` is None until the response begins."""

    def __init__(self, client: httpx.Client, method: str, path: str, body: object = None, **headers: str) -> None:
        self._asked = client, method, path, body, headers
        self.status: int | None = None
        self.text, self.broken = "", False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        client, method, path, body, headers = self._asked
        try:
            with client.stream(method, path, json=body, headers=headers) as answer:
                self.status = answer.status_code
                for piece in answer.iter_text():
                    self.text += piece
        except httpx.TransportError:
            self.broken = True

    def whole(self) -> str:
        """Wait for the end of the reply; return its text."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.text

    def shows(self, text: str) -> None:
        """Wait until the reply contains this text."""
        wait_until(lambda: text in self.text, PATIENCE)
