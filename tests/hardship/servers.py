"""Two `everthread serve` with one database, and a proxy of Debian's in front of them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx

from everthread.common.tls import tls_context
from hardship import PATIENCE
from hardship.served import Served, start_command, wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"  # where Debian has servers
PROXIES = ("nginx", "haproxy")


def find_program(name: str) -> str | None:
    """Return the path of a proxy, or None if it isn't installed."""
    return shutil.which(name, path=PATH)


@contextmanager
def two_servers(database: str, model: str) -> Iterator[tuple[Served, Served]]:
    """Start two servers of a database with the model at this URL."""
    command = ("-m", "everthread", "--embedder", "hash", "--store", database, "serve", "--port", "0")
    with ExitStack() as stack:
        one, other = (stack.enter_context(start_command(*command, "--model", f"{model}#m")) for _ in range(2))
        yield one, other


def client(url: str, key: str | None = None) -> httpx.Client:
    """Return a client of the API at an address."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=PATIENCE, verify=tls_context())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def write_configuration(name: str, folder: Path, port: int, servers: tuple[Served, Served]) -> list[str]:
    """Write the configuration of `deploy/` with other addresses and without TLS; return the proxy's arguments."""
    listens = {"nginx": r"listen 443 ssl;|ssl_certificate.*;", "haproxy": r"bind :443.*"}[name]
    suffix = {"nginx": "conf", "haproxy": "cfg"}[name]
    text = (DEPLOY / f"{name}.{suffix}").read_text(encoding="utf-8").replace("memory.example.org", "127.0.0.1")
    for number, server in enumerate(servers, 1):
        text = text.replace(f"10.0.0.{number}:7391", f"127.0.0.1:{server.port}")
    file, own = folder / f"{name}.{suffix}", iter((f"listen 127.0.0.1:{port};", "", ""))
    if name == "haproxy":
        file.write_text(re.sub(listens, f"bind 127.0.0.1:{port}", text), encoding="utf-8")
        return ["-db", "-f", str(file)]
    text = re.sub(listens, lambda _: next(own), text)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log stderr; worker_processes 1;\n"
        f"events {{}} http {{ access_log off; {paths}\n{text} }}",
        encoding="utf-8",
    )
    return ["-e", "stderr", "-c", str(file)]


@contextmanager
def run_proxy(name: str, folder: Path, servers: tuple[Served, Served]) -> Iterator[str]:
    """Start a proxy in front of the servers, and yield its URL."""
    port = free_port()
    command = [str(find_program(name)), *write_configuration(name, folder, port, servers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:

        def answers() -> bool:
            assert process.poll() is None, process.stderr and process.stderr.read()
            with suppress(httpx.TransportError):
                return httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200
            return False

        try:
            wait_until(answers)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def read_until(response: httpx.Response, text: str) -> str:
    """Read a response until it contains a text; return what was read."""
    read, end = "", time.monotonic() + PATIENCE
    for piece in response.iter_text():
        read += piece
        if text in read or time.monotonic() > end:
            break
    return read
