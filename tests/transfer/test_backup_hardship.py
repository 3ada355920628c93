"""kill -9 while backups are made and restored: nothing is half written, and nothing is lost."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest
from hardship.python import start_python

from everthread import Memory, NewLine
from everthread.bank.backup_folder import list_backups, read_manifest
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.backup import back_up, verify
from everthread.transfer.bank_contents import summarize
from everthread.transfer.restoring_backups import restore

ROUNDS = 6
MAX_LIFE_S = 0.3  # of a child after its first backup or restore
LINES = 300
CANARY = "Zebulonquist"

BACK_UP = """
import sys
from pathlib import Path
from everthread.stores.sqlite.store import SQLiteStore
from everthread.transfer.backup import Retention, back_up

store = SQLiteStore(sys.argv[1])
while True:
    print(back_up(store, Path(sys.argv[2]), retention=Retention(3)).folder, flush=True)
"""

RESTORE = """
import sys
from pathlib import Path
from everthread import factory
from everthread.transfer.restoring_backups import restore

store = factory.open_store(sys.argv[1])
while True:
    restore(store, Path(sys.argv[2]), force=True)
    print("restored", flush=True)
"""


@pytest.fixture
def banks(tmp_path: Path) -> Path:
    for name in ("alice", "bob"):
        with Memory.open(name, store=tmp_path / "banks", embedder=HashEmbedder()) as memory:
            memory.observe_many([NewLine(f"Line {n} about the sea and {CANARY}.") for n in range(LINES)])
    return tmp_path / "banks"


def kill_later(script: str, *arguments: object, chance: random.Random) -> list[str]:
    """Run a script, and kill it at a random moment after its first line; return its complete lines."""
    with start_python("-c", script, *arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, MAX_LIFE_S))
        process.kill()
        return [
            line.rstrip() for line in (first + process.stdout.read()).splitlines(keepends=True) if line.endswith("\n")
        ]


def test_a_killed_backup_leaves_whole_backups_alone(banks: Path, tmp_path: Path) -> None:
    chance, place, store = random.Random(5), tmp_path / "backups", SQLiteStore(banks)
    for _ in range(ROUNDS):
        last = kill_later(BACK_UP, banks, place, chance=chance)[-1]
        found = list_backups(place)
        assert Path(last) in found
        assert [verify(folder) for folder in found] == [[]] * len(found)
        assert all(read_manifest(folder).banks.keys() == {"alice", "bob"} for folder in found)
    store.forget("alice", "line", list(range(1, LINES + 1)), read_manifest(found[-1]).taken_at)
    store.forget("bob", "bank", None, read_manifest(found[-1]).taken_at)
    back_up(store, place)  # removes what the last child left
    assert {path.parent for path in place.glob("*/*")} == set(place.iterdir())
    assert not any(CANARY.encode() in path.read_bytes() for path in place.rglob("*") if path.is_file())


def test_a_killed_restore_leaves_the_whole_bank(banks: Path, tmp_path: Path) -> None:
    chance, store = random.Random(6), SQLiteStore(banks)
    made = back_up(store, tmp_path / "backups")
    expected = {name: summarize(store, name) for name in store.banks()}
    store.close()
    for _ in range(ROUNDS):
        kill_later(RESTORE, banks, made.folder, chance=chance)
        after = SQLiteStore(banks)  # removes what the child left
        assert {name: summarize(after, name) for name in after.banks()} == expected
        assert [after.check(name) for name in expected] == [[], []]
        assert {path.suffix for path in banks.iterdir()} <= {".bank", ".bank-wal", ".bank-shm", ".jsonl"}
        after.close()
    assert verify(made.folder) == []


def test_a_killed_restore_into_postgres_leaves_the_whole_bank_or_none(
    banks: Path, tmp_path: Path, database: str
) -> None:
    from everthread.stores.postgres.store import PostgresStore

    chance, store = random.Random(7), SQLiteStore(banks)
    made = back_up(store, tmp_path / "backups")
    expected = {name: summarize(store, name).sha256 for name in store.banks()}
    target = PostgresStore(database)
    for _ in range(ROUNDS):
        kill_later(RESTORE, database, made.folder, chance=chance)
        assert {name: summarize(target, name).sha256 for name in target.banks()} == expected
    restore(target, made.folder, force=True)
    assert [target.check(name) for name in expected] == [[], []]
    target.close()
