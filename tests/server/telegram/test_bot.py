"""The Telegram bot, from an update of Telegram to the messages of the chat and the lines of the bank."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hardship import PATIENCE
from hardship.telegram import ANN, BEN, BOT, GROUP, Shown, Telegram, telegram
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread.languages.wording import load_wording
from everthread.server.conversations import registry
from everthread.server.messaging import conversation
from everthread.server.telegram import polling
from everthread.server.workers.bank_leases import BankLeases
from everthread.stores.sqlite.bank_file import file_name
from everthread.types import Filter, now
from server.telegram.bots import RunningBot, run_bot

ENGLISH = load_wording()
ACTS = ["write", "edit-the-last", "edit-the-first", "deliver-again", "lose-answers", "restart"]


def test_a_message_is_answered_and_both_are_stored_under_the_id_of_the_message(nemo: RunningBot) -> None:
    message = nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]
    line, _ = nemo.get_memory().lines()
    assert line.key == f"telegram:7:{message}"
    assert [label for label, _ in nemo.telegram.chats[7][2].keyboard] == ["↻", "✎", "✕"]


def test_a_forwarded_message_is_stored_as_one_of_its_author(nemo: RunningBot) -> None:
    nemo.telegram.write("I am allergic to nuts.", forward_origin={"type": "hidden_user", "sender_user_name": "Zoe"})
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert nemo.lines() == ["Zoe: I am allergic to nuts.", "Nemo: Lisbon suits her."]
    assert next(nemo.get_memory().lines()).metadata == {"forwarded_by": "Ann"}


def test_a_forwarded_message_is_that_of_its_author_and_not_of_another_person_of_the_name(nemo: RunningBot) -> None:
    nemo.invite(GROUP)
    other = {**BEN, "first_name": ANN["first_name"], "last_name": ANN.get("last_name", "")}
    carl = {"id": 99, "is_bot": False, "first_name": "Carl"}
    said = Filter(role="user")

    def is_stored(text: str) -> bool:
        return text in [line.text for line in nemo.get_memory(GROUP).lines(said)]

    for sender, text, more in (
        (ANN, "I live in Porto.", {}),
        (other, "I live in Graz.", {}),
        (carl, "I am allergic to nuts.", {"forward_origin": {"type": "user", "sender_user": other}}),
    ):
        nemo.telegram.write(f"@ever_bot {text}", GROUP, sender, **more)
        nemo.telegram.wait_for_reply("Lisbon suits her.", GROUP)
        nemo.telegram.wait(partial(is_stored, text))
    porto, graz, nuts = nemo.get_memory(GROUP).lines(said)
    assert porto.speaker != graz.speaker == nuts.speaker
    assert nuts.metadata["forwarded_by"] == "Carl"


def test_a_forwarded_message_confirms_nothing(nemo: RunningBot) -> None:
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    nemo.telegram.write("/forget")
    nemo.telegram.wait_for("forget everything")
    nemo.telegram.write("yes", forward_origin={"type": "user", "sender_user": BEN})
    nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert nemo.lines()[0] == "user: Mia moved to Lisbon."
    assert nemo.lines()[2] == "Ben Lo: yes"


def test_two_people_of_a_group_with_one_name_are_two_speakers(nemo: RunningBot) -> None:
    nemo.invite(GROUP)
    other = {**BEN, "first_name": ANN["first_name"], "last_name": ""}
    for sender, text in ((ANN, "I live in Porto."), (other, "I live in Graz."), (ANN, "I sing."), (other, "I dance.")):
        nemo.telegram.write(f"@ever_bot {text}", GROUP, sender)
        nemo.telegram.wait_for_reply("Lisbon suits her.", GROUP)
        nemo.telegram.wait_until_read()
    said = [line for line in nemo.lines(GROUP) if not line.startswith("Nemo")]
    assert said == ["Ann: I live in Porto.", "Ann (2): I live in Graz.", "Ann: I sing.", "Ann (2): I dance."]


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
    with run_bot(server, tmp_path, "Both.", turn_delay_s=1) as nemo:
        nemo.invite()
        server.write("Mia moved.")
        server.write("To Lisbon.")
        server.wait_for_reply("Both.")
        assert nemo.lines() == ["user: Mia moved.", "user: To Lisbon.", "Nemo: Both."]
        assert len([request for request in nemo.asked if "completions" in request.path]) == 1


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


def test_a_reply_that_was_shown_before_the_process_ended_is_not_shown_again(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
    restart_unanswered(server, tmp_path, message)
    assert server.texts() == ["Lisbon suits her."]


def test_a_reply_that_was_half_shown_when_the_process_ended_is_completed_in_its_place(
    server: Telegram, tmp_path: Path
) -> None:
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait(nemo.lines)
        half = server.add(7, Shown(BOT, "Lisbon su"))
        nemo.bot.chats.save_sent(7, [half], 0, "free")
    restart_unanswered(server, tmp_path, message)
    assert server.texts() == ["Lisbon suits her."]
    assert half in server.chats[7]


def test_a_reply_to_what_was_written_since_is_below_it(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        first = server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:
        server.edit(first, "Mia moved to Porto.")
        second = server.write("She likes it.")
        server.wait(lambda: nemo.lines() == ["user: Mia moved to Porto.", "user: She likes it."])
    restart_unanswered(server, tmp_path, second)
    assert server.texts() == ["Lisbon suits her."]
    assert list(server.chats[7].values())[-1].sender is BOT


def restart_unanswered(server: Telegram, folder: Path, message: int) -> None:
    """Start a bot as after a process that ended before it recorded that a message was answered."""
    with run_bot(server, folder, "Lisbon suits her.", starts=False) as nemo:
        nemo.bot.chats.set_pending(7, message)
        nemo.bot.start()
        server.wait(lambda: not nemo.bot.chats.list_pending())


def test_what_was_written_while_the_bot_was_off_has_its_time_and_is_one_conversation(
    server: Telegram, tmp_path: Path
) -> None:
    sent_at = int(now().timestamp()) - 3 * 86_400
    first = server.write("Mia moved to Lisbon.", date=sent_at)
    server.write("She likes it.", date=sent_at + 60)
    server.chats[7][first].text = "Mia moved to Porto."
    edited = {"edit_date": sent_at + 90}
    server.deliver(edited_message=server.describe(7, first, "Mia moved to Porto.", ANN, edited))
    with run_bot(server, tmp_path, "Porto suits her.", turn_delay_s=1, starts=False) as nemo:
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


def test_what_was_written_to_several_characters_while_the_bot_was_off_has_its_time_and_can_be_edited(
    server: Telegram, tmp_path: Path
) -> None:
    sent_at = int(now().timestamp()) - 3 * 86_400
    server.write("GROUP: Nemo, Ever", date=sent_at)
    first = server.write("Ever, where is Mia?", date=sent_at + 60)
    server.write("Ever, and Ben?", date=sent_at + 60)  # in the same second
    with run_bot(server, tmp_path, "In Lisbon.", "In Porto.", starts=False) as nemo:
        nemo.invite()
        nemo.bot.start()
        server.wait_for("Ever: In Porto.")
        server.edit(first, "Ever, where is Ann?")
        server.wait_until_read()
        for bank in ("telegram/7", "telegram/7/ever"):
            lines = sorted(nemo.services.get_memory(bank).lines(), key=lambda line: line.position)
            assert [line.text for line in lines] == [
                "Ever, where is Ann?",
                "In Lisbon.",
                "Ever, and Ben?",
                "In Porto.",
            ]
            assert [int(line.said_at.timestamp()) for line in lines[::2]] == [sent_at + 60, sent_at + 60]
            assert now() - lines[1].said_at < timedelta(minutes=5)


def test_an_edited_message_gets_another_reply_in_the_place_of_the_first(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.", "Porto suits her.") as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        link = {"type": "text_link", "offset": 13, "length": 5, "url": "https://porto.example"}
        server.edit(message, "Mia moved to Porto.", entities=[link], reply_to=3)
        server.wait_for_reply("Porto suits her.")
        assert nemo.lines() == ["user: Mia moved to Porto.", "Nemo: Porto suits her."]
        edited = next(nemo.get_memory().lines())
        assert (edited.metadata["links"], edited.metadata["reply_to"]) == (["https://porto.example"], "3")
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


def test_in_a_forum_the_bot_answers_in_the_topic_in_which_it_was_addressed_also_after_a_restart(
    server: Telegram, tmp_path: Path
) -> None:
    topic: dict[str, Any] = {"message_thread_id": 5, "is_topic_message": True}
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:
        nemo.invite(GROUP)
        server.write("@ever_bot where is Lisbon?", GROUP, **topic)
        server.wait(lambda: nemo.bot.chats.list_pending())
        server.write("Nobody else listens.", GROUP, message_thread_id=9, is_topic_message=True)
        server.wait_until_read()
    with run_bot(server, tmp_path, "On the Tagus.", "In Portugal.") as nemo:
        server.wait_for_reply("On the Tagus.", GROUP)
        server.write("/export@ever_bot", GROUP, **topic)
        server.wait(lambda: server.sent("sendDocument"))
        server.write("@ever_bot and Porto?", GROUP, message_thread_id=3)  # answers message 3 in "General"
        server.wait_for_reply("In Portugal.", GROUP)
    threads = [values.get("message_thread_id") for values in server.sent("sendMessage")]
    assert (threads[0], threads[-1]) == (5, None)
    assert server.sent("sendDocument")[0]["message_thread_id"] == "5"
    assert server.sent("sendChatAction")[0]["message_thread_id"] == 5


def test_an_answer_to_a_topic_that_was_deleted_or_closed_is_shown_in_general(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "On the Tagus.") as nemo:
        nemo.invite(GROUP)
        server.lost_topics.update({5: "message thread not found", 6: "TOPIC_CLOSED"})
        server.write("@ever_bot where is Lisbon?", GROUP, message_thread_id=5, is_topic_message=True)
        server.wait_for_reply("On the Tagus.", GROUP)
        assert nemo.bot.chats.get_topic(GROUP) is None
        server.write("/export@ever_bot", GROUP, message_thread_id=6, is_topic_message=True)
        server.wait(lambda: len(server.sent("sendDocument")) == 2)
        server.wait_until_read()
    assert "message_thread_id" not in server.sent("sendDocument")[-1]


def test_in_a_group_with_several_characters_each_speaker_keeps_their_name_in_all_banks(
    server: Telegram, tmp_path: Path
) -> None:
    with run_bot(server, tmp_path, "Hello, Ann.", "Hello, Ben.") as nemo:
        nemo.invite(GROUP)
        server.write("@ever_bot GROUP: Nemo, Ever", GROUP, ANN)
        server.wait_until_read()
        server.write("@ever_bot Ever, I am here", GROUP, ANN)
        server.wait_for("Hello, Ann.", GROUP)
        server.write("@ever_bot Ever, me too", GROUP, BEN)
        server.wait_for("Hello, Ben.", GROUP)
        for bank in (f"telegram/{GROUP}", f"telegram/{GROUP}/ever"):
            lines = [f"{line.speaker}: {line.text}" for line in nemo.services.get_memory(bank).lines()]
            assert lines == ["Ann: Ever, I am here", "Ever: Hello, Ann.", "Ben Lo: Ever, me too", "Ever: Hello, Ben."]


def test_a_supergroup_keeps_the_invitation_and_the_bank_of_its_group(nemo: RunningBot) -> None:
    nemo.invite(-5)
    with nemo.telegram.changed:
        nemo.telegram.upgrade(-5, GROUP)
        nemo.telegram.write("@ever_bot where is Lisbon?", GROUP)
    nemo.telegram.wait_for_reply("Lisbon suits her.", GROUP)
    assert nemo.lines(-5) == ["Ann: where is Lisbon?", "Nemo: Lisbon suits her."]
    assert f"telegram/{GROUP}" not in nemo.services.store.banks()


@pytest.mark.parametrize("is_reported", [True, False], ids=["reported", "only-by-the-error"])
def test_a_reply_to_a_message_in_a_group_is_shown_in_the_supergroup_that_it_became(
    server: Telegram, tmp_path: Path, is_reported: bool
) -> None:
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:
        nemo.invite(-5)
        server.write("@ever_bot where is Lisbon?", -5)
        server.wait(lambda: nemo.bot.chats.list_pending())
    server.upgrade(-5, GROUP)
    if not is_reported:
        server.updates.clear()
    with run_bot(server, tmp_path, "On the Tagus.") as nemo:
        server.wait_for_reply("On the Tagus.", GROUP)
        server.wait(lambda: not nemo.bot.chats.list_pending())
        assert server.texts(GROUP) == ["On the Tagus."]
        assert nemo.lines(-5) == ["Ann: where is Lisbon?", "Nemo: On the Tagus."]


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


def test_a_message_that_cannot_be_stored_is_tried_again_and_then_its_sender_gets_an_apology(
    nemo: RunningBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "RECHECK_S", 0.01)
    with nemo.full_disk():
        nemo.telegram.write("Mia moved to Lisbon.")
        nemo.telegram.wait_for(ENGLISH("message.unkept"))
        nemo.telegram.wait_until_read()
    assert nemo.telegram.texts() == [ENGLISH("message.unkept")]
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for_reply("Lisbon suits her.")


def test_without_the_topics_of_forums_the_sender_gets_an_apology(
    nemo: RunningBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "RECHECK_S", 0.01)
    with closing(sqlite3.connect(tmp_path / "server.sqlite")) as db:
        db.execute("DROP TABLE telegram_topics")
    nemo.telegram.write("Mia moved to Lisbon.")
    nemo.telegram.wait_for(ENGLISH("message.unkept"))


def test_a_reply_that_cannot_be_stored_is_shown_with_a_text_that_says_so(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Lisbon suits her.", turn_delay_s=1) as nemo:
        nemo.invite()
        server.write("Mia moved to Lisbon.")
        server.wait(nemo.lines)
        with nemo.full_disk():
            server.wait_for(ENGLISH("message.unsaved"))
        assert server.texts() == ["Lisbon suits her.", ENGLISH("message.unsaved")]


def test_for_a_bank_that_cannot_be_read_the_reply_is_an_apology(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, turn_delay_s=60) as nemo:
        nemo.invite()
        message = server.write("Mia moved to Lisbon.")
        server.wait(nemo.lines)
    (tmp_path / file_name("telegram/7")).write_bytes(b"no database" * 1000)
    restart_unanswered(server, tmp_path, message)
    assert server.texts() == [ENGLISH("message.failed")]


def test_while_another_worker_holds_the_bank_there_are_apologies_and_afterwards_a_second_yes_forgets(
    server: Telegram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (registry, conversation):
        monkeypatch.setattr(module, "MESSAGE_LEASE_TIMEOUT_S", 0.05)
    (tmp_path / "leases").mkdir()
    own, other = (BankLeases(tmp_path / "leases" / name) for name in ("1", "2"))
    with run_bot(server, tmp_path / "banks", "Lisbon suits her.", leases=own) as nemo:
        nemo.invite()
        server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        assert other.acquire("telegram/7", "reply", PATIENCE)
        server.write("And Ben?")
        server.wait_for(ENGLISH("message.failed"))
        server.write("/forget")
        server.wait_for(ENGLISH("message.forget?"))
        server.press("Yes")
        server.wait_for(ENGLISH("telegram.not-now"))
        other.release("telegram/7", "reply")
        server.press("Yes")
        server.wait_for_copies(1, ENGLISH("message.forgotten", number=3))


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
