"""Sends the parts of answers with the buttons that belong to them, and records which messages show which line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TypeVar

from everthread.errors import StoreError, StoreUnavailable
from everthread.languages.wording import Wording, load_wording
from everthread.server.messaging.live_conversation import LiveConversation
from everthread.server.messaging.message import HELD_PART, LINE_PART, AnswerPart, AnswerParts
from everthread.server.telegram.bot_api import BotAPI, BotAPIError, BotAPIUnavailable, Keyboard, retry
from everthread.server.telegram.channel import TELEGRAM
from everthread.server.telegram.chat_store import ChatStore
from everthread.server.telegram.live_message import EDIT_INTERVAL_S, GROUP_EDIT_INTERVAL_S, LiveMessage

T = TypeVar("T")

AGAIN, CORRECT, FORGET, FORGET_NOW, KEEP, SAY, CHARACTER = (
    "again", "correct", "forget", "forget-now", "keep", "say", "character",
)  # fmt: skip
YES, NO = "yes", "no"
# The questions below which there are a yes and a no.
QUESTIONS = frozenset({"forget?", "remember?", "remember-this?", "drop?"})
DIGEST_CHARS = 16  # a button sends at most 64 bytes


class Outbox:
    """Sends to all chats. Thread-safe.

    Each method that sends raises BotAPIError if Telegram rejects a message, and BotAPIUnavailable if Telegram can't be
    reached for two minutes.
    """

    def __init__(
        self, api: BotAPI, conversation: LiveConversation, chats: ChatStore, closing: threading.Event, interval_s: float
    ) -> None:
        """Create an outbox.

        Args:
            api: the bot's API.
            conversation: renders the parts.
            chats: records the messages.
            closing: set when the bot stops.
            interval_s: seconds between two edits of one message.
        """
        self.api, self.closing = api, closing
        self._conversation, self._chats, self._interval_s = conversation, chats, interval_s
        self._unwritten: dict[int, list[int]] = {}  # by chat: the messages of the last reply that no bank has

    def words(self, chat: int) -> Wording:
        """Return the words of a chat's language; if its bank can't be read, of the bot's."""
        try:
            language = self._conversation.get_language(str(chat))
        except StoreError:
            language = self._conversation.language
        return load_wording(language)

    def name_question(self, chat: int) -> str:
        """Return the name of the pending question for buttons: what it asks, and a digest of the session that it is
        about."""
        question = self._conversation.get_question(str(chat))
        return f"{question.kind}:{digest(question.session)}"

    def render(self, chat: int, part: AnswerPart) -> str:
        """Return the text of a part; "" if its line no longer exists."""
        return self._conversation.render_part(str(chat), part)

    def send_text(self, chat: int, text: str, keyboard: Keyboard = (), *, asks_for_reply: bool = False) -> list[int]:
        """Send a text with buttons below it, and return the ids of its messages."""
        sent = []
        parts = TELEGRAM.split(text)
        for part in parts:
            is_last = part is parts[-1]
            sent.append(self._send_one(chat, part, keyboard if is_last else (), asks_for_reply and is_last))
        return sent

    def _send_one(self, chat: int, text: str, keyboard: Keyboard, asks_for_reply: bool) -> int:
        return self._send_in_topic(
            chat, lambda topic: self.api.send_text(chat, text, keyboard, topic=topic, asks_for_reply=asks_for_reply)
        )

    def send_file(self, chat: int, name: str, content: bytes) -> None:
        """Send a file."""
        self._send_in_topic(chat, lambda topic: self.api.send_file(chat, name, content, topic))

    def _send_in_topic(self, chat: int, send: Callable[[int | None], T]) -> T:
        """Call a function that sends something to a topic; if that topic is lost, call it once more without one."""
        topic = self._find_topic(chat)
        try:
            return retry(lambda: send(topic), self.closing)
        except BotAPIError as error:
            if topic is None or not error.is_topic_lost:
                raise
        self._forget_topic(chat)
        return retry(lambda: send(None), self.closing)

    def _forget_topic(self, chat: int) -> None:
        with suppress(StoreUnavailable):  # the next message finds the topic lost again
            self._chats.set_topic(chat, None)

    def _find_topic(self, chat: int) -> int | None:
        """Return the topic in which the bot answers; None if that can't be read, so that there is an apology."""
        try:
            return self._chats.get_topic(chat)
        except StoreUnavailable:
            return None

    def send_apology(self, chat: int, name: str) -> None:
        """Send the text with this name, an apology, unless that fails as well."""
        with suppress(BotAPIError, BotAPIUnavailable):  # the failure for which it apologises is logged
            self.send_text(chat, self.words(chat)(name))

    def send_parts(self, chat: int, parts: AnswerParts) -> None:
        """Send the parts of an answer, except a line that is shown already."""
        for part in parts:
            if part[0] == LINE_PART and self._chats.list_sent(chat, part[1]):
                continue
            sent = self.send_text(chat, self.render(chat, part), self._make_keyboard(chat, part, is_reply=False))
            if part[0] == LINE_PART:
                self._chats.save_sent(chat, sent, part[1])

    def replace_text(self, chat: int, message: int, parts: AnswerParts) -> None:
        """Show the first part in place of a message, and send the others."""
        if parts:
            keyboard = self._make_keyboard(chat, parts[0], is_reply=False)
            self.edit_text(chat, message, self.render(chat, parts[0]), keyboard)
            self.send_parts(chat, parts[1:])

    def edit_text(self, chat: int, message: int, text: str, keyboard: Keyboard = ()) -> None:
        """Replace the text of a message, and the buttons below it."""
        retry(lambda: self.api.edit_text(chat, message, text, keyboard), self.closing)

    def delete(self, chat: int, messages: Collection[int]) -> None:
        """Delete messages, as far as Telegram allows it."""
        for message in messages:
            retry(partial(self.api.delete, chat, message), self.closing)
        self._chats.remove_sent(chat, messages)

    def open_live(self, chat: int, replaces: Sequence[int]) -> LiveMessage:
        """Return the messages of a reply in a chat, in place of others."""
        interval_s = self._interval_s * (GROUP_EDIT_INTERVAL_S / EDIT_INTERVAL_S if chat < 0 else 1)
        return LiveMessage(
            self.api,
            chat,
            TELEGRAM.split,
            self.closing,
            topic=self._find_topic(chat),
            replaces=replaces,
            on_sent=partial(self._save_unfinished, chat),
            on_topic_lost=partial(self._forget_topic, chat),
            interval_s=interval_s,
        )

    def _save_unfinished(self, chat: int, message: int) -> None:
        """Record a message of an unfinished reply, whose place that reply takes after a restart."""
        with suppress(StoreUnavailable):  # it is sent again then
            self._chats.save_sent(chat, [message], 0, "free")

    def finish_live(self, chat: int, live: LiveMessage, part: AnswerPart, replaces: Sequence[int]) -> None:
        """Show a finished reply in place of others."""
        if not (text := self.render(chat, part)):
            return
        messages = live.finish(text, self._make_keyboard(chat, part, is_reply=True))
        recorded = messages if part[0] == LINE_PART else []
        self._chats.save_sent(chat, recorded, part[1])
        self._chats.remove_sent(chat, {*replaces, *messages}.difference(recorded))
        if part[0] == HELD_PART:
            self._unwritten[chat] = messages

    def release(self, chat: int, lines: Collection[int]) -> None:
        """Let the next reply take the place of these lines, which were discarded; negative ones are in no bank."""
        self._chats.release(chat, lines)
        if unwritten := [line for line in lines if line < 0]:
            self._chats.save_sent(chat, self._unwritten.pop(chat, []), unwritten[0], "free")

    def _make_keyboard(self, chat: int, part: AnswerPart, *, is_reply: bool) -> Keyboard:
        """Return the buttons below a part: those of a reply, a yes and a no below a question, or none."""
        kind, number = part
        if kind == LINE_PART and is_reply:
            return [[("↻", f"{AGAIN}:{number}"), ("✎", f"{CORRECT}:{number}"), ("✕", f"{FORGET}:{number}")]]
        if kind in QUESTIONS:
            words, question = self.words(chat), f"{SAY}:{self.name_question(chat)}"
            return [[(words("telegram.yes"), f"{question}:{YES}"), (words("telegram.no"), f"{question}:{NO}")]]
        return ()


def digest(name: str) -> str:
    """Return a name for buttons in place of one of any length."""
    return sha256(name.encode()).hexdigest()[:DIGEST_CHARS]
