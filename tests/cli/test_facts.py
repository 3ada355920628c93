from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from everthread import Memory
from everthread.cli.facts import NOTHING_KNOWN
from everthread.cli.main import main
from everthread.testing import HashEmbedder

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command on a bank in which Nora has talked about herself and her sister."""
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        for text in (
            "I live in Leeds.",
            "My sister Mia lives in Porto.",
            "I'm allergic to peanuts.",
            "We moved to York.",
        ):
            memory.observe(text, speaker="Nora", session="one")

    def run(*arguments: str) -> Result:
        options = ("--store", str(tmp_path), "--embedder", "hash")
        bank = () if "--help" in arguments else ("--bank", "nora")
        return CliRunner().invoke(main, [*options, *arguments, *bank])

    return run


def numbers(result: Result) -> dict[str, int]:
    """Return the number of each fact by its value."""
    return {fact["value"]: fact["id"] for fact in json.loads(result.stdout)}


def test_facts_are_listed_with_their_numbers_lines_and_time(run: Run) -> None:
    rows = run("facts").stdout.splitlines()
    assert any("Nora lives in York (since " in row and "before: Leeds" in row and "line 4" in row for row in rows)
    assert not any("Nora lives in Leeds" in row for row in rows)
    assert [row for row in run("facts", "list", "--ended").stdout.splitlines() if "Leeds (until" in row]
    of_sister = run("facts", "Nora's sister").stdout.splitlines()
    assert len(of_sister) == 1
    assert "Mia lives in Porto" in of_sister[0]
    assert list(numbers(run("facts", "--attribute", "allergy", "--json"))) == ["peanuts"]


def test_a_bank_without_facts_says_where_they_come_from(tmp_path: Path) -> None:
    options = ["--store", str(tmp_path), "--embedder", "hash"]
    CliRunner().invoke(main, [*options, "observe", "The harbour froze over."])
    for arguments in (["facts"], ["facts", "Mia"], ["facts", "entities"]):
        done = CliRunner().invoke(main, [*options, *arguments])
        assert (done.stdout, done.exit_code) == ("", 0)
        assert done.stderr == f"{NOTHING_KNOWN}\n"
    _, _, example = NOTHING_KNOWN.rpartition("such as: ")
    CliRunner().invoke(main, [*options, "observe", example])
    assert "Mia lives in Porto" in CliRunner().invoke(main, [*options, "facts"]).stdout


def test_nothing_known_and_an_unknown_attribute_are_said_so(run: Run) -> None:
    nothing = run("facts", "Xaver")
    remedy = "everthread facts entities --bank nora lists who and what is known"
    assert (nothing.stdout, nothing.exit_code) == ("", 0)
    assert nothing.stderr == f"nothing is known about 'Xaver'; {remedy}\n"
    refused = run("facts", "--attribute", "shoe size")
    assert refused.exit_code == 2
    assert "'shoe size'" in refused.stderr
    assert "allergy" in refused.stderr


def test_a_profile_shows_its_subject_and_what_is_known(run: Run) -> None:
    shown = run("profile", "Nora's sister").stdout.splitlines()
    assert shown[0].startswith("Mia (person, Nora's sister; mentioned ")
    assert "Mia lives in Porto." in shown[1]
    assert run("profile").stdout.startswith("Nora (person")
    assert json.loads(run("profile", "Mia", "--json").stdout)["facts"]["home"][0]["value"] == "Porto"
    assert run("profile", "Xaver").exit_code == 1


def test_a_fact_is_confirmed_corrected_ended_and_forgotten(run: Run) -> None:
    number = numbers(run("facts", "--json"))
    assert "confirmed" in run("facts", "confirm", str(number["peanuts"])).stdout
    assert "Mia lives in Lisbon" in run("facts", "correct", str(number["Porto"]), "Lisbon").stdout
    assert "until " in run("facts", "end", str(number["York"])).stdout
    assert "until " not in run("facts", "resume", str(number["York"])).stdout
    assert run("facts", "forget", str(number["peanuts"])).exit_code == 2, "there is no terminal for the question"
    assert run("facts", "forget", str(number["peanuts"]), "--yes").exit_code == 0
    left = numbers(run("facts", "list", "--ended", "--json"))
    assert "peanuts" not in left
    assert left["Lisbon"] == number["Porto"]
    assert run("facts", "confirm", "999").exit_code == 1


def test_a_fact_is_forgotten_with_its_lines(run: Run) -> None:
    number = numbers(run("facts", "--json"))["peanuts"]
    assert "line 3" in run("facts", "forget", str(number), "--with-lines", "--yes").stdout
    assert "peanuts" not in run("lines").stdout


def test_entities_are_listed_merged_and_split(run: Run) -> None:
    names = [entity["name"] for entity in json.loads(run("facts", "entities", "--json").stdout)]
    assert {"Nora", "Mia", "Porto", "York"} <= set(names)
    number = numbers(run("facts", "--json"))["Porto"]
    apart = json.loads(run("facts", "split", "Mia", str(number), "--json").stdout)["name"]
    assert run("profile", "Nora's sister").stdout.startswith("Mia (Nora's sister)")
    assert json.loads(run("facts", "merge", "Nora's sister", apart, "--json").stdout)["name"] == "Mia"


def test_recall_shows_facts_in_place_of_their_lines(run: Run) -> None:
    shown = run("recall", "Where does Nora live?", "--facts").stdout
    assert "> fact: Nora lives in York (since " in shown
    assert "  Nora: We moved to York." in shown
    assert "> Nora: We moved to York." not in shown
    found = json.loads(run("recall", "What do you know about Mia?", "--facts", "--json").stdout)
    assert found[0]["unit"]["text"] == "Mia lives in Porto."
    assert "fact:" not in run("recall", "Where does Nora live?").stdout


def test_facts_and_profiles_of_undated_lines_show_no_date(tmp_path: Path) -> None:
    with Memory.open("nora", store=tmp_path, embedder=HashEmbedder(64)) as memory:
        for text in ("I moved to Graz in January.", "We moved to Linz."):
            memory.observe(text, speaker="Nora", undated=True)
    options = ["--store", str(tmp_path), "--embedder", "hash"]
    for arguments in (["facts", "--ended"], ["profile", "--ended"]):
        shown = CliRunner().invoke(main, [*options, *arguments, "--bank", "nora"]).stdout
        assert "Nora no longer lives in Graz (until an unknown time; then: Linz)." in shown
        assert "said at an unknown time" in shown
        assert not re.search(r"\d{4}", shown)
    assert "mentioned at an unknown time" in shown
    (linz,) = json.loads(CliRunner().invoke(main, [*options, "facts", "--json", "--bank", "nora"]).stdout)
    assert (linz["undated"], linz["since"], linz["text"]) == (True, None, "Nora lives in Linz (before: Graz).")
