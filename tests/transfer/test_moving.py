"""A bank is moved between places of either kind, and all who use it find it there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hardship import postgres
from hardship.places import open_places, write_places

from everthread import BadInput, BankMoved, Memory, NewLine, NotFound, StoreError, factory
from everthread.errors import StoreUnavailable
from everthread.stores import shared_rows
from everthread.stores.placed.store import PlacedStore, list_all_banks
from everthread.testing import HashEmbedder
from everthread.transfer.bank_contents import copy_contents, summarize
from everthread.transfer.moving import move_bank

ROUTE = ("north", "east", "west", "south", "west", "east", "north", "south", "north", "west", "north", "east")
PAIRS = (("north", "south"), ("south", "east"), ("east", "west"), ("west", "north"))  # each kind to each kind


@pytest.fixture(scope="module")
def databases(postgres_server: str) -> Iterator[tuple[str, str]]:
    with postgres.database(postgres_server) as east, postgres.database(postgres_server) as west:
        yield east, west


@pytest.fixture
def places(tmp_path: Path, databases: tuple[str, str]) -> Path:
    east, west = databases
    return write_places(tmp_path, north="north", south="south", east=east, west=west)


def open_memory(store: PlacedStore, bank: str) -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder())


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> str:
    name = re.sub(r"\W+", "-", request.node.name)
    return f"b-{name.strip('-')}"  # the databases are shared, and the first place of a bank depends on its name


def fill(store: PlacedStore, bank: str) -> Memory:
    memory = open_memory(store, bank)
    memory.observe_many([NewLine(f"Line {n} is about the ferry.", session=str(n % 3), key=f"k{n}") for n in range(40)])
    memory.retract(5)
    memory.forget(seq=7)
    memory.set_setting("voice", "dry")
    memory.set_session("1", title="Ferries")
    return memory


def test_a_bank_goes_from_place_to_place_and_processes_that_know_another_place_find_it(places: Path, bank: str) -> None:
    mover, user = open_places(places), open_places(places)
    memory = fill(user, bank)
    receipts = memory.store.receipts(bank)
    for number, place in enumerate(ROUTE):
        before = summarize(user, bank)
        assert move_bank(mover, bank, place) == before
        assert summarize(user, bank) == before
        assert [name for name, banks in mover.list_banks()[0].items() if bank in banks] == [place]
        line = memory.observe(f"Number{number} was said here.")
        assert [hit.source for hit in memory.recall(f"number{number}", 1)] == [line]
        assert user.receipts(bank) == receipts
        assert user.check(bank) == []
    assert open_places(places).find_name(bank) == ROUTE[-1]
    memory.forget(everything=True)
    assert not mover.exists(bank)


@pytest.mark.parametrize("place", ["north", "east"])
def test_a_place_by_itself_refuses_a_bank_that_has_left_it(places: Path, bank: str, place: str) -> None:
    store = open_places(places)
    fill(store, bank)
    move_bank(store, bank, place)
    move_bank(store, bank, "south")
    with closing(factory.open_store(store.file.places[place])) as alone:
        assert bank not in alone.banks()
        expected = f"bank '{bank}' was moved to the place 'south' from .*open the file that lists all places"
        for use in (alone.exists, alone.create, alone.sessions, alone.settings, alone.check):
            with pytest.raises(BankMoved, match=expected):
                use(bank)
        with pytest.raises(BankMoved, match=expected):
            alone.forget(bank, "bank", None, datetime.now(UTC))


@pytest.mark.parametrize(("origin", "place"), PAIRS)
def test_a_writer_waits_for_a_move_and_writes_in_the_new_place(
    places: Path, bank: str, origin: str, place: str
) -> None:
    mover, user = open_places(places), open_places(places)
    memory = fill(user, bank)
    move_bank(mover, bank, origin)
    memory.observe("Before.")
    with ThreadPoolExecutor() as threads:
        with mover.get_place(origin).hold(bank) as held:
            with mover.get_place(place).receive(bank, origin, "4f", []) as copy:
                copy_contents(held.reader, bank, copy)
            writing = threads.submit(memory.observe, "During the move.")
            assert memory.recall("ferry", 1)  # readers don't wait
            held.leave(place, "4f")
        assert writing.result().text == "During the move."
    assert user.find_name(bank) == place
    assert [line.text for line in memory.lines()][-2:] == ["Before.", "During the move."]


@pytest.mark.parametrize(("origin", "place"), PAIRS)
def test_a_move_that_ends_before_the_bank_leaves_has_moved_nothing(
    places: Path, bank: str, origin: str, place: str
) -> None:
    store = open_places(places)
    memory = fill(store, bank)
    move_bank(store, bank, origin)
    copy_into(store, bank, origin, place)
    other = open_places(places)
    assert other.find_name(bank) == origin
    assert store.get_place(place).list_arrivals() == {bank: origin}
    memory.observe("The copy does not have this line.")
    memory.forget(seq=1)  # of which the copy has the text
    assert store.get_place(place).list_arrivals() == {}
    copy_into(store, bank, origin, place)
    assert move_bank(other, bank, place) == summarize(store, bank)
    assert store.get_place(place).list_arrivals() == {}


@pytest.mark.parametrize(("origin", "place"), PAIRS)
def test_a_move_that_ends_when_the_bank_has_left_is_completed_by_the_next_call(
    places: Path, bank: str, origin: str, place: str
) -> None:
    mover, user = open_places(places), open_places(places)
    memory = fill(user, bank)
    move_bank(mover, bank, place)
    move_bank(mover, bank, origin)  # the other place refers to this one now
    before = summarize(user, bank)
    copy_into(mover, bank, origin, place, leave=True)
    assert summarize(user, bank) == before
    memory.observe("Then this was said.")
    assert open_places(places).find_name(bank) == user.find_name(bank) == place
    assert mover.get_place(place).list_arrivals() == {}


@pytest.mark.parametrize(("origin", "place"), PAIRS)
def test_a_bank_that_has_left_and_was_not_admitted_yet_is_listed(
    places: Path, bank: str, origin: str, place: str
) -> None:
    store = open_places(places)
    fill(store, bank)
    move_bank(store, bank, origin)
    copy_into(store, bank, origin, place, leave=True)
    assert bank in list_all_banks(open_places(places))
    assert [name for name, banks in store.list_banks()[0].items() if bank in banks] == [place]
    assert store.get_place(place).list_arrivals() == {}


def test_a_bank_that_has_left_is_listed_although_the_old_place_of_another_one_does_not_answer(places: Path) -> None:
    store = open_places(places)
    homes = {name: store.file.order(name)[0] for name in (f"person {number}" for number in range(99))}
    banks = [name for name in homes if homes[name] == "south"][:4]
    lost = next(name for name in homes if homes[name] == "north")
    for name in (*banks, lost):
        fill(store, name)
        copy_into(store, name, homes[name], "east", leave=True)
    away = (places.parent / "north").rename(places.parent / "unmounted")
    found, failures = open_places(places).list_banks()
    assert set(banks) <= set(found["east"])
    assert list(failures) == ["north"]
    away.rename(places.parent / "north")
    assert lost in open_places(places).list_banks()[0]["east"]


@pytest.mark.parametrize("origin", ["north", "east"])
def test_nothing_is_forgotten_while_a_place_that_may_have_a_copy_does_not_answer(
    places: Path, bank: str, origin: str
) -> None:
    store = open_places(places)
    fill(store, bank)
    move_bank(store, bank, origin)
    copy_into(store, bank, origin, "south")
    away = (places.parent / "south").rename(places.parent / "unmounted")
    memory = open_memory(open_places(places), bank)
    with pytest.raises(StoreUnavailable, match=r"the place 'south' can't be asked whether a move .* left a copy"):
        memory.forget(seq=1)
    assert memory.get(1) is not None
    away.rename(places.parent / "south")
    memory.forget(seq=1)
    assert memory.get(1) is None
    assert open_places(places).get_place("south").list_arrivals() == {}


@pytest.mark.parametrize("place", ["north", "east"])
def test_only_the_copy_of_the_given_move_is_discarded(places: Path, bank: str, place: str) -> None:
    store = open_places(places)
    fill(store, bank)
    move_bank(store, bank, "south")
    copy_into(store, bank, "south", place)
    target = store.get_place(place)
    target.discard(bank, "5a")
    assert target.list_arrivals() == {bank: "south"}
    target.discard(bank, "4f")
    assert target.list_arrivals() == {}


def copy_into(store: PlacedStore, bank: str, origin: str, place: str, leave: bool = False) -> None:
    """Do what a move does before it is killed."""
    with store.get_place(origin).hold(bank) as held:
        with store.get_place(place).receive(bank, origin, "4f", []) as copy:
            copy_contents(held.reader, bank, copy)
        if leave:
            held.leave(place, "4f")


def test_the_lines_of_a_bank_are_read_on_after_a_move(places: Path, bank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rows, "LINES_PER_PAGE", 10)
    store = open_places(places)
    memory = fill(store, bank)
    expected = [line.seq for line in memory.lines()]
    for limit in (None, 30):
        found = list[int]()
        for line in memory.lines(limit=limit):
            if len(found) % 12 == 5:
                move_bank(open_places(places), bank, ROUTE[line.seq % len(ROUTE)])
            found.append(line.seq)
        assert found == expected[:limit]


def test_another_bank_of_the_same_id_is_not_replaced(places: Path, bank: str) -> None:
    store = open_places(places)
    memory = fill(store, bank)
    home, *others = store.file.order(bank)
    for other in others:
        with closing(factory.open_store(store.file.places[other])) as alone:
            Memory.open(bank, store=alone, embedder=HashEmbedder()).observe("Another one.")
        with pytest.raises(StoreError, match=f"has another bank '{bank}', so that it can't be moved there"):
            move_bank(store, bank, other)
    assert store.find_name(bank) == home
    assert len(list(memory.lines())) == 38


def test_an_unknown_place_or_bank_is_named(places: Path, bank: str) -> None:
    store = open_places(places)
    with pytest.raises(BadInput, match=r"unknown place 'nort'; .*places.toml has north, south, east, west"):
        move_bank(store, bank, "nort")
    for place in store.file.places:
        with pytest.raises(NotFound, match=f"there is no bank '{bank}' in the places of "):
            move_bank(store, bank, place)
    assert not store.exists(bank)
