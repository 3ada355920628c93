"""The progress of `everthread reindex` in a terminal."""

from __future__ import annotations

import io
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from stores.aging import age_bank

from everthread import Memory, NewLine
from everthread.bank import embedding_backlog
from everthread.cli import reindex
from everthread.cli.main import main
from everthread.common.keys import SETTING_FACTS
from everthread.facts import reread_lines
from everthread.testing import HashEmbedder
from everthread.text.analyzer import ANALYZER_VERSION

LINES = 6


class TerminalOutput(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a bank of an earlier version, which is brought up to date in batches of two lines."""
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe_many([NewLine(f"My sister Mia moved to town number {number}.") for number in range(LINES)])
        memory.set_setting(SETTING_FACTS, {"to": LINES, "ids": 0, "rules": 1})
        age_bank(memory, ANALYZER_VERSION - 1)
    monkeypatch.setattr(reread_lines, "BATCH_LINES", 2)
    monkeypatch.setattr(embedding_backlog, "REANALYZED_LINES", 2)
    monkeypatch.setattr(reindex, "REANALYZED_LINES", 2)
    return tmp_path


def test_each_step_of_reindexing_shows_how_far_it_is(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = TerminalOutput()
    monkeypatch.setattr(sys, "stderr", shown)
    arguments = ["--store", str(store), "--embedder", "hash", "reindex", "--bank", "alice"]
    assert main.main(arguments, standalone_mode=False) is None
    steps = re.findall(r"(facts|words|vectors) of alice  \[[#-]+\] +(\d+)%", shown.getvalue())
    assert [percent for step, percent in steps if step == "facts"] == ["0", "33", "66", "100"]
    assert [percent for step, percent in steps if step == "words"] == ["0", "50", "100"]


def test_lines_without_codes_of_their_words_are_shown_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open("alice", store=tmp_path) as memory:
        memory.observe_many([NewLine(text, speaker="user") for text in ("Mia moved to Lisbon.", "I have a cat.")])
    with closing(sqlite3.connect(tmp_path / "alice.bank")) as db, db:
        db.execute("DELETE FROM token_code")
    shown = TerminalOutput()
    monkeypatch.setattr(sys, "stderr", shown)
    assert main.main(["--store", str(tmp_path), "reindex", "--bank", "alice"], standalone_mode=False) is None
    assert re.findall(r"vectors of alice  \[[#-]+\] +(\d+)%", shown.getvalue()) == ["0", "100"]
    assert capsys.readouterr().out.startswith("2 lines of alice were embedded")


def test_a_bank_that_is_up_to_date_shows_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("My sister Mia moved to Lisbon.")
    shown = TerminalOutput()
    monkeypatch.setattr(sys, "stderr", shown)
    arguments = ["--store", str(tmp_path), "--embedder", "hash", "reindex", "--bank", "alice"]
    assert main.main(arguments, standalone_mode=False) is None
    assert shown.getvalue() == ""
