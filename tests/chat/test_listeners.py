from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.conversation import Conversation
from everthread.chat.listeners import Listeners
from everthread.common.keys import META_HEARD, SETTING_REMEMBER
from everthread.errors import BadInput, NotFound, StoreUnavailable
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Line

CANT_ANSWER = "I cannot help with that request."


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[dict[str, Memory]]:
    """Return the memories of three characters, by name."""
    store, embedder = SQLiteStore(tmp_path), HashEmbedder(64)
    memories = {name: Memory.open(name.lower(), store=store, embedder=embedder) for name in ("Captain", "Cook", "Mate")}
    for name, memory in memories.items():
        memory.set_setting("character", Character(name, person="Nora").to_json())
    yield memories
    store.close()


class Full(SQLiteStore):
    """Store whose disk is full."""

    def append(self, *_: object, **__: object) -> list[Line]:
        raise StoreUnavailable("the disk is full; free some disk space")


def open_chat(memory: Memory, *replies: str, incognito: bool = False) -> Chat:
    return Chat(memory, None, ScriptedLLM(replies), scribe=ExtractiveScribe(), session="deck", incognito=incognito)


def heard(memory: Memory) -> list[tuple[str, str, bool]]:
    return [(line.speaker, line.text, META_HEARD in line.metadata) for line in memory.lines()]


def members(memory: Memory) -> list[object]:
    group = memory.sessions()[0].metadata["group"]
    assert isinstance(group, list)
    return group


def test_each_bank_has_what_was_said_and_who_took_part(memories: dict[str, Memory]) -> None:
    with open_chat(memories["Cook"], "Soup.", "With bread.") as chat:
        group = Listeners(chat, [memories["Captain"], memories["Cook"]])
        assert group.names == ["Captain"]
        assert "".join(group.say(chat, "What is for dinner? Goodbye.", key="k")) == "Soup."
        for name, is_copy in (("Captain", True), ("Cook", False)):
            assert heard(memories[name]) == [
                ("Nora", "What is for dinner? Goodbye.", False),
                ("Cook", "Soup.", is_copy),
            ]
            assert members(memories[name]) == [{"bank": "captain", "name": "Captain"}, {"bank": "cook", "name": "Cook"}]
        times = [[line.said_at for line in memories[name].lines()] for name in ("Captain", "Cook")]
        assert times[0] == times[1]
        larger = Listeners(chat, [memories[name] for name in ("Captain", "Cook", "Mate")])
        assert "".join(larger.answer(chat)) == "With bread."
    assert heard(memories["Mate"]) == [("Cook", "With bread.", True)]
    assert [len(members(memory)) for memory in memories.values()] == [3, 3, 3]


def test_a_refused_reply_is_not_heard_and_the_own_bank_comes_first_if_it_is_not_named(
    memories: dict[str, Memory],
) -> None:
    with open_chat(memories["Cook"], CANT_ANSWER) as chat:
        reply = Listeners(chat, [memories["Mate"]]).say(chat, "Poison, please.")
        assert "".join(reply) == CANT_ANSWER
        assert reply.refused
    assert heard(memories["Mate"]) == [("Nora", "Poison, please.", False)]
    assert members(memories["Mate"])[0] == {"bank": "cook", "name": "Cook"}


def test_a_line_is_edited_and_a_reply_replaced_in_each_bank_in_which_they_were_heard(
    memories: dict[str, Memory],
) -> None:
    captain, cook, mate = memories.values()
    with open_chat(cook, "Soup.", "Stew.", "Pie.") as chat:
        group = Listeners(chat, [captain, cook])
        list(group.say(chat, "What is for dinner?"))
        list(group.regenerate(chat))
        assert [text for _, text, _ in heard(captain)] == ["What is for dinner?", "Stew."]
        assert [line.text for line in Conversation(captain, "deck").alternatives()] == ["Soup.", "Stew."]
        group.branch(chat, chat.alternatives()[0].seq)
        assert [text for _, text, _ in heard(captain)] == [text for _, text, _ in heard(cook)]
        assert heard(captain)[-1] == ("Cook", "Soup.", True)
        changed = Listeners(chat, [cook, mate], [captain])  # the captain has left, and the mate hears it now
        edited = changed.edit(chat, chat.lines[0].seq, "What is for supper?")
        assert edited is not None
        assert "".join(edited) == "Pie."
        assert heard(captain) == [("Nora", "What is for supper?", False)]
        assert heard(mate) == [("Nora", "What is for supper?", False), ("Cook", "Pie.", True)]
        assert changed.edit(chat, chat.lines[1].seq, "Fish.") is None
        assert [text for _, text, _ in heard(mate)] == ["What is for supper?", "Fish."]
        changed.undo(chat)
    assert heard(captain) == heard(cook) == heard(mate) == []
    assert cook.sessions()[0].metadata["heard_by"] == ["captain", "cook", "mate"]


