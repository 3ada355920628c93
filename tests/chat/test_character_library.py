"""The folder of characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.cards import NORA, write_picture_card
from everthread.chat import card, character_library, png_text
from everthread.chat.character import DEFAULT_CHARACTER, Character
from everthread.chat.character_library import open_character
from everthread.errors import BadFile, BadInput, NotFound, StoreUnavailable


@pytest.fixture(autouse=True)
def _folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


# --------------------------------------------------------------------- the folder


def test_a_character_is_saved_and_loaded_by_its_name() -> None:
    file = character_library.save(NORA)
    assert file.parent == character_library.library_folder()
    assert character_library.load("Nora") == NORA
    assert character_library.list_names() == ["Nora"]


def test_the_folder_is_in_the_users_data_and_is_not_created_by_reading(tmp_path: Path) -> None:
    assert character_library.list_names() == []
    assert character_library.library_folder() == tmp_path / "data" / "everthread" / "characters"
    assert not character_library.library_folder().exists()


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "/etc/x", "CON", "con", "lpt1", "..", ".", "a\\b", "nora.json", "x.png", "%2e", "~", "Ёж 猫"],
)
def test_no_name_becomes_a_path(name: str) -> None:
    file = character_library.save(Character(name))
    assert [*character_library.library_folder().iterdir()] == [file]
    assert file.stem not in ("con", "lpt1")
    assert character_library.list_names() == [name]
    assert character_library.load(name).name == name
    character_library.remove(name)
    assert character_library.list_names() == []


def test_names_that_differ_only_in_case_have_different_files() -> None:
    files = {character_library.save(Character(name)).name.lower() for name in ("Nora", "nora", "NORA")}
    assert len(files) == 3
    assert character_library.list_names() == ["NORA", "Nora", "nora"]


def test_names_too_long_for_a_file_are_distinguished_and_listed_in_full() -> None:
    names = ["猫" * 199 + last for last in "ab"]
    for name in names:
        assert len(character_library.save(Character(name)).name) < 255
    assert character_library.list_names() == names
    assert character_library.load(names[1]).name == names[1]


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_every_name_has_its_own_file(one: str, other: str) -> None:
    stems = [character_library.file_stem(name).lower() for name in (one, other)]
    assert (stems[0] == stems[1]) == (one == other)
    assert all(set(stem) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-%~") for stem in stems)


def test_other_files_in_the_folder_are_ignored() -> None:
    character_library.save(NORA)
    for name in ("Nora.json", "notes.txt", "%zz.json", "x~1.json"):
        (character_library.library_folder() / name).write_text("{")
    assert character_library.list_names() == ["Nora"]


def test_a_character_is_not_replaced_unless_forced() -> None:
    character_library.save(NORA)
    with pytest.raises(BadInput, match="the character 'Nora' exists already"):
        character_library.save(Character("Nora"))
    assert character_library.load("Nora") == NORA
    character_library.save(Character("Nora"), force=True)
    assert character_library.load("Nora") == Character("Nora")


def test_the_error_for_a_missing_character_lists_the_others() -> None:
    with pytest.raises(NotFound, match="there is no character 'Nor'; there are no characters yet"):
        character_library.load("Nor")
    character_library.save(NORA)
    with pytest.raises(NotFound, match=r"there is no character 'Nor'; known characters: Nora\. "):
        character_library.load("Nor")
    with pytest.raises(NotFound, match="there is no character 'Nor'"):
        character_library.remove("Nor")


def test_a_cards_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    card.write(NORA, tmp_path / "x.json")
    assert character_library.load(str(tmp_path / "x.json")) == NORA
    (tmp_path / "x.json").rename(tmp_path / "x.card")
    assert character_library.load(tmp_path / "x.card") == NORA
    with pytest.raises(BadFile, match="can't be read"):
        character_library.load("nowhere.png")


def test_a_picture_is_stored_unchanged(tmp_path: Path) -> None:
    source = write_picture_card(tmp_path / "nora.png", NORA)
    assert character_library.add(source) == NORA
    (file,) = character_library.library_folder().iterdir()
    assert file.suffix == ".png"
    assert file.read_bytes() == source.read_bytes()


def test_a_character_with_a_picture_keeps_it_when_it_is_edited(tmp_path: Path) -> None:
    character_library.add(write_picture_card(tmp_path / "nora.png", NORA))
    file = character_library.save(NORA.with_changes(location="ashore"), force=True)
    assert [*character_library.library_folder().iterdir()] == [file]
    assert png_text.read_texts(file.read_bytes(), file)["title"] == b"Nora"
    assert character_library.load("Nora").location == "ashore"


@pytest.mark.parametrize("kinds", [("json", "png"), ("png", "json")])
def test_a_character_has_one_file_after_any_import(kinds: tuple[str, str], tmp_path: Path) -> None:
    for kind, at in zip(kinds, ("here", "there"), strict=True):
        card.write(NORA.with_changes(location=at), tmp_path / f"nora.{kind}")
        character_library.add(tmp_path / f"nora.{kind}", force=True)
    assert [file.suffix for file in character_library.library_folder().iterdir()] == [f".{kinds[1]}"]
    assert character_library.load("Nora").location == "there"


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreUnavailable, match="can't be created"):
        character_library.save(NORA)


def test_a_character_is_opened_from_the_bank_the_folder_a_card_or_the_default(tmp_path: Path) -> None:
    card.write(Character("Nora", "of the file"), tmp_path / "nora.json")
    settings = {"character": Character("Nora", "of the bank").to_json()}
    assert open_character(None, {}) == open_character("Ever", {}) == DEFAULT_CHARACTER
    assert open_character(None, settings).description == open_character("nora", settings).description == "of the bank"
    assert open_character(str(tmp_path / "nora.json"), settings).description == "of the file"
    assert open_character(DEFAULT_CHARACTER, settings) is DEFAULT_CHARACTER
    assert open_character("Ever", settings) == DEFAULT_CHARACTER


@pytest.mark.parametrize("name", ["Nora", "ever", "", "../nora", "nora.json"])
def test_an_unknown_character_is_not_found(name: str) -> None:
    with pytest.raises((NotFound, BadFile), match=r"nora|Nora|ever|''"):
        open_character(name, {})


def test_a_saved_character_precedes_the_default_of_the_same_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    character_library.save(Character("Ever", "of the folder"))
    assert open_character("Ever", {}).description == "of the folder"
