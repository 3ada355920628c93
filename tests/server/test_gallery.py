from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from chat.cards import write_picture_card

from everthread.chat import character_library
from everthread.chat.character import Character
from everthread.errors import BadInput
from everthread.server import gallery
from everthread.server.gallery import Gallery, remove_own_characters
from everthread.server.people.accounts import Account

NORA = Account("a1b2", "nora", True, False, ("nora",), False, date(2026, 3, 3))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


def test_a_members_copy_of_a_character_of_all_keeps_its_picture(folder: Path) -> None:
    vey = Character("Vey", description="Of all.")
    character_library.add(write_picture_card(folder / "vey.png", vey))
    mine = Gallery(NORA)
    mine.save(Character("Vey", description="Mine."))
    assert (mine.load("Vey").description, mine.has_picture("Vey")) == ("Mine.", True)
    assert Gallery(None).load("Vey").description == "Of all."
    remove_own_characters(NORA)
    assert mine.load("Vey").description == "Of all."


def test_a_member_has_room_for_a_limited_number_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "MAX_OWN_CHARACTERS", 1)
    mine = Gallery(NORA)
    mine.save(Character("Vey"))
    mine.save(Character("Vey", description="Changed."))
    with pytest.raises(BadInput, match="you have 1 characters of your own"):
        mine.save(Character("Owl"))
    with pytest.raises(BadInput, match="the most allowed"):
        mine.check_room()
    Gallery(None).save(Character("Owl"))
