"""Conversations by message on a channel that is not SMS: with long messages, and with no commands but to forget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from hardship import llm

from everthread.chat import character_library
from everthread.chat.character import Character
from everthread.chat.chat import Chat
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.memory import Memory
from everthread.recipes.default import Default
from everthread.scribes.extractive import ExtractiveScribe
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.messaging.channel import Channel
from everthread.server.messaging.conversation import MessageConversation
from everthread.server.messaging.message import AnswerParts, Message
from everthread.server.messaging.message_store import MessageStore
from everthread.server.services import Services
from everthread.server.sms.channel import SMS
from everthread.stores.base import Store
from everthread.stores.postgres.store import PostgresStore
from everthread.stores.sqlite.store import SQLiteStore
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import Line, now

PAGER = Channel(
    name="pager",
    setting="pager",
    count_fitting=lambda text: min(len(text), 4096),
    max_messages=2,
)
QUIET = Character("Nemo").to_json()  # without a greeting


@dataclass
class PagerBot:
    """A bot that fetches messages, and may fetch one more than once."""

    store: Store
    services: Services
    messages: MessageStore
    conversation: MessageConversation
    clock: list[datetime]
    asked: list[llm.Request] = field(default_factory=list)  # of the model

    def receive(self, text: str, id: str = "", person: str = "ann") -> list[str]:
        """Answer a message as a bot does; return the messages that it sends."""
        return self.conversation.render_messages(person, self.answer(Message(id or now().isoformat(), person, text)))

    def answer(self, message: Message) -> AnswerParts:
        """Answer a message once."""
        lease = self.messages.lease(message.id)
        if isinstance(lease, tuple):
            return lease
        assert lease
        parts = self.conversation.answer(message)
        self.messages.save_answer(message.id, parts)
        return parts

    def get_memory(self, person: str = "ann") -> Memory:
        return self.services.get_memory(f"pager/{person}", create=True)

    @property
    def lines(self) -> list[Line]:
        return list(self.get_memory().lines())

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]


@contextmanager
def pager_bot(store: Store, folder: Path, *behaviours: llm.ServerBehaviour) -> Iterator[PagerBot]:
    """Run a bot over a store, which survives a restart."""
    with ExitStack() as stack:
        server = stack.enter_context(llm.llm_server(*behaviours))
        services = Services(store, HashEmbedder(64), OpenAICompatible(server.url, "m"), Default())
        conversations = ConversationRegistry(services)
        stack.callback(conversations.close)
        messages = MessageStore(folder / "server.sqlite", PAGER.name)
        stack.callback(messages.close)
        clock = [now()]
        conversation = MessageConversation(PAGER, conversations, messages, lambda: clock[0])
        bot = PagerBot(store, services, messages, conversation, clock, server.requests)
        if not store.exists("pager/ann"):
            bot.get_memory().set_setting("character", QUIET)
        yield bot


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    sqlite = request.param == "sqlite"
    opened: Store = SQLiteStore(tmp_path) if sqlite else PostgresStore(request.getfixturevalue("database"))
    yield opened
    for bank in opened.banks():
        opened.forget(bank, "bank", None, now())
    opened.close()


@pytest.fixture
def nemo(store: Store, tmp_path: Path) -> Iterator[PagerBot]:
    with pager_bot(store, tmp_path, "Lisbon suits her.") as nemo:
        yield nemo


def test_banks_keys_and_settings_have_the_names_of_the_channel(nemo: PagerBot) -> None:
    assert nemo.receive("My sister Mia moved to Lisbon.", id="7:1") == ["Lisbon suits her."]
    assert nemo.receive("I keep goats.", person="bob")[-1] == "Lisbon suits her."
    assert sorted(nemo.store.banks()) == ["pager/ann", "pager/bob"]
    assert nemo.texts == ["My sister Mia moved to Lisbon.", "Lisbon suits her."]
    key = f"pager:{sha256(b'7:1').hexdigest()}"
    assert nemo.store.get_by_key("pager/ann", [key])[key].text == "My sister Mia moved to Lisbon."
    assert "pager" in nemo.get_memory().settings()
    assert "sms" not in nemo.get_memory().settings()


def test_a_message_fetched_again_after_a_restart_is_stored_once_and_answered_alike(
    store: Store, tmp_path: Path
) -> None:
    with pager_bot(store, tmp_path, "One.", "Two.") as nemo:
        assert nemo.receive("Hello", id="1") == ["One."]
        assert nemo.receive("Hello", id="1") == ["One."]
    with pager_bot(store, tmp_path, "Three.") as nemo:
        assert nemo.receive("Hello", id="1") == ["One."]
        assert nemo.texts == ["Hello", "One."]


def test_a_message_whose_answer_was_not_saved_is_answered_from_the_bank(store: Store, tmp_path: Path) -> None:
    with pager_bot(store, tmp_path, "One.", "Two.") as nemo:
        nemo.conversation.answer(Message("1", "ann", "Hello"))  # and the process ends
    with pager_bot(store, tmp_path, "Three.") as nemo:
        assert nemo.receive("Hello", id="1") == ["One."]
        assert nemo.texts == ["Hello", "One."]


@pytest.mark.parametrize("word", ["STOP", "START", "HELP"])
def test_the_keywords_of_text_messages_are_conversation(nemo: PagerBot, word: str) -> None:
    assert nemo.receive(word) == ["Lisbon suits her."]
    assert nemo.receive("Hello") == ["Lisbon suits her."]
    assert nemo.texts[0] == word


def test_messages_are_as_long_as_the_channel_allows(store: Store, tmp_path: Path) -> None:
    reply = " ".join(f"Word{number} and so on." for number in range(150))
    with pager_bot(store, tmp_path, reply, " ".join(["word"] * 3000)) as nemo:
        assert 2000 < len(reply) < 4096
        assert nemo.receive("Tell me everything.") == [reply]
        messages = nemo.receive("Tell me more.")
        assert [len(message) <= 4096 for message in messages] == [True, True]
        assert messages[-1].endswith("word ...")


def test_a_blank_message_is_answered_with_a_hint(nemo: PagerBot) -> None:
    assert nemo.receive("  ") == ["That message was empty. Write to me whenever you like."]


def test_a_person_is_forgotten_after_a_yes(nemo: PagerBot) -> None:
    nemo.receive("My sister Mia moved to Lisbon.")
    assert nemo.receive("Forget me, please!") == [PAGER.render_text("forget?", 0)]
    assert nemo.receive("Yes.") == [PAGER.render_text("forgotten", 2)]
    assert nemo.store.banks() == []


def test_a_goodbye_asks_whether_to_remember_the_conversation(nemo: PagerBot) -> None:
    nemo.receive("My sister Mia moved to Lisbon.")
    assert nemo.receive("Good night!") == [PAGER.render_text("remember-this?", 0)]
    assert nemo.receive("no", id="1") == [PAGER.render_text("drop?", 0)]
    assert nemo.receive("no", id="1") == [PAGER.render_text("drop?", 0)], "the same message, delivered again"
    assert len(nemo.lines) == 3
    assert nemo.receive("yes") == [PAGER.render_text("dropped", 3)]
    nemo.receive("My sister Mia moved to Porto.")
    nemo.clock[0] += timedelta(hours=2)
    assert nemo.receive("Good morning") == ["Lisbon suits her.", PAGER.render_text("remember?", 0)]
    assert nemo.receive("yes") == [PAGER.render_text("remembered", 0)]
    assert len(nemo.lines) == 4


@pytest.mark.parametrize("answer", ["no", "forget it", "One more thing: she has a dog."])
def test_a_conversation_is_kept_unless_a_no_is_confirmed_and_the_question_is_asked_again(
    nemo: PagerBot, answer: str
) -> None:
    nemo.receive("My sister Mia moved to Lisbon.")
    nemo.receive("Good night!")
    nemo.receive("no")
    reply = "Nothing was forgotten." if answer == "no" else "Lisbon suits her."
    assert nemo.receive(answer) == [reply, PAGER.render_text("remember?", 0)]
    assert nemo.texts[:3] == ["My sister Mia moved to Lisbon.", "Lisbon suits her.", "Good night!"]
    assert nemo.receive("yes") == [PAGER.render_text("remembered", 0)]


@pytest.mark.parametrize(
    "said",
    [
        "ok bye then!",
        "I have to go now. Talk to you later!",
        "My bus is here, bye!",
        "再见",
        "Say goodbye!",
        "See you?",
    ],
)
def test_a_goodbye_by_message_is_the_same_as_in_a_chat(nemo: PagerBot, said: str, tmp_path: Path) -> None:
    with (
        Memory.open("ann", store=tmp_path / "chat", embedder=HashEmbedder(64), recipe="packabby") as memory,
        Chat(memory, Character("Nemo"), ScriptedLLM(["Aye."] * 2), scribe=ExtractiveScribe()) as chat,
    ):
        for text in ("My sister Mia moved to Lisbon.", said):
            "".join(chat.reply(text))
            nemo.receive(text)
        is_asked = chat.question != ""
    assert nemo.texts[-1] == (said if is_asked else "Lisbon suits her.")
    assert (nemo.receive("no") == [PAGER.render_text("drop?", 0)]) is is_asked


def test_parts_that_could_not_be_sent_precede_the_next_answer(nemo: PagerBot) -> None:
    parts = nemo.answer(Message("1", "ann", "Hello"))
    nemo.conversation.save_owed("ann", parts)
    assert nemo.receive("Are you there?") == ["Lisbon suits her.", "Lisbon suits her."]
    assert nemo.receive("Good.") == ["Lisbon suits her."]


def test_a_private_conversation_is_held_in_memory_and_its_answers_can_be_repeated(nemo: PagerBot) -> None:
    nemo.get_memory().set_setting("remember", "never")
    assert nemo.receive("My password is swordfish.", id="1") == ["Lisbon suits her."]
    assert nemo.receive("My password is swordfish.", id="1") == ["Lisbon suits her."]
    nemo.receive("Do you know it now?")
    assert "swordfish" in str(nemo.asked[-1].body)
    assert nemo.receive("Bye!") == [PAGER.render_text("goodbye", 0)]
    nemo.receive("Hello")
    assert "swordfish" not in str(nemo.asked[-1].body)
    assert nemo.lines == []


def test_channels_on_one_server_share_neither_answers_nor_opt_outs(nemo: PagerBot, tmp_path: Path) -> None:
    messages = MessageStore(tmp_path / "server.sqlite", SMS.name)
    texting = MessageConversation(SMS, nemo.conversation.conversations, messages, lambda: nemo.clock[0])
    assert messages.lease("1") is True
    messages.save_answer("1", texting.answer(Message("1", "ann", "STOP")))
    assert nemo.receive("Hello", id="1") == ["Lisbon suits her."]
    assert texting.answer(Message("2", "ann", "Hello")) == ()
    assert nemo.store.banks() == ["pager/ann"]
    messages.close()


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Add two characters to a gallery of this test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for name in ("Mia", "Captain Vey"):
        character_library.save(Character(name, description="Sails."))


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_person_talks_with_several_characters_and_each_remembers_it(store: Store, tmp_path: Path) -> None:
    with pager_bot(store, tmp_path, "Aye.", "Soup.", "North.") as nemo:
        assert nemo.receive("Group: Mia, Nobody") == [
            "I know Nemo, Captain Vey, Ever and Mia. Write GROUP: and two names or more."
        ]
        assert nemo.receive("GROUP: mia; Captain Vey.")[0].startswith("You are talking with Mia and Captain Vey.")
        assert nemo.receive("Captain Vey, is there wind?", id="1") == ["Captain Vey: Aye."]
        assert nemo.receive("What is for dinner?") == ["Mia: Soup."]  # who has been silent
        assert nemo.receive("Captain Vey, is there wind?", id="1") == ["Captain Vey: Aye."]
        with_mia, with_vey = (list(store.lines(f"pager/ann/{name}")) for name in ("mia", "captain-vey"))
        said = ["Captain Vey, is there wind?", "Aye.", "What is for dinner?", "Soup."]
        assert [line.text for line in with_mia] == [line.text for line in with_vey] == said
        assert nemo.texts == []
        assert [session.metadata["heard_by"] for session in store.sessions("pager/ann/mia")] == [
            ["pager/ann/mia", "pager/ann/captain-vey"]
        ]
        assert nemo.receive("End group!") == [
            "You are talking with one character again.",
            "Shall I remember our last conversation? Answer YES or NO.",
        ]
        assert nemo.receive("No") == [PAGER.render_text("drop?", 0)]
        assert nemo.receive("Yes") == ["Forgotten: 4 lines. Nothing of that conversation is left."]
        assert [store.corpus_stats(f"pager/ann/{name}").lines for name in ("mia", "captain-vey")] == [0, 0]
        assert nemo.receive("End group") == ["You are not talking with several characters."]
        assert nemo.receive("Where to?") == ["North."]
        assert nemo.texts == ["Where to?", "North."]


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_group_goes_on_after_a_restart_and_its_last_conversation_is_asked_about(store: Store, tmp_path: Path) -> None:
    with pager_bot(store, tmp_path, "Aye.", "Soup.") as nemo:
        nemo.receive("Gruppe: Captain Vey")  # with the person's own character
        nemo.conversation.answer(Message("1", "ann", "Captain Vey, is there wind?"))  # and the process ends
    with pager_bot(store, tmp_path, "Soup.") as nemo:
        assert nemo.receive("Captain Vey, is there wind?", id="1") == ["Captain Vey: Aye."]
        nemo.clock[0] += timedelta(hours=2)
        assert nemo.receive("Nemo, what is for dinner?") == [
            "Nemo: Soup.",
            "Shall I remember our last conversation? Answer YES or NO.",
        ]
        assert nemo.receive("Yes") == ["I will remember it."]
        assert nemo.receive("Nemo, again?") == ["Nemo: Soup."]
        assert len(store.sessions("pager/ann")) == len(store.sessions("pager/ann/captain-vey")) == 2
        nemo.receive("forget me")
        assert nemo.receive("Yes") == ["Forgotten, for good: 12 lines. I remember nothing about you now."]
        assert [bank for bank in store.banks() if bank.startswith("pager/")] == []


@pytest.mark.usefixtures("crew")
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_group_of_a_person_who_is_not_to_be_remembered_is_refused(nemo: PagerBot) -> None:
    nemo.get_memory().set_setting("remember", "never")
    assert nemo.receive("Group: Mia, Captain Vey")[0].startswith("I am set to remember nothing")
    assert not nemo.store.exists("pager/ann/mia")
