"""Leases of banks among several processes."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from everthread.errors import ConfigError
from everthread.server.metrics import MULTIPROC_DIR_VARIABLE
from everthread.server.problems import Problem
from everthread.server.workers import bank_leases
from everthread.server.workers.bank_leases import BankLeases

HOLDER = """
import sys
from pathlib import Path
from everthread.server.workers.bank_leases import BankLeases
leases = BankLeases(Path(sys.argv[1]))
print(leases.acquire("alice", 1), flush=True)
sys.stdin.read()
"""


def links(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_symlink()]


def test_a_bank_is_leased_by_one_worker_until_its_last_holder_releases_it(tmp_path: Path) -> None:
    one, other = BankLeases(tmp_path / "1"), BankLeases(tmp_path / "2")
    assert one.acquire("alice", "reply")
    assert one.acquire("alice", "private")
    assert (one.find_owner("alice"), other.find_owner("alice")) == (None, tmp_path / "1")
    assert not other.acquire("alice", "reply", 0)
    one.release("alice", "reply")
    one.release("alice", "reply")
    assert not other.acquire("alice", "reply", 0)
    one.release("alice", "private")
    assert other.acquire("alice", "reply", 0)
    assert one.find_owner("alice") == tmp_path / "2"
    assert one.acquire("bob", "reply", 0), "each bank has its own lease"


def test_acquiring_a_leased_bank_waits_and_then_fails(tmp_path: Path) -> None:
    one, other = BankLeases(tmp_path / "1"), BankLeases(tmp_path / "2")
    one.acquire("alice", "reply")
    with pytest.raises(Problem, match="409"), other.hold("alice", 0.1):
        raise AssertionError
    releasing = threading.Timer(0.1, one.release, ("alice", "reply"))
    releasing.start()
    with other.hold("alice", 30):
        assert one.find_owner("alice") == tmp_path / "2"
    releasing.join()
    assert not links(tmp_path)


def test_the_folder_contains_no_bank_id(tmp_path: Path) -> None:
    BankLeases(tmp_path / "1").acquire("alice", "reply")
    assert len(links(tmp_path)) == 1
    assert not any("alice" in path.name for path in tmp_path.iterdir())


def test_one_of_many_concurrent_workers_gets_the_lease(tmp_path: Path) -> None:
    workers = [BankLeases(tmp_path / str(number)) for number in range(8)]
    for bank in ("alice", "bob", "carol"):
        winners: list[BankLeases] = []
        barrier = threading.Barrier(len(workers))

        def acquire(worker: BankLeases, bank: str, winners: list[BankLeases], barrier: threading.Barrier) -> None:
            barrier.wait()
            if worker.acquire(bank, "reply", 0):
                winners.append(worker)

        threads = [threading.Thread(target=acquire, args=(worker, bank, winners, barrier)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(winners) == 1


def test_a_lease_of_a_killed_worker_is_taken_over_by_one_live_worker(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "9")]
    one, other = BankLeases(tmp_path / "1"), BankLeases(tmp_path / "2")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert one.find_owner("alice") == tmp_path / "9"
        assert not one.acquire("alice", "reply", 0)
        assert not one.reclaim("alice", tmp_path / "9"), "the worker is alive"
        process.kill()
    assert one.acquire("alice", "reply", 0)
    assert other.reclaim("alice", tmp_path / "9")
    assert other.find_owner("alice") == tmp_path / "1", "the lease of a live worker is not removed"


def test_a_single_process_holds_every_bank_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MULTIPROC_DIR_VARIABLE, str(tmp_path))  # as a single process may have it, for Prometheus
    assert bank_leases.get_socket_path() is None
    leases = BankLeases()
    with leases.hold("alice"), leases.hold("alice"):
        assert leases.find_owner("alice") is None
    assert not list(tmp_path.iterdir())


def test_the_folder_is_private_and_its_path_is_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_leases, "MAX_SOCKET_PATH_BYTES", 300)
    bank_leases.create_socket_folder(str(tmp_path))
    monkeypatch.setenv(MULTIPROC_DIR_VARIABLE, str(tmp_path))
    path = bank_leases.get_socket_path()
    assert path is not None
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="TMPDIR"):
        bank_leases.create_socket_folder(f"/tmp/{'x' * 100}")


def test_a_lease_of_a_live_worker_survives_the_loss_of_its_file(tmp_path: Path) -> None:
    one, other = BankLeases(tmp_path / "1"), BankLeases(tmp_path / "2")
    assert one.acquire("alice", "reply")
    (tmp_path / "1.alive").unlink()
    assert not other.acquire("alice", "reply", 0)
    next(path for path in tmp_path.iterdir() if path.is_symlink()).unlink()
    assert other.acquire("alice", "reply", 0)
    one.release("alice", "reply")
    assert one.find_owner("alice") == tmp_path / "2"
