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
    separate_bank,
)
from everthread.chat.chat import Chat
from everthread.errors import BadInput, BadLine
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


def test_a_bank_knows_the_names_under_which_the_person_has_spoken_in_chats(memory: Memory) -> None:
    memory.observe("I moved to Oslo.", speaker="Mia")
    with Chat(memory, VEY, llm=None) as chat:
        chat.edit_character(person="Mia")  # by mistake, and nothing is said
        for name in ("Nora", "Laura"):
            chat.edit_character(person=name)
            chat.hear("Hello.")
        chat.hear("Hello, Laura.", speaker="Bob")  # another one of a group
        assert chat.person_names == {"Nora", "Laura", "user"}
        chat.edit_character(person="Lo")
        assert chat.person_names == person_names(memory.settings()) == {"Lo", "Nora", "Laura", "user"}
    memory.set_setting("person_names", "x")
    assert person_names(memory.settings()) == {"Lo", "user"}


def test_two_chats_of_a_bank_store_the_names_of_both(memory: Memory) -> None:
    nora, laura = (VEY.with_changes(person=name) for name in ("Nora", "Laura"))
    with Chat(memory, nora, llm=None) as one, Chat(memory, laura, llm=None) as other:
        for chat in (one, other):
            chat.hear("Hello.")
    assert person_names(memory.settings()) == {"Nora", "Laura", "user"}


def test_a_name_used_only_in_incognito_is_not_stored(memory: Memory) -> None:
    with Chat(memory, VEY.with_changes(person="Nora"), llm=None, incognito=True) as chat:
        chat.hear("Hello.")
        chat.edit_character(person="Sam")
        chat.hear("Hello again.")
        chat.incognito = False
        chat.edit_character(person="Laura")
        chat.hear("Good morning.")
    assert person_names(memory.settings()) == {"Laura", "user"}


def test_a_line_that_can_not_be_stored_leaves_no_name(memory: Memory) -> None:
    with Chat(memory, VEY.with_changes(person="Nora"), llm=None) as chat, pytest.raises(BadLine):
        chat.add_line("", "Nora")
    assert memory.settings() == {}


def test_a_name_is_forgotten_with_the_last_line_that_has_it(memory: Memory) -> None:
    with Chat(memory, VEY, llm=None) as chat:
        for name in ("Nora", "Laura"):
            chat.edit_character(person=name)
            chat.hear("Hello.")
            chat.hear("Good morning.")
        memory.forget(seq=1)
        assert memory.settings()["person_names"] == ["Laura", "Nora"]
        memory.forget(seq=2)
        assert memory.settings()["person_names"] == ["Laura"]
        memory.forget(session=chat.session)
    assert "person_names" not in memory.settings()


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