def test_earlier_lines_of_a_renamed_user_keep_the_former_name_in_all_banks(memories: dict[str, Memory]) -> None:
    captain, cook, _ = memories.values()
    with open_chat(cook, "Soup.") as chat:
        list(Listeners(chat, [captain, cook]).say(chat, "What is for dinner?"))
    for memory, name, person in ((captain, "Captain", "Mrs Ray"), (cook, "Cook", "Eleonora")):
        memory.set_setting("character", Character(name, person=person).to_json())
    with open_chat(cook, "Stew.", "Pie.") as chat:
        group = Listeners(chat, [captain, cook])
        list(group.say(chat, "And then?"))
        for memory, person in ((captain, "Mrs Ray"), (cook, "Eleonora")):
            assert [speaker for speaker, *_ in heard(memory)] == ["Nora", "Cook", person, "Cook"]
        group.edit(chat, chat.lines[0].seq, "What is for supper?", answer=False)
        assert heard(captain) == heard(cook) == [("Nora", "What is for supper?", False)]


def test_what_one_has_not_heard_is_left_alone_and_a_line_of_another_branch_returns_everywhere(
    memories: dict[str, Memory],
) -> None:
    captain, cook, _ = memories.values()
    with open_chat(cook, "Soup.", "With bread.") as chat:
        chat.add_line("Before.", "Nora")
        group = Listeners(chat, [captain, cook])
        list(group.say(chat, "What is for dinner?"))
        reply = chat.lines[-1]
        group.undo(chat)
        assert heard(captain) == []
        assert [text for _, text, _ in heard(cook)] == ["Before."]
        group.branch(chat, reply.seq)
        assert [text for _, text, _ in heard(captain)] == ["What is for dinner?", "Soup."]
        group.branch(chat, chat.lines[0].seq)
        assert heard(captain) == []
        with pytest.raises(NotFound):
            group.edit(chat, 999, "Nothing.")


def test_a_bank_that_is_forgotten_while_a_reply_is_written_is_not_created_again(memories: dict[str, Memory]) -> None:
    with open_chat(memories["Cook"], "Soup.") as chat:
        reply = Listeners(chat, [memories["Captain"], memories["Cook"], memories["Mate"]]).say(chat, "Hello.")
        memories["Captain"].forget(everything=True)
        assert "".join(reply) == "Soup."
    assert not memories["Captain"].store.exists("captain")
    assert [text for _, text, _ in heard(memories["Mate"])] == ["Hello.", "Soup."]
    assert [member["bank"] for member in members(memories["Mate"])] == ["cook", "mate"]  # type: ignore[index]


def test_a_bank_in_which_a_chat_is_forgotten_while_a_reply_is_written_does_not_hear_it(
    memories: dict[str, Memory],
) -> None:
    group = [memories["Captain"], memories["Cook"]]
    with open_chat(memories["Cook"], "You said: hello.", "Again: hello.", "Soup.") as chat:
        reply = Listeners(chat, group).say(chat, "Hello.")
        memories["Captain"].forget(session="deck")
        assert "".join(reply) == "You said: hello."
        assert heard(memories["Captain"]) == []
        memories["Captain"].observe("Hello?", speaker="Nora", session="deck")
        reply = Listeners(chat, group).regenerate(chat)
        memories["Captain"].forget(everything=True)
        memories["Captain"].store.create("captain")  # another one of its name
        assert "".join(reply) == "Again: hello."
        assert heard(memories["Captain"]) == []
        assert "".join(Listeners(chat, group).say(chat, "What is for dinner?")) == "Soup."
    assert [text for _, text, _ in heard(memories["Captain"])] == ["What is for dinner?", "Soup."]


def test_a_bank_that_cannot_be_written_does_not_keep_the_others_from_hearing(
    memories: dict[str, Memory], tmp_path: Path
) -> None:
    full = Full(tmp_path / "full")
    captain = Memory.open("captain", store=full, embedder=HashEmbedder(64))
    with open_chat(memories["Cook"], "Soup.") as chat:
        group = Listeners(chat, [captain, memories["Cook"], memories["Mate"]])
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            group.say(chat, "Hello.")
    full.close()
    assert heard(memories["Mate"]) == heard(memories["Cook"]) == [("Nora", "Hello.", False)]


def test_a_group_needs_different_characters_that_are_to_remember_it(memories: dict[str, Memory]) -> None:
    captain, cook, mate = memories.values()
    with open_chat(cook) as chat, open_chat(cook, incognito=True) as unwritten:
        with pytest.raises(BadInput, match="bank 'captain' twice"):
            Listeners(chat, [captain, captain])
        with pytest.raises(BadInput, match="Cook is not to remember this conversation"):
            Listeners(unwritten, [captain])
        captain.set_setting("character", Character("cook").to_json())
        with pytest.raises(BadInput, match="two characters of the group are named 'Cook'"):
            Listeners(chat, [captain])
        mate.set_setting(SETTING_REMEMBER, "never")
        with pytest.raises(BadInput, match="set `remember` of bank 'mate' to always or ask"):
            Listeners(chat, [mate])
