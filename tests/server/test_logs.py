"""The log of the server: errors of banks."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from everthread.errors import BankDamaged, StoreError
from everthread.server import logs
from everthread.stores.sqlite.file_errors import map_errors


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, own_level = root.handlers[:], root.level, logging.getLogger("everthread").level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("everthread").setLevel(own_level)


def test_an_error_that_names_a_bank_is_logged_with_the_digest_of_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.install("info")
    log = logging.getLogger("everthread")
    for cause in (OSError(28, "No space left on device"), OSError(5, "Input/output error", "/banks/nora.bank")):
        try:
            with map_errors("nora/captain", tmp_path / "nora%2Fcaptain.bank"):
                raise cause
        except StoreError as error:
            log.warning("lines have no vectors yet: %s", error)
    log.warning("%s of %s", BankDamaged("/banks/nora.bank is damaged"), "a list")
    written = capsys.readouterr().err
    assert "nora" not in written
    messages = [json.loads(line)["message"] for line in written.splitlines()]
    assert messages == [
        f"lines have no vectors yet: [Errno 28] No space left on device (bank {logs.hash_bank_id('nora/captain')})",
        f"lines have no vectors yet: [Errno 5] Input/output error (bank {logs.hash_bank_id('nora/captain')})",
        "BankDamaged of a list",
    ]
