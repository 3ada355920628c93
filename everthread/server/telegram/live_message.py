"""Shows a reply while it is written: by editing its message, at most once in a while, as Telegram demands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from everthread.server.telegram.bot_api import BotAPI, BotAPIError, BotAPIUnavailable, Keyboard, retry

EDIT_INTERVAL_S = 1.0  # Telegram accepts one message a second in a chat
GROUP_EDIT_INTERVAL_S = 3.0  # and twenty a minute in a group
TYPING_INTERVAL_S = 4.0  # the app shows it for five seconds


class LiveMessage:
    """The messages of one reply. A context manager; within it a thread shows what has arrived so far."""

    def __init__(
        self,
        api: BotAPI,
        chat: int,
        split: Callable[[str], list[str]],
        closing: threading.Event,
        *,
        topic: int | None = None,
        replaces: Sequence[int] = (),
        on_sent: Callable[[int], object] = lambda message: None,
        on_topic_lost: Callable[[], object] = lambda: None,
        interval_s: float = EDIT_INTERVAL_S,
    ) -> None:
        """Show nothing yet.

        Args:
            api: the bot's API.
            chat: the id of the chat.
            split: splits a text into messages.
            closing: set when the bot stops; nothing is sent again then.
            topic: of a forum, as for `BotAPI.send_text`.
            replaces: messages of an earlier reply that it takes the place of.
            on_sent: called with the id of each new message. It must not raise.
            on_topic_lost: called if the topic accepts no messages; they are sent without one then. It must not raise.
            interval_s: seconds between two edits.
        """
        self._api, self._chat, self._split, self._closing = api, chat, split, closing
        self._topic, self._on_sent, self._interval_s = topic, on_sent, interval_s
        self._on_topic_lost = on_topic_lost
        self._messages = list(replaces)
        self._shown: list[str] = []  # the texts of the first messages
        self._pieces: list[str] = []
        self._done = threading.Event()
        self._may_send_at = 0.0
        self._thread = threading.Thread(target=self._run, name="everthread telegram reply", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def add(self, piece: str) -> None:
        """Add a piece of the reply."""
        self._pieces.append(piece)

    def finish(self, text: str, keyboard: Keyboard = ()) -> list[int]:
        """Show the finished reply with buttons below it, and return the ids of its messages.

        Raises:
            BotAPIError: if Telegram rejects it.
            BotAPIUnavailable: if Telegram can't be reached for two minutes.
        """
        self._done.set()
        self._thread.join()
        self._closing.wait(max(self._may_send_at - time.monotonic(), 0))
        retry(lambda: self._show(self._split(text), keyboard), self._closing)
        for message in self._messages[len(self._shown) :]:
            retry(partial(self._api.delete, self._chat, message), self._closing)
        return self._messages[: len(self._shown)]

    def _run(self) -> None:
        """Show what has arrived, and until then that the bot is typing."""
        delay_s, typing_at = 0.0, 0.0
        while not self._done.wait(delay_s):
            delay_s = self._interval_s
            try:
                if parts := self._split("".join(self._pieces)):
                    self._show(parts)
                elif time.monotonic() >= typing_at:
                    typing_at = time.monotonic() + TYPING_INTERVAL_S
                    self._api.show_typing(self._chat, self._topic)
            except BotAPIError as error:
                delay_s = max(delay_s, error.retry_after_s)
                self._may_send_at = time.monotonic() + error.retry_after_s
            except BotAPIUnavailable:
                continue  # `finish` reports it

    def _show(self, parts: Sequence[str], keyboard: Keyboard = ()) -> None:
        """Show the parts of a text, as far as they aren't shown yet."""
        del self._shown[len(parts) :]
        for index, part in enumerate(parts):
            buttons = keyboard if index == len(parts) - 1 else ()
            if self._shown[index : index + 1] == [part] and not buttons:
                continue
            self._show_part(index, part, buttons)
            self._shown[index : index + 1] = [part]

    def _show_part(self, index: int, part: str, buttons: Keyboard) -> None:
        if index < len(self._messages):
            try:
                self._api.edit_text(self._chat, self._messages[index], part, buttons)
                return
            except BotAPIError as error:
                if error.code != 400:  # the person has deleted the message
                    raise
        message = self._send(part, buttons)
        self._messages[index : index + 1] = [message]
        self._on_sent(message)

    def _send(self, part: str, buttons: Keyboard) -> int:
        try:
            return self._api.send_text(self._chat, part, buttons, topic=self._topic)
        except BotAPIError as error:
            if self._topic is None or not error.is_topic_lost:
                raise
        self._topic = None
        self._on_topic_lost()
        return self._api.send_text(self._chat, part, buttons)
