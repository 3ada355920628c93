"""A store over several places: found banks, missing places, added places, and what belongs to no bank."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from hardship.places import open_places, write_places

from everthread import ConfigError, Memory, NotFound, StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.placed.store import DELEGATED, PlacedStore
from everthread.testing import HashEmbedder
from everthread.transfer.moving import move_bank
from everthread.types import Receipt

BANKS = [f"person {number}" for number in range(12)]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    return write_places(tmp_path, north="north", south="south", west="west")


def fill(store: PlacedStore) -> None:
    for bank in BANKS:
        open_memory(store, bank).observe(f"I am {bank}.")


def open_memory(store: Store, bank: str) -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder())


def test_every_method_of_a_store_is_answered_by_the_place_of_the_bank() -> None:
    own = {"add_receipts", "banks", "close", "copy_reader", "exists", "forget", "lines", "location", "receipts"}
    public = {name for name in dir(Store) if not name.startswith("_")}
    assert public == own | set(DELEGATED)


def test_banks_are_spread_over_the_places_and_listed_together(places: Path) -> None:
    store = open_places(places)
    fill(store)
    assert store.banks() == sorted(BANKS)
    found = store.list_banks()[0]
    assert all(found.values())
    assert [store.find_name(bank) for bank in BANKS] == [store.file.order(bank)[0] for bank in BANKS]
    assert (
        store.location == f"north = {places.parent}/north, south = {places.parent}/south, west = {places.parent}/west"
    )
    store.close()
    assert store.banks() == sorted(BANKS)  # a later call opens the places again


def test_a_missing_place_stops_only_its_own_banks_and_new_ones(places: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(open_places(places))
    shutil.rmtree(places.parent / "north")
    store = open_places(places)
    for bank in BANKS:
        if store.file.order(bank)[0] == "north":
            with pytest.raises(StoreUnavailable, match=r"place 'north' is the folder .*/north, which does not exist"):
                open_memory(store, bank).observe("Lost?")
        else:
            assert open_memory(store, bank).observe("Stored.").seq == 2
    with caplog.at_level(logging.WARNING):
        listed = store.banks()
    assert listed == [bank for bank in sorted(BANKS) if store.file.order(bank)[0] != "north"]
    assert "the banks of the place north are not listed" in caplog.text
    new = next(name for name in map(str, range(99)) if store.file.order(name)[0] == "south")
    with pytest.raises(
        StoreUnavailable, match=rf"bank '{new}' is in no place that answers, and the place 'north' can't"
    ):
        open_memory(store, new)
    for name in ("south", "west"):
        shutil.rmtree(places.parent / name)
    with pytest.raises(StoreUnavailable, match="the place 'north' is the folder"):
        open_places(places).banks()


def test_banks_stay_where_they_are_when_a_place_is_added(places: Path) -> None:
    fill(open_places(places))
    before = open_places(places)
    added = open_places(write_places(places.parent, north="north", south="south", west="west", new="new", more="more"))
    changed = [bank for bank in BANKS if added.file.order(bank)[0] != before.file.order(bank)[0]]
    assert changed
    for bank in BANKS:
        assert open_memory(added, bank).observe("Still here.").seq == 2
        assert added.find_name(bank) == before.find_name(bank)
    for bank in changed:  # another process needs to ask no other place
        assert (places.parent / added.file.order(bank)[0]).joinpath(f"person%20{bank[7:]}.bank").stat().st_size < 100
    assert added.banks() == sorted(BANKS)


def test_a_forgotten_bank_is_created_again_in_its_last_place(places: Path) -> None:
    store, other = open_places(places), open_places(places)
    fill(store)
    bank = BANKS[0]
    home, place, _ = store.file.order(bank)
    move_bank(store, bank, place)
    open_memory(other, bank).forget(everything=True)
    assert not store.exists(bank)
    open_memory(open_places(places), bank).observe("Hello again.")
    assert [store.find_name(bank), other.find_name(bank)] == [place, place]
    assert [receipt.scope for receipt in store.receipts(bank)] == ["bank"]
    assert store.get_place(home).store.banks().count(bank) == 0


def test_receipts_are_added_where_a_bank_is_after_another_process_has_moved_it(places: Path) -> None:
    fill(store := open_places(places))
    place = next(name for name in store.file.places if name != store.find_name(BANKS[0]))
    move_bank(other := open_places(places), BANKS[0], place)
    digest = sha256(BANKS[0].encode()).hexdigest()
    receipt = Receipt(digest, "line", ((7, 7),), 1, datetime(2026, 1, 1, tzinfo=UTC))
    store.add_receipts(BANKS[0], [receipt])
    assert other.receipts(BANKS[0]) == store.receipts(BANKS[0]) == [receipt]


def test_a_reference_to_a_place_that_the_file_lacks_is_named(places: Path) -> None:
    store = open_places(places)
    fill(store)
    bank = next(bank for bank in BANKS if store.find_name(bank) == "north")
    move_bank(store, bank, "west")
    fewer = open_places(write_places(places.parent, north="north", south="south"))
    with pytest.raises(ConfigError, match=f"bank '{bank}' was moved from 'north' to the place 'west', which .* lacks"):
        open_memory(fewer, bank)


def test_an_error_of_a_place_is_the_error_of_the_store(places: Path) -> None:
    store = open_places(places)
    fill(store)
    with pytest.raises(NotFound, match=f"bank '{BANKS[3]}' has no line 9"):
        store.retract(BANKS[3], 9, datetime.now(UTC))
