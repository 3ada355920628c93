"""Killed processes, concurrent writers, full disks and folders without write permission."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hardship import PATIENCE, crowd, full_once, kill, limits
from hardship.other import Other
from hardship.python import start_python
from stores.aging import age_bank

from everthread import Memory, NewLine
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION

PROCESSES, THREADS, LINES = 4, 4, 20


def open_memory(folder: Path) -> Memory:
    return Memory.open("alice", store=folder, embedder=HashEmbedder())


def start(module: Any, *arguments: object) -> subprocess.Popen[str]:
    return start_python(module.__file__, *arguments, stdout=subprocess.PIPE)


def run_json(module: Any, *arguments: object) -> dict[str, Any]:
    """Run a module in a process of its own; return the JSON that it prints."""
    with start(module, *arguments) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(output)
    return found


@pytest.fixture
def outside() -> Iterator[Path]:
    """Yield a folder that every user of the machine can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name) / "banks"


# --------------------------------------------------------------------------------- kill -9


def test_a_killed_process_has_lost_no_acknowledged_line(tmp_path: Path) -> None:
    outcome = kill.run(15, tmp_path)
    assert outcome.rounds == 15
    assert outcome.acknowledged > outcome.forgotten > 0


# ------------------------------------------------------------------------------ many writers


def test_many_processes_and_threads_write_one_bank_while_others_read(tmp_path: Path) -> None:
    total = PROCESSES * THREADS * LINES
    crowding = [start(crowd, "write", tmp_path, who, THREADS, LINES) for who in range(PROCESSES)]
    crowding += [start(crowd, "read", tmp_path, total) for _ in range(2)]
    assert [process.communicate(timeout=PATIENCE)[0] for process in crowding] == [""] * len(crowding)
    assert [process.returncode for process in crowding] == [0] * len(crowding)
    with open_memory(tmp_path) as memory:
        lines = list(memory.lines())
        assert [line.seq for line in lines] == list(range(1, total + 1))
        assert all(crowd.is_complete(line.text) for line in lines)
        said = {tuple(line.text.split()[2].split("-")) for line in lines}
        assert said == {
            (str(p), str(t), str(n)) for p in range(PROCESSES) for t in range(THREADS) for n in range(LINES)
        }
        for session in memory.sessions():  # the lines of one thread are in its order
            mine = [int(line.text.split()[2].split("-")[2]) for line in lines if line.session == session.id]
            assert mine == list(range(LINES))
        assert memory.stats().pending == 0
        assert memory.store.check("alice") == []


# ------------------------------------------------------------------------------ no more room


@pytest.mark.parametrize("batch", [1, 50])
def test_on_a_full_disk_acknowledged_lines_stay_and_the_error_says_so(tmp_path: Path, batch: int) -> None:
    report = run_json(limits, "full", tmp_path, batch)
    assert report["error"][0] == "StoreUnavailable"
    for words in ("bank 'alice'", "alice.bank", "Nothing was stored", "space"):
        assert words in report["error"][1]
    stored = report["kept"]
    assert stored == list(range(1, len(stored) + 1))
    assert report["readable"] == min(5, len(stored))  # recall still works
    assert report["after"] == len(stored) + 1
    with open_memory(tmp_path) as memory:
        assert [line.seq for line in memory.lines()] == [*stored, report["after"]]
        assert memory.store.check("alice") == []


@pytest.mark.parametrize("has_log", [False, True])
def test_a_bank_that_is_opened_on_a_full_disk_is_read_and_not_written(tmp_path: Path, has_log: bool) -> None:
    folder = tmp_path / "banks"
    with open_memory(folder) as memory:
        memory.observe("The harbour froze over.")
        memory.observe("It thawed in April.")
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("alice.bank", "alice.bank-wal"):  # as a killed process leaves them
            (copy / name).write_bytes((folder / name).read_bytes())
    report = run_json(limits, "full_opened", copy if has_log else folder)
    assert report["lines"] == ["The harbour froze over.", "It thawed in April."]
    assert report["recalled"] == ["The harbour froze over."] * 8
    assert "The harbour froze over." in report["context"]
    assert report["faults"] == []
    assert report["error"][0] == "StoreUnavailable"
    for words in ("no space to write bank 'alice'", "Nothing was stored", "Free disk space"):
        assert words in report["error"][1]
    assert report["after"] == 3


