"""Uploaded files and their names."""

import socket
from pathlib import Path, PurePosixPath

import pytest
from hardship import PATIENCE, web
from hardship.served import Served, serve_folder, wait_until
from hypothesis import example, given
from hypothesis import strategies as st

from everthread.server.uploads import FOLDER_PREFIX, safe_filename


@given(st.text(max_size=300))
@example("../../etc/passwd")
@example("..")
@example("/")
@example("a\0b.json")
@example("文" * 100 + ".jsonl")
def test_a_safe_file_name_has_no_path_and_a_limited_length(name: str) -> None:
    safe = safe_filename(name)
    assert PurePosixPath(safe).name == safe
    assert safe not in (".", "..")
    assert "\0" not in safe
    assert len(safe.encode()) < 255


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("talk.jsonl", "talk.jsonl"),
        ("My talk.TXT", "My talk.txt"),
        ("talk", "talk.txt"),
        ("../x/y.json", "y.json"),
        ("WhatsApp Chat with Ann & Bob_2 🎉 (1).txt", "WhatsApp Chat with Ann & Bob_2 🎉 (1).txt"),
        ("Version 1.2 of it", "Version 1.2 of it.txt"),
        ('a<b>:"c" .json', "a_b_c_.json"),
        ("con.txt", "_con.txt"),
        ("NUL.old.json", "_NUL.old.json"),
        ("Connor.txt", "Connor.txt"),
    ],
)
def test_a_plain_file_name_is_hardly_changed(name: str, safe: str) -> None:
    assert safe_filename(name) == safe


# ---------------------------------------------------------------------- temporary files

IMPORT = "/api/v1/banks/alice/import?name=talk.txt"


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the temporary folder of the servers that this test starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def begin_upload(server: Served, temporary_folder: Path) -> socket.socket:
    """Send half of an upload."""
    before = set(temporary_folder.glob(f"{FOLDER_PREFIX}*/*/*.txt"))
    raw = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    raw.sendall(
        f"POST {IMPORT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: 26\r\nConnection: close\r\n\r\nAnn: Hello.\n".encode()
    )
    wait_until(lambda: set(temporary_folder.glob(f"{FOLDER_PREFIX}*/*/*.txt")) > before)
    return raw


def test_an_upload_of_a_killed_server_is_removed_by_the_next_server(tmp_path: Path, temporary_folder: Path) -> None:
    with serve_folder(tmp_path / "banks") as killed, begin_upload(killed, temporary_folder):
        killed.process.kill()
        killed.process.wait()
    assert list(temporary_folder.glob(f"{FOLDER_PREFIX}*"))
    with serve_folder(tmp_path / "banks"):
        wait_until(lambda: not list(temporary_folder.glob(f"{FOLDER_PREFIX}*")))


def test_an_upload_in_progress_is_not_removed_by_another_server(tmp_path: Path, temporary_folder: Path) -> None:
    with serve_folder(tmp_path / "banks") as running, begin_upload(running, temporary_folder) as raw:
        with serve_folder(tmp_path / "other") as other:
            assert other.stop() == 0  # by then it has started and removed stale uploads
        raw.sendall(b"Bob: Hi, Ann.\n")
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"added":2' in answer
    assert not list(temporary_folder.glob(f"{FOLDER_PREFIX}*"))


@pytest.mark.parametrize("path", [IMPORT, "/api/v1/banks/alice/lines"])
def test_a_client_that_disconnects_during_an_upload_causes_no_server_error(
    tmp_path: Path, temporary_folder: Path, path: str
) -> None:
    with serve_folder(tmp_path / "banks") as running:
        with socket.create_connection(("127.0.0.1", running.port), PATIENCE) as raw:
            raw.sendall(
                f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                'Content-Length: 26\r\n\r\n{"text": '.encode()
            )
        wait_until(lambda: 'status="499"' in web.get(f"{running.url}/metrics").text)
        assert 'status="500"' not in web.get(f"{running.url}/metrics").text
        assert running.stop() == 0
    assert not [row for row in running.log if row["level"] != "info"]
    assert not list(temporary_folder.glob(f"{FOLDER_PREFIX}*"))
