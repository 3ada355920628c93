"""Banks where the system refuses to delete and to replace a file that is open, as Windows does."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from like_windows import run_like_windows

from everthread import Memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="open files are found in /proc")

OPEN = """
from everthread import Memory

def memory(bank="ann", folder=sys.argv[1]):
    return Memory.open(bank, store=folder, embedder="hash")
"""


def test_a_bank_is_forgotten_while_this_process_has_it_open(tmp_path: Path) -> None:
    code = """
ann = memory()
ann.observe("The spare key is under the fern.")
with ann.store._bank("ann").file.read_transaction():
    pass
print(ann.forget(everything=True).lines, os.listdir(sys.argv[1]))
print(ann.observe("A new beginning.").seq, [line.text for line in ann.lines()])
"""
    assert run_like_windows(OPEN + code, tmp_path).splitlines() == ["1 ['receipts.jsonl']", "1 ['A new beginning.']"]


def test_forgetting_waits_for_a_thread_that_reads_the_bank(tmp_path: Path) -> None:
    code = """
import threading
ann = memory()
ann.observe("The spare key is under the fern.")
reading = ann.store._bank("ann").file.read_transaction()
reading.__enter__()
threading.Timer(0.3, lambda: reading.__exit__(None, None, None)).start()
print(ann.forget(everything=True).lines)
"""
    assert run_like_windows(OPEN + code, tmp_path) == "1\n"


def test_a_bank_that_another_program_has_open_is_not_forgotten_and_loses_nothing(tmp_path: Path) -> None:
    with Memory.open("ann", store=tmp_path, embedder="hash") as memory:
        memory.observe("The spare key is under the fern.")
    code = """
from everthread.stores.sqlite import bank_file
bank_file.OPEN_TIMEOUT_S = 0.1
try:
    memory().forget(everything=True)
except Exception as error:
    print(type(error).__name__, error)
"""
    other = sqlite3.connect(tmp_path / "ann.bank")
    other.execute("SELECT * FROM line").fetchall()
    try:
        message = run_like_windows(OPEN + code, tmp_path)
    finally:
        other.close()
    assert message.startswith("StoreUnavailable bank 'ann'")
    assert "is open in another program" in message
    assert "End the other programs that use it" in message
    with Memory.open("ann", store=tmp_path, embedder="hash") as memory:
        assert [line.text for line in memory.lines()] == ["The spare key is under the fern."]
        assert memory.store.receipts("ann") == []


def test_a_line_that_another_program_writes_while_it_is_waited_for_is_kept(tmp_path: Path) -> None:
    with Memory.open("ann", store=tmp_path, embedder="hash") as memory:
        memory.observe("The spare key is under the fern.")
    code = """
import threading
from everthread.errors import StoreUnavailable
from everthread.stores.sqlite.store import SQLiteStore
other = Memory.open("ann", store=SQLiteStore(sys.argv[1]), embedder="hash")
print(len(list(other.lines())))

def write():
    other.observe("The cat is called Azulejo.")
    other.close()

threading.Timer(0.3, write).start()
try:
    memory().forget(everything=True)
except StoreUnavailable:
    print("refused")
print(len(list(memory().lines())))
"""
    assert run_like_windows(OPEN + code, tmp_path).splitlines() == ["1", "refused", "2"]


def test_a_bank_in_use_is_restored_from_a_backup(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from everthread.stores.sqlite.store import SQLiteStore
store = SQLiteStore(sys.argv[1])
ann = Memory.open("ann", store=store, embedder="hash")
ann.observe("The spare key is under the fern.")
copied = Path(sys.argv[1], "copy")
store.copy_file("ann", copied)
ann.observe("The cat is called Azulejo.")
print(len(list(ann.lines())), store.put_file("ann", copied, replace=True), len(list(ann.lines())))
"""
    assert run_like_windows(OPEN + code, tmp_path) == "2 True 1\n"


def test_a_bank_is_moved_to_another_folder(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    (tmp_path / "places.toml").write_text('[places]\nfirst = "first"\nsecond = "second"\n')
    code = """
from everthread.cli.main import main
with memory(folder=sys.argv[1] + "/first") as ann:
    ann.observe("The spare key is under the fern.")
main(["--store", sys.argv[1] + "/places.toml", "move", "ann", "second"], standalone_mode=False)
print(len(list(memory(folder=sys.argv[1] + "/second").lines())))
"""
    assert run_like_windows(OPEN + code, tmp_path, EVERTHREAD_EMBEDDER="hash").splitlines()[-1] == "1"
