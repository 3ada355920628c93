"""`everthread title`, and titles in `everthread sessions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli.main import main
from everthread.cli.names import EMPTY_BANK
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


def test_a_session_is_named_by_its_title(store: Path) -> None:
    run(store, "title", "s", "Kitchen renovation")
    for arguments in (["lines"], ["export", "-f", "markdown"], ["search", "kettle"], ["recall", "kettle"]):
        assert "The kettle sings." in run(store, *arguments, "--session", "kitchen Renovation").stdout
    assert "Kitchen" in run(store, "title", "Kitchen renovation", "Kitchen").stdout
    assert run(store, "forget", "-y", "--session", "Kitchen").stdout.startswith("forgotten: 1 line,")


def test_a_title_of_several_sessions_names_none_of_them(store: Path) -> None:
    run(store, "observe", "It whistles.", "--session", "t")
    for session in ("s", "t"):
        run(store, "title", session, "Tea")
    refused = run(store, "forget", "-y", "--session", "Tea")
    assert (refused.exit_code, "2 sessions have the title 'Tea'; choose one of s, t" in refused.stderr) == (2, True)


def test_an_unknown_session_is_refused_with_similar_names(store: Path) -> None:
    run(store, "title", "s", "Kitchen renovation")
    for command in ("lines", "export", "forget"):
        refused = run(store, command, "--session", "Kitchn renovation")
        assert refused.exit_code == 1
        assert "has no session 'Kitchn renovation'" in refused.stderr
        assert "similar names: 'Kitchen renovation'" in refused.stderr


def test_an_empty_list_of_lines_says_why_it_is_empty(store: Path) -> None:
    unknown = run(store, "lines", "--speaker", "usr")
    assert (unknown.exit_code, unknown.stdout) == (0, "")
    assert unknown.stderr == "(no lines: no speaker is called 'usr'; similar names: 'user')\n"
    assert run(store, "lines", "--speaker", "Zoe").stderr.endswith("is called 'Zoe'; known speakers: user)\n")
    assert run(store, "lines", "--after", "7").stderr == "(no lines match)\n"
    assert run(store, "recall", "sink", "--speaker", "usr").stdout == unknown.stderr.strip("()\n") + "\n"
    assert run(store, "recall", "sink", "--until", "2001-01-01").stdout == "no lines match\n"
    run(store, "forget", "-y", "--session", "s")
    assert run(store, "lines").stderr == f"({EMPTY_BANK})\n"


def test_times_are_those_of_the_speakers_clocks(store: Path) -> None:
    run(store, "observe", "It snows.", "--session", "t", "--said-at", "2024-05-06T01:00+02:00")
    assert "2024-05-06 01:00  1 line" in run(store, "sessions").stdout
    assert "2024-05-06 01:00  1 line" in run(store, "title", "t", "Snow").stdout
    assert "first_said_at  2024-05-06T01:00:00+02:00" in run(store, "stats").stdout
    assert json.loads(run(store, "stats", "--json").stdout)["first_said_at"] == "2024-05-05T23:00:00+00:00"
