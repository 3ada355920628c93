"""The client of the Bot API: its delays, and what it logs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hardship.telegram import TOKEN, Telegram

from server.telegram.bots import RunningBot, run_bot


def test_after_too_many_requests_the_bot_waits_as_long_as_telegram_asks(server: Telegram, tmp_path: Path) -> None:
    with run_bot(server, tmp_path, "Patience.") as nemo:
        nemo.invite()
        server.faults = {"sendMessage": [1]}
        server.write("Hurry!")
        server.wait_for_reply("Patience.")
        assert len(server.sent("sendMessage")) == 1


def test_neither_a_text_nor_the_token_is_logged(nemo: RunningBot, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        nemo.telegram.faults = {"getUpdates": ["502"], "sendMessage": ["cut"]}
        nemo.telegram.write("My PIN is 4711.")
        nemo.telegram.wait_for_reply("Lisbon suits her.")
    assert "502" in caplog.text
    assert not [text for text in (TOKEN, "4711", "suits") if text in caplog.text]
