"""The HTTP client of Telegram's Bot API, without Telegram's texts and the bot's token in any log or error.

Source: https://core.telegram.org/bots/api, "Making requests" and the methods used here.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import httpx

from everthread.common.retry import Retries, doubling_delays
from everthread.common.tls import tls_context
from everthread.common.urls import is_http_url
from everthread.errors import ConfigError

API_URL = "https://api.telegram.org"
TIMEOUT_S = 15.0
UPLOAD_TIMEOUT_S = 120.0
RETRIES = 8  # with delays that double, from half a second to one minute
TOO_MANY_REQUESTS = 429
# The descriptions for a topic that is deleted or archived, or closed; those in capitals are of Telegram's own protocol.
TOPIC_ERRORS = ("message thread not found", "TOPIC_DELETED", "TOPIC_CLOSED")
UPDATE_KINDS = ("message", "edited_message", "callback_query")

T = TypeVar("T")
_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]{20,}", re.ASCII)

Keyboard = Sequence[Sequence[tuple[str, str]]]  # rows of buttons, each a label and the data that it sends


class BotAPIError(Exception):
    """Telegram rejected a request.

    Attributes:
        code: the error code, such as 403 if the person has blocked the bot.
        retry_after_s: seconds to wait after too many requests, else 0.
        successor: the supergroup that the chat has become, or None.
    """

    def __init__(self, code: int, description: str, retry_after_s: float = 0.0, successor: int | None = None) -> None:
        super().__init__(f"{code} {description}")
        self.code, self.description = code, description
        self.retry_after_s, self.successor = retry_after_s, successor

    @property
    def is_topic_lost(self) -> bool:
        """Return whether the topic of a message is deleted, archived or closed, and accepts no messages."""
        return self.code == 400 and any(text in self.description for text in TOPIC_ERRORS)


class BotAPIUnavailable(Exception):
    """Telegram can't be reached, or failed; the request may have had an effect."""


def check_token(token: str) -> None:
    """Raise ConfigError if this can't be the token of a bot."""
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            "invalid telegram_token: expected digits, a colon, and letters, such as 123456:ABC-DEF…; copy it from "
            "BotFather, who repeats it after /token"
        )


def check_url(url: str) -> None:
    """Raise ConfigError if this can't be the URL of the API."""
    if not is_http_url(url):
        raise ConfigError(f"invalid telegram_url: got {url!r}, expected a URL such as {API_URL}")


