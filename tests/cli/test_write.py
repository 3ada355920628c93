from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hardship.llm import Reply, llm_server

from everthread.cli.main import main
from everthread.common.keys import SESSION_FACTS_TO
from everthread.memory import Memory


def cli(store: Path | str, *arguments: str, **options: str) -> Result:
    return CliRunner().invoke(main, ["--store", str(store), "--embedder", "hash", *arguments], **options)  # type: ignore[arg-type]


TALK = "[2024-05-01 12:00] Nora: My sister Mia moved to Lisbon in May.\n[2024-05-01 12:01] Vey: How does she like it?"


def import_talk(store: Path | str) -> None:
    assert cli(store, "import", "-", "--format", "transcript", "--assistant", "Vey", input=TALK).exit_code == 0


def test_summaries_and_notes_of_an_import_are_written_once(tmp_path: Path) -> None:
    import_talk(tmp_path)
    done = cli(tmp_path, "write", "--model", "none")
    assert done.stdout == "1 summary and 1 version of the notes written by extractive\n"
    again = cli(tmp_path, "write", "--model", "none", "--json")
    assert json.loads(again.stdout)["written"] == {"summary": 0, "note": 0}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_facts_are_written_on_request_by_a_model_alone(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = tmp_path if kind == "sqlite" else request.getfixturevalue("database")
    import_talk(store)
    refused = cli(store, "write", "--facts", "--model", "none")
    assert (refused.exit_code, "facts are written by a language model" in refused.stderr) == (2, True)
    with llm_server(Reply('{"facts": [{"fact": "Mia is fond of Lisbon.", "lines": [1]}]}')) as server:
        arguments = ("--recipe", "emi", "write", "--facts", "--model", f"{server.url}#m")
        done = cli(store, *arguments)
        assert done.stdout == "0 summaries, 0 versions of the notes and 1 fact written by llm:m\n"
        again = json.loads(cli(store, *arguments, "--json").stdout)
        assert (again["sessions"], again["written"]["fact"], len(server.asked)) == (0, 0, 1)
    assert "of lines 1 to 1\n  Mia is fond of Lisbon.\n" in cli(store, "units", "fact").stdout


def test_a_bank_with_other_lines_gets_an_export_without_the_marks_of_its_facts(tmp_path: Path) -> None:
    import_talk(tmp_path)
    with llm_server(Reply('{"facts": []}')) as server:
        assert cli(tmp_path, "--recipe", "emi", "write", "--facts", "-m", f"{server.url}#m").exit_code == 0
    cli(tmp_path, "export", "-o", str(tmp_path / "bank.jsonl"))
    cli(tmp_path, "observe", "I have lines of my own.", "--bank", "other")
    assert cli(tmp_path, "import", str(tmp_path / "bank.jsonl"), "--bank", "other").exit_code == 0
    marks = []
    for name in ("default", "other"):
        with Memory.open(name, store=tmp_path, embedder="hash") as memory:
            marks.append([session.metadata.get(SESSION_FACTS_TO) for session in memory.sessions()])
    assert marks == [[2], [None, None]]
