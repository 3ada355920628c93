from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from everthread.cli.main import main


def cli(store: Path, *arguments: str, **options: str) -> Result:
    return CliRunner().invoke(main, ["--store", str(store), "--embedder", "hash", *arguments], **options)  # type: ignore[arg-type]


def test_summaries_and_notes_of_an_import_are_written_once(tmp_path: Path) -> None:
    talk = (
        "[2024-05-01 12:00] Nora: My sister Mia moved to Lisbon in May.\n[2024-05-01 12:01] Vey: How does she like it?"
    )
    assert cli(tmp_path, "import", "-", "--format", "transcript", "--assistant", "Vey", input=talk).exit_code == 0
    done = cli(tmp_path, "write", "--model", "none")
    assert done.stdout == "1 summary and 1 version of the notes written by extractive\n"
    again = cli(tmp_path, "write", "--model", "none", "--json")
    assert json.loads(again.stdout)["written"] == {"summary": 0, "note": 0}
