import gc
import multiprocessing
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

import pytest

from everthread import Memory
from everthread.errors import BankDamaged
from everthread.testing import HashEmbedder

FEW_DESCRIPTORS = """
import resource, sys
from everthread import Memory
from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.store import SQLiteStore
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
memories = []
for n in range(100):
    store = SQLiteStore(sys.argv[1]) if sys.argv[2] == "own" else sys.argv[1]
    try:
        memories.append(Memory.open(f"user/{n}", store=store, embedder="hash"))
        memories[-1].observe("The kettle is red.")
    except StoreUnavailable as error:
        sys.exit(str(error))
"""


def open_memory(folder: Path | str, bank: str = "ann") -> Memory:
    return Memory.open(bank, store=folder, embedder=HashEmbedder(64))


def logs(folder: Path) -> list[str]:
    """List the logs of the banks that are open: SQLite deletes a log with the last connection."""
    return sorted(path.name for path in folder.glob("*-wal"))


def run_with_few_descriptors(folder: Path, stores: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FEW_DESCRIPTORS, str(folder), stores]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_memories_of_a_folder_share_its_store(tmp_path: Path) -> None:
    with (
        open_memory(tmp_path) as ann,
        open_memory(str(tmp_path), "ben") as ben,
        open_memory(tmp_path / "other") as other,
    ):
        assert ann.store is ben.store
        assert ann.store is not other.store


def test_a_process_has_more_memories_of_a_folder_than_its_file_descriptors_would_allow(tmp_path: Path) -> None:
    assert run_with_few_descriptors(tmp_path, "shared").returncode == 0
    assert len(list(tmp_path.glob("*.bank"))) == 100


def test_too_many_open_files_are_reported_as_such_with_the_remedy(tmp_path: Path) -> None:
    error = run_with_few_descriptors(tmp_path, "own").stderr
    assert "this process has too many files open" in error
    assert "pass one store to all of them" in error
    assert "permissions" not in error


def test_the_last_memory_that_is_closed_closes_the_store(tmp_path: Path) -> None:
    ann, ben = open_memory(tmp_path), open_memory(tmp_path, "ben")
    ann.observe("One.")
    ben.observe("Two.")
    ann.close()
    ann.close()
    assert logs(tmp_path) == ["ann.bank-wal", "ben.bank-wal"]
    ben.close()
    assert logs(tmp_path) == []


def test_a_closed_memory_that_is_used_again_closes_its_files_again(tmp_path: Path) -> None:
    ann = open_memory(tmp_path)
    ann.close()
    ann.observe("One.")
    ann.close()
    assert logs(tmp_path) == []


def test_a_memory_that_is_dropped_without_being_closed_does_not_keep_the_store_open(tmp_path: Path) -> None:
    ann, ben = open_memory(tmp_path), open_memory(tmp_path, "ben")
    ann.observe("One.")
    del ann
    gc.collect()
    ben.close()
    assert logs(tmp_path) == []


def test_a_memory_that_can_not_be_opened_leaves_the_others_open(tmp_path: Path) -> None:
    (tmp_path / "ben.bank").write_bytes(b"no database, but long enough to be read as one" * 100)
    with open_memory(tmp_path) as ann:
        ann.observe("One.")
        with pytest.raises(BankDamaged):
            open_memory(tmp_path, "ben")
        assert logs(tmp_path) == ["ann.bank-wal"]


def test_a_relative_path_means_the_folder_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        open_memory("banks").observe(f"Said {name}.")
    assert (tmp_path / "here/banks/ann.bank").exists()
    assert (tmp_path / "there/banks/ann.bank").exists()


def test_a_folder_that_was_deleted_is_created_again(tmp_path: Path) -> None:
    folder = tmp_path / "banks"
    first = open_memory(folder)
    first.observe("One.")
    rmtree(folder)
    with open_memory(folder) as second:
        assert list(second.lines()) == []
        second.observe("Two.")
        assert [line.text for line in first.lines()] == ["Two."]


def close_and_open(memory: Memory, folder: Path) -> None:
    memory.observe("Said by the child.")
    memory.close()
    with open_memory(folder, "ben") as ben:
        ben.observe("Said by the child.")


def test_a_forked_child_closes_memories_for_itself_alone(tmp_path: Path) -> None:
    with open_memory(tmp_path) as ann:
        ann.observe("Said by the parent.")
        child = multiprocessing.get_context("fork").Process(target=close_and_open, args=(ann, tmp_path))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        ann.observe("Said by the parent again.")
        assert [line.text for line in ann.lines()][1:] == ["Said by the child.", "Said by the parent again."]
        assert len(ann.recall("child")) >= 1
