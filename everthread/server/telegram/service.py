"""Runs the bot of a store in one process, beside the server or alone."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from everthread.errors import ConfigError, StoreUnavailable
from everthread.server import server_db
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.settings import Settings
from everthread.server.telegram.bot import TelegramBot
from everthread.server.telegram.bot_api import BotAPI

try:
    import fcntl
except ImportError:  # Windows, where there is one worker
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("everthread.server")

LOCK_NAME = "telegram.lock"  # next to server.sqlite
CLAIM = "\0telegram"  # beside the claims of banks, whose ids can't begin so
RETRY_DELAY_S = 5.0  # between two attempts to take over a bot from another machine


class TelegramService:
    """The bot, and the lock by which only one process runs it: Telegram passes updates on to one at a time."""

    def __init__(self, conversations: ConversationRegistry, settings: Settings) -> None:
        """Open the bot's state.

        Args:
            conversations: those of the process.
            settings: with the bot's token.

        Raises:
            ConfigError: for an invalid token or URL.
        """
        services = conversations.services
        self._file, self._claims = server_db.get_path(services.store), conversations.leases.claims
        self._lock: int | None = None
        self.api = BotAPI(settings.telegram_token, settings.telegram_url)
        self._bot = TelegramBot(conversations, self.api, services.location, settings.telegram_language)
        self._retry: threading.Thread | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """Run the bot in threads of its own.

        Raises:
            ConfigError: if another process runs it.
        """
        if self._claims is None:
            self._lock = _lock(self._file.with_name(LOCK_NAME))
        elif not self._claims.acquire(CLAIM):
            raise ConfigError("another server of this database runs the Telegram bot, or did some seconds ago")
        self._bot.start()

    def start_when_free(self) -> None:
        """Run the bot as soon as no other process does."""
        if not self._try_start():
            self._retry = threading.Thread(target=self._start_later, name="everthread telegram", daemon=True)
            self._retry.start()

    def close(self) -> None:
        """Stop the bot, and let another process run it."""
        self._closed.set()
        if self._retry is not None:
            self._retry.join()
        self._bot.close()
        if self._claims is not None:
            self._claims.release(CLAIM)
        if self._lock is not None:
            os.close(self._lock)

    def _start_later(self) -> None:
        while not self._closed.wait(RETRY_DELAY_S) and not self._try_start():
            pass

    def _try_start(self) -> bool:
        try:
            self.start()
        except (ConfigError, StoreUnavailable) as error:
            log.info("the Telegram bot is not started here: %s", error)
            return False
        return True


def install(conversations: ConversationRegistry, settings: Settings) -> TelegramService | None:
    """Return the bot if there is a token. Raises ConfigError for an invalid one, or an invalid URL."""
    return TelegramService(conversations, settings) if settings.telegram_token else None


def _lock(path: Path) -> int:
    """Lock a file, which is created if it is missing, and return its descriptor, which unlocks it when it is closed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigError(
            f"another process runs the Telegram bot of {path.parent}; it is `everthread serve` or `everthread telegram`"
        ) from None
    return descriptor
