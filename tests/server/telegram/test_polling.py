"""Fetching updates, each at least once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import pytest
from hardship.telegram import TOKEN, Telegram

from everthread.server.telegram import polling
from everthread.server.telegram.bot_api import BotAPI
from everthread.server.telegram.polling import Done, Handle, UpdatePoller
from server.telegram.bots import RunningBot


@contextmanager
def poll(server: Telegram, handle: Handle) -> Iterator[None]:
    """Fetch updates while the block runs."""
    with closing(BotAPI(TOKEN, server.url)) as api:
        poller = UpdatePoller(api, handle)
        thread = Thread(target=poller.run)
        thread.start()
        yield
        poller.stop()
        server.write("This ends the last request.")
        thread.join()


def test_updates_that_are_delivered_again_or_out_of_order_add_nothing(nemo: RunningBot) -> None:
    nemo.telegram.keeps_updates = True
    with nemo.telegram.changed:
        for text in ("One.", "Two."):
            nemo.telegram.write(text)
        nemo.telegram.updates.reverse()
    nemo.telegram.wait(lambda: len(nemo.telegram.sent("getUpdates")) > 5 and nemo.telegram.texts())
    assert [line for line in nemo.lines() if line.startswith("user")] == ["user: One.", "user: Two."]


def test_an_update_that_fails_again_and_again_is_given_up_so_that_later_ones_are_confirmed(
    server: Telegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "RECHECK_S", 0.01)
    given_up: list[bool] = []
    server.write("One.")
    with poll(server, lambda update, done: given_up.append(done(False))):
        server.wait_until_read()
    assert given_up == [False, False, False, False, True]


def test_while_an_update_is_being_handled_later_ones_are_passed_on_and_none_is_confirmed(
    server: Telegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "RECHECK_S", 0.01)
    running: list[tuple[str, Done]] = []

    def handle(update: Mapping[str, Any], done: Done) -> None:
        running.append((update["message"]["text"], done))

    server.write("One.")
    with poll(server, handle):
        server.wait(lambda: running)
        server.write("Two.")
        server.wait(lambda: len(running) == 2)
        running[1][1](True)
        server.wait(lambda: len(server.sent("getUpdates")) > 5)
        assert [text for text, _ in running] == ["One.", "Two."]
        assert len(server.updates) == 2
        running[0][1](True)
        server.wait_until_read()
