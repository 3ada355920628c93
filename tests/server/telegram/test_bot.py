"""The Telegram bot, from an update of Telegram to the messages of the chat and the lines of the bank."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hardship import llm
from hardship.telegram import ANN, BEN, BOT, GROUP, TOKEN, Telegram, telegram
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.languages.wording import load_wording
from everthread.server.telegram.channel import MAX_UNITS
from everthread.types import now
from server.telegram.bots import RunningBot, run_bot

ENGLISH = load_wording()
ACTS = ["write", "edit-the-last", "edit-the-first", "deliver-again", "lose-answers", "restart"]


@pytest.fixture(autouse=True)
def _own_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def server() -> Iterator[Telegram]:
    with telegram() as server:
        yield server


@pytest.fixture
def nemo(server: Telegram, tmp_path: Path) -> Iterator[RunningBot]:
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        yield nemo


def test_a_message_is_answered_and_both_are_stored_under_the_id_of_the_message(nemo: RunningBot) -> None:
    message = nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]
    line, _ = nemo.get_memory().lines()
    assert line.key == f"telegram:7:{message}"
    assert [label for label, _ in nemo.telegram.chats[7][2].keyboard] == ["↻", "✎", "✕"]


def test_a_stranger_gets_one_line_and_nothing_of_theirs_is_kept(nemo: RunningBot, tmp_path: Path) -> None:
    for text in ("Hello, I am Ben.", "/start WRONG", "Are you there?"):
        nemo.telegram.write(text, 8, BEN)
    nemo.telegram.wait_until_read()
    assert nemo.telegram.texts(8) == [load_wording("de")("telegram.stranger")]
    assert nemo.services.store.banks() == ["telegram/7"]
    assert b"Ben" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_an_invitation_begins_one_chat_with_a_welcome_that_explains_consent(nemo: RunningBot) -> None:
    code = nemo.bot.chats.invite()
    nemo.telegram.write(f"/start {code}", 8, BEN)
    nemo.telegram.wait(lambda: nemo.telegram.texts(8))
    assert "/forget" in nemo.telegram.texts(8)[0]
    assert nemo.telegram.texts(8)[0].startswith("Hallo!")  # the language of his app
    nemo.telegram.write(f"/start {code}", 9, {**ANN, "id": 9})
    nemo.telegram.wait(lambda: nemo.telegram.texts(9))
    assert nemo.telegram.texts(9) == [ENGLISH("telegram.stranger")]


def test_messages_in_a_row_are_one_turn(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Both.", turn_delay_s=0.3) as nemo:
        nemo.invite()
        server.write("Mia moved.")
        server.write("To Lisbon.")
        server.wait_for_reply("Both.")
        assert nemo.lines() == ["user: Mia moved.", "user: To Lisbon.", "Nemo: Both."]
        assert len([request for request in nemo.asked if "completions" in request.path]) == 1


def test_updates_that_are_delivered_again_or_out_of_order_add_nothing(nemo: RunningBot) -> None:
    nemo.telegram.keeps_updates = True
    with nemo.telegram.changed:
        for text in ("One.", "Two."):
            nemo.telegram.write(text)
        nemo.telegram.updates.reverse()
    nemo.telegram.wait(lambda: len(nemo.telegram.sent("getUpdates")) > 5 and nemo.telegram.texts())
    assert [line for line in nemo.lines() if line.startswith("user")] == ["user: One.", "user: Two."]


def test_a_message_that_was_stored_but_not_confirmed_is_answered_once_after_a_restart(
    server: Telegram, tmp_path: Path
) -> None:
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:  # stopped before it answers
        nemo.invite()
        server.keeps_updates = True
        server.write("Mia moved to Lisbon.")
        server.wait(lambda: nemo.lines())
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        server.wait_for_reply("Lisbon suits her.")
        server.keeps_updates = False
        server.wait_until_read()
        assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]
        assert server.texts() == ["Lisbon suits her."]


def test_what_was_written_while_the_bot_was_off_has_its_time_and_is_one_conversation(
    server: Telegram, tmp_path: Path
) -> None:
    sent_at = int(now().timestamp()) - 3 * 86_400
    first = server.write("Mia moved to Lisbon.", date=sent_at)
    server.write("She likes it.", date=sent_at + 60)
    server.chats[7][first].text = "Mia moved to Porto."
    edited = {"edit_date": sent_at + 90}
    server.deliver(edited_message=server.describe(7, first, "Mia moved to Porto.", ANN, edited))
    with run_bot(server, tmp_path, "Porto suits her.", starts=False) as nemo:
        nemo.invite()
        nemo.bot.start()
        server.wait_for_reply("Porto suits her.")
        server.wait_until_read()
        server.write("And Ben?")
        server.wait(lambda: len(nemo.lines()) == 5)
        lines = sorted(nemo.get_memory().lines(), key=lambda line: line.position)
        assert [line.text for line in lines[:2]] == ["Mia moved to Porto.", "She likes it."]
        assert [line.said_at.timestamp() for line in lines[:2]] == [sent_at, sent_at + 60]
        assert all(abs(line.said_at - now()) < timedelta(minutes=5) for line in lines[2:])
        assert len({line.session for line in lines}) == 1


def test_an_edited_message_gets_another_reply_in_the_place_of_the_first(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.", "Porto suits her.") as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        server.edit(message, "Mia moved to Porto.")
        server.wait_for_reply("Porto suits her.")
        assert nemo.lines() == ["user: Mia moved to Porto.", "Nemo: Porto suits her."]
        assert server.texts() == ["Porto suits her."]


def test_an_older_message_is_corrected_in_its_place(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "One.", "Two.") as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait_for_reply("One.")
        server.write("She likes it.")
        server.wait_for_reply("Two.")
        server.edit(message, "Mia moved to Porto.")
        server.wait_until_read()
        lines = [line.text for line in sorted(nemo.get_memory().lines(), key=lambda line: line.position)]
        assert lines == ["Mia moved to Porto.", "One.", "She likes it.", "Two."]


def test_what_was_forgotten_does_not_come_back_when_it_is_edited(nemo: RunningBot) -> None:
    message = nemo.telegram.write("My PIN is 4711.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.press("✕")
    nemo.telegram.wait_for(ENGLISH("telegram.forget-these?"))
    nemo.telegram.press("Yes")
    nemo.telegram.wait_for(ENGLISH("telegram.forgotten", number=2))
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


def test_a_long_reply_is_split_between_words_and_grows_while_it_is_written(server: Telegram, tmp_path: Path) -> None:
    story = " ".join(["Once 🦊 there was a fox."] * 400)
    with run_bot(server, tmp_path, llm.Reply(story, delay=0.0005)) as nemo:
        nemo.invite()
        server.write("Tell me a story.")
        server.wait(lambda: any(values.get("reply_markup") for values in server.sent("editMessageText")))
        texts = server.texts()
        assert " ".join(texts) == story
        assert len(texts) == 3
        assert max(len(text.encode("utf-16-le")) // 2 for text in texts) <= MAX_UNITS
        assert len(server.sent("editMessageText")) > 3
        assert server.sent("sendChatAction")
        assert [bool(shown.keyboard) for shown in list(server.chats[7].values())[1:]] == [False, False, True]


@pytest.mark.parametrize("fault", [0, "502", "cut"], ids=str)
def test_a_reply_arrives_once_in_spite_of_faults(server: Telegram, tmp_path: Path, fault: int | str) -> None:
    server.faults = {"getUpdates": [fault], "sendMessage": [fault], "editMessageText": [fault]}
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        assert server.texts() == ["Lisbon suits her."]
        assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]


def test_after_too_many_requests_the_bot_waits_as_long_as_telegram_asks(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Patience.") as nemo:
        nemo.invite()
        server.faults = {"sendMessage": [1]}
        server.write("Hurry!")
        server.wait_for_reply("Patience.")
        assert len(server.sent("sendMessage")) == 1


def test_in_a_group_the_bot_hears_only_what_is_addressed_to_it_and_each_speaker_by_name(
    server: Telegram, tmp_path: Path
) -> None:
    with run_bot(server, tmp_path, "Hello, both of you.", "On the Tagus.") as nemo:
        nemo.invite(GROUP)
        server.write("Nobody else listens.", GROUP, ANN)
        server.write("@ever_bot hello from Ann", GROUP, ANN)
        server.wait_for_reply("Hello, both of you.", GROUP)
        server.wait_until_read()
        server.write("And where is Lisbon?", GROUP, BEN, reply_to=3)
        server.wait_for_reply("On the Tagus.", GROUP)
        wanted = [
            "Ann: hello from Ann",
            "Nemo: Hello, both of you.",
            "Ben Lo: And where is Lisbon?",
            "Nemo: On the Tagus.",
        ]
        assert nemo.lines(GROUP) == wanted
        question = list(nemo.get_memory(GROUP).lines())[2]
        assert question.metadata["reply_to"] == "3"
        assert "Ben Lo" in json.dumps(nemo.asked[-1].body)


def test_a_supergroup_keeps_the_invitation_and_the_bank_of_its_group(nemo: RunningBot) -> None:
    nemo.invite(-5)
    with nemo.telegram.changed:
        service = nemo.telegram.describe(-5, 0, "", ANN, {"migrate_to_chat_id": GROUP})
        nemo.telegram.deliver(message=service)
        nemo.telegram.write("@ever_bot where is Lisbon?", GROUP)
        nemo.telegram.deliver(message=nemo.telegram.describe(GROUP, 0, "", ANN, {"migrate_from_chat_id": -5}))
    nemo.telegram.wait_for_reply("Lisbon suits her.", GROUP)
    assert nemo.lines(-5) == ["Ann: where is Lisbon?", "Nemo: Lisbon suits her."]
    assert f"telegram/{GROUP}" not in nemo.services.store.banks()


def test_in_incognito_nothing_is_written(nemo: RunningBot, tmp_path: Path) -> None:
    nemo.telegram.write("/incognito")
    nemo.telegram.wait_for(ENGLISH("telegram.incognito-on"))
    nemo.telegram.write("Between us: Gerda.")
    nemo.telegram.wait_for("Lisbon suits her.")
    nemo.telegram.write("/incognito")
    nemo.telegram.wait_for(ENGLISH("telegram.incognito-off"))
    assert nemo.lines() == []
    assert b"Gerda" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_an_edit_in_incognito_replaces_the_reply(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.", "Porto suits her.") as nemo:
        nemo.invite()
        server.write("/incognito")
        server.wait_for(ENGLISH("telegram.incognito-on"))
        message = server.write("Mia moved to Lisbon.")
        server.wait_for("Lisbon suits her.")
        server.edit(message, "Mia moved to Porto.")
        server.wait_for("Porto suits her.")
        assert server.texts() == [ENGLISH("telegram.incognito-on"), "Porto suits her."]
        assert nemo.lines() == []


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


def test_the_bank_is_sent_as_a_file_from_which_it_can_be_imported(nemo: RunningBot) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/export")
    nemo.telegram.wait(lambda: nemo.telegram.files)
    ((name, content),) = nemo.telegram.files
    assert name.endswith(".jsonl")
    assert "Mia moved to Lisbon." in content.decode()


def test_why_lists_what_the_reply_was_reminded_of(nemo: RunningBot) -> None:
    nemo.telegram.write("/why")
    nemo.telegram.wait_for(ENGLISH("why.nothing_recalled"))
    earlier = now() - timedelta(days=2)
    nemo.get_memory().observe("My sister Mia moved to Lisbon in May.", said_at=earlier, session="old")
    nemo.telegram.write("Where did my sister Mia move?")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/why")
    nemo.telegram.wait_for("My sister Mia moved to Lisbon in May.")


def test_the_character_is_chosen_by_name_or_by_a_button(nemo: RunningBot) -> None:
    nemo.telegram.write("/character Nobody")
    nemo.telegram.wait_for(ENGLISH("telegram.no-character", names="Nemo and Ever"))
    nemo.telegram.write("/character")
    nemo.telegram.wait_for(ENGLISH("telegram.characters", name="Nemo"))
    nemo.telegram.press("Ever")
    nemo.telegram.wait_for(ENGLISH("telegram.character", name="Ever"))
    nemo.telegram.write("/character ever")
    nemo.telegram.wait(lambda: nemo.telegram.texts().count(ENGLISH("telegram.character", name="Ever")) == 2)


def test_neither_a_text_nor_the_token_is_logged(nemo: RunningBot, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        nemo.telegram.faults = {"getUpdates": ["502"], "sendMessage": ["cut"]}
        nemo.telegram.write("My PIN is 4711.")
        nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert "502" in caplog.text
    assert not [text for text in (TOKEN, "4711", "suits") if text in caplog.text]


def test_an_update_that_cannot_be_read_is_skipped(nemo: RunningBot) -> None:
    nemo.telegram.deliver(message={"from": ANN, "text": "Where is the chat?"})
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")


@settings(max_examples=6, derandomize=True)
@given(st.lists(st.sampled_from(ACTS), max_size=7))
def test_the_bank_has_the_lines_of_the_chat_whatever_is_edited_repeated_lost_or_restarted(acts: list[str]) -> None:
    with telegram() as server, tempfile.TemporaryDirectory() as folder:
        written: list[int] = []
        runs = " ".join(["write", *acts]).split("restart")
        for run, names in enumerate(runs):
            with run_bot(server, Path(folder), "Yes.") as nemo:
                if run == 0:
                    nemo.invite()
                for number, act in enumerate(names.split()):
                    take(act, server, written, f"{act} {run} {number}")
                server.keeps_updates = False
                server.wait_until_read()
                server.wait(lambda: not nemo.bot.chats.list_pending())
        with run_bot(server, Path(folder), starts=False) as nemo:
            lines = sorted(nemo.get_memory().lines(), key=lambda line: line.position)
            said = [shown.text for shown in server.chats[7].values() if shown.sender is not BOT]
            assert [line.text for line in lines if line.role == "user"] == said
            assert [line.text for line in lines if line.role == "assistant"] == server.texts()


def take(act: str, server: Telegram, written: list[int], text: str) -> None:
    """Take one of the acts."""
    match act:
        case "write":
            written.append(server.write(text))
        case "edit-the-last" | "edit-the-first":
            server.edit(written[-1 if act == "edit-the-last" else 0], text)
        case "deliver-again":
            server.keeps_updates = not server.keeps_updates
        case "lose-answers":
            server.faults = {"editMessageText": ["lost"], "getUpdates": ["lost"]}
