"""Replies that grow while they are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hardship import llm
from hardship.telegram import Telegram

from everthread.server.telegram.channel import MAX_UNITS
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
def test_a_reply_arrives_once_in_spite_of_faults(server: Telegram, tmp_path: Path, fault: int | str) -> None:
    server.faults = {"getUpdates": [fault], "sendMessage": [fault], "editMessageText": [fault]}
    with run_bot(server, tmp_path, "Lisbon suits her.") as nemo:
        nemo.invite()
        server.write("Mia moved to Lisbon.")
        server.wait_for_reply("Lisbon suits her.")
        assert server.texts() == ["Lisbon suits her."]
        assert nemo.lines() == ["user: Mia moved to Lisbon.", "Nemo: Lisbon suits her."]
