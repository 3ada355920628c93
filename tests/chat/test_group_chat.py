from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hardship import PATIENCE

from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.chat.group_chat import GroupChat
from everthread.errors import BadInput, BadLine, BadQuery, LLMUnavailable, NotFound, StoreUnavailable
from everthread.memory import Memory
from everthread.scribes.extractive import ExtractiveScribe
from everthread.stores.base import PreparedLine
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM, StreamCut
from everthread.types import Line

Make = Callable[..., Chat]
Replies = Sequence[str | StreamCut | Exception]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Return a function that opens chats on one store, each in a bank named after its character or as given."""
    store, opened = SQLiteStore(tmp_path), list[Chat]()

    def make(
        name: str,
        replies: Replies = ("Aye.",),
        *,
        person: str = "Ann",
        bank: str = "",
        incognito: bool = False,
        on: SQLiteStore = store,
    ) -> Chat:
        memory = Memory.open(bank or name, store=on, embedder=HashEmbedder(512))
        character = Character(name, person=person)
        opened.append(
            Chat(memory, character, ScriptedLLM(list(replies)), scribe=ExtractiveScribe(), incognito=incognito)
        )
        return opened[-1]

    yield make
    for chat in opened:
        chat.close()
    store.close()


def heard(chat: Chat) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in chat.memory.lines()]


def get_reply_text(scene: GroupChat, name: str) -> str:
    return "".join(scene.reply(name))


def roles(chat: Chat) -> list[str]:
    assert isinstance(chat.llm, ScriptedLLM)
    return [message.role for message in chat.llm.prompts[-1]]


def test_every_present_character_gets_every_line(make: Make) -> None:
    captain, cook = make("Captain", ["North."]), make("Cook", ["Soup."])
    scene = GroupChat([captain, cook])
    scene.say("Who has seen the map?")
    assert (get_reply_text(scene, "captain"), get_reply_text(scene, "Cook")) == ("North.", "Soup.")
    both = [("Ann", "Who has seen the map?"), ("Captain", "North."), ("Cook", "Soup.")]
    assert heard(captain) == heard(cook) == both


def test_a_character_gets_no_lines_of_its_absence_after_returning(make: Make, tmp_path: Path) -> None:
    captain, cook = make("Captain", ["Behind the barrels of herring."]), make("Cook", ["Soup is ready."])
    scene = GroupChat([captain, cook])
    scene.say("The ship sails on Monday.")
    cook_chat = scene.leave("cook")
    assert (cook_chat, scene.names) == (cook, ("Captain",))
    scene.say("The treasure lies in the cellar. Where in it?")
    get_reply_text(scene, "Captain")
    scene.enter(cook)
    scene.say("We were talking of the weather.")
    get_reply_text(scene, "Cook")
    texts = [text for _, text in heard(cook)]
    assert texts == ["The ship sails on Monday.", "We were talking of the weather.", "Soup is ready."]
    assert cook.memory.recall("treasure in the cellar, herring barrels", 9)
    for hit in cook.memory.recall("treasure in the cellar, herring barrels", 9):
        assert "treasure" not in hit.line.text
    for chat in (captain, cook):
        chat.close()
    assert "treasure" in captain.memory.recall("Where is the treasure?", 1)[0].line.text
    captain.memory.store.close()
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    of_cook = b"".join(data for name, data in written.items() if "ook" in name)
    of_captain = b"".join(data for name, data in written.items() if "aptain" in name)
    assert b"treasure" in of_captain
    assert b"herring" in of_captain
    assert b"treasure" not in of_cook
    assert b"herring" not in of_cook
    assert b"Monday" in of_cook


def test_lines_of_other_characters_are_user_lines_with_their_names(make: Make) -> None:
    captain, cook = make("Captain", ["North."]), make("Cook", ["Soup.", "Stew."])
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    get_reply_text(scene, "Cook")
    scene.say("And then?")
    get_reply_text(scene, "Cook")
    assert isinstance(cook.llm, ScriptedLLM)
    prompt = cook.llm.prompts[-1]
    assert roles(cook) == ["system", "user", "assistant", "user"]
    assert prompt[1].content == "Ann: Where to?\n\nCaptain: North."
    assert prompt[2].content == "Cook: Soup."
    assert prompt[3].content.endswith("Ann: And then?")


def test_a_character_can_speak_twice_in_a_row(make: Make) -> None:
    captain, cook = make("Captain", ["North.", "And then west."]), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    assert (get_reply_text(scene, "Captain"), get_reply_text(scene, "Captain")) == ("North.", "And then west.")
    assert isinstance(captain.llm, ScriptedLLM)
    assert roles(captain) == ["system", "user", "assistant", "user"]
    assert captain.llm.prompts[-1][2].content == "Captain: North."
    assert "Captain: North." not in captain.llm.prompts[-1][3].content
    assert heard(cook) == heard(captain)


@pytest.mark.parametrize("cut", [StreamCut("I saw a", LLMUnavailable("it went away")), None])
def test_an_unfinished_reply_is_broadcast_as_far_as_it_arrived(make: Make, cut: StreamCut | None) -> None:
    captain, cook = make("Captain", [cut or "I saw a ship"]), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("What did you see?")
    if cut:
        with pytest.raises(LLMUnavailable, match="it went away"):
            get_reply_text(scene, "Captain")
    else:
        reply = scene.reply("Captain")
        assert [next(reply) for _ in range(3)] == ["I", " saw", " a"]
        reply.close()
    assert heard(cook)[1:] == heard(captain)[1:] == [("Captain", "I saw a")]


def test_a_failed_or_refused_reply_is_not_broadcast(make: Make) -> None:
    no = "I'm sorry, but I can't help with that."
    captain, cook = make("Captain", [LLMUnavailable("it is down"), no, "North."]), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    with pytest.raises(LLMUnavailable, match="it is down"):
        get_reply_text(scene, "Captain")
    assert get_reply_text(scene, "Captain") == no
    assert get_reply_text(scene, "Captain") == "North."
    assert heard(cook) == heard(captain) == [("Ann", "Where to?"), ("Captain", "North.")]


def test_a_reply_ends_where_it_speaks_for_another_character(make: Make) -> None:
    captain, cook = make("Captain", ["North.\nCook: I made soup.\nAnn: Lovely!"]), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    get_reply_text(scene, "Cook")
    assert get_reply_text(scene, "Captain") == "North."
    assert heard(cook)[-1] == ("Captain", "North.")


def test_each_character_has_its_own_name_for_the_user(make: Make) -> None:
    captain, cook = make("Captain", person="Ann"), make("Cook", person="Mrs. Bligh")
    GroupChat([captain, cook]).say("Hello.")
    assert (heard(captain), heard(cook)) == ([("Ann", "Hello.")], [("Mrs. Bligh", "Hello.")])


def test_incognito_lines_are_broadcast_and_not_written(make: Make, tmp_path: Path) -> None:
    captain, cook = make("Captain", ["North."], incognito=True), make("Cook", ["Soup."], incognito=True)
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    assert (heard(captain), heard(cook)) == ([], [])
    assert [line.text for line in cook.lines] == ["Where to?", "North."]
    assert all(b"Where to" not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_goodbye_is_an_ordinary_line_and_each_chat_is_ended_by_its_own_call(make: Make) -> None:
    captain, cook = make("Captain"), make("Cook")
    for chat in (captain, cook):
        chat.memory.set_setting("remember", "ask")
    scene = GroupChat([captain, cook])
    scene.say("My sister Mia moved to Lisbon.")
    scene.say("Goodbye!")
    assert (get_reply_text(scene, "Captain"), captain.question) == ("Aye.", "")
    assert captain.end(True).remembered
    assert captain.wait(PATIENCE)
    assert [len(chat.memory.units("summary")) for chat in (captain, cook)] == [1, 0]


def test_two_groups_on_one_store_are_separate(make: Make) -> None:
    first = GroupChat([make("Captain"), make("Cook")])
    second = GroupChat([make("Ada"), make("Ben", person="Eve")])
    first.say("The treasure is in the cellar.")
    second.say("What a lovely garden.")
    for name, text in (("Captain", "treasure"), ("Cook", "treasure")):
        assert text in heard(first.chat(name))[0][1]
    assert [len(heard(scene.chat(name))) for scene in (first, second) for name in scene.names] == [1, 1, 1, 1]


# ----------------------------------------------------------------------------- changes


def test_taking_back_a_message_takes_it_back_for_all_that_heard_it(make: Make) -> None:
    captain, cook, mate = make("Captain", ["North."]), make("Cook", ["Soup."]), make("Mate", person="Mrs. Bligh")
    scene = GroupChat([captain, cook, mate])
    scene.say("Hello.")
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    scene.leave("Mate")
    get_reply_text(scene, "Cook")
    assert [line.text for line in scene.undo()] == ["Where to?", "North.", "Soup."]
    assert [heard(chat)[-1][1] for chat in (captain, cook, mate)] == ["Hello."] * 3
    assert [line.text for line in scene.undo()] == ["Hello."]
    assert (scene.undo(), heard(mate)) == ([], [])


def test_going_back_to_a_line_goes_back_for_all_that_heard_it(make: Make) -> None:
    captain, cook = make("Captain", ["North.", "South."]), make("Cook")
    scene = GroupChat([captain])
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    scene.enter(cook)
    scene.say("And then?")
    get_reply_text(scene, "Captain")
    answered = captain.lines[-1]
    assert [line.text for line in scene.branch(captain.lines[1])] == ["And then?", "South."]
    assert (heard(captain), heard(cook)) == ([("Ann", "Where to?"), ("Captain", "North.")], [])
    scene.branch(answered)
    heard_by_cook = [("Ann", "And then?"), ("Captain", "South.")]
    assert (heard(captain)[2:], heard(cook)) == (heard_by_cook, heard_by_cook)
    with pytest.raises(NotFound, match="no character that is present heard the line"):
        scene.branch(replace(answered, said_at=answered.said_at - timedelta(days=1)))


def test_a_group_chat_ends_in_all_banks_once_nothing_is_left_to_ask(make: Make) -> None:
    captain, cook = make("Captain"), make("Cook")
    captain.memory.set_setting("remember", "always")
    scene = GroupChat([captain, cook])
    scene.say("The map is in the barn.")
    scene.leave("Cook")
    session = captain.session
    (asked,) = scene.end()
    assert (asked.remembered, asked.question, captain.session) == (None, "Shall I remember this conversation?", session)
    assert [ending.remembered for ending in scene.end(True)] == [True, True]
    assert (captain.lines, cook.lines, captain.session == session) == ([], [], False)
    scene.say("A secret.")
    assert [ending.receipt is not None for ending in scene.end(False)] == [True, False]
    assert heard(captain) == heard(cook) == [("Ann", "The map is in the barn.")]


def test_an_edited_line_is_edited_for_all_that_heard_it_and_what_followed_is_discarded(make: Make) -> None:
    captain, cook, mate = make("Captain", ["North.", "South."]), make("Cook", person="Nora"), make("Mate")
    scene = GroupChat([captain, cook])
    scene.say("Hello.")
    said = scene.say("Where to?")
    get_reply_text(scene, "Captain")
    scene.enter(mate)
    scene.leave("Cook")
    scene.edit(said[1], "Where from?")
    assert heard(captain) == [("Ann", "Hello."), ("Ann", "Where from?")]
    assert heard(cook) == [("Nora", "Hello."), ("Nora", "Where from?")]
    assert heard(mate) == [("Ann", "Where from?")]  # hears it for the first time
    assert get_reply_text(scene, "Captain") == "South."
    assert (heard(mate)[-1], len(heard(cook))) == (("Captain", "South."), 2)


def test_another_reply_replaces_the_last_one_in_all_banks(make: Make) -> None:
    captain, cook = make("Captain", ["North.", "South."]), make("Cook")
    scene = GroupChat([captain, cook])
    with pytest.raises(BadQuery, match="no reply yet"):
        scene.regenerate()
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    assert "".join(scene.regenerate()) == "South."
    assert heard(captain) == heard(cook) == [("Ann", "Where to?"), ("Captain", "South.")]
    scene.leave("Captain")
    with pytest.raises(NotFound, match="'Captain' is not present"):
        scene.regenerate()


def test_a_line_is_corrected_and_forgotten_in_all_banks(make: Make, tmp_path: Path) -> None:
    captain, cook = make("Captain", ["North."]), make("Cook", person="Nora")
    scene = GroupChat([captain, cook])
    said = scene.say("The password is swordfish.")
    get_reply_text(scene, "Captain")
    assert [line.speaker for line in scene.correct(said[0], "The gate is open.")] == ["Ann", "Nora"]
    for chat in (captain, cook):
        assert [line.text for line in chat.lines] == ["The gate is open.", "North."]
    scene.leave("Captain")
    receipts = scene.forget(scene.lines[0])
    assert [receipt.lines for receipt in receipts] == [2, 2], "the line and its correction, in each bank"
    assert heard(captain) == heard(cook) == [("Captain", "North.")]
    assert all(b"swordfish" not in path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(NotFound, match="no character that is present heard the line"):
        scene.forget(said[0])


def test_incognito_lines_are_changed_without_being_written(make: Make) -> None:
    captain, cook = make("Captain", ["North.", "South."], incognito=True), make("Cook", incognito=True)
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    get_reply_text(scene, "Captain")
    "".join(scene.regenerate())
    scene.edit(cook.lines[0], "Where from?")
    assert [[line.text for line in chat.lines] for chat in (captain, cook)] == [["Where from?"]] * 2
    assert scene.forget(captain.lines[0]) == []
    assert (captain.lines, cook.lines, heard(captain), heard(cook)) == ([], [], [], [])


def test_a_character_that_has_left_and_was_closed_is_not_changed(make: Make) -> None:
    captain, cook = make("Captain"), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("Hello.")
    scene.leave("Cook").close()
    assert [line.text for line in scene.undo()] == ["Hello."]
    assert heard(captain) == []


# ------------------------------------------------------------------------- who is there


def test_two_characters_with_one_name_or_bank_are_rejected(make: Make, tmp_path: Path) -> None:
    scene = GroupChat([make("Captain"), make("Cook")])
    with pytest.raises(BadInput, match="two participants are named 'captain'"):
        scene.enter(make("captain", bank="x"))
    with pytest.raises(BadInput, match="Captain and Mate share the bank 'Captain'"):
        scene.enter(make("Mate", bank="Captain"))
    again = SQLiteStore(tmp_path / ".." / tmp_path.name)  # another object for the same files
    with pytest.raises(BadInput, match="share the bank"):
        scene.enter(make("Mate", bank="Captain", on=again))
    assert scene.names == ("Captain", "Cook")
    again.close()


@pytest.mark.parametrize("first", [True, False])
def test_a_character_with_the_users_name_is_rejected(make: Make, first: bool) -> None:
    chats = [make("Cook"), make("Captain", person="cook")]
    with pytest.raises(BadInput, match="two participants are named 'Cook'"):
        GroupChat(chats if first else chats[::-1])


def test_the_error_for_an_absent_character_lists_those_present(make: Make) -> None:
    scene = GroupChat([make("Captain")])
    for call in (scene.reply, scene.leave, scene.chat):
        with pytest.raises(NotFound, match="'Cook' is not present; present: Captain"):
            call("Cook")
    scene.leave("Captain")
    with pytest.raises(NotFound, match="present: none"):
        scene.chat("Captain")
    with pytest.raises(NotFound, match="no character is present to answer"):
        scene.find_addressee("Captain?")
    assert scene.say("Hello?") == []


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Al, come here!", "Al"),
        ("I also saw Bea.", "Bea"),
        ("Alas! cabea", "Al"),  # names no character; Al has been silent for longest
        ("Al Capone is asked, not the other", "Al Capone"),
        ("al capone or AL?", "Al Capone"),
        ("BEA's hat", "Bea"),
        ("老王说小明来了", "小明"),
        ("小明子，你好", "小明子"),
        ("[(.*", "Al"),
        ("", "Al"),
    ],
)
def test_the_character_named_first_is_addressed(make: Make, text: str, who: str) -> None:
    assert GroupChat([make(name) for name in ("Al", "Al Capone", "Bea", "小明", "小明子")]).find_addressee(text) == who


def test_without_a_name_the_character_silent_for_longest_is_addressed(make: Make) -> None:
    scene = GroupChat([make("Al", ["a"] * 5), make("Bea", ["b"] * 5)])
    scene.say("Well?")
    order = []
    for _ in range(4):
        order.append(scene.find_addressee("And?"))
        get_reply_text(scene, order[-1])
    assert order == ["Al", "Bea", "Al", "Bea"]
    scene.enter(make("Cid"))
    scene.say("Well?")
    assert scene.find_addressee("And?") == "Al"


# -------------------------------------------------------------------------- hardship


class Full(SQLiteStore):
    """Store whose disk is full while `full` is set."""

    full = True

    def append(
        self,
        bank: str,
        entries: Sequence[PreparedLine],
        model: str,
        *,
        replaces: Sequence[int] = (),
        corrects: Mapping[int, int] | None = None,
        after: int = 0,
    ) -> list[Line]:
        if self.full:
            raise StoreUnavailable("the disk is full; free some disk space")
        return super().append(bank, entries, model, replaces=replaces, corrects=corrects, after=after)


def test_a_line_is_stored_in_the_other_banks_if_one_cannot_be_written(make: Make, tmp_path: Path) -> None:
    full = Full(tmp_path / "full")
    captain, cook, mate = make("Captain", ["North."]), make("Cook", on=full), make("Mate")
    scene = GroupChat([captain, cook, mate])
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        scene.say("Where to?")
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        get_reply_text(scene, "Captain")
    assert heard(captain) == heard(mate) == [("Ann", "Where to?"), ("Captain", "North.")]
    full.full = False
    scene.say("And now?")
    assert heard(cook) == [("Ann", "And now?")]
    assert [line.text for line in cook.lines] == ["And now?"]
    full.close()


def test_an_invalid_line_is_stored_in_no_bank(make: Make) -> None:
    captain, cook = make("Captain"), make("Cook")
    with pytest.raises(BadLine, match="text is empty"):
        GroupChat([captain, cook]).say(" ")
    assert heard(captain) == heard(cook) == []


def test_a_reply_does_not_speak_for_a_silent_character(make: Make) -> None:
    captain, cook = make("Captain", ["North.\nCook: I made soup."]), make("Cook")
    scene = GroupChat([captain, cook])
    scene.say("Where to?")
    assert get_reply_text(scene, "Captain") == "North."
    assert ("Captain", "North.") in heard(cook)
