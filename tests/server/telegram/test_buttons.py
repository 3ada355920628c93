"""The buttons below replies and questions, as people press them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hardship.telegram import ANN, Telegram

from everthread.chat.chat import Chat
from everthread.languages.wording import load_wording
from everthread.memory import Memory
from everthread.testing import HashEmbedder, ScriptedLLM
from everthread.types import NewLine
from server.telegram.bots import RunningBot, run_bot

ENGLISH = load_wording()


def test_what_was_forgotten_does_not_come_back_when_it_is_edited(nemo: RunningBot) -> None:
    message = nemo.telegram.write("My PIN is 4711.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.press("✕")
    nemo.telegram.wait_for(ENGLISH("telegram.forget-these?"))
    with nemo.telegram.changed:
        for label in ("Yes", "Yes", "No"):  # before the first one has an effect
            nemo.telegram.press(label)
    nemo.telegram.wait(lambda: nemo.telegram.notices.count(ENGLISH("telegram.too-late")) == 2)
    nemo.telegram.wait(lambda: message not in nemo.telegram.chats[7])
    assert nemo.telegram.texts() == [ENGLISH("telegram.forgotten", number=2)]
    nemo.telegram.deliver(edited_message=nemo.telegram.describe(7, message, "My PIN is 4712.", ANN, {}))
    nemo.telegram.wait_until_read()
    assert nemo.lines() == []


def test_a_reply_is_given_again_in_its_place_and_only_the_last_one(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "First.", "Second.", "Third.") as nemo:
        nemo.invite()
        server.write("Tell me something.")
        server.wait_for_reply("First.")
        server.press("↻")
        server.wait_for_reply("Second.")
        assert nemo.lines() == ["user: Tell me something.", "Nemo: Second."]
        stale = server.chats[7][2].keyboard
        server.write("And more.")
        server.wait_for_reply("Third.")
        server.chats[7][2].keyboard = [(f"old {label}", data) for label, data in stale]
        server.press("old ↻")
        server.wait(lambda: ENGLISH("telegram.too-late") in server.notices)
        assert server.texts() == ["Second.", "Third."]


def test_a_reply_stays_if_another_one_cannot_be_stored(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "First.", "Second.") as nemo:
        nemo.invite()
        server.write("Tell me something.")
        server.wait_for_reply("First.")
        with nemo.full_disk():
            server.press("↻")
            server.wait_for(ENGLISH("message.failed"))
        assert server.texts() == ["First.", ENGLISH("message.failed")]
        assert nemo.lines() == ["user: Tell me something.", "Nemo: First."]


def test_a_press_that_is_delivered_again_shows_the_reply_that_was_given_for_it(nemo: RunningBot) -> None:
    nemo.telegram.write("Tell me something.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    memory = nemo.get_memory()
    list(Chat(memory, llm=ScriptedLLM(["It does."])).regenerate())  # the process ended before it showed this
    nemo.telegram.press("↻")
    nemo.telegram.wait_for_reply("It does.")
    assert nemo.lines() == ["user: Tell me something.", "Nemo: It does."]
    assert nemo.telegram.texts() == ["It does."]


def test_a_turn_is_forgotten_with_what_was_edited_or_given_again_in_it(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "4711, noted.", "4711 it is.", "All right.") as nemo:
        nemo.invite()
        message = server.write("My PIN is 4711.")
        server.wait_for_reply("4711, noted.")
        server.press("↻")
        server.wait_for_reply("4711 it is.")
        server.edit(message, "My PIN is a secret.")
        server.wait_for_reply("All right.")
        server.press("✕")
        server.wait_for(ENGLISH("telegram.forget-these?"))
        server.press("Yes")
        server.wait_for(ENGLISH("telegram.forgotten", number=5))
        assert list(nemo.get_memory().lines(include_retracted=True)) == []


def test_a_reply_is_corrected_by_an_answer_to_the_question_for_it(nemo: RunningBot) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.press("✎")
    nemo.telegram.wait_for(ENGLISH("telegram.correct?"))
    correction = nemo.telegram.write("Lisbon is on the Tagus.", reply_to=3)
    nemo.telegram.wait(lambda: correction not in nemo.telegram.chats[7])
    assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon is on the Tagus."]
    assert nemo.telegram.texts() == ["Lisbon is on the Tagus."]


@pytest.mark.parametrize("button", ["↻", "✎", "✕"])
def test_a_button_has_no_effect_on_a_bank_that_another_process_has_created_again(nemo: RunningBot, button: str) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.wait(lambda: bool(nemo.bot.chats.list_sent(7, 2)))  # the message is recorded after it is shown
    with Memory.open("telegram/7", store=nemo.folder, embedder=HashEmbedder(64)) as other:
        other.forget(everything=True)
        other.observe_many([NewLine("Hello.", "user"), NewLine("Good day.", "Nemo", "assistant")])
    nemo.telegram.press(button)
    nemo.telegram.wait(lambda: ENGLISH("telegram.too-late") in nemo.telegram.notices)
    assert nemo.lines() == ["user: Hello.", "Nemo: Good day."]


def test_everything_is_forgotten_after_a_yes_with_a_receipt(nemo: RunningBot) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/forget")
    nemo.telegram.wait_for(ENGLISH("message.forget?"))
    nemo.telegram.press("Yes")
    nemo.telegram.wait_for(ENGLISH("message.forgotten", number=2))
    assert nemo.services.store.banks() == []
    old = nemo.telegram.chats[7][2].keyboard
    nemo.telegram.chats[7][2].keyboard = [(f"old {label}", data) for label, data in old]
    nemo.telegram.write("Rex is my dog.")  # its line has the number of a forgotten one
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.press("old ✕")
    nemo.telegram.wait(lambda: ENGLISH("telegram.too-late") in nemo.telegram.notices)
    assert "user: Rex is my dog." in nemo.lines()


def test_at_the_end_the_person_is_asked_and_a_late_press_has_no_effect(nemo: RunningBot) -> None:
    nemo.get_memory().set_setting("remember", "ask")
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/end")
    nemo.telegram.wait_for(ENGLISH("message.remember-this?"))
    nemo.telegram.write("/end")  # again
    nemo.telegram.wait_for(ENGLISH("message.remember?"))
    nemo.telegram.press("No")
    nemo.telegram.wait_for(ENGLISH("message.drop?"))
    nemo.telegram.press("No")  # it was pressed by mistake
    nemo.telegram.wait_for(ENGLISH("message.remember?"))
    nemo.telegram.press("Yes")
    nemo.telegram.press("Yes")
    nemo.telegram.wait_for(ENGLISH("message.remembered"))
    nemo.telegram.wait(lambda: ENGLISH("telegram.too-late") in nemo.telegram.notices)
    assert len(nemo.lines()) == 2
    nemo.telegram.write("/end")
    nemo.telegram.wait_for(ENGLISH("telegram.no-conversation"))


def test_a_yes_about_an_earlier_conversation_does_not_answer_for_a_later_one(nemo: RunningBot) -> None:
    nemo.get_memory().set_setting("remember", "ask")
    for text in ("Mia moved to Lisbon.", "Ben stayed in Porto."):
        nemo.telegram.write(text)
        nemo.telegram.wait_until_read()
        nemo.telegram.wait(lambda: not nemo.bot.chats.list_pending())
        nemo.telegram.write("/end")
        nemo.telegram.wait_for(ENGLISH("message.remember-this?"))
        last = max(nemo.telegram.chats[7].items())[1]
        last.keyboard = [(f"{label} to {text}", data) for label, data in last.keyboard]
    nemo.telegram.press("Yes to Mia moved to Lisbon.")
    nemo.telegram.wait(lambda: nemo.telegram.notices == [ENGLISH("telegram.too-late")])
    nemo.telegram.press("Yes to Ben stayed in Porto.")
    nemo.telegram.wait_for(ENGLISH("message.remembered"))


def test_a_yes_below_another_question_than_the_pending_one_forgets_nothing(nemo: RunningBot) -> None:
    nemo.get_memory().set_setting("remember", "ask")
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/end")
    nemo.telegram.wait_for(ENGLISH("message.remember-this?"))
    yes_to_remember, _ = max(nemo.telegram.chats[7].items())[1].keyboard
    for text, question in (("no", "message.drop?"), ("/forget", "message.forget?")):
        nemo.telegram.write(text)
        nemo.telegram.wait_for(ENGLISH(question))
        max(nemo.telegram.chats[7].items())[1].keyboard.append(("To remember", yes_to_remember[1]))
        nemo.telegram.press("To remember")
        nemo.telegram.wait(lambda: nemo.telegram.notices == [ENGLISH("telegram.too-late")])
        nemo.telegram.notices.clear()
    assert len(nemo.lines()) == 2
