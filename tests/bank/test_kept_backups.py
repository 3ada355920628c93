"""Forgetting in a bank changes the backups of this bank, and not those of its original."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hardship import postgres
from hardship.forked import exits_cleanly, fork_child
from psycopg.conninfo import conninfo_to_dict

from everthread import Memory
from everthread.bank import kept_backups
from everthread.bank.backup_folder import read_manifest, write_manifest
from everthread.cli.doctor import examine
from everthread.stores.base import Scope, ScopeName
from everthread.stores.sqlite.receipts import FILE_NAME
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.backup import Retention, back_up, verify
from everthread.transfer.copy_bank import copy_bank
from everthread.transfer.restoring_backups import restore
from everthread.types import Receipt

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

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


def test_a_bank_of_the_same_id_on_another_machine_forgets_nothing_in_backups_at_the_same_place(folder: Path) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    folder.rename(folder.with_name("away"))  # as if it were on another machine
    other = SQLiteStore(folder.with_name("other"))
    open_bank(other).observe("I am another Nora.")
    back_up(other, backup.parent)
    assert open_bank(other).forget(seq=1).cleared_backups == 1
    assert CANARY.encode() in (backup / "nora.bank").read_bytes()


def test_the_backups_of_another_machine_at_the_same_place_are_not_removed_as_old_ones(folder: Path) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    folder.rename(folder.with_name("away"))
    open_bank(other := SQLiteStore(folder.with_name("other"))).observe("I am another Nora.")
    first = back_up(other, backup.parent, retention=Retention(1))
    assert back_up(other, backup.parent, retention=Retention(1)).removed == (first.folder,)
    assert verify(backup) == []


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


def test_what_was_forgotten_before_a_move_is_not_restored_into_the_new_store(folder: Path) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    backup.parent.rename(folder.with_name("away"))  # so that forgetting doesn't reach it
    open_bank(SQLiteStore(folder)).forget(seq=1)
    copy = make_copy(folder, "moved")
    assert copy.receipts("nora") == SQLiteStore(folder).receipts("nora")
    restore(copy, folder.with_name("away") / backup.name, force=True)
    assert [line.seq for line in copy.lines("nora")] == [2]


class Killed(SQLiteStore):
    """A store whose process is killed as soon as something is forgotten in a bank."""

    def forget(self, bank: str, scope: Scope, name: ScopeName, at: datetime) -> Receipt:
        super().forget(bank, scope, name, at)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@pytest.fixture
def backup(folder: Path) -> Path:
    """Return a backup of a bank, whose process was killed when it had forgotten a line in the bank alone."""
    assert not exits_cleanly(fork_child(lambda: print(open_bank(Killed(folder)).forget(seq=1))))
    (made,) = (folder.parent / "backups").iterdir()
    assert [line.seq for line in SQLiteStore(folder).lines("nora")] == [2]
    assert CANARY.encode() in (made / "nora.bank").read_bytes()
    return made


def is_finished(backup: Path) -> bool:
    return CANARY.encode() not in (backup / "nora.bank").read_bytes() and verify(backup) == []


def test_a_forgetting_in_backups_that_was_interrupted_is_finished_when_the_bank_is_opened(
    folder: Path, backup: Path
) -> None:
    assert kept_backups.find_pending(SQLiteStore(folder), "nora") == [str(backup)]
    open_bank(SQLiteStore(folder)).close()
    assert is_finished(backup)
    assert kept_backups.find_pending(SQLiteStore(folder), "nora") == []


def test_a_forgetting_in_backups_is_not_taken_for_finished_while_receipts_cant_be_read(
    folder: Path, backup: Path
) -> None:
    (file := folder / FILE_NAME).rename(folder / "receipts.away")
    file.mkdir()
    open_bank(SQLiteStore(folder)).close()
    assert kept_backups.find_pending(SQLiteStore(folder), "nora") == [str(backup)]
    file.rmdir()
    (folder / "receipts.away").rename(file)
    open_bank(SQLiteStore(folder)).close()
    assert is_finished(backup)


def test_a_backup_stays_marked_when_it_is_recorded_again(folder: Path, backup: Path) -> None:
    (kept,) = kept_backups.read(store := SQLiteStore(folder), "nora")
    kept_backups.record(store, "nora", backup.parent, [kept._replace(is_pending=False)])
    assert kept_backups.read(store, "nora") == [kept._replace(is_pending=True)]


def test_a_forgetting_in_backups_that_was_interrupted_is_finished_by_the_next_one(folder: Path, backup: Path) -> None:
    kept_backups.forget(SQLiteStore(folder), "nora", "line", [2], datetime.now(UTC))
    assert is_finished(backup)


def test_a_backup_in_which_something_is_left_is_a_finding(folder: Path, backup: Path) -> None:
    backup.parent.rename(backup.parent.with_name("away"))
    (finding,) = [each for each in examine(str(folder), "hash") if not each.ok]
    assert finding.detail.startswith(f"{backup} may still hold what was forgotten; ")
    open_bank(SQLiteStore(folder)).close()
    backup.parent.with_name("away").rename(backup.parent)
    assert [each.detail for each in examine(str(folder), "hash") if not each.ok] == [finding.detail]
    open_bank(SQLiteStore(folder)).close()
    assert is_finished(backup)
    assert all(each.ok for each in examine(str(folder), "hash"))


def test_a_bank_is_forgotten_in_its_backups_before_it_is_gone_with_their_list(folder: Path) -> None:
    assert not exits_cleanly(fork_child(lambda: print(open_bank(Killed(folder)).forget(everything=True))))
    (made,) = (folder.parent / "backups").iterdir()
    assert not SQLiteStore(folder).exists("nora")
    assert read_manifest(made).banks == {}


def test_the_backups_of_a_database_are_its_own_when_its_url_gets_another_parameter(
    tmp_path: Path, postgres_server: str
) -> None:
    with postgres.database(postgres_server) as url:
        with Memory.open("nora", store=url, embedder=HashEmbedder(), recipe="default") as bank:
            bank.observe(f"The keeper is {CANARY}.")
            bank.observe("Tea is at four.")
            made = back_up(bank.store, tmp_path / "backups")
        mark = "&" if "?" in url else "?"
        with Memory.open("nora", store=f"{url}{mark}connect_timeout=30", embedder=HashEmbedder()) as bank:
            assert bank.forget(seq=1).cleared_backups == 1
    assert is_finished(made.folder)


def test_the_backups_of_a_database_are_its_own_at_another_address(tmp_path: Path, postgres_server: str) -> None:
    with postgres.database(postgres_server) as url:
        with Memory.open("nora", store=url, embedder=HashEmbedder(), recipe="default") as bank:
            bank.observe(f"The keeper is {CANARY}.")
            bank.observe("Tea is at four.")
            made = back_up(bank.store, tmp_path / "backups")
        host = str(conninfo_to_dict(url)["host"])
        other_address = postgres.build_url(url, host=f"{host},{host}")  # as that of a pooler is
        with Memory.open("nora", store=other_address, embedder=HashEmbedder()) as bank:
            assert bank.forget(seq=1).cleared_backups == 1
            assert is_finished(made.folder)
            assert back_up(bank.store, tmp_path / "backups", retention=Retention(1)).removed == (made.folder,)


class Rotating(SQLiteStore):
    """A store of which a new backup replaces the earlier ones just before something is forgotten in these."""

    def receipts(self, bank: str) -> list[Receipt]:
        back_up(SQLiteStore(self.folder), self.folder.parent / "backups", retention=Retention(1))
        return super().receipts(bank)


def test_a_backup_that_is_replaced_meanwhile_does_not_count_as_one_that_cannot_be_reached(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_bank(Rotating(folder)) as bank:
        assert bank.forget(seq=1).backups == ()
    assert caplog.messages == []
    (made,) = (folder.parent / "backups").iterdir()
    assert is_finished(made)


def test_the_warning_of_a_backup_of_another_database_says_to_remove_it(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    write_manifest(backup, replace(read_manifest(backup), store="postgresql://elsewhere/memories"))
    with open_bank(SQLiteStore(folder)) as bank:
        assert bank.forget(seq=1).backups == (str(backup),)
    assert caplog.messages[-1].endswith("remove that backup when you don't need it any more)")
    assert "takes it out" not in caplog.messages[-1]


def test_the_warning_of_a_backup_that_was_deleted_by_hand_says_so_and_ends_with_the_next_backup(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (backup,) = (folder.parent / "backups").iterdir()
    shutil.rmtree(backup)
    with open_bank(SQLiteStore(folder)) as bank:
        assert bank.forget(seq=1).backups == (str(backup),)
        assert f"({backup} is missing: it was removed, or its disk is not connected)" in caplog.messages[-1]
        back_up(bank.store, backup.parent)
        caplog.clear()
        assert bank.forget(seq=2).backups == ()
    assert caplog.messages == []
