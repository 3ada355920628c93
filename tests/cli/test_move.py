"""`everthread move BANK PLACE`, and the other commands, with a store of several places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hardship.places import open_places, write_places

from cli.commands import run
from everthread import Memory
from everthread.testing import HashEmbedder
from everthread.transfer.bank_contents import copy_contents, summarize

BANKS = ("alice", "bob", "carol", "dan")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    path = write_places(tmp_path / "config", north="north", south="south")
    for bank in BANKS:
        assert run(path, "observe", f"Tea with {bank} is at four.", "--bank", bank).exit_code == 0
    return path


def test_a_bank_is_moved_to_a_place_by_its_name(places: Path) -> None:
    for place in ("north", "south", "south"):
        moved = run(places, "move", "alice", place)
        assert moved.stdout.startswith(f"alice: 1 line in {place} ("), moved.output
    shown = json.loads(run(places, "move", "alice", "north", "--json").stdout)
    assert (shown["bank"], shown["place"], shown["lines"], len(shown["sha256"])) == ("alice", "north", 1, 64)
    assert "Tea with alice" in run(places, "recall", "tea", "--bank", "alice").stdout
    assert run(places, "banks").stdout.split() == [*BANKS]


def test_a_mistaken_move_is_refused_with_the_remedy(places: Path) -> None:
    assert "there is no bank 'nobody' in the places of " in run(places, "move", "nobody", "north").stderr
    assert "unknown place 'east'; " in run(places, "move", "alice", "east").stderr
    refused = run(places, "move", "alice", "north", "--bank", "bob")
    assert "--bank has no meaning with the place 'north'; write: everthread move BANK PLACE" in refused.stderr
    run(places, "move", "alice", "south")
    run(places, "move", "alice", "north")
    alone = run(places.parent / "south", "recall", "tea", "--bank", "alice")
    assert "bank 'alice' was moved to the place 'north' from " in alone.stderr
    assert "everthread --store places.toml" in alone.stderr
    assert "there is no file" in run(places.parent / "other.toml", "banks").output


def test_all_banks_of_a_folder_are_copied_into_places_and_back(tmp_path: Path) -> None:
    folder, path = tmp_path / "old", write_places(tmp_path / "config", north="north", south="south")
    for bank in BANKS:
        run(folder, "observe", "Tea is at four.", "--bank", bank)
    assert run(path, "move", folder, path).stdout.count(": 1 line, the same in both") == len(BANKS)
    assert all(open_places(path).list_banks()[0].values())
    assert run(path, "move", path, tmp_path / "new").stdout.count(": 1 line, the same in both") == len(BANKS)


def test_banks_of_places_are_backed_up_and_restored_into_other_places(places: Path, tmp_path: Path) -> None:
    run(places, "move", "alice", "north")
    run(places, "move", "alice", "south")
    made = json.loads(run(places, "backup", tmp_path / "backups", "--json").stdout)
    assert (made["banks"], made["lines"]) == (4, 4)
    run(places, "move", "alice", "north")
    assert "alice: 1 line as in the backup already (" in run(places, "restore", tmp_path / "backups").stdout
    run(places, "observe", "The boat leaves at six.", "--bank", "bob")
    assert "exists already in north = " in run(places, "restore", tmp_path / "backups").output
    restored = json.loads(run(places, "restore", tmp_path / "backups", "--force", "--json").stdout)
    assert [row["bank"] for row in restored["banks"]] == [*BANKS]
    assert open_places(places).find_name("alice") == "north"
    run(places, "forget", "--bank", "alice", "--seq", 1, "--yes")
    backup = run(Path(made["backup"]), "lines", "--bank", "alice")
    assert backup.stdout == ""
    other = write_places(tmp_path / "other", one="one", two="two")
    assert run(other, "restore", tmp_path / "backups").stdout.count("restored (") == 4
    assert "Tea with bob" in run(other, "lines", "--bank", "bob").stdout
    refused = run(places, "backup", places.parent / "north")
    assert "is the folder of the banks; name another one" in refused.output


def test_an_unreachable_place_is_named_by_a_backup_of_all_banks(places: Path, tmp_path: Path) -> None:
    (places.parent / "north").rename(tmp_path / "elsewhere")
    refused = run(places, "backup", tmp_path / "backups")
    assert "the banks of the place 'north' can't be listed: the place 'north' is the folder" in refused.stderr
    bank = open_places(places).list_banks()[0]["south"][0]
    assert run(places, "backup", tmp_path / "backups", "--bank", bank).exit_code == 0


def test_the_doctor_names_places_second_copies_and_interrupted_moves(places: Path) -> None:
    first = run(places, "doctor").stdout
    assert f" in {places.parent / 'south'}\n" in first
    assert "ok   disk of place south    0." in first
    store = open_places(places)
    home, other = store.file.order("bob")
    with Memory.open("bob", store=places.parent / other, embedder=HashEmbedder()) as memory:
        memory.observe("A second bob.")
    origin, place = store.file.order("alice")
    with (
        store.get_place(origin).hold("alice") as held,
        store.get_place(place).receive("alice", origin, "4f", []) as copy,
    ):
        copy_contents(held.reader, "alice", copy)
    shown = run(places, "doctor")
    assert shown.exit_code == 1
    assert f"is in the places {home}, which is used unless it was moved from there, and {other}" in shown.stdout
    remedy = f"everthread move alice {origin}"
    assert f"an interrupted move from {origin} has left a copy in {place}; remove it with: {remedy}" in shown.stdout
    assert run(places, "move", "alice", origin).exit_code == 0
    assert "an interrupted move" not in run(places, "doctor").stdout
    assert summarize(store, "alice").lines == 1
    (places.parent / other).rename(places.parent / "gone")
    assert f"BAD  place {other}" in run(places, "doctor").stdout
