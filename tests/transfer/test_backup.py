"""Backups of banks in use: complete, of one moment, and without what was forgotten since."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hardship.limits import UNPRIVILEGED_UID

from everthread import Memory, NewLine
from everthread.bank import kept_backups
from everthread.bank.backup_folder import MANIFEST, list_backups, read_manifest, write_manifest
from everthread.common.keys import SETTING_BACKUPS
from everthread.common.staging import PREFIX
from everthread.errors import BadInput, BankDamaged, BankTooNew, NotFound, StoreError, StoreUnavailable
from everthread.stores.base import Store
from everthread.stores.sqlite import bank_file
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from everthread.transfer.backup import SERVER_FILE, Retention, back_up, find_backup, verify
from everthread.transfer.bank_contents import summarize
from everthread.transfer.restoring_backups import restore, restore_server_file
from everthread.types import Line, NewUnit, ScribeJob

NAMES = (f"bank {number}" for number in count())
DAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
CANARY = "Zebulonquist"


def open_bank(store: Store, bank: str) -> Memory:
    return Memory.open(bank, store=store, embedder=HashEmbedder(), recipe="default")


@pytest.fixture
def bank(any_store: Store) -> Memory:
    """Return a bank with everything that a bank can have."""
    memory = open_bank(any_store, next(NAMES))
    memory.observe_many(
        [
            NewLine("My sister Mia lives in Berlin.", "Ann", "user", DAY, "first", {"n": 1}, key="a"),
            NewLine(f"Mia bought a boat named {CANARY}.", "Ann", "user", DAY, "first", parent="a", key="b"),
            NewLine("", "Vey", "assistant", DAY, "first", {"tool": "search"}),
            NewLine("I own a blue kayak.", "Ann", "user", DAY + timedelta(days=1), "second", key="c"),
            NewLine("I live in Bremen.", "Ann", "user", DAY + timedelta(days=2), "second"),
            NewLine("What I said is wrong.", "Ann", "user", DAY + timedelta(days=2), "second", key="d"),
        ]
    )
    assert memory.facts()
    memory.forget(seq=5)
    memory.retract(6)
    memory.add_unit(NewUnit("note", f"Ann has a sister. {CANARY}2", 1, 4, DAY))
    memory.add_unit(NewUnit("summary", "About a kayak.", 4, 4, DAY, metadata={"session": "second"}))
    memory.set_session("first", title="Sisters", metadata={"mood": "good"})
    memory.end("first", DAY)
    memory.enqueue(ScribeJob("notes", "second", 4, 4, DAY, 2, "LLMDenied"))
    memory.set_setting("remember", "always")
    memory.set_setting("pinned", [4])
    any_store.set_buffer(memory.bank, "second", [(1, 2), (4, 4)])
    return memory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "backups"


def has_bytes(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def read_all(store: Store, bank: str) -> tuple[list[object], ...]:
    """Return all that can be read of a bank, line by line."""
    reader = store.copy_reader(bank)
    vectors = [reader.vectors(model, dim, 1, 100) for model, dim in reader.models()]
    of_units = [reader.unit_vectors(model, dim) for model, dim in reader.models()]
    settings = {name: value for name, value in store.settings(bank).items() if name != SETTING_BACKUPS}
    return (
        [repr(line) for line in store.lines(bank, include_retracted=True, include_wordless=True)],
        [repr(unit) for unit in store.units(bank, include_retracted=True)],
        [
            repr(each)
            for each in (*sorted(store.sessions(bank), key=str), *store.jobs(bank), settings, reader.buffers())
        ],
        [(seq, each.tolist()) for by_seq in vectors for seq, each in sorted(by_seq.items())],
        [(key, each.tolist()) for by_key in of_units for key, each in sorted(by_key.items())],
    )


@pytest.fixture
def other_store(postgres_server: str, any_store: Store, tmp_path: Path) -> Iterator[Store]:
    """Yield an empty store of the other kind."""
    if not isinstance(any_store, SQLiteStore):
        yield SQLiteStore(tmp_path / "other")
        return
    from hardship import postgres

    from everthread.stores.postgres.store import PostgresStore

    with postgres.database(postgres_server) as url:
        store = PostgresStore(url)
        yield store
        store.close()


@pytest.fixture
def any_store_of_another_process(any_store: Store) -> Iterator[Store]:
    """Yield a store with connections of its own, as another process has."""
    if isinstance(any_store, SQLiteStore):
        store: Store = SQLiteStore(any_store.folder)
    else:
        from everthread.stores.postgres.store import PostgresStore

        assert isinstance(any_store, PostgresStore)
        store = PostgresStore(any_store.database.url)
    yield store
    store.close()


def test_a_bank_is_restored_line_by_line_into_either_store(bank: Memory, other_store: Store, place: Path) -> None:
    before, stats = read_all(bank.store, bank.bank), bank.stats()
    assert all(before)
    made = back_up(bank.store, place, [bank.bank])
    assert verify(made.folder) == []
    (restored,) = restore(other_store, made.folder)
    assert read_all(other_store, bank.bank) == before
    assert restored.summary == summarize(bank.store, bank.bank)
    copy = open_bank(other_store, bank.bank)
    assert other_store.check(bank.bank) == []
    assert [hit.source for hit in copy.recall("boat")] == [hit.source for hit in bank.recall("boat")]
    assert [fact.value for fact in copy.facts()] == [fact.value for fact in bank.facts()]
    assert (copy.stats().lines, copy.stats().pending) == (stats.lines, stats.pending)
    assert other_store.receipts(bank.bank)[0].seqs == ((5, 5),)
    assert copy.observe("The next one.").seq == bank.observe("The next one.").seq


@pytest.mark.slow
def test_a_backup_is_of_one_moment_while_others_write(any_store: Store, place: Path) -> None:
    memory, stop, stored = open_bank(any_store, next(NAMES)), threading.Event(), list[int]()

    def write() -> None:
        while not stop.is_set():
            stored.append(memory.observe(f"Line {len(stored) + 1} about the sea.").seq)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(stored) < 5:
            pass
        known = len(stored)
        made = back_up(any_store, place, [memory.bank])
        written = len(stored)
    finally:
        stop.set()
        writer.join()
    with closing(SQLiteStore(made.folder)) as copy:
        lines = list(copy.lines(memory.bank))
        assert [line.text for line in lines] == [f"Line {line.seq} about the sea." for line in lines]
        assert [line.seq for line in lines] == list(range(1, len(lines) + 1))
        assert known <= len(lines) <= written + 1
        assert copy.check(memory.bank) == []


def test_a_forgotten_line_is_in_no_backup(bank: Memory, place: Path) -> None:
    first, second = back_up(bank.store, place, [bank.bank]), back_up(bank.store, place, [bank.bank])
    assert has_bytes(first.folder, CANARY)
    receipt = bank.forget(seq=2)
    assert (receipt.backups, receipt.cleared_backups) == ((), 2)
    assert not has_bytes(place, CANARY)  # the note of its lines as well
    for made in (first, second):
        assert verify(made.folder) == []
        assert read_manifest(made.folder).banks[bank.bank].lines == 2
    restore(bank.store, first.folder, new_id=(copy := next(NAMES)))
    assert [line.seq for line in bank.store.lines(copy)] == [1, 4]


def test_the_last_backup_is_the_newest_one_also_after_the_clock_was_set_back(
    bank: Memory, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = back_up(bank.store, place, [bank.bank])
    ahead = made.manifest.taken_at + timedelta(days=2)  # as if the clock had been two days ahead
    write_manifest(made.folder, replace(made.manifest, taken_at=ahead))
    made.folder.rename(first := place / f"{ahead:%Y-%m-%dT%H%M%SZ}")
    bank.observe("Said when the clock was right again.")
    second = back_up(bank.store, place, [bank.bank])
    assert "the clock was set back" in caplog.text
    assert find_backup(place) == second.folder == list_backups(place)[-1]
    assert read_manifest(second.folder) == second.manifest
    assert verify(second.folder) == []
    third = back_up(bank.store, place, [bank.bank], Retention(number=2))
    assert third.removed == (first,)
    assert list_backups(place) == [second.folder, third.folder]


def test_a_forgotten_unit_is_in_no_backup(bank: Memory, place: Path) -> None:
    back_up(bank.store, place, [bank.bank])
    bank.forget_unit("note", 1)
    assert not has_bytes(place, f"{CANARY}2")
    assert has_bytes(place, CANARY)


def test_a_unit_is_forgotten_in_backups_also_if_bytes_of_it_remain_in_the_banks_file(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_file, "LOCK_TIMEOUT_S", 0.1)
    with open_bank(SQLiteStore(tmp_path / "banks"), "alice") as bank:
        bank.observe("The keeper is new.")
        bank.add_unit(NewUnit("note", f"The keeper is {CANARY}.", 1, 1, DAY))
        made = back_up(bank.store, place)
        with closing(sqlite3.connect(tmp_path / "banks" / "alice.bank", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM unit").fetchall()
            with pytest.raises(StoreUnavailable, match="bytes of them may remain"):
                bank.forget_unit("note", 1)
    assert not has_bytes(place, CANARY)
    assert verify(made.folder) == []


def test_a_backup_out_of_reach_that_holds_a_forgotten_unit_must_be_removed(
    bank: Memory, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    back_up(bank.store, place, [bank.bank])
    place.rename(place.with_name("elsewhere"))
    bank.forget_unit("note", 1)
    assert caplog.messages[-1].endswith("it is in that backup until you remove it")
    place.with_name("elsewhere").rename(place)
    back_up(bank.store, place, [bank.bank])
    assert has_bytes(place, f"{CANARY}2")  # it has no receipt


def test_a_forgotten_fact_is_not_read_again_from_a_backup(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    (fact,) = [each for each in bank.facts() if each.attribute == "owns" and 4 in each.seqs]
    bank.forget_fact(fact.id)
    remaining = [each.value for each in bank.facts()]
    restore(bank.store, made.folder, force=True)
    assert [each.value for each in open_bank(bank.store, bank.bank).facts()] == remaining


def test_a_forgotten_bank_is_in_no_backup(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    bank.forget(everything=True)
    assert not has_bytes(place, CANARY)
    assert read_manifest(made.folder).banks == {}
    with pytest.raises(NotFound, match="has no bank"):
        restore(bank.store, made.folder, [bank.bank])


def test_a_line_is_forgotten_in_backups_also_if_its_receipt_can_not_be_written(tmp_path: Path, place: Path) -> None:
    with open_bank(SQLiteStore(tmp_path / "banks"), next(NAMES)) as bank:
        bank.observe(f"The keeper is {CANARY}.")
        made = back_up(bank.store, place, [bank.bank])
        (tmp_path / "banks" / "receipts.jsonl").mkdir()
        with pytest.raises(StoreUnavailable, match="the receipt could not be written"):
            bank.forget(seq=1)
    assert not has_bytes(place, CANARY)
    assert verify(made.folder) == []


def test_a_receipt_names_a_backup_that_can_not_be_reached_and_the_next_backup_forgets_there(
    bank: Memory, place: Path
) -> None:
    made = back_up(bank.store, place, [bank.bank])
    place.rename(place.with_name("elsewhere"))
    receipt = bank.forget(seq=2)
    assert (receipt.backups, receipt.cleared_backups) == ((str(made.folder),), 0)
    assert bank.store.receipts(bank.bank)[-1].backups == ()
    place.with_name("elsewhere").rename(place)
    assert has_bytes(place, CANARY)
    back_up(bank.store, place, [bank.bank])
    assert not has_bytes(place, CANARY)
    assert verify(made.folder) == []


def test_what_was_forgotten_is_not_restored_from_a_backup_out_of_reach(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    far = shutil.copytree(place, place.with_name("far")) / made.folder.name
    bank.forget(seq=2)
    restore(bank.store, far, force=True)
    assert [line.seq for line in bank.store.lines(bank.bank)] == [1, 4]
    assert summarize(bank.store, bank.bank).lines == 4
    bank.store.forget(bank.bank, "bank", None, datetime.now(UTC))
    with pytest.raises(StoreError, match="was forgotten for good at"):
        restore(bank.store, far)
    assert not bank.store.exists(bank.bank)


def test_what_is_forgotten_while_a_backup_is_made_is_not_in_it(any_store: Store, place: Path) -> None:
    first, second = (open_bank(any_store, next(NAMES)) for _ in range(2))
    first.observe(f"The keeper is {CANARY}.")
    second.observe("Tea is at four.")

    def forget(name: str) -> None:
        if name == second.bank:  # the first is copied already
            first.forget(seq=1)

    made = back_up(any_store, place, sorted([first.bank, second.bank]), progress=forget)
    assert not has_bytes(place, CANARY)
    assert verify(made.folder) == []


def test_an_interrupted_forgetting_in_a_backup_is_finished_by_the_next_backup(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    (file,) = made.manifest.files
    fields = json.loads((made.folder / MANIFEST).read_text())
    fields["files"][0]["changing"] = True
    (made.folder / MANIFEST).write_text(json.dumps(fields))
    assert "was interrupted" in verify(made.folder)[0]
    back_up(bank.store, place, [bank.bank])
    assert verify(made.folder) == []
    assert read_manifest(made.folder).files[0].lines == file.lines


def test_numbers_of_lines_after_a_backup_are_not_given_again(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    later = bank.observe("Said later.").seq
    newer = back_up(bank.store, place, [bank.bank])
    restore(bank.store, made.folder, force=True)
    assert open_bank(bank.store, bank.bank).observe("Said after the restore.").seq == later + 1
    assert SETTING_BACKUPS in bank.store.settings(bank.bank)
    open_bank(bank.store, bank.bank).forget(seq=2)
    assert not has_bytes(newer.folder, CANARY)


def test_old_backups_are_removed(bank: Memory, place: Path) -> None:
    made = [back_up(bank.store, place, [bank.bank]) for _ in range(3)]
    last = back_up(bank.store, place, [bank.bank], Retention(2))
    assert last.removed == (made[0].folder, made[1].folder)
    assert list_backups(place) == [made[2].folder, last.folder]
    manifest = read_manifest(made[2].folder)
    write_manifest(made[2].folder, replace(manifest, taken_at=manifest.taken_at - timedelta(days=8)))
    assert back_up(bank.store, place, [bank.bank], Retention(days=9)).removed == ()
    assert back_up(bank.store, place, [bank.bank], Retention(days=7)).removed == (made[2].folder,)
    with pytest.raises(BadInput, match="got keep 0, expected at least 1"):
        Retention(0)


def test_backups_of_the_same_second_are_kept_in_their_order(bank: Memory, place: Path) -> None:
    made = [back_up(bank.store, place, [bank.bank], Retention(2)).folder for _ in range(12)]
    assert list_backups(place) == made[-2:]


def test_a_backup_with_another_bank_is_not_removed(any_store: Store, place: Path) -> None:
    first, second = next(NAMES), next(NAMES)
    for name in (first, second):
        open_bank(any_store, name).observe("Tea is at four.")
    both = back_up(any_store, place, [first, second])
    assert back_up(any_store, place, [first], Retention(1)).removed == ()
    assert both.folder in list_backups(place)


def test_an_existing_bank_is_replaced_only_on_request(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    line = bank.observe("Said later.")
    with pytest.raises(BadInput, match="restore it under another id, or replace it with force=True"):
        restore(bank.store, made.folder)
    assert bank.store.get(bank.bank, [line.seq]) == [line]
    restore(bank.store, made.folder, force=True)
    assert bank.store.get(bank.bank, [line.seq]) == []
    assert bank.recall("boat")  # of the same memory, which had the bank open


def test_a_bank_replaced_by_a_backup_has_the_hash_of_a_new_one(bank: Memory, other_store: Store, place: Path) -> None:
    made, before = back_up(bank.store, place, [bank.bank]), summarize(bank.store, bank.bank)
    bank.observe("Said later.")
    (new,) = restore(other_store, made.folder)
    (replaced,) = restore(bank.store, made.folder, force=True)
    (other_name,) = restore(bank.store, made.folder, new_id=next(NAMES))
    assert {new.summary.sha256, replaced.summary.sha256, other_name.summary.sha256} == {before.sha256}
    assert replaced.summary.last_seq == before.last_seq + 1


def test_a_line_stored_while_a_bank_is_replaced_is_in_the_new_bank(
    any_store: Store, any_store_of_another_process: Store, place: Path
) -> None:
    bank = open_bank(any_store, next(NAMES))
    writer = open_bank(any_store_of_another_process, bank.bank)
    bank.observe_many([NewLine(f"Line {number} about the sea.") for number in range(1, 51)])
    made = back_up(any_store, place, [bank.bank])
    writer.observe("Said before the restore.")
    for _ in range(3):
        held, stop, stored = threading.Event(), threading.Event(), list[Line]()

        def write(held: threading.Event, stop: threading.Event, stored: list[Line]) -> None:
            held.wait()
            while not stop.is_set():
                stored.append(writer.observe(f"Line {len(stored) + 1} of another process."))

        def start(_: str, held: threading.Event = held) -> None:
            held.set()
            time.sleep(0.2)  # long enough for the writer to store a line if it does not wait

        thread = threading.Thread(target=write, args=(held, stop, stored))
        thread.start()
        try:
            restore(any_store, made.folder, force=True, progress=start)
            while len(stored) < 3:
                time.sleep(0.01)
        finally:
            held.set()
            stop.set()
            thread.join()
        assert stored == list(bank.lines(after=50))
        assert any_store.check(bank.bank) == []


def test_a_line_forgotten_while_its_bank_is_replaced_is_not_in_the_new_bank(
    any_store: Store, any_store_of_another_process: Store, place: Path
) -> None:
    bank = open_bank(any_store, next(NAMES))
    bank.observe_many([NewLine(f"The keeper is {CANARY}."), NewLine("Tea is at four.")])
    made = back_up(any_store, place, [bank.bank])
    other = open_bank(any_store_of_another_process, bank.bank)
    thread = threading.Thread(target=lambda: other.forget(seq=1))

    def start(_: str) -> None:
        thread.start()
        thread.join(0.2)

    restore(any_store, made.folder, force=True, progress=start)
    thread.join()
    assert [line.seq for line in bank.lines()] == [2]


def test_a_bank_created_while_it_is_restored_is_not_replaced(
    any_store: Store, any_store_of_another_process: Store, place: Path
) -> None:
    bank, name = open_bank(any_store, next(NAMES)), next(NAMES)
    bank.observe("Tea is at four.")
    made = back_up(any_store, place, [bank.bank])
    stored = list[Line]()
    thread = threading.Thread(
        target=lambda: stored.append(open_bank(any_store_of_another_process, name).observe("The boat leaves at six."))
    )

    def start(_: str) -> None:
        thread.start()
        thread.join(0.5)

    with suppress(BadInput):  # of a file; with Postgres, the writer waits
        restore(any_store, made.folder, new_id=name, force=True, progress=start)
    thread.join()
    assert stored[0] in list(any_store.lines(name))


@pytest.mark.parametrize(
    ("force", "remedy"),
    [
        (False, "restore under another id, or with force=True, which deletes what the bank has by now"),
        (True, "restore under another id, or again, which deletes what the bank has by now"),
    ],
)
def test_the_error_for_a_bank_created_while_it_is_restored_says_what_would_delete_its_lines(
    tmp_path: Path, force: bool, remedy: str
) -> None:
    with closing(SQLiteStore(tmp_path / "banks")) as store, closing(SQLiteStore(tmp_path / "banks")) as other:
        open_bank(store, "alice").observe("Tea is at four.")
        made = back_up(store, tmp_path / "backups")

        def start(_: str) -> None:
            open_bank(other, "bob").observe("The boat leaves at six.")

        with pytest.raises(BadInput) as raised:
            restore(store, made.folder, new_id="bob", force=force, progress=start)
        what = f"another process created bank 'bob' in {store.location} while it was being restored; it stays as it is"
        assert str(raised.value) == f"{what}; {remedy}"
        assert [line.text for line in store.lines("bob")] == ["The boat leaves at six."]


def test_a_restore_of_several_banks_that_fails_in_between_names_those_that_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    new = tmp_path / "new"
    with closing(SQLiteStore(tmp_path / "banks")) as store, closing(SQLiteStore(new)) as other:
        for name in ("alice", "bob", "carol"):
            open_bank(store, name).observe("Tea is at four.")
        made = back_up(store, tmp_path / "backups")

        def start(bank: str) -> None:
            if bank == "bob":
                with Memory.open("bob", store=new, embedder=HashEmbedder()) as writer:
                    writer.observe("The boat leaves at six.")

        with pytest.raises(BadInput, match="another process created bank 'bob'"):
            restore(other, made.folder, progress=start)
        assert caplog.messages == [
            "1 of 3 banks are restored; restore the others with --bank, so that these are not replaced: bob, carol"
        ]
        assert other.banks() == ["alice", "bob"]


def test_a_forgotten_bank_of_a_backup_is_named_with_the_way_to_restore_the_others(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "banks")) as store:
        for name in ("alice", "bob"):
            open_bank(store, name).observe("Tea is at four.")
        made = back_up(store, tmp_path / "backups")
        made.folder.parent.rename(tmp_path / "away")
        open_bank(store, "alice").forget(everything=True)
        with pytest.raises(StoreError, match=r"bank 'alice' was forgotten .*; restore the other banks with --bank$"):
            restore(store, tmp_path / "away" / made.folder.name, force=True)
        assert [each.bank for each in restore(store, tmp_path / "away" / made.folder.name, ["bob"], force=True)] == [
            "bob"
        ]


def test_a_damaged_file_of_the_server_is_found_before_a_bank_is_restored(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "banks")) as store, closing(SQLiteStore(tmp_path / "new")) as other:
        open_bank(store, "alice").observe("Tea is at four.")
        with closing(sqlite3.connect(tmp_path / "banks" / SERVER_FILE)) as db, db:
            db.execute("CREATE TABLE key (name TEXT)")
        made = back_up(store, tmp_path / "backups")
        (made.folder / SERVER_FILE).write_bytes(b"garbage")
        with pytest.raises(BankDamaged, match=SERVER_FILE):
            restore(other, made.folder)
        assert other.banks() == []


def test_a_damaged_backup_is_named(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    path = made.folder / made.manifest.files[0].file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert verify(made.folder) == [
        f"{path} is damaged: its SHA-256 is not that of the file that was written ({len(content):,} bytes, "
        f"{len(content):,} expected); use another backup"
    ]
    with pytest.raises(BankDamaged, match="is damaged"):
        restore(bank.store, made.folder, new_id=(other := next(NAMES)))
    assert not bank.store.exists(other)
    path.unlink()
    assert "is missing" in verify(made.folder)[0]
    (made.folder / MANIFEST).write_text("{")
    assert "is damaged" in verify(made.folder)[0]
    back_up(bank.store, place, [bank.bank])  # is not prevented by it


def test_a_backup_of_a_later_version_is_refused(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    path = made.folder / MANIFEST
    path.write_text(path.read_text().replace('"everthread_backup": 1', '"everthread_backup": 2'))
    with pytest.raises(BankTooNew, match="written by a later version of Everthread; upgrade with"):
        restore(bank.store, made.folder, force=True)


def test_nothing_is_written_for_an_unknown_bank_or_a_place_that_is_a_file(bank: Memory, place: Path) -> None:
    with pytest.raises(NotFound, match="there is no bank 'nobody'"):
        back_up(bank.store, place, ["nobody"])
    assert not place.exists()
    place.write_text("")
    with pytest.raises(StoreUnavailable, match="is a file, not a folder; name a folder for the backups"):
        back_up(bank.store, place, [bank.bank])
    with pytest.raises(NotFound, match="has no backup; name a folder"):
        find_backup(place)


def test_the_folder_of_the_banks_is_no_place_for_backups(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    open_bank(store, "alice").observe("Tea is at four.")
    with pytest.raises(BadInput, match="is the folder of the banks; name another one"):
        back_up(store, tmp_path)
    assert verify(back_up(store, tmp_path / "backups").folder) == []


def test_several_banks_can_not_get_one_id(any_store: Store, place: Path) -> None:
    names = [next(NAMES), next(NAMES)]
    for name in names:
        open_bank(any_store, name).observe("Tea is at four.")
    made = back_up(any_store, place, names)
    with pytest.raises(BadInput, match="2 banks can't be restored as 'one'; name one bank"):
        restore(any_store, made.folder, new_id="one")


def test_a_damaged_bank_prevents_a_backup_without_a_trace(tmp_path: Path, place: Path) -> None:
    with Memory.open("alice", store=tmp_path / "banks", embedder=HashEmbedder()) as memory:
        memory.observe("Tea is at four.")
    path = tmp_path / "banks" / "alice.bank"
    path.write_bytes(path.read_bytes()[:4096] + bytes(path.stat().st_size - 4096))
    with pytest.raises(BankDamaged, match="alice"):
        back_up(SQLiteStore(tmp_path / "banks"), place)
    assert list(place.iterdir()) == []


def test_the_file_of_the_server_is_restored_into_a_folder_without_one(tmp_path: Path, place: Path) -> None:
    from everthread.server.server_db import ServerFile

    source, target = SQLiteStore(tmp_path / "banks"), SQLiteStore(tmp_path / "new")
    open_bank(source, "alice").observe("Tea is at four.")
    schema = "CREATE TABLE IF NOT EXISTS key (hash TEXT); CREATE TABLE IF NOT EXISTS login_session (hash TEXT)"
    server = ServerFile(source.folder / "server.sqlite", schema)
    with server.write() as db:
        db.execute("INSERT INTO key VALUES ('abc')")
        db.execute("INSERT INTO login_session VALUES ('def')")
    made = back_up(source, place)  # while the server runs
    server.close()
    assert restore_server_file(target, made.folder)
    with ServerFile(target.folder / "server.sqlite", "SELECT 1").read() as copy:
        assert copy is not None
        assert copy.execute("SELECT hash FROM key").fetchall() == [("abc",)]
        assert copy.execute("SELECT hash FROM login_session").fetchall() == []
    assert not restore_server_file(target, made.folder)


def test_folders_of_killed_processes_are_removed_by_the_next_backup(bank: Memory, place: Path) -> None:
    (place / f"{PREFIX}abc" / "files").mkdir(parents=True)
    (place / f"{PREFIX}abc" / "files" / "alice.bank").write_text(CANARY)
    made = back_up(bank.store, place, [bank.bank])
    assert list(place.iterdir()) == [made.folder]


def test_a_backup_without_its_manifest_is_damaged(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    (made.folder / MANIFEST).unlink()
    assert list_backups(place) == [made.folder] == [find_backup(place)]
    assert "has no backup.json: it is damaged" in verify(made.folder)[0]
    newer = back_up(bank.store, place, [bank.bank], Retention(1))
    assert newer.removed == ()
    assert list_backups(place) == [made.folder, newer.folder]


def test_what_a_killed_process_left_in_a_backup_is_found_and_forgotten_with_the_next_line(
    bank: Memory, place: Path
) -> None:
    made = back_up(bank.store, place, [bank.bank])
    bank.store.forget(bank.bank, "line", [2], datetime.now(UTC))  # in the bank alone, as if the process ended then
    assert has_bytes(place, CANARY)
    assert kept_backups.find_pending(bank.store, bank.bank) == [str(made.folder)]
    assert bank.forget(seq=1).cleared_backups == 1
    assert not has_bytes(place, CANARY)
    assert kept_backups.find_pending(bank.store, bank.bank) == []
    assert read_manifest(made.folder).banks[bank.bank].lines == 1


def test_a_marked_backup_is_finished_when_its_bank_is_opened(bank: Memory, place: Path) -> None:
    back_up(bank.store, place, [bank.bank])
    place.rename(place.with_name("elsewhere"))
    bank.forget(seq=2)
    place.with_name("elsewhere").rename(place)
    assert has_bytes(place, CANARY)
    open_bank(bank.store, bank.bank)
    assert not has_bytes(place, CANARY)


def test_only_the_owner_can_read_a_backup(bank: Memory, place: Path) -> None:
    made = back_up(bank.store, place, [bank.bank])
    bank.forget(seq=2)
    assert {path.stat().st_mode & 0o777 for path in made.folder.iterdir()} == {0o600}
    assert made.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="files of Windows have no owner of this kind")
def test_backups_and_restored_banks_belong_to_the_owner_of_their_folder_also_if_root_makes_them(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("banks", "backups", "restored")]
    for folder in folders:
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    (folders[0] / SERVER_FILE).touch()
    with open_bank(SQLiteStore(folders[0]), "alice") as bank:
        bank.observe(f"Mia bought a boat named {CANARY}.")
        bank.observe("I own a blue kayak.")
        made = back_up(bank.store, folders[1])
        assert bank.forget(seq=1).cleared_backups == 1
    restore(SQLiteStore(folders[2]), made.folder)
    made_by_us = [path for folder in folders for path in folder.rglob("*") if path != folders[0] / SERVER_FILE]
    assert {path.stat().st_uid for path in made_by_us} == {folders[0].stat().st_uid}