def test_when_there_is_no_room_to_erase_the_error_says_what_is_forgotten_and_how_to_finish(tmp_path: Path) -> None:
    report = run_json(limits, "forget", tmp_path)
    assert report["error"][0] == "StoreUnavailable"
    for words in ("deleted from bank 'alice'", "bytes of them may remain in", "everthread doctor"):
        assert words in report["error"][1]
    assert "Nothing was stored" not in report["error"][1]
    assert report["shown"] == []
    assert "bytes of forgotten lines may remain" in report["unsound"][0]
    assert report["sound"] == []  # there is room again, and opening the bank finished the erasure
    assert not any(b"zqxcanary" in path.read_bytes() for path in tmp_path.iterdir())
    assert len((tmp_path / "receipts.jsonl").read_text().splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="writes are made to fail by LD_PRELOAD")
def test_a_bank_can_be_created_after_the_disk_was_full_for_a_moment(
    tmp_path: Path,
) -> None:
    if (library := full_once.build_library(tmp_path)) is None:
        pytest.skip("there is no C compiler")
    for write in range(1, 8):
        environment = {**os.environ, "LD_PRELOAD": str(library), "FULL_AT": str(write)}
        command = [sys.executable, full_once.__file__, str(tmp_path / str(write))]
        first, second = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=100, check=True
        ).stdout.splitlines()
        assert first.startswith("StoreUnavailable: no space to write bank 'alice'"), (write, first)
        assert second == "made with 0 lines"


# --------------------------------------------------------------------------- may not be written


def test_a_folder_without_write_permission_is_reported(outside: Path) -> None:
    outside.mkdir()
    outside.chmod(0o555)
    report = run_json(limits, "readonly", outside)
    assert report["error"][0] == "StoreUnavailable"
    assert str(outside / "alice.bank") in report["error"][1]
    assert "Check the folder's permissions, or choose another one" in report["error"][1]
    assert list(outside.iterdir()) == []


def protect(folder: Path, mode: int = 0o444) -> dict[str, bytes]:
    """Make a folder readable for all users and writable for none; return the content of its files."""
    for path in folder.iterdir():
        path.chmod(mode)
    folder.chmod(0o555)
    return read_files(folder)


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_bank_without_write_permission_is_read_but_not_changed(outside: Path) -> None:
    with open_memory(outside) as memory:
        memory.observe("The harbour froze over.")
        memory.observe("Carved in stone.")
    before = protect(outside)
    report = run_json(limits, "readonly", outside)
    assert report["lines"] == ["The harbour froze over.", "Carved in stone."]
    assert report["recalled"] == ["The harbour froze over."]
    assert (report["outdated"], report["faults"]) == (0, [])
    assert report["error"][0] == "StoreUnavailable"
    assert "can't be written" in report["error"][1]
    assert read_files(outside) == before == {"alice.bank": before["alice.bank"]}


def test_a_bank_that_another_user_has_open_is_read_without_write_permission(outside: Path) -> None:
    with open_memory(outside) as memory:
        memory.observe("The harbour froze over.")
        protect(outside, 0o644)
        assert run_json(limits, "readonly", outside)["recalled"] == ["The harbour froze over."]
        memory.observe("It thawed.")
        assert run_json(limits, "readonly", outside)["lines"] == ["The harbour froze over.", "It thawed."]
        outside.chmod(0o755)


