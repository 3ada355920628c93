from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from everthread import Memory, NewLine
from everthread.errors import StoreUnavailable
from everthread.stores.sqlite import receipts
from everthread.testing import HashEmbedder
from everthread.types import Receipt

RECEIPT = Receipt(sha256(b"alice").hexdigest(), "line", ((1, 1), (3, 4)), 3, datetime(2026, 5, 3, 12, tzinfo=UTC))
LATER = [replace(RECEIPT, forgotten_at=datetime(2026, 5, day, tzinfo=UTC)) for day in (4, 5)]


def test_an_incomplete_row_is_skipped(tmp_path: Path) -> None:
    receipts.append(tmp_path, RECEIPT)
    with (tmp_path / receipts.FILE_NAME).open("a", encoding="utf-8") as file:
        file.write('{"bank": "a", "sco\n[1]\n{"seqs": 7}\n')
    receipts.append(tmp_path, LATER[0])
    assert receipts.read(tmp_path, "alice") == [RECEIPT, LATER[0]]
    assert receipts.read(tmp_path, "bob") == []


def test_a_row_that_was_cut_off_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    receipts.append(tmp_path, RECEIPT)
    path = tmp_path / receipts.FILE_NAME
    path.write_bytes(path.read_bytes() + b'{"bank": "2bd806c9')
    for receipt in LATER:
        receipts.append(tmp_path, receipt)
    assert receipts.read(tmp_path, "alice") == [RECEIPT, *LATER]


def test_a_receipt_that_was_written_twice_is_read_once(tmp_path: Path) -> None:
    for receipt in (RECEIPT, LATER[0], RECEIPT):
        receipts.append(tmp_path, receipt)
    assert receipts.read(tmp_path, "alice") == [RECEIPT, LATER[0]]


def test_receipts_that_were_left_in_a_bank_are_written_when_it_is_opened_and_the_file_can_be_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / receipts.FILE_NAME
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"I saw {n} gulls.") for n in range(4)])
        path.mkdir()
        for seq in (1, 3):
            with pytest.raises(StoreUnavailable, match="receipt could not be written"):
                memory.forget(seq=seq)
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert [line.seq for line in memory.lines()] == [2, 4]  # a bank opens although they can't be written
    path.rmdir()
    for _ in range(2):
        with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
            assert [line.seq for line in memory.lines()] == [2, 4]
            assert [receipt.seqs for receipt in memory.store.receipts("alice")] == [((1, 1),), ((3, 3),)]


def test_the_receipt_beside_a_bank_is_readable_only_by_its_owner_and_removed_if_it_was_cut_off(tmp_path: Path) -> None:
    receipts.put_beside(tmp_path / "alice.bank", RECEIPT)
    assert [path.stat().st_mode & 0o077 for path in tmp_path.iterdir()] == [0]
    (tmp_path / "alice.bank-receipt").write_bytes(b'{"bank": "2bd806c9')
    receipts.write_all_missing(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_text_is_reported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / receipts.FILE_NAME).write_bytes(b"\xff")
    with pytest.raises(StoreUnavailable, match=r"receipts\.jsonl"):
        receipts.read(tmp_path, "alice")