class BotAPI:
    """Telegram's methods, of one bot. Thread-safe."""

    def __init__(self, token: str, url: str = API_URL) -> None:
        """Connect to nothing yet.

        Args:
            token: from BotFather.
            url: of the API.

        Raises:
            ConfigError: if the token can't be one, or the URL is invalid.
        """
        check_token(token)
        check_url(url)
        self._token = token
        self._client = httpx.Client(base_url=f"{url.rstrip('/')}/bot{token}/", timeout=TIMEOUT_S, verify=tls_context())
        logging.getLogger("httpx").addFilter(self._is_loggable)  # which logs addresses, and the token is part of them

    def _is_loggable(self, record: logging.LogRecord) -> bool:
        return self._token not in record.getMessage()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        logging.getLogger("httpx").removeFilter(self._is_loggable)

    def call(
        self, method: str, timeout_s: float = TIMEOUT_S, file: tuple[str, bytes] | None = None, **values: Any
    ) -> Any:
        """Call a method of the API, and return its result.

        Args:
            method: its name.
            timeout_s: seconds without a byte after which the request fails.
            file: the name and the content of a document to upload.
            values: the method's arguments; those that are None are left out.

        Raises:
            BotAPIError: if Telegram rejects the request.
            BotAPIUnavailable: if Telegram can't be reached.
        """
        given = {name: value for name, value in values.items() if value is not None}
        sent: dict[str, Any] = {"json": given} if file is None else {"data": given, "files": {"document": file}}
        try:
            response = self._client.post(method, timeout=timeout_s, **sent)
            answer = response.json()
        except (httpx.HTTPError, ValueError, RuntimeError) as error:  # RuntimeError: after `close`
            raise BotAPIUnavailable(type(error).__name__) from None  # its text names the address
        if not isinstance(answer, dict) or (response.status_code >= 500 and not answer.get("ok")):
            raise BotAPIUnavailable(str(response.status_code))
        if not answer.get("ok"):
            parameters = answer.get("parameters") or {}
            raise BotAPIError(
                int(answer.get("error_code", response.status_code)),
                str(answer.get("description", "")),
                parameters.get("retry_after", 0),
                parameters.get("migrate_to_chat_id"),
            )
        return answer.get("result")

    def get_name(self) -> str:
        """Return the bot's user name, without the @.

        Raises:
            ConfigError: if there is no bot with this token.
            BotAPIError: if Telegram rejects the request for another reason.
            BotAPIUnavailable: if Telegram can't be reached.
        """
        try:
            return str(self.call("getMe")["username"])
        except BotAPIError as error:
            if error.code not in (401, 404):
                raise
            raise ConfigError(
                "Telegram knows no bot with this telegram_token; copy it again from BotFather, who shows it after "
                "/token and replaces it after /revoke"
            ) from None

    def get_updates(self, offset: int | None, wait_s: int) -> list[dict[str, Any]]:
        """Return the updates from an id on, and confirm those before it.

        Args:
            offset: the id; None: the first that is not confirmed.
            wait_s: seconds to wait for one.

        Raises:
            BotAPIError: if Telegram rejects the request.
            BotAPIUnavailable: if Telegram can't be reached, or sends something else.
        """
        updates = self.call(
            "getUpdates", wait_s + TIMEOUT_S, offset=offset, timeout=wait_s, allowed_updates=UPDATE_KINDS
        )
        if not isinstance(updates, list) or not all(isinstance(update.get("update_id"), int) for update in updates):
            raise BotAPIUnavailable("its updates can't be read")
        return updates

    def send_text(
        self,
        chat: int,
        text: str,
        keyboard: Keyboard = (),
        *,
        topic: int | None = None,
        asks_for_reply: bool = False,
    ) -> int:
        """Send a message, and return its id.

        Args:
            chat: the id of the chat.
            text: what it says.
            keyboard: the buttons below it.
            topic: of a forum; None: the chat has none, or "General".
            asks_for_reply: whether the person's app begins a reply to it.
        """
        markup = {"force_reply": True, "selective": True} if asks_for_reply else _as_markup(keyboard)
        sent = self.call("sendMessage", chat_id=chat, message_thread_id=topic, text=text, reply_markup=markup)
        return int(sent["message_id"])

    def edit_text(self, chat: int, message: int, text: str, keyboard: Keyboard = ()) -> None:
        """Replace the text of a message, and the buttons below it."""
        try:
            markup = _as_markup(keyboard)
            self.call("editMessageText", chat_id=chat, message_id=message, text=text, reply_markup=markup)
        except BotAPIError as error:
            if "not modified" not in error.description:
                raise

    def delete(self, chat: int, message: int) -> None:
        """Delete a message, as far as Telegram allows it: for two days, and in groups only the bot's own."""
        try:
            self.call("deleteMessage", chat_id=chat, message_id=message)
        except BotAPIError as error:
            if error.code == TOO_MANY_REQUESTS:
                raise

    def show_typing(self, chat: int, topic: int | None = None) -> None:
        """Show for five seconds that the bot is typing."""
        self.call("sendChatAction", chat_id=chat, message_thread_id=topic, action="typing")

    def answer_press(self, press: str, text: str = "") -> None:
        """Confirm that a button was pressed, with a notice at the top of the chat if there is a text."""
        try:
            self.call("answerCallbackQuery", callback_query_id=press, text=text or None)
        except BotAPIError as error:
            if error.code != 400:  # older than a minute
                raise

    def send_file(self, chat: int, name: str, content: bytes, topic: int | None = None) -> None:
        """Send a file."""
        self.call("sendDocument", UPLOAD_TIMEOUT_S, (name, content), chat_id=chat, message_thread_id=topic)

    def set_commands(self, commands: Mapping[str, str], language: str | None) -> None:
        """Set the commands that the app lists, with their descriptions; None: for all other languages."""
        listed = [{"command": name, "description": text} for name, text in commands.items()]
        self.call("setMyCommands", commands=listed, language_code=language)


def retry(act: Callable[[], T], closing: threading.Event) -> T:
    """Call a function until Telegram can be reached and allows it, for two minutes, and return its result.

    Args:
        act: the function. It may have an effect twice, because a lost answer doesn't show whether there was one.
        closing: ends the attempts when it is set.

    Raises:
        BotAPIError: if Telegram rejects it for another reason than too many requests.
        BotAPIUnavailable: if Telegram can't be reached.
    """

    def wait(delay_s: float) -> None:
        closing.wait(delay_s)

    retries = Retries(doubling_delays(RETRIES), sleep=wait)
    while True:
        try:
            return act()
        except BotAPIError as error:
            if error.code != TOO_MANY_REQUESTS or closing.is_set() or not retries.wait(error.retry_after_s):
                raise
        except BotAPIUnavailable:
            if closing.is_set() or not retries.wait():
                raise


def _as_markup(keyboard: Keyboard) -> dict[str, Any] | None:
    if not keyboard:
        return None
    rows = [[{"text": label, "callback_data": data} for label, data in row] for row in keyboard]
    return {"inline_keyboard": rows}
