"""Each character talks with a person in a bank of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from everthread.chat.character import Character
from everthread.chat.character_banks import (
    find_bank,
    give_character,
    list_banks,
    person_name,
    person_names,
    save_character,
    separate_bank,
)
from everthread.chat.chat import Chat
from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.testing import ScriptedLLM

VEY = Character("Captain Vey", "A sailor.")

OpenBank = Callable[[str], Memory]


@pytest.fixture
def open_bank(memory: Memory) -> OpenBank:
    """Return a function that opens a bank of the same store."""
    return lambda bank: Memory(bank, memory.store, memory.embedder, memory.recipe)


def find(memory: Memory, name: str) -> str:
    return find_bank(memory.store, memory.bank, name, memory.store.banks())


@pytest.mark.parametrize(
    ("bank", "own"),
    [("laura", "laura/captain-vey"), ("laura/ever", "laura/captain-vey"), ("laura/work", "laura/work/captain-vey")],
)
def test_a_separate_bank_is_named_after_the_character(bank: str, own: str) -> None:
    assert separate_bank(bank, "Ever", "Captain Vey") == own


def test_a_person_finds_each_characters_bank_from_any_other(open_bank: OpenBank) -> None:
    home = open_bank("laura")
    home.set_setting("character", {"name": "Ever", "person": "Laura"})
    assert find(home, "Ever") == "laura"
    assert find(home, "Captain Vey") == "laura/captain-vey"
    vey = open_bank("laura/captain-vey")
    give_character(vey, VEY, "laura")
    assert person_name(vey.settings()) == "Laura"
    assert find(vey, "Ever") == "laura"
    assert find(vey, "captain vey") == "laura/captain-vey"
    vey.set_setting("character", {"name": "Ondine", "person": "Laura"})
    assert find(vey, "Ines") == "laura/ines"
    assert find(vey, "Captain Vey") == "laura/captain-vey-2"


def test_banks_of_other_people_are_not_found(open_bank: OpenBank) -> None:
    for bank in ("laura", "laurel", "laura/work", "laura/ever"):
        open_bank(bank)
    laura = open_bank("laura")
    assert list_banks(laura.store, "laura", laura.store.banks()) == ["laura", "laura/ever"]


def test_of_several_banks_of_a_character_the_fullest_is_found_unless_one_is_open(open_bank: OpenBank) -> None:
    banks = [open_bank(bank) for bank in ("laura", "laura/ever", "laura/captain-vey")]
    give_character(banks[2], VEY, "laura")
    banks[1].observe("Hello.")
    assert [find(memory, "Ever") for memory in banks] == ["laura", "laura/ever", "laura/ever"]


def test_a_bank_keeps_its_character_once_something_was_said_in_it(open_bank: OpenBank) -> None:
    open_bank("laura")
    vey = open_bank("laura/captain-vey")
    give_character(vey, VEY, "laura")
    give_character(vey, VEY.with_changes(location="a deck"), "laura")
    vey.observe("Hello.")
    give_character(vey, VEY.with_changes(location="a bar"), "laura")
    assert vey.settings()["character"] == {"name": "Captain Vey", "description": "A sailor.", "location": "a deck"}


def test_a_bank_knows_the_names_under_which_the_person_spoke_before(open_bank: OpenBank) -> None:
    bank = open_bank("laura")
    save_character(bank, VEY.with_changes(person="Lora"))  # a typing error, corrected before the first line
    save_character(bank, VEY.with_changes(person="Laura"))
    assert person_names(bank.settings()) == {"Laura", "user"}
    bank.observe("Hello.", speaker="Laura")
    for name in ("Laurie", "user", "Lo"):
        save_character(bank, VEY.with_changes(person=name))
    assert person_names(bank.settings()) == {"Lo", "Laurie", "Laura", "user"}
    assert bank.settings()["character"] == VEY.with_changes(person="Lo").to_json()
    bank.set_setting("former_names", "x")
    assert person_names(bank.settings()) == {"Lo", "user"}


def test_the_id_of_a_characters_bank_is_never_too_long(open_bank: OpenBank) -> None:
    assert len(find(open_bank("laura"), "V" * 200)) < 200


def test_replies_draw_on_the_banks_of_the_setting(open_bank: OpenBank) -> None:
    open_bank("laura").observe("I hid the gold in the barn.", speaker="Laura")
    vey = open_bank("laura/captain-vey")
    model = ScriptedLLM(["In the barn."] * 2)
    with Chat(vey, VEY, model) as chat:
        list(chat.reply("Where did I hide the gold?"))
        vey.store.set_setting(vey.bank, "recall_from", ["laura", "gone"])
        list(chat.reply("And where is the gold hidden, in which barn?"))
    assert ["I hid the gold" in str(prompt) for prompt in model.prompts] == [False, True]


@pytest.mark.parametrize("value", ["laura", [1]])
def test_the_setting_is_a_list_of_banks(memory: Memory, value: object) -> None:
    with pytest.raises(BadInput, match="must be a list of banks' ids, got"):
        memory.set_setting("recall_from", value)  # type: ignore[arg-type]
