"""Banks are moved back and forth while processes write, and movers are killed: no line is lost or stored twice."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hardship import postgres
from hardship.places import write_places
from hardship.python import start_python

from everthread import Memory
from everthread.stores.placed.store import PlacedStore
from everthread.testing import HashEmbedder
from everthread.transfer.moving import move_bank

WRITERS = 3
KILLS = 8
MAX_LIFE_S = 0.4  # of a mover after its first move

WRITE = """
import sys
from everthread import Memory
from everthread.testing import HashEmbedder

with Memory.open("alice", store=sys.argv[1], embedder=HashEmbedder()) as memory:
    while True:
        for number in range(1_000_000):
            line = memory.observe(f"{sys.argv[2]} said number {number} of the ferry.")
            print(line.text, flush=True)
            if number % 5 == 0:
                assert memory.recall("Who said something of the ferry?")
            if number % 9 == 0:
                print("forgetting:", line.text, flush=True)
                memory.forget(seq=line.seq)
                print("forgotten:", line.text, flush=True)
"""

MOVE = """
import random, sys
from everthread import factory
from everthread.transfer.moving import move_bank

store = factory.open_store(sys.argv[1])
chance = random.Random(int(sys.argv[2]))
while True:
    place = chance.choice([*store.file.places])
    move_bank(store, "alice", place)
    print(place, flush=True)
"""


@pytest.fixture
def places(tmp_path: Path, postgres_server: str) -> Iterator[Path]:
    with postgres.database(postgres_server) as east, postgres.database(postgres_server) as west:
        yield write_places(tmp_path, north="north", south="south", east=east, west=west)


def test_no_line_is_lost_or_stored_twice_while_movers_are_killed(places: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    outputs = [tmp_path / f"writer {number}" for number in range(WRITERS)]
    with Memory.open("alice", store=places, embedder=HashEmbedder()) as memory:
        memory.observe("The bank is there before it is moved.")
    with ExitStack() as stack:
        writers = [
            start_python("-c", WRITE, places, path.name, stdout=stack.enter_context(path.open("w"))) for path in outputs
        ]
        try:
            moves = [kill_later(places, number, chance) for number in range(KILLS)]
            assert [writer.poll() for writer in writers] == [None] * WRITERS  # none has failed
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
    assert min(moves) > 0
    with Memory.open("alice", store=places, embedder=HashEmbedder()) as memory:
        check(memory, [line for output in outputs for line in output.read_text().splitlines(keepends=True)])


def kill_later(places: Path, number: int, chance: random.Random) -> int:
    """Run a mover, and kill it at a random moment after its first move; return the number of its moves."""
    with start_python("-c", MOVE, places, number, stdout=subprocess.PIPE) as mover:
        assert mover.stdout is not None
        first = mover.stdout.readline()
        time.sleep(chance.uniform(0, MAX_LIFE_S))
        mover.kill()
        return len((first + mover.stdout.read()).splitlines())


def check(memory: Memory, acknowledged: list[str]) -> None:
    """Compare the bank with what its writers have printed."""
    rows = [row.strip().partition(": ") for row in acknowledged if row.endswith("\n")]
    said = {text for text, separator, _ in rows if not separator}
    leaving, forgotten = ({text for what, _, text in rows if what == name} for name in ("forgetting", "forgotten"))
    stored = Counter(line.text for line in memory.lines())
    assert max(stored.values()) == 1
    assert said - leaving - stored.keys() == set()
    assert forgotten.isdisjoint(stored)
    assert len(memory.store.receipts("alice")) >= len(forgotten)
    store = memory.store
    assert isinstance(store, PlacedStore)
    assert store.check("alice") == []
    place = store.find_name("alice")
    assert move_bank(store, "alice", place).lines == stored.total()
    assert store.list_banks()[0] == {name: ["alice"] if name == place else [] for name in store.file.places}
    assert all(store.get_place(name).list_arrivals() == {} for name in store.file.places)