def test_a_bank_with_a_log_alone_cannot_be_read_without_write_permission_and_the_error_says_why(outside: Path) -> None:
    copy = outside.with_name("copy")
    with open_memory(outside) as memory:
        memory.observe("The harbour froze over.")
        copy.mkdir()
        for name in ("alice.bank", "alice.bank-wal"):
            (copy / name).write_bytes((outside / name).read_bytes())
    protect(copy)
    report = run_json(limits, "readonly", copy)
    assert report["error"][0] == "StoreUnavailable"
    assert "its newest lines are in alice.bank-wal" in report["error"][1]
    assert "Copy the folder to a place that can be written" in report["error"][1]


def test_a_bank_of_an_earlier_analyser_is_read_without_write_permission(outside: Path) -> None:
    with open_memory(outside) as memory:
        memory.observe("The harbour froze over.")
        age_bank(memory, ANALYZER_VERSION - 1)
    protect(outside)
    report = run_json(limits, "readonly", outside)
    assert (report["recalled"], report["outdated"]) == (["The harbour froze over."], 1)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ("DELETE FROM migration WHERE number = 6", "StoreUnavailable", "can't be updated where it can't be written"),
        ("INSERT INTO migration VALUES (99, 0)", "BankTooNew", "schema 99"),
    ],
)
def test_a_bank_of_another_version_is_refused_without_write_permission(
    outside: Path, change: str, kind: str, words: str
) -> None:
    with open_memory(outside) as memory:
        memory.observe("The harbour froze over.")
    with closing(sqlite3.connect(outside / "alice.bank")) as db, db:
        db.execute(change)
    protect(outside)
    report = run_json(limits, "readonly", outside)
    assert report["error"][0] == kind
    assert words in report["error"][1]


def test_a_folder_that_cannot_be_created_is_reported(outside: Path) -> None:
    outside.mkdir()
    outside.chmod(0o555)
    report = run_json(limits, "readonly", outside / "deeper")
    assert report["error"][0] == "StoreUnavailable"
    assert "Check the folder's permissions" in report["error"][1]


# ----------------------------------------------------- forgetting while another process has the bank open


def test_a_forgotten_line_is_gone_for_another_process_that_has_the_bank_open(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory, Other(tmp_path) as other:
        memory.observe_many(
            [NewLine(f"The zqxcanary sings {n}.", speaker="Zqxcanary", key=f"zqxcanary{n}") for n in range(9)]
        )
        memory.observe("The porridge is hot.", speaker="Ann")
        for _ in range(3):  # from the second query on, it has the vectors in memory
            assert len(other.ask("recall", "zqxcanary sings")) == 10
        memory.forget(speaker="Zqxcanary")
        leaks = {path.name: b"zqxcanary" in path.read_bytes().lower() for path in tmp_path.iterdir()}
        assert not any(leaks.values()), leaks
        assert other.ask("recall", "zqxcanary sings") == ["The porridge is hot."]
        assert other.ask("lines") == ["The porridge is hot."]
        assert other.ask("observe", "Who sang?") == 11
    assert not any(b"zqxcanary" in path.read_bytes().lower() for path in tmp_path.iterdir())


def test_a_bank_forgotten_by_another_process_is_empty_and_stores_the_next_line(tmp_path: Path) -> None:
    with Other(tmp_path) as other:
        for n in range(5):
            assert other.ask("observe", f"The zqxcanary sings {n}.") == n + 1
        assert len(other.ask("recall", "zqxcanary sings")) == 5
        with open_memory(tmp_path) as memory:
            assert memory.forget(everything=True).lines == 5
            assert [path.name for path in tmp_path.iterdir()] == ["receipts.jsonl"]
            assert other.ask("observe", "A new beginning.") == 1
            assert [line.text for line in memory.lines()] == ["A new beginning."]
        assert other.ask("recall", "zqxcanary sings") == other.ask("lines") == ["A new beginning."]
    with open_memory(tmp_path) as memory:
        assert [line.text for line in memory.lines()] == ["A new beginning."]
        assert memory.store.check("alice") == []
    assert not any(b"zqxcanary" in path.read_bytes().lower() for path in tmp_path.iterdir())
