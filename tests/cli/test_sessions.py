"""`everthread title`, and titles in `everthread sessions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli.main import main
from everthread.testing import HashEmbedder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a folder with a bank of one session."""
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("The kettle sings.", session="s")
    return tmp_path


def run(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--store", str(store), "--embedder", "hash", *arguments, "-b", "alice"])


def test_a_titled_session_is_listed_with_its_title(store: Path) -> None:
    titled = run(store, "title", "s", "Tea\x1b")
    assert titled.exit_code == 0
    assert titled.stdout.endswith("1 line  Tea␛\n")
    assert run(store, "sessions").stdout == titled.stdout
    assert json.loads(run(store, "sessions", "--json").stdout)[0]["title"] == "Tea\x1b"


def test_an_empty_title_removes_it(store: Path) -> None:
    run(store, "title", "s", "Tea")
    assert json.loads(run(store, "title", "s", "", "--json").stdout)["title"] is None
    assert run(store, "sessions").stdout.endswith("1 line  The kettle sings.\n")


def test_the_title_of_a_missing_session_is_refused(store: Path) -> None:
    refused = run(store, "title", "t", "Tea")
    assert refused.exit_code == 1
    assert "has no session 't'" in refused.stderr
