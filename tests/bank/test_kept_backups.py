"""What is forgotten in a bank is forgotten in the backups of this bank, and not in those of its original."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from everthread import Memory
from everthread.bank import kept_backups
from everthread.bank.backup_folder import read_manifest
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.backup import back_up
from everthread.transfer.copy_bank import copy_bank
from everthread.transfer.restoring_backups import restore

CANARY = "Zebulonquist"


def open_bank(store: SQLiteStore) -> Memory:
    return Memory.open("nora", store=store, embedder=HashEmbedder(), recipe="default")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a bank, and make a backup of it."""
    with open_bank(SQLiteStore(tmp_path / "prod")) as bank:
        bank.observe(f"The keeper is {CANARY}.")
        bank.observe("Tea is at four.")
    back_up(SQLiteStore(tmp_path / "prod"), tmp_path / "backups")
    return tmp_path / "prod"


def make_copy(folder: Path, how: str) -> SQLiteStore:
    """Copy the bank of a folder in one of several ways into another."""
    target = folder.with_name("scratch")
    if how == "copied folder":
        shutil.copytree(folder, target)
    store = SQLiteStore(target)
    if how == "restored":
        restore(store, next((folder.parent / "backups").iterdir()))
    if how == "moved":
        copy_bank(open_bank(SQLiteStore(folder)), open_bank(store))
    return store


@pytest.mark.parametrize("how", ["restored", "copied folder", "moved"])
@pytest.mark.parametrize("everything", [True, False])
def test_forgetting_in_a_copy_leaves_the_backups_of_the_original(folder: Path, how: str, everything: bool) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    before = read_manifest(backup)
    copy = make_copy(folder, how)
    assert kept_backups.read(copy, "nora") == []
    bank = open_bank(copy)
    receipt = bank.forget(everything=True) if everything else bank.forget(seq=1)
    assert (receipt.backups, receipt.cleared_backups) == ((), 0)
    assert read_manifest(backup) == before
    assert open_bank(SQLiteStore(folder)).forget(seq=1).cleared_backups == 1


def test_a_backup_of_a_copy_at_the_same_place_forgets_nothing_in_those_of_the_original(folder: Path) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    copy = make_copy(folder, "copied folder")
    back_up(copy, backup.parent)
    assert open_bank(copy).forget(seq=1).cleared_backups == 1
    back_up(copy, backup.parent)
    assert CANARY.encode() in (backup / "nora.bank").read_bytes()


def test_a_bank_keeps_its_backups_if_its_folder_is_renamed(folder: Path) -> None:
    folder.rename(folder.with_name("renamed"))
    assert open_bank(SQLiteStore(folder.with_name("renamed"))).forget(seq=1).cleared_backups == 1
    (backup,) = (folder.parent / "backups").iterdir()
    assert CANARY.encode() not in (backup / "nora.bank").read_bytes()


def test_a_backup_stays_as_it_is_and_is_named_if_its_bank_may_be_on_a_disk_that_is_not_mounted(folder: Path) -> None:
    copy = make_copy(folder, "copied folder")
    shutil.rmtree(folder)
    folder.mkdir()
    (backup,) = (folder.parent / "backups").iterdir()
    receipt = open_bank(copy).forget(seq=1)
    assert (receipt.backups, receipt.cleared_backups) == ((str(backup),), 0)
    assert CANARY.encode() in (backup / "nora.bank").read_bytes()
