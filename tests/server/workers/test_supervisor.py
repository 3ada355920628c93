"""Workers that end before they listen, at the first start and later."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hardship import PATIENCE
from hardship.python import start_python
from hardship.served import wait_until
from hardship.web import get


@contextmanager
def serve(flag: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """Start two workers, which fail in this way while the flag exists."""
    program = f"from hardship.failing_app import main; main({str(flag)!r}, {how!r})"
    with (flag.parent / "log").open("w") as log:
        process = start_python("-c", program, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    try:
        wait_until(lambda: os.getpgid(process.pid) == process.pid)  # before, a signal to its group is lost
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_log(flag: Path) -> str:
    return (flag.parent / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [
        ("config", 2, "failed: invalid zqx: got 1, expected 2\n"),
        ("bug", 1, " ended with 1 before it accepted connections; its error is above\n"),
        ("killed", 1, " was ended by SIGKILL before it accepted connections; if the machine has too little memory"),
    ],
)
def test_a_server_whose_workers_cannot_start_ends_with_one_error(
    tmp_path: Path, how: str, status: int, message: str
) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    with serve(flag, how) as process:
        assert process.wait(PATIENCE) == status
        assert process.stdout is not None
        assert process.stdout.read() == "", "the address of a server that never answered is not printed"
    log = read_log(flag)
    assert message in log
    assert log.count("failed: ") == 1
    assert "replaces it" not in log
    assert ("Traceback" in log) == (how == "bug")


def test_while_a_worker_listens_another_one_is_started_again_until_it_can(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with serve(flag, "config") as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        first = find_workers(url, 2)
        flag.touch()
        os.kill(first.pop(), signal.SIGKILL)
        wait_until(lambda: read_log(flag).count("replaces it") >= 2)
        assert "a worker could not start, the others go on: invalid zqx" in read_log(flag)
        assert find_workers(url, 1) == first
        flag.unlink()
        assert first < find_workers(url, 2)
        flag.touch()
        for pid in find_workers(url, 2):
            os.kill(pid, signal.SIGKILL)
        assert process.wait(PATIENCE) == 2, "no worker listens any more"


def test_a_signal_while_workers_start_is_no_failure(tmp_path: Path) -> None:
    with serve(tmp_path / "flag", "config") as process:
        os.killpg(process.pid, signal.SIGTERM)  # to all processes, as systemd sends it
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
    assert "failed" not in read_log(tmp_path / "flag")


def find_workers(url: str, number: int) -> set[int]:
    """Return the process ids of all workers, once there are as many."""
    found: set[int] = set()

    def has_all() -> bool:
        found.clear()
        for _ in range(20 if number == 1 else 4):  # one that no other answers beside must answer alone for long
            found.add(get(f"{url}/pid").json())
        return len(found) == number

    wait_until(has_all)
    return found
