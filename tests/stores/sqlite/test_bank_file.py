import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hardship import PATIENCE
from hardship.limits import UNPRIVILEGED_UID
from hypothesis import given
from hypothesis import strategies as st

from everthread import Memory
from everthread.errors import BadBankId, BankDamaged, NotFound, StoreUnavailable
from everthread.stores.sqlite import bank_file as files
from everthread.stores.sqlite.bank_file import (
    BANK_SUFFIX,
    MAX_FILE_NAME_BYTES,
    SYNCHRONOUS,
    BankFile,
    bank_id,
    file_name,
)
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder

ids = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=19).filter(lambda s: s.strip())


def create_table(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS said (word TEXT NOT NULL)")


TABLES = (create_table, lambda db: None, create_table)


def open_file(folder: Path) -> BankFile:
    return open_path(folder / "alice.bank")


def open_path(path: Path) -> BankFile:
    return BankFile("alice", path, *TABLES)


def write_word(file: BankFile, word: str) -> None:
    with file.write_transaction() as db:
        db.execute("INSERT INTO said VALUES (?)", (word,))


def read_words(file: BankFile) -> list[str]:
    with file.read_transaction() as db:
        return [word for (word,) in db.execute("SELECT word FROM said ORDER BY rowid")]


# ------------------------------------------------------------------------ names


@given(ids)
def test_the_bank_id_is_restored_from_its_file_name(bank: str) -> None:
    assert bank_id(file_name(bank)) == bank


@given(ids)
def test_a_file_name_is_one_plain_name_in_the_folder(bank: str) -> None:
    name = file_name(bank)
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789_-%ABCDEF.")
    assert name.endswith(BANK_SUFFIX)
    assert "." not in name.removesuffix(BANK_SUFFIX)
    assert len(name) <= MAX_FILE_NAME_BYTES


@given(ids, ids)
def test_two_ids_never_share_a_file_even_where_case_is_ignored(one: str, other: str) -> None:
    assert (one == other) == (file_name(one).lower() == file_name(other).lower())


@pytest.mark.parametrize("bank", ["../../etc/x", "/etc/passwd", "..", ".", "C:\\x", "alice/captain-nemo", "a\u202eb"])
def test_an_id_that_looks_like_a_path_is_a_file_name(bank: str, tmp_path: Path) -> None:
    path = tmp_path / file_name(bank)
    assert path.parent == tmp_path
    assert path.resolve().is_relative_to(tmp_path.resolve())
    assert bank_id(path.name) == bank


def test_bank_ids_are_case_sensitive() -> None:
    assert file_name("Alice") == "%41lice.bank"
    assert file_name("alice") == "alice.bank"


def test_an_id_may_contain_emoji() -> None:
    assert bank_id(file_name("🐙 and 👩‍👩‍👧")) == "🐙 and 👩‍👩‍👧"


@pytest.mark.parametrize("bank", ["", " ", "\t\n", "\u2003"])
def test_a_blank_id_is_rejected(bank: str) -> None:
    with pytest.raises(BadBankId, match=r"must be text that is not blank, got .*; try 'alice'"):
        file_name(bank)


@pytest.mark.parametrize("bank", [None, 7, b"alice"])
def test_an_id_that_is_not_text_is_rejected(bank: object) -> None:
    with pytest.raises(BadBankId, match="must be text that is not blank, got"):
        file_name(bank)  # type: ignore[arg-type]


def test_an_id_of_300_characters_is_rejected() -> None:
    with pytest.raises(BadBankId, match="has 300 characters; at most 200 are allowed"):
        file_name("a" * 300)


def test_an_id_whose_file_name_would_be_too_long_is_rejected() -> None:
    assert len(file_name("🐙" * 19)) <= MAX_FILE_NAME_BYTES
    with pytest.raises(BadBankId, match="is 365 bytes once escaped; at most 240 are allowed"):
        file_name("🐙" * 30)


@pytest.mark.parametrize("bank", ["a\x00b", "a\nb", "\x7f", "half \ud83d", "\udc00"])
def test_an_id_with_unprintable_characters_is_rejected(bank: str) -> None:
    with pytest.raises(BadBankId, match="contains control characters or half a surrogate pair; use printable text"):
        file_name(bank)


@pytest.mark.parametrize("name", ["Alice.bank", "a.b.bank", "%61lice.bank", "%C3.bank", "%.bank", ".bank", "%00.bank"])
def test_a_file_name_that_no_id_produces_belongs_to_no_bank(name: str, tmp_path: Path) -> None:
    assert bank_id(name) is None
    (tmp_path / name).touch()
    (tmp_path / "bob.bank").touch()
    assert SQLiteStore(tmp_path).banks() == ["bob"]


# ----------------------------------------------------------------- what errors mean


def test_only_failed_writes_report_that_nothing_was_stored(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    for using, words in ((file.write_transaction, True), (file.read_transaction, False)):
        for code in (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_FULL):
            error = sqlite3.OperationalError("words that change from version to version")
            error.sqlite_errorcode = code
            with pytest.raises(StoreUnavailable) as caught, using():
                raise error
            assert ("Nothing was stored" in str(caught.value)) == words
    file.close()


# -------------------------------------------------------------------- connections


def test_written_lines_are_visible_to_all_threads(tmp_path: Path) -> None:
    one, other = open_file(tmp_path), open_file(tmp_path)
    write_word(one, "hello")
    assert read_words(one) == read_words(other) == ["hello"]
    one.close()
    other.close()


def test_a_truncated_file_with_a_log_is_damaged_and_its_log_is_not_deleted(tmp_path: Path) -> None:
    file, log = tmp_path / "alice.bank", tmp_path / "alice.bank-wal"
    file.touch()
    log.write_bytes(b"what was said")
    for use in (read_words, lambda file: write_word(file, "hello")):
        with pytest.raises(BankDamaged, match="has 0 bytes, and its log has 13"):
            use(open_file(tmp_path))
    assert log.read_bytes() == b"what was said"
    open_file(tmp_path).unlink(lambda db: None, lambda read: None)
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_raises_is_rolled_back(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "kept")
    with pytest.raises(StoreUnavailable, match="NOT NULL"), file.write_transaction() as db:
        db.executemany("INSERT INTO said VALUES (?)", [("half",), (None,)])
    assert read_words(file) == ["kept"]
    write_word(file, "after")
    assert read_words(file) == ["kept", "after"]
    file.close()


class InterruptedFile(BankFile):
    """Raises KeyboardInterrupt, as Ctrl-C does, at the first call of one of its methods after `interrupted` is set."""

    interrupted = ""

    def _stop_at(self, method: str) -> None:
        if self.interrupted == method:
            self.interrupted = ""
            raise KeyboardInterrupt

    def _current_inode(self) -> tuple[int, int] | None:
        self._stop_at("_current_inode")
        return super()._current_inode()

    def _roll_back(self) -> None:
        if self._writer is not None and self._writer.db.in_transaction:
            self._stop_at("_roll_back")
        super()._roll_back()


def interrupt_write(file: BankFile) -> None:
    with file.write_transaction() as db:
        db.execute("INSERT INTO said VALUES ('interrupted')")
        raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["_current_inode", "_roll_back"])
def test_a_write_after_an_interrupted_one_succeeds(method: str, tmp_path: Path) -> None:
    file = InterruptedFile("alice", tmp_path / "alice.bank", *TABLES)
    write_word(file, "first")
    file.interrupted = method
    with pytest.raises(KeyboardInterrupt):
        interrupt_write(file)
    write_word(file, "second")
    assert read_words(file) == ["first", "second"]


def test_a_write_that_is_interrupted_once_it_has_begun_keeps_no_other_process_from_writing(tmp_path: Path) -> None:
    file = InterruptedFile("alice", tmp_path / "alice.bank", *TABLES)
    write_word(file, "first")
    file.interrupted = "_current_inode"
    with pytest.raises(KeyboardInterrupt):
        write_word(file, "interrupted")
    with closing(sqlite3.connect(file.path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")


def test_a_reader_sees_one_snapshot_while_others_write(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "one")
    with file.read_transaction() as db:
        before = db.execute("SELECT count(*) FROM said").fetchone()
        write_word(file, "two")
        assert db.execute("SELECT count(*) FROM said").fetchone() == before
    assert read_words(file) == ["one", "two"]
    file.close()


def test_a_reader_in_use_while_the_bank_is_forgotten_is_not_used_again(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "secret")
    with file.read_transaction() as db:
        file.unlink(lambda db: None, lambda read: None)
        assert db.execute("SELECT word FROM said").fetchall() == [("secret",)]  # its transaction began before
    assert read_words(file) == []
    file.close()


@pytest.mark.parametrize("first", [read_words, lambda file: write_word(file, "after")])
def test_a_file_unlinked_by_another_process_is_created_again(tmp_path: Path, first: object) -> None:
    assert callable(first)
    one, other = open_file(tmp_path), open_file(tmp_path)
    write_word(one, "before")
    assert read_words(other) == ["before"]
    one.unlink(lambda db: None, lambda read: None)
    assert list(tmp_path.iterdir()) == []
    first(other)
    write_word(other, "last")
    assert read_words(one)[-1] == read_words(other)[-1] == "last"
    assert "before" not in read_words(one)
    one.close()
    other.close()


def test_reading_creates_no_file(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    assert read_words(file) == []
    assert list(tmp_path.iterdir()) == []
    write_word(file, "fern")
    assert read_words(file) == ["fern"]
    file.unlink(lambda db: None, lambda read: None)
    assert read_words(file) == []
    assert list(tmp_path.iterdir()) == []
    file.close()


def test_a_file_deleted_while_a_reader_connects_is_not_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = open_file(tmp_path), open_file(tmp_path)
    write_word(file, "fern")
    acquire = file._acquire

    def delete_first() -> object:
        other.unlink(lambda db: None, lambda read: None)
        return acquire()

    monkeypatch.setattr(file, "_acquire", delete_first)
    assert read_words(file) == []
    assert list(tmp_path.iterdir()) == []
    file.close()


def test_erasing_creates_no_file_that_another_process_has_deleted(tmp_path: Path) -> None:
    file, other = open_file(tmp_path), open_file(tmp_path)
    write_word(file, "fern")
    other.unlink(lambda db: None, lambda read: None)
    file.erase()
    assert list(tmp_path.iterdir()) == []
    file.close()


def test_a_write_that_waits_while_the_file_is_deleted_creates_no_other_one(tmp_path: Path) -> None:
    file, errors = open_file(tmp_path), list[Exception]()
    write_word(file, "fern")

    def write() -> None:
        try:
            with file.write_transaction(create=False) as db:
                db.execute("INSERT INTO said VALUES ('key')")
        except NotFound as error:
            errors.append(error)

    writer = threading.Thread(target=write)

    def record(_: object) -> None:
        writer.start()
        time.sleep(0.1)  # it has begun to wait; the test holds if not

    file.unlink(lambda db: None, record)
    writer.join(PATIENCE)
    assert len(errors) == 1
    assert not file.path.exists()


def test_a_commit_is_on_disk_when_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SYNCHRONOUS", SYNCHRONOUS)  # as imported: a fixture turns it off for all tests
    with closing(open_file(tmp_path)) as file, file.write_transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: the log is synced at each commit


def test_no_write_is_lost_while_others_forget_and_recreate_the_bank(tmp_path: Path) -> None:
    """After the last deletion, every word whose write has returned is stored."""
    done = threading.Event()
    files = [open_file(tmp_path) for _ in range(3)]

    def write(number: int) -> list[str]:
        words: list[str] = []
        while not done.is_set():
            words.append(f"{number}-{len(words)}")
            write_word(files[number], words[-1])
        return words

    def forget() -> None:
        for _ in range(10):
            files[2].unlink(lambda db: None, lambda read: None)
        done.set()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number) for number in range(2)]
        pool.submit(forget).result()
        written = [writer.result() for writer in writers]
    stored = read_words(files[2])
    assert len(set(stored)) == len(stored)
    for number, words in enumerate(written):  # of each writer the last words are left, without a gap
        of_writer = [word for word in stored if word.startswith(f"{number}-")]
        assert of_writer == words[len(words) - len(of_writer) :]
    for file in files:
        file.close()


def test_threads_that_open_a_new_file_together_all_find_its_tables(tmp_path: Path) -> None:
    for attempt in range(10):
        file = open_path(tmp_path / f"{attempt}.bank")
        with ThreadPoolExecutor(6) as pool:
            assert [words for words in pool.map(lambda _, file=file: read_words(file), range(6)) if words] == []
        file.close()


def test_a_closed_file_leaves_no_open_file(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "one")
    file.close()
    write_word(file, "two")  # a thread that used the file when another closed it
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alice.bank"]  # the last connection deletes the log
    assert read_words(open_file(tmp_path)) == ["one", "two"]


def test_a_closed_file_can_be_read_and_erased_and_leaves_no_open_file(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "one")
    file.close()
    found: list[str] = []
    reading = threading.Thread(target=lambda: found.extend(read_words(file)), daemon=True)
    reading.start()
    reading.join(PATIENCE)
    assert found == ["one"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alice.bank"]
    file.erase()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alice.bank"]


def test_a_closed_file_without_a_bank_can_be_read(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    file.close()
    assert read_words(file) == []


def is_erasure_pending(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return bool(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("use", [read_words, lambda file: write_word(file, "later")])
def test_a_postponed_erasure_is_retried_by_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: object
) -> None:
    assert callable(use)
    monkeypatch.setattr(files, "OPEN_TIMEOUT_S", 0.05)
    monkeypatch.setattr(files, "ERASE_RETRY_S", 0.3)
    write_word(open_file(tmp_path), "one")
    file = open_file(tmp_path)
    with closing(sqlite3.connect(file.path, isolation_level=None)) as reader:
        reader.execute(f"PRAGMA user_version = {files.ERASE_PENDING}")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM said").fetchall()
        write_word(file, "two")
        assert read_words(file) == ["one", "two"]
        assert is_erasure_pending(file.path)
    time.sleep(0.3)
    use(file)
    assert not is_erasure_pending(file.path)
    file.close()


def _hold_lock(path: str, locked: object, release: object) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    locked.set()  # type: ignore[attr-defined]
    release.wait(PATIENCE)  # type: ignore[attr-defined]
    db.execute("COMMIT")
    db.close()


def test_a_writer_waits_for_the_writer_of_another_process(tmp_path: Path) -> None:
    file = open_file(tmp_path)
    write_word(file, "one")
    spawn = multiprocessing.get_context("spawn")
    locked, release = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold_lock, args=(str(file.path), locked, release))
    other.start()
    assert locked.wait(PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write_word, file, "two")
        assert read_words(file) == ["one"]  # readers don't wait
        release.set()
        waiting.result(PATIENCE)
    other.join()
    assert read_words(file) == ["one", "two"]
    file.close()


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path / "data", embedder=HashEmbedder()) as memory:
        memory.observe("The harbour froze over.")
        files = [file for file in (tmp_path / "data").iterdir() if file.is_file()]
        assert files
        assert all(file.stat().st_mode & 0o077 == 0 for file in files)
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("bank", ["con", "aux", "nul", "prn", "com1", "lpt9"])
def test_windows_refuses_banks_whose_files_it_takes_for_devices(monkeypatch: pytest.MonkeyPatch, bank: str) -> None:
    assert file_name(bank) == f"{bank}.bank"
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(BadBankId, match="for a device; choose another bank id"):
        file_name(bank)
    assert bank_id(f"{bank}.bank") is None
    for allowed in (bank.upper(), bank + "-", "my " + bank):
        assert bank_id(file_name(allowed)) == allowed


@pytest.mark.skipif(sys.platform == "win32", reason="files of Windows have no owner of this kind")
def test_files_belong_to_the_owner_of_the_folder_also_if_root_creates_them(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("The harbour froze over.")
        memory.forget(seq=memory.observe("It thawed.").seq)
        names = {path.name: path.stat().st_uid for path in tmp_path.iterdir()}
    assert {"alice.bank", "alice.bank-wal", "receipts.jsonl"} <= names.keys()
    assert set(names.values()) == {tmp_path.stat().st_uid}
