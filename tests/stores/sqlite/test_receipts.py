from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from everthread.errors import StoreUnavailable
from everthread.stores.sqlite import receipts
from everthread.types import Receipt

RECEIPT = Receipt(sha256(b"alice").hexdigest(), "line", ((1, 1), (3, 4)), 3, datetime(2026, 5, 3, 12, tzinfo=UTC))


def test_an_incomplete_row_is_skipped(tmp_path: Path) -> None:
    receipts.append(tmp_path, RECEIPT)
    with (tmp_path / receipts.FILE_NAME).open("a", encoding="utf-8") as file:
        file.write('{"bank": "a", "sco\n[1]\n{"seqs": 7}\n')
    receipts.append(tmp_path, RECEIPT)
    assert receipts.read(tmp_path, "alice") == [RECEIPT, RECEIPT]
    assert receipts.read(tmp_path, "bob") == []


def test_a_row_that_was_cut_off_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    receipts.append(tmp_path, RECEIPT)
    path = tmp_path / receipts.FILE_NAME
    path.write_bytes(path.read_bytes() + b'{"bank": "2bd806c9')
    receipts.append(tmp_path, RECEIPT)
    receipts.append(tmp_path, RECEIPT)
    assert receipts.read(tmp_path, "alice") == [RECEIPT] * 3


def test_a_file_that_is_no_text_is_reported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / receipts.FILE_NAME).write_bytes(b"\xff")
    with pytest.raises(StoreUnavailable, match=r"receipts\.jsonl"):
        receipts.read(tmp_path, "alice")
