"""Fetches updates by long polling, each at least once.

Telegram repeats updates until one with a higher id is asked for. That happens only when all before it are handled, that
is, when their messages are stored. While one waits, for instance for a reply in the same chat, new updates of other
chats are fetched every second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from everthread.server.telegram.bot_api import BotAPI, BotAPIError, BotAPIUnavailable

log = logging.getLogger("everthread.server")

WAIT_S = 50  # of one request, if there is no update
RECHECK_S = 1.0  # between two requests while an update is being handled
MAX_DELAY_S = 60.0  # between two requests that fail
MAX_ATTEMPTS = 5  # to handle an update

# Called once with whether the update is handled. Returns True if it is not, and Telegram repeats it no more.
Done = Callable[[bool], bool]
Handle = Callable[[Mapping[str, Any], Done], None]


class UpdatePoller:
    """Fetches the updates of a bot, and passes them on in the order of their ids."""

    def __init__(self, api: BotAPI, handle: Handle) -> None:
        """Fetch nothing yet.

        Args:
            api: the bot's API.
            handle: called with each update in the thread that runs the poller; must return quickly.
        """
        self._api, self._handle = api, handle
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        # The ids of updates that are not confirmed yet.
        self._running: set[int] = set()
        self._failed: dict[int, int] = {}  # and how often
        self._handled: set[int] = set()

    def stop(self) -> None:
        """Pass on no further update, from any thread. A request in progress is left to itself."""
        with self._changed:
            self._stopped.set()
            self._changed.notify_all()

    def run(self) -> None:
        """Fetch updates until `stop` is called."""
        offset, failures = None, 0
        while not self._stopped.is_set():
            try:
                updates = self._api.get_updates(offset, 0 if self._running or self._failed else WAIT_S)
            except (BotAPIError, BotAPIUnavailable) as error:
                if self._stopped.is_set():
                    return
                failures += 1
                log.warning("Telegram's updates can't be fetched: %s%s", error, _describe_remedy(error))
                self._wait(max(min(2.0 ** (failures - 2), MAX_DELAY_S), getattr(error, "retry_after_s", 0.0)))
                continue
            failures = 0
            for update in sorted(updates, key=lambda update: int(update["update_id"])):
                self._pass_on(int(update["update_id"]), update)
            offset = self._find_offset(is_last=not updates)

    def _pass_on(self, id: int, update: Mapping[str, Any]) -> None:
        """Pass on an update, unless that has happened."""
        with self._changed:
            if self._stopped.is_set() or id in self._running or id in self._handled:
                return
            self._running.add(id)
        self._handle(update, lambda is_handled: self._finish(id, is_handled))

    def _finish(self, id: int, is_handled: bool) -> bool:
        """Record the end of an attempt to handle an update. Return whether it failed and was the last one."""
        with self._changed:
            self._running.discard(id)
            failures = self._failed.pop(id, 0) + (not is_handled)
            if is_handled or failures >= MAX_ATTEMPTS:
                self._handled.add(id)
            else:
                self._failed[id] = failures  # Telegram repeats it
            self._changed.notify_all()
            return not is_handled and failures >= MAX_ATTEMPTS

    def _find_offset(self, is_last: bool) -> int | None:
        """Wait a moment until all updates are handled, and return the offset of the next request.

        It is None once everything is confirmed, because ids begin again at any number after a week without updates.

        Args:
            is_last: whether Telegram has no further update at present.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._stopped.is_set() or not self._running, RECHECK_S)
            if self._failed:
                self._changed.wait_for(self._stopped.is_set, RECHECK_S)
            unhandled = self._running | self._failed.keys()
            if not unhandled and (is_last or not self._handled):  # none is handled if the poller was stopped
                self._handled.clear()
                return None
            offset = min(unhandled) if unhandled else max(self._handled) + 1
            self._handled = {id for id in self._handled if id >= offset}
            return offset

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(self._stopped.is_set, seconds)


def _describe_remedy(error: BotAPIError | BotAPIUnavailable) -> str:
    code = error.code if isinstance(error, BotAPIError) else 0
    if code == 409:
        return "; end the other program that uses this token, or remove its webhook with deleteWebhook"
    return "; copy the token again from BotFather" if code in (401, 404) else ""
