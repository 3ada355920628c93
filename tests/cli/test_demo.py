"""`everthread demo`."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli import demo
from everthread.cli.main import main
from everthread.factory import open_store
from everthread.testing import HashEmbedder

ANSWER = "  > Jonas: Ich habe einen gebrauchten Transporter gekauft, einen roten, mit 90.000 Kilometern.\n"


def run(store: Path, embedder: str = "minilm", *arguments: str, input: str | None = None) -> Result:
    options = ["--store", str(store), "--embedder", embedder]
    return CliRunner().invoke(main, [*options, "demo", "--language", "de", *arguments], input=input)


def banks(folder: Path) -> list[str]:
    with closing(open_store(folder)) as store:
        return store.banks()


@pytest.mark.slow
def test_without_a_terminal_it_asks_forgets_asks_again_and_leaves_nothing(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert shown.exit_code == 0
    assert shown.stdout.count("Jonas fragt:") == 3
    before, after = shown.stdout.split("Endgültig vergessen: deine Nachricht vom 13. April 2025, am ")
    assert re.search(r"Am 13\. April 2025 hast du gesagt \(\d+ ms\):\n" + re.escape(ANSWER), before)
    assert "    Ever: Und, fährt er sich gut?\n" in before
    assert "Jonas fragt noch einmal: Wie viele Kilometer hat der Transporter?\n  Es kommt nichts zurück.\n" in after
    assert "90.000" not in after
    assert "\x1b" not in shown.stdout
    assert banks(tmp_path) == []


def test_in_a_terminal_it_waits_for_enter_and_asks_before_it_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_is_interactive", lambda: True)
    shown = run(tmp_path, "hash", input="\n\n\n\nvielleicht\nnein\n")
    assert shown.stdout.count("Enter stellt die Frage.") == 3
    assert "Die Demo löschen? [J/n]: vielleicht\nBitte antworte mit j oder n.\n" in shown.stdout
    assert "Die Demo löschen? [J/n]: nein\nDie Demo bleibt." in shown.stdout
    assert banks(tmp_path) == ["demo"]
    assert "Die Demo ist gelöscht." in run(tmp_path, "hash", input="\n\n\n\n\n").stdout
    assert banks(tmp_path) == []


def test_the_end_of_the_input_ends_the_demo_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_is_interactive", lambda: True)
    for answers in ("\n", "\n\n\n"):
        shown = run(tmp_path, "hash", input=answers)
        assert shown.exit_code == 0
        assert "Die Demo ist gelöscht." in shown.stdout
        assert banks(tmp_path) == []


def test_it_runs_by_itself_where_the_input_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert demo._is_interactive() is False


def test_keep_keeps_the_bank_without_asking(tmp_path: Path) -> None:
    shown = run(tmp_path, "hash", "--keep")
    assert "Die Demo bleibt. Weiter geht es mit: everthread chat --bank demo --speaker Jonas\n" in shown.stdout
    with Memory.open("demo", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.settings()["demo"] == "de"


def test_a_bank_of_the_persons_own_is_left_alone(tmp_path: Path) -> None:
    with Memory.open("demo", store=tmp_path, embedder=HashEmbedder()) as memory:
        memory.observe("My sister Mia moved to Lisbon.")
    refused = run(tmp_path)
    assert refused.exit_code == 2
    assert "bank 'demo' holds messages of its own, which the sample life would replace" in refused.stderr
    with Memory.open("demo", store=tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.stats().lines == 1


def test_in_a_language_without_a_sample_life_the_demo_speaks_it_and_the_life_is_the_english_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    shown = CliRunner().invoke(main, ["--store", str(tmp_path), "--embedder", "hash", "demo"]).stdout
    assert "Kate demande\u00a0: What is the plumber called?" in shown
    assert "La démo est supprimée." in shown
