"""How many bank files a store keeps open."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from everthread.memory import Memory
from everthread.stores.sqlite.open_limit import MAX_OPEN_BANKS, limit_open_banks
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

USES_BANKS_IN_TURN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
from everthread import Memory
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
store = SQLiteStore(sys.argv[1])
memories = [Memory.open(f"bank{n}", store=store, embedder=HashEmbedder()) for n in range(60)]
for _ in range(2):
    for memory in memories:
        memory.observe("The ferry left.")
        assert memory.recall("ferry")
"""


@pytest.mark.parametrize(
    ("descriptors", "banks"), [(20_000, MAX_OPEN_BANKS), (1024, 64), (256, 16), (8, 1), (resource.RLIM_INFINITY, 128)]
)
def test_half_of_the_descriptors_are_for_banks(monkeypatch: pytest.MonkeyPatch, descriptors: int, banks: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert limit_open_banks(MAX_OPEN_BANKS) == banks


def test_a_lower_wish_holds(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path)) as store:
        store.max_open_banks = 3
        for number in range(8):
            with Memory.open(f"bank{number}", store=store, embedder=HashEmbedder()) as memory:
                memory.observe("The ferry left.")
        assert list(store._open) == ["bank5", "bank6", "bank7"]


@pytest.mark.slow
def test_a_process_with_few_descriptors_uses_many_banks(tmp_path: Path) -> None:
    """With 96 descriptors, 32 open banks would be too many."""
    subprocess.run([sys.executable, "-c", USES_BANKS_IN_TURN, str(tmp_path), "96"], check=True, timeout=120)
