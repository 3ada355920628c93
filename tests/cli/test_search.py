from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli.main import main
from everthread.testing import HashEmbedder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def test_search_prints_every_line_that_contains_the_words_the_latest_first(tmp_path: Path) -> None:
    with Memory.open("alice", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        for text in ("Where is my dog?", "Here is a cat.", "The dog is back."):
            memory.observe(text, session="one")
    options = ("--store", str(tmp_path), "--embedder", "hash", "search")
    shown = run(*options, "dog", "--bank", "alice").stdout.splitlines()
    assert [row.split()[0] for row in shown] == ["3", "1"]
    found = json.loads(run(*options, "dog", "--bank", "alice", "--limit", "1", "--json").stdout)
    assert [line["seq"] for line in found] == [3]
    nothing = run(*options, "fern", "--bank", "alice")
    assert (nothing.stdout, nothing.stderr) == ("", "no line contains 'fern'\n")
