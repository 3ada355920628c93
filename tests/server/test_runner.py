"""`everthread serve`: start, refusal to start, and shutdown."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from click.testing import CliRunner
from fastapi import FastAPI
from hardship import PATIENCE
from hardship.served import serve_folder, start_command, wait_until
from hardship.slow_app import PIECES
from hardship.web import get, post
from uvicorn.server import ServerState

from everthread.cli.main import main
from everthread.errors import ConfigError
from everthread.server import runner as serving
from everthread.server.http_protocol import ConnectionLimits, TimeoutProtocol
from everthread.server.keys import KeyStore
from server.problem import kind

COMMAND = ("-m", "everthread", "--embedder", "hash", "--store")


def run_refused(*arguments: str, status: int = 2) -> str:
    """Run a command that refuses to start, and return its message."""
    done = CliRunner().invoke(main, ["--embedder", "hash", "--store", *arguments])
    assert done.exit_code == status, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_the_server_runs_without_key_and_model_and_stops_on_a_signal(tmp_path: Path) -> None:
    with start_command(*COMMAND, str(tmp_path), "serve", "--port", "0", imports=True) as running:
        line = f"{running.url}/api/v1/banks/alice/lines"
        assert post(line, json={"text": "My sister Mia moved to Lisbon."}).status_code == 201
        assert get(f"{line}/1").json()["text"] == "My sister Mia moved to Lisbon."
        other = {"Origin": "http://127.0.0.1:3000"}
        assert post(line, json={"text": "no"}, headers=other).status_code == 403, "another page of this machine"
        about = get(f"{running.url}/api/v1/about").json()
        assert (about["model"], about["key_required"]) == (None, False)
        assert running.stop() == 0
    assert [row["status"] for row in running.log] == [201, 200, 403, 200]
    assert not any("Mia" in json.dumps(row) or "alice" in json.dumps(row) for row in running.log)
    assert not list(tmp_path.glob("*-wal")), "the store was closed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_response_in_progress_is_finished_at_shutdown(tmp_path: Path, number: signal.Signals) -> None:
    with serve_folder(tmp_path) as running:
        with httpx.stream("GET", f"{running.url}/slow", timeout=PATIENCE) as answer:
            pieces = answer.iter_lines()
            assert next(pieces) == "data: 0"
            running.process.send_signal(number)
            wait_until(lambda: not is_reachable(running.port))
            rest = [piece for piece in pieces if piece]
        assert rest[-1] == f"data: {PIECES - 1}"
        assert len(rest) == PIECES - 1
        assert running.ended() == 0
    assert [row["route"] for row in running.log] == ["/slow"]


def is_reachable(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_shutdown_waits_only_for_its_timeout(tmp_path: Path) -> None:
    with (
        serve_folder(tmp_path, {"shutdown_timeout_s": 0}) as running,
        httpx.stream("GET", f"{running.url}/slow", timeout=PATIENCE) as answer,
    ):
        pieces = answer.iter_lines()
        next(pieces)
        running.process.send_signal(signal.SIGTERM)
        with pytest.raises(httpx.RemoteProtocolError):
            list(pieces)
        assert running.ended() == 0
    assert [row["message"] for row in running.log if row["level"] == "error"] == [
        "Cancel 1 running task(s), timeout graceful shutdown exceeded"
    ]


def test_a_request_for_which_the_shutdown_does_not_wait_is_answered(tmp_path: Path) -> None:
    with serve_folder(tmp_path, {"shutdown_timeout_s": 0}) as running, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(get, f"{running.url}/silent")
        assert running.process.stdout is not None
        assert running.process.stdout.readline() == "asked\n"
        running.process.send_signal(signal.SIGTERM)
        assert kind(answer.result(PATIENCE), 503) == "stopping"
        assert answer.result().headers["Retry-After"] == "2"
        assert running.ended() == 0
    assert [row["status"] for row in running.log if "status" in row] == [503]


def test_a_port_in_use_is_reported_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        message = run_refused(str(tmp_path), "serve", "--port", port)
    assert port in message
    assert "--port" in message


@pytest.mark.skipif(sys.platform != "linux", reason="no user can write to a folder of sysfs, not even root")
def test_a_folder_that_cannot_be_written_is_reported_at_the_start() -> None:
    message = run_refused("/sys/kernel", "serve", "--port", "0", status=1)
    assert message.startswith("everthread: /sys/kernel can't be written: ")
    assert "Check the folder's permissions, or choose another one" in message


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_public_address_without_a_key_is_refused(tmp_path: Path, host: str) -> None:
    message = run_refused(str(tmp_path), "serve", "--port", "0", "--host", host)
    assert "everthread keys new" in message
    assert host in message


def test_the_first_start_at_a_public_address_can_create_a_key_and_the_second_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "first-key"
    arguments = ("serve", "--port", "0", "--host", "0.0.0.0", "--model", "none", "--first-key", str(file))
    for _ in range(2):
        with start_command(*COMMAND, str(tmp_path / "banks"), *arguments) as running:
            assert running.process.stdout is not None
            assert f"first key   {file}" in [running.process.stdout.readline().strip() for _ in range(5)]
            line = f"{running.url}/api/v1/banks/alice/lines"
            assert post(line, json={"text": "hello"}).status_code == 401
            key = {"Authorization": f"Bearer {file.read_text().strip()}"}
            assert post(line, json={"text": "hello"}, headers=key).status_code == 201
            assert running.stop() == 0
    assert [key.name for key in KeyStore(tmp_path / "banks" / "server.sqlite").list_keys()] == ["first"]


def test_a_public_address_with_a_key_rejects_requests_without_one(tmp_path: Path) -> None:
    secret = KeyStore(tmp_path / "server.sqlite").create("phone")
    with start_command(*COMMAND, str(tmp_path), "serve", "--port", "0", "--host", "0.0.0.0") as running:
        assert running.process.stdout is not None
        greeting = [running.process.stdout.readline().strip() for _ in range(5)]
        assert any(row.startswith("Passwords and texts are not encrypted") for row in greeting)
        others = [row.split()[-1] for row in greeting if row.startswith("for others")]
        assert not any("127.0.0.1" in url for url in others)
        assert all(get(f"{url}/healthz").status_code == 200 for url in others)
        line = f"{running.url}/api/v1/banks/alice/lines"
        assert post(line, json={"text": "hello"}).status_code == 401
        key = {"Authorization": f"Bearer {secret}"}
        assert post(line, json={"text": "hello"}, headers=key).status_code == 201
        assert running.stop() == 0


def test_the_greeting_names_the_proxy_without_a_password_and_a_key_can_be_required_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERTHREAD_PROXY_URL", "http://me:secret@127.0.0.1:9/v1")
    arguments = ("serve", "--port", "0", "--require-key", "--model", "none")
    with start_command(*COMMAND, str(tmp_path), *arguments) as running:
        assert running.process.stdout is not None
        greeting = [running.process.stdout.readline().strip() for _ in range(3)]
        assert greeting[0] == "replies by  no language model: it shows what it remembers; set by --model"
        assert greeting[-1] == f"proxy at    {running.url}/v1, passed on to http://127.0.0.1:9/v1"
        assert get(f"{running.url}/api/v1/models").status_code == 401
        assert get(f"{running.url}/api/v1/about").json()["key_required"] is True
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("signal_number", "wait"), [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.05), (signal.SIGINT, 0.3)]
)
def test_a_signal_during_startup_stops_the_server_cleanly(tmp_path: Path, signal_number: int, wait: float) -> None:
    with start_command(*COMMAND, str(tmp_path), "serve", "--port", "0", "--model", "none", imports=True) as running:
        time.sleep(wait)
        assert running.stop(signal_number) == 0
    assert all(line["level"] == "info" for line in running.log)


def test_several_workers_answer_and_see_each_others_lines(tmp_path: Path) -> None:
    with start_command(*COMMAND, str(tmp_path), "serve", "--port", "0", "--workers", "2") as running:
        line = f"{running.url}/api/v1/banks/alice/lines"
        for number in range(1, 21):
            with httpx.Client(timeout=PATIENCE) as client:  # a new connection, which either worker may accept
                assert client.post(line, json={"text": f"line {number}"}).json()["seq"] == number
            with httpx.Client(timeout=PATIENCE) as client:
                assert client.get(f"{line}/{number}").json()["text"] == f"line {number}"
        counted = get(f"{running.url}/metrics").text
        assert 'everthread_requests_total{method="POST",route="/api/v1/banks/{bank}/lines",status="201"} 20' in counted
        assert running.stop() == 0
    assert len(running.log) == 41


def test_connections_are_balanced_among_workers_and_the_port_stays_reserved() -> None:
    """Only Linux balances connections; elsewhere the first worker to wake gets most of them."""

    async def count_accepted(reserved: socket.socket, ready: threading.Barrier, ended: threading.Event) -> int:
        connections: list[asyncio.StreamWriter] = []
        server = await asyncio.start_server(lambda _, writer: connections.append(writer), sock=reserved)
        await asyncio.to_thread(ready.wait, PATIENCE)
        await asyncio.to_thread(ended.wait, PATIENCE)
        for connection in connections:
            connection.close()
        server.close()
        await server.wait_closed()
        return len(connections)

    def worker() -> int:
        with asyncio.Runner(loop_factory=serving.WorkerEventLoop) as runner:
            return runner.run(count_accepted(reserved, ready, ended))

    ready, ended = threading.Barrier(3), threading.Event()
    with serving.open_socket("127.0.0.1", 0, workers=2) as reserved, ThreadPoolExecutor(2) as pool:
        counts = [pool.submit(worker) for _ in range(2)]
        ready.wait(PATIENCE)
        assert serving.wait_until_listening(reserved)
        port = reserved.getsockname()[1]
        for workers in (1, 2):
            with pytest.raises(ConfigError, match="another program uses it"):
                serving.open_socket("127.0.0.1", port, workers)
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                client.settimeout(0.01)
                with suppress(TimeoutError):
                    client.recv(1)
        ended.set()
        shares = [count.result(PATIENCE) for count in counts]
    assert sum(shares) == 101
    assert min(shares) >= 20


def test_waiting_for_a_port_that_never_listens_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "START_TIMEOUT_S", 0.2)
    with serving.open_socket("127.0.0.1", 0, workers=2) as reserved:
        assert not serving.wait_until_listening(reserved)


def test_an_address_of_another_machine_is_rejected(tmp_path: Path) -> None:
    assert serving.is_loopback("127.0.0.1")
    assert serving.is_loopback("::1")
    assert serving.is_loopback("127.8.8.8")
    assert not serving.is_loopback("0.0.0.0")
    assert not serving.is_loopback("192.0.2.1")
    with pytest.raises(ConfigError, match=r"'no\.such\.host\.invalid'"):
        serving.is_loopback("no.such.host.invalid")
    with pytest.raises(ConfigError, match="not an address of this machine"):
        serving.open_socket("192.0.2.1", 0)


def test_the_browser_is_opened_at_the_page(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    before = os.environ.get("BROWSER")
    os.environ["BROWSER"] = str(browser)
    try:
        with start_command(*COMMAND, str(tmp_path / "store"), "serve", "--port", "0", "--open") as running:
            wait_until(lambda: opened.exists() and opened.read_text(encoding="utf-8"))
            assert opened.read_text(encoding="utf-8").strip() == running.url
            assert running.stop() == 0
    finally:
        if before is None:
            del os.environ["BROWSER"]
        else:
            os.environ["BROWSER"] = before


def test_the_number_of_threads_follows_the_setting(tmp_path: Path) -> None:
    with serve_folder(tmp_path, max_threads=3) as running:
        busy = [threading.Thread(target=get, args=(f"{running.url}/sleep",)) for _ in range(6)]
        for thread in busy:
            thread.start()
        for thread in busy:
            thread.join()
        assert get(f"{running.url}/most").json() == 3
        assert running.stop() == 0


def test_a_response_body_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    async def read_no_delay() -> int:
        config, protocols = uvicorn.Config(FastAPI(), lifespan="off", log_config=None), list[TimeoutProtocol]()
        config.load()

        def build_protocol() -> TimeoutProtocol:
            protocols.append(TimeoutProtocol(ConnectionLimits(), {}, config, ServerState(), {}))
            return protocols[-1]

        with serving.open_socket("127.0.0.1", 0) as listener:
            async with await asyncio.get_running_loop().create_server(build_protocol, sock=listener):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                while not protocols or protocols[0].transport is None:
                    await asyncio.sleep(0.001)
                connection = protocols[0].transport.get_extra_info("socket")
                no_delay = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                protocols[0].transport.close()
                await reader.read()  # until both sides have closed the connection
                writer.close()
                await writer.wait_closed()
        return int(no_delay)

    assert asyncio.run(read_no_delay())


def test_an_invalid_url_is_reported_by_the_setting_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_LLM_URL", "nonsense")
    arguments = (str(tmp_path), "serve", "--port", "0", "--model", "none")
    assert "invalid llm_url: got 'nonsense', expected a URL" in run_refused(*arguments)
    monkeypatch.setenv("EVERTHREAD_PROXY_URL", "nothing")
    assert "invalid proxy_url: got 'nothing', expected a URL" in run_refused(*arguments)
