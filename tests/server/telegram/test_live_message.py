"""Replies that grow while they are written."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from hardship import llm
from hardship.telegram import BOT, TOKEN, Shown, Telegram

from everthread.server.telegram.bot_api import BotAPI
from everthread.server.telegram.channel import MAX_UNITS, TELEGRAM
from everthread.server.telegram.live_message import LiveMessage
from server.telegram.bots import run_bot


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
def test_what_a_shorter_text_leaves_of_an_earlier_reply_is_deleted_in_spite_of_faults(
    server: Telegram, fault: int | str
) -> None:
    earlier = [server.add(7, Shown(BOT, text)) for text in ("One.", "Two.", "Three.")]
    sent: list[int] = []
    server.faults = {"deleteMessage": [fault, fault]}
    with (
        closing(BotAPI(TOKEN, server.url)) as api,
        LiveMessage(api, 7, TELEGRAM.split, Event(), replaces=earlier, on_sent=sent.append) as live,
    ):
        assert live.finish("Four.") == earlier[:1]
    assert server.texts() == ["Four."]
    assert not sent


def test_the_messages_of_a_reply_are_named_while_it_is_written(server: Telegram) -> None:
    sent: list[int] = []
    with (
        closing(BotAPI(TOKEN, server.url)) as api,
        LiveMessage(api, 7, TELEGRAM.split, Event(), on_sent=sent.append) as live,
    ):
        live.add("Lisbon ")
        server.wait(lambda: sent)
        assert live.finish("Lisbon suits her.") == sent
    assert server.texts() == ["Lisbon suits her."]


@pytest.mark.parametrize("fault", [0, "502", "cut"], ids=str)
def test_a_reply_arrives_once_in_spite_of_faults(server: Telegram, tmp_path: Path, fault: int | str) -> None:
    server.faults = {"getUpdates": [fault], "sendMessage": [fault], "editMessageText": [fault]}
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        assert server.texts() == ["Lisbon suits her."]
        assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]
