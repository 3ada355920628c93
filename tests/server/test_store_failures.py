"""Requests while the store can't be used: what clients learn, and what the log says."""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hardship import postgres

from everthread.errors import StoreUnavailable
from everthread.recipes.default import Default
from everthread.server import server_db
from everthread.server.app import create_app
from everthread.server.logs import hash_bank_id
from everthread.server.problems import LOG_INTERVAL_S, StoreFailures, build_error_document
from everthread.server.services import Services
from everthread.stores.base import Store
from everthread.stores.errors import CommitUnknown
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite import bank_file
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder
from server.problem import kind

LINE = "/api/v1/banks/alice/lines"


def build(store: Store) -> FastAPI:
    return create_app(Services(store, HashEmbedder(64), None, Default()), closes=True)


def read_reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == "everthread.server"]
    assert all(each.startswith("the store is unavailable: ") for each in found)
    return [each.removeprefix("the store is unavailable: ") for each in found]


def test_a_database_that_refuses_the_server_is_no_fault_of_the_client(
    postgres_server: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = PostgresStore(postgres.build_url(postgres_server, dbname="nosuch"))  # the same as after a new password
    with TestClient(build(store), base_url="http://127.0.0.1") as client:
        for answer in (client.post(LINE, json={"text": "hello"}), client.get(LINE), client.get("/readyz")):
            assert kind(answer, 503) == "database-refused"
            assert "nosuch" not in answer.text
            assert answer.headers["Retry-After"]
    (reason,) = read_reasons(caplog)
    assert reason.endswith('database "nosuch" does not exist')


def test_the_log_says_once_why_requests_fail(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with TestClient(build(SQLiteStore(tmp_path)), base_url="http://127.0.0.1") as client:
        (tmp_path / server_db.FILE_NAME).write_bytes(b"no database" * 100)
        assert [client.get("/readyz").status_code for _ in range(3)] == [503] * 3
    assert read_reasons(caplog) == [f"file is not a database ({tmp_path / server_db.FILE_NAME})"]


def test_a_bank_whose_file_cannot_be_opened_leaves_the_server_ready_as_long_as_another_one_can_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with TestClient(build(SQLiteStore(tmp_path)), base_url="http://127.0.0.1") as client:
        (tmp_path / "aaron.bank").mkdir()
        assert client.get("/readyz").status_code == 503
        assert client.post(LINE, json={"text": "hello"}).status_code == 201
        assert client.get("/readyz").status_code == 200
    assert read_reasons(caplog) == [f"unable to open database file (bank {hash_bank_id('aaron')})"]


def test_an_unfinished_forgetting_is_no_reason_to_try_again_and_its_log_names_no_bank(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_file, "LOCK_TIMEOUT_S", 0.1)
    with TestClient(build(SQLiteStore(tmp_path)), base_url="http://127.0.0.1") as client:
        seq = client.post(LINE, json={"text": "hello"}).json()["seq"]
        with closing(sqlite3.connect(tmp_path / "alice.bank", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM line").fetchall()
            answer = client.delete(f"{LINE}/{seq}")
        assert kind(answer, 500) == "store-error"
        assert answer.json()["detail"].startswith("it is forgotten, but bytes of it may remain")
        assert client.get(f"{LINE}/{seq}").status_code == 404
    logged = [record.getMessage() for record in caplog.records if "bytes of what was forgotten" in record.getMessage()]
    assert logged == [
        f"bytes of what was forgotten remain: a reader still uses the old pages (bank {hash_bank_id('alice')})"
    ]
    assert "alice" not in caplog.text


def test_a_temporary_folder_without_room_for_an_upload_is_no_fault_of_the_server_and_the_log_names_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TestClient(build(SQLiteStore(tmp_path)), base_url="http://127.0.0.1") as client:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        headers = {"Content-Type": "application/octet-stream"}
        answer = client.post("/api/v1/banks/alice/import?name=talk.txt", content=b"Ann: Hello.", headers=headers)
    assert kind(answer, 503) == "store-unavailable"
    (reason,) = read_reasons(caplog)
    assert reason.startswith(f"No such file or directory in the temporary folder {tmp_path / 'missing'}; free space")


def test_a_write_of_unknown_outcome_is_not_said_to_be_worth_another_try() -> None:
    document = build_error_document(CommitUnknown("postgresql://db/memories disconnected during the commit"))
    assert (document["status"], document["type"]) == (503, "urn:everthread:commit-unknown")
    assert "it may be; read the bank before you try again" in str(document["detail"])
    assert "postgresql://" not in str(document["detail"])


def test_a_reason_is_logged_again_after_a_minute_or_another_one_and_names_no_bank(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    failures = StoreFailures(clock=lambda: now[0])
    for now[0], reason in [(0, "full"), (1, "full"), (2, "gone"), (3, "full"), (4 + LOG_INTERVAL_S, "full")]:
        error = StoreUnavailable("no space to write bank 'alice' (/srv/alice.bank)")
        error.__cause__ = OSError(reason)
        failures.log(error)
    failures.log(StoreUnavailable("bank 'alice' is locked"))
    assert read_reasons(caplog) == ["full", "gone", "full", "full", "StoreUnavailable"]


def test_a_reason_of_the_system_is_logged_without_the_path(caplog: pytest.LogCaptureFixture) -> None:
    error = StoreUnavailable("no space to write bank 'alice' (/srv/alice.bank)")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "/srv/alice.bank")
    StoreFailures().log(error)
    assert read_reasons(caplog) == ["No space left on device"]
