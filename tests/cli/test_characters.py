from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from chat.cards import NORA, write_picture_card
from click.testing import CliRunner, Result

from everthread.chat import card, character_library, png_text
from everthread.chat.character import Character
from everthread.cli.characters import OPTIONS
from everthread.cli.main import main


@pytest.fixture(autouse=True)
def _folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["characters", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_json(*arguments: str | Path, status: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def error(*arguments: str | Path, status: int = 2) -> str:
    return str(run_json(*arguments, status=status)["error"])


def test_without_a_command_the_characters_are_listed() -> None:
    assert "there are no characters yet; create one with" in run().stdout
    character_library.save(NORA)
    assert run().stdout == "Nora\n"
    assert run("list").stdout == "Nora\n"
    assert run_json("list") == ["Nora"]


def test_a_character_is_made_shown_and_edited() -> None:
    created = run_json("new", "Nora", "--description", "Keeps a lighthouse.", "--greeting", "Come in,\n{{user}}.")
    assert created == {"name": "Nora", "description": "Keeps a lighthouse.", "greeting": "Come in,\n{{user}}."}
    assert run_json("show", "Nora") == created
    assert "    greeting  Come in,\n              {{user}}.\n" in run("show", "Nora").stdout
    edited = run_json("edit", "Nora", "--location", "ashore", "--description", "")
    assert edited == {"name": "Nora", "location": "ashore", "greeting": "Come in,\n{{user}}."}
    assert character_library.load("Nora").to_json() == edited


def test_every_text_of_a_character_can_be_given() -> None:
    given = {name: name.upper() for name in OPTIONS}
    options = [word for name, text in given.items() for word in (f"--{name}", text)]
    assert run_json("new", "Nora", *options) == {"name": "Nora", **given}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "Nora"], "the character 'Nora' exists already"),
        (["new", ""], "name must be text that is not blank"),
        (["new", "user"], "name 'user' is the user's name too"),
        (["edit", "Nora"], "there is nothing to change; pass one of --description, "),
        (["edit", "Nora", "--person", "nora"], "is the user's name too"),
        (["export", "Nora", "nora.gif"], "has the ending '.gif'"),
        (["export", "Nora", "nora.json", "--picture", "x.png"], "can hold no picture"),
        (["import", "missing.json"], "can't be read"),
        (["remove", "Nora"], "with --json there is no confirmation; pass --yes as well"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], words: str) -> None:
    character_library.save(NORA)
    assert words in error(*arguments)
    assert character_library.load("Nora") == NORA


@pytest.mark.parametrize(
    "arguments", [["show"], ["edit", "--location", "x"], ["export", "x.json"], ["remove", "--yes"]]
)
def test_an_unknown_name_is_reported_with_the_known_ones(arguments: list[str]) -> None:
    character_library.save(NORA)
    assert "known characters: Nora" in error(arguments[0], "Nemo", *arguments[1:], status=1)


def test_cards_are_imported_and_exported(tmp_path: Path) -> None:
    card.write(NORA, tmp_path / "nora.json", version=2)
    write_picture_card(tmp_path / "ada.png", Character("Ada"))
    assert run_json("import", tmp_path / "nora.json", tmp_path / "ada.png") == ["Nora", "Ada"]
    assert run("export", "Nora", tmp_path / "out.json", "--version", "2").exit_code == 0
    assert (tmp_path / "out.json").read_bytes() == (tmp_path / "nora.json").read_bytes()
    assert run_json("export", "Ada", tmp_path / "out.png") == {"name": "Ada", "file": str(tmp_path / "out.png")}
    assert (tmp_path / "out.png").read_bytes() == (tmp_path / "ada.png").read_bytes()
    assert "the file exists already" in error("export", "Nora", tmp_path / "out.png")
    run_json("export", "Nora", tmp_path / "out.png", "--force", "--picture", tmp_path / "ada.png")
    assert card.read(tmp_path / "out.png") == NORA
    assert png_text.read_texts((tmp_path / "out.png").read_bytes(), tmp_path)["title"] == b"Ada"


def test_an_exported_picture_is_a_v2_card_on_request(tmp_path: Path) -> None:
    character_library.save(NORA)
    run_json("export", "Nora", tmp_path / "out.png", "--version", "2")
    texts = png_text.read_texts((tmp_path / "out.png").read_bytes(), tmp_path)
    assert list(texts) == ["chara"]
    assert json.loads(base64.b64decode(texts["chara"]))["spec_version"] == "2.0"


def test_if_one_file_is_invalid_none_is_imported(tmp_path: Path) -> None:
    card.write(NORA, tmp_path / "nora.json")
    card.write(NORA, tmp_path / "again.json")
    (tmp_path / "wrong.json").write_text("[]")
    assert "wrong.json: a card is a JSON object" in error("import", tmp_path / "nora.json", tmp_path / "wrong.json")
    assert "are both cards of 'Nora'" in error("import", tmp_path / "nora.json", tmp_path / "again.json")
    assert character_library.list_names() == []


def test_an_import_over_an_existing_character_needs_force(tmp_path: Path) -> None:
    card.write(NORA.with_changes(location="ashore"), tmp_path / "nora.json")
    character_library.save(NORA)
    assert "the character 'Nora' exists already" in error("import", tmp_path / "nora.json")
    assert character_library.load("Nora") == NORA
    assert run("import", tmp_path / "nora.json", "--force").stdout == "Nora\n"
    assert character_library.load("Nora").location == "ashore"


def test_a_picture_is_given_to_a_character(tmp_path: Path) -> None:
    character_library.save(NORA)
    run_json("edit", "Nora", "--picture", write_picture_card(tmp_path / "ada.png", Character("Ada")))
    assert [file.suffix for file in character_library.library_folder().iterdir()] == [".png"]
    assert character_library.load("Nora") == NORA


def test_a_file_renamed_inside_by_hand_replaces_no_other_character() -> None:
    character_library.save(NORA)
    card.write(Character("Nora", "another"), character_library.save(Character("Ada")), force=True)
    assert "now holds 'Nora'; import it under that name, and remove 'Ada'" in error("edit", "Ada", "--location", "x")
    assert character_library.load("Nora") == NORA


def test_a_character_is_removed_after_confirmation() -> None:
    character_library.save(NORA)
    assert run("remove", "Nora", stdin="n\n").exit_code == 1
    assert character_library.list_names() == ["Nora"]
    assert "no terminal for confirmation" in run("remove", "Nora", stdin="").stderr
    assert run("remove", "Nora", stdin="y\n").stdout.endswith("removed: Nora\n")
    assert character_library.list_names() == []
    character_library.save(NORA)
    assert run_json("remove", "Nora", "--yes") == {"removed": "Nora"}
    assert character_library.list_names() == []


def test_a_damaged_character_can_be_removed_and_replaced(tmp_path: Path) -> None:
    file = character_library.save(NORA)
    file.write_text("{")
    assert character_library.list_names() == ["Nora"]
    assert "not JSON" in error("show", "Nora")
    character_library.save(NORA, force=True)
    assert character_library.load("Nora") == NORA
    file.write_text("{")
    assert run_json("remove", "Nora", "--yes") == {"removed": "Nora"}
