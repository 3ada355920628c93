"""The bot: stores what people write, answers it, and passes commands and presses on.

The messages of one chat are handled in order, those of several chats at once. A message is stored when it arrives; the
reply follows when the person has written nothing more for a moment, one for all messages until then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from everthread.config import LANGUAGES
from everthread.errors import ConfigError, EverthreadError, StoreError, StoreUnavailable
from everthread.languages.wording import DEFAULT_LANGUAGE, load_wording
from everthread.server.conversations.registry import ConversationRegistry
from everthread.server.messaging.live_conversation import LiveConversation, Received
from everthread.server.messaging.message import LINE_PART, AnswerPart, AnswerParts, Message
from everthread.server.messaging.message_store import MessageStore
from everthread.server.messaging.person_queues import PersonQueues
from everthread.server.problems import Problem
from everthread.server.server_db import Location
from everthread.server.telegram.bot_api import BotAPI, BotAPIError, BotAPIUnavailable
from everthread.server.telegram.buttons import Buttons
from everthread.server.telegram.channel import TELEGRAM
from everthread.server.telegram.chat_store import ChatStore
from everthread.server.telegram.commands import Commands, describe_commands
from everthread.server.telegram.live_message import EDIT_INTERVAL_S
from everthread.server.telegram.outbox import Outbox
from everthread.server.telegram.polling import Done, UpdatePoller
from everthread.server.telegram.updates import Moved, Pressed, Said, read_update

log = logging.getLogger("everthread.server")

TURN_DELAY_S = 2.0  # after a message, in which another one belongs to the same turn
CLOSE_TIMEOUT_S = 5.0  # for replies in progress when the bot stops
MAX_CONNECT_DELAY_S = 60.0  # between two attempts to reach Telegram at the start
FAILED: AnswerParts = (("failed", 0),)
MAX_GREETED_STRANGERS = 1024  # who get no second line; they are stored nowhere


class TelegramBot:
    """One bot. `start` runs it in threads of its own, until `close`."""

    def __init__(
        self,
        conversations: ConversationRegistry,
        api: BotAPI,
        location: Location,
        language: str = DEFAULT_LANGUAGE,
        *,
        turn_delay_s: float = TURN_DELAY_S,
        edit_interval_s: float = EDIT_INTERVAL_S,
    ) -> None:
        """Open the bot's state.

        Args:
            conversations: those of the server.
            api: the bot's API, which is closed with the bot.
            location: of `ChatStore` and `MessageStore`.
            language: of the bot's own texts, for people whose app has none that they exist in.
            turn_delay_s: seconds after a message in which another one belongs to the same turn.
            edit_interval_s: seconds between two edits of a reply that is being written.
        """
        self.chats, self._messages = ChatStore(location), MessageStore(location, TELEGRAM.name)
        self._api, self._turn_delay_s = api, turn_delay_s
        self._closing, self._closed = threading.Event(), threading.Event()
        self._conversation = LiveConversation(
            TELEGRAM,
            conversations,
            self._messages,
            language=language,
            find_home=lambda person: str(self.chats.find_home(int(person))),
        )
        self._outbox = Outbox(api, self._conversation, self.chats, self._closing, edit_interval_s)
        self._commands = Commands(self._conversation, self._outbox)
        self._buttons = Buttons(self._conversation, self._outbox, self.chats)
        self._queues = PersonQueues("everthread telegram")
        self._turns: dict[int, object] = {}  # by chat: the turn that is to be answered
        self._busy: set[int] = set()  # chats with an update or a reply in progress
        self._strangers: OrderedDict[int, None] = OrderedDict()  # who were greeted
        self._name = ""
        self._poller = UpdatePoller(api, self._handle)
        # A request for updates can't be interrupted. It has no effect if the process ends.
        self._thread = threading.Thread(target=self._run, name="everthread telegram", daemon=True)

    def start(self) -> None:
        """Begin to fetch and to answer messages."""
        self._thread.start()

    def close(self) -> None:
        """Fetch no more messages, finish or stop the replies in progress, and close the bot's state.

        Messages without an answer get it after the next start.
        """
        self._closing.set()
        self._poller.stop()
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.02)
        for chat in list(self._busy):
            with suppress(StoreError):  # the reply is made again after the next start
                self._conversation.stop_replies(str(chat))
        self._queues.close()
        self._messages.close()
        self.chats.close()
        if self._thread.is_alive():
            self._closed.set()
        else:
            self._api.close()

    # ------------------------------------------------------------------- fetching

    def _run(self) -> None:
        try:
            if self._connect():
                self._poller.run()
        finally:
            self._closed.wait()  # until then, replies use the API
            self._api.close()

    def _connect(self) -> bool:
        """Ask Telegram for the bot's name until it answers, set its commands, and schedule the pending replies.

        Returns:
            False if the bot was closed, or its token is unknown.
        """
        delay_s = 0.5
        while not self._closing.is_set():
            try:
                self._name = self._api.get_name()
                for language in (None, *LANGUAGES):
                    self._api.set_commands(describe_commands(load_wording(language or DEFAULT_LANGUAGE)), language)
                for chat, _ in self.chats.list_pending():
                    self._schedule(chat)
                return True
            except (BotAPIError, BotAPIUnavailable, StoreUnavailable) as error:  # also a database that refuses us
                log.warning("the Telegram bot can't start yet: %s", error)
                delay_s = max(delay_s, getattr(error, "retry_after_s", 0.0))
            except ConfigError as error:
                log.error("the Telegram bot does not run: %s", error)
                return False
            self._closing.wait(delay_s)
            delay_s = min(2 * delay_s, MAX_CONNECT_DELAY_S)
        return False

    def _handle(self, update: Mapping[str, Any], done: Done) -> None:
        """Handle an update after the earlier ones of its chat."""
        try:
            event = read_update(update, self._name)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            log.error("an update of Telegram can't be read: %s", type(error).__name__)
            event = None
        if event is None:
            done(True)
        else:
            self._pass_on(event, done)

    def _pass_on(self, event: Said | Pressed | Moved, done: Done) -> None:
        """Let a supergroup continue its group, before messages in it are handled; queue any other event."""
        try:
            if isinstance(event, Moved):
                self.chats.move(event.chat, event.successor)
                done(True)
            else:
                self._queues.enqueue(self._find_queue(event.chat), partial(self._handle_event, event, done))
        except StoreUnavailable as error:
            log.error("a message could not be handled: %s", type(error).__name__)
            if done(False):
                self._queues.run(partial(self._apologize, event))

    def _find_queue(self, chat: int) -> str:
        """Return the queue of a chat; a supergroup shares that of its group, because they have one bank."""
        return str(self.chats.find_home(chat))

    def _handle_event(self, event: Said | Pressed, done: Done) -> None:
        """Handle a message or a press. If that fails, Telegram repeats it, and at last the person gets an apology."""
        is_handled = False
        self._busy.add(event.chat)
        try:
            if self._closing.is_set():
                return  # it is repeated after the next start
            self._dispatch(event)
            is_handled = True
        except (BotAPIError, BotAPIUnavailable) as error:  # what it did is done
            log.warning("an answer could not be sent: %s", error)
            is_handled = True
        except Problem as error:  # it has waited for the bank
            log.warning("a message could not be handled: %s", error.name)
            self._apologize(event)
            is_handled = True
        except EverthreadError as error:
            log.error("a message could not be handled: %s", type(error).__name__)
        finally:
            if done(is_handled):
                self._apologize(event)
            self._busy.discard(event.chat)

    def _dispatch(self, event: Said | Pressed) -> None:
        if not self.chats.is_claimed(event.chat):
            if isinstance(event, Said):
                self._meet(event)
            return
        self._remove_sent_if_forgotten(event.chat)
        if isinstance(event, Pressed) or event.is_addressed:
            self.chats.set_topic(event.chat, event.topic)
        if isinstance(event, Said):
            self._receive(event)
        else:
            self._buttons.press(event)
        self._remove_sent_if_forgotten(event.chat)

    def _apologize(self, event: Said | Pressed | Moved) -> None:
        """Send an apology for a message that was not stored, or for another action that failed."""
        is_plain = isinstance(event, Said) and not (event.is_edited or event.command[0])
        if isinstance(event, Pressed) or (isinstance(event, Said) and (event.is_addressed or event.is_edited)):
            self._outbox.send_apology(event.chat, "message.unkept" if is_plain else "telegram.not-now")

    def _remove_sent_if_forgotten(self, chat: int) -> None:
        """Disable the buttons of a forgotten bank, because the next one has lines with the same numbers."""
        if (at := self._conversation.find_forgotten_at(str(chat))) is not None:
            self.chats.remove_sent_until(chat, at)

    # ------------------------------------------------------------------ receiving

    def _receive(self, said: Said) -> None:
        if said.is_edited:
            self._continue(said, self._conversation.edit(_make_message(said)))
        elif said.is_addressed and not isinstance(self._messages.lease(said.id), tuple):
            self._answer(said)
            self._messages.save_answer(said.id, ())

    def _meet(self, said: Said) -> None:
        """Begin a chat by its invitation; a stranger gets one line."""
        name, code = said.command
        if said.is_edited or not said.is_addressed:
            return
        if name == "start" and code and self.chats.claim(said.chat, code):
            self.chats.set_topic(said.chat, said.topic)
            if (language := _choose_language(said.language)) is not None:
                self._conversation.set_language(str(said.chat), language)
            self._commands.welcome(said.chat)
        elif said.chat not in self._strangers:
            self._strangers[said.chat] = None
            while len(self._strangers) > MAX_GREETED_STRANGERS:
                self._strangers.popitem(last=False)
            words = load_wording(_choose_language(said.language) or self._conversation.language)
            self._outbox.send_text(said.chat, words("telegram.stranger"))

    def _answer(self, said: Said) -> None:
        """Run a command, or store a message."""
        if said.command[0]:
            self._commands.run(said)
        elif not self._buttons.correct(said):
            self._continue(said, self._conversation.receive(_make_message(said)))

    def _continue(self, said: Said, received: Received) -> None:
        """Answer a message that was stored or edited, now or at the end of the turn."""
        self._outbox.release(said.chat, received.discarded)
        if received.needs_reply:
            self.chats.set_pending(said.chat, said.message)
            self._schedule(said.chat)
        self._outbox.send_parts(said.chat, received.parts)

    # ------------------------------------------------------------------- replying

    def _schedule(self, chat: int) -> None:
        """Reply in a chat once nothing more was written for a moment."""
        self._turns[chat] = turn = object()
        queue = self._find_queue(chat)

        def begin() -> None:
            with suppress(RuntimeError):  # the bot was closed in the meantime
                self._queues.enqueue(queue, lambda: self._reply(chat, turn))

        timer = threading.Timer(self._turn_delay_s, begin)
        timer.daemon = True
        timer.start()

    def _reply(self, chat: int, turn: object) -> None:
        """Reply to the last message of a turn, unless another one has followed."""
        if self._turns.get(chat) is not turn or self._closing.is_set():
            return
        del self._turns[chat]
        is_done = False
        self._busy.add(chat)
        try:
            pending = self.chats.get_pending(chat)
            is_done = pending is None or self._show_reply(chat, pending)
        except BotAPIError as error:
            log.warning("a reply was rejected by Telegram: %s", error)
            is_done = not self._follow(chat, error.successor)
        except BotAPIUnavailable as error:
            log.warning("a reply could not be sent: %s", error)
            self._schedule(chat)
        except (EverthreadError, Problem) as error:
            log.error("a reply failed: %s", type(error).__name__)
            self._outbox.send_apology(chat, "message.failed")
            is_done = True
        finally:
            if is_done:
                with suppress(StoreUnavailable):  # it is recognised after the next start
                    self.chats.set_pending(chat, None)
            self._busy.discard(chat)

    def _follow(self, chat: int, successor: int | None) -> bool:
        """Reply in the supergroup that a chat has just become. Return False if no supergroup continues it."""
        if successor is None:
            return False
        self.chats.move(chat, successor)
        if self.chats.find_successor(chat) != successor:  # which has an invitation of its own
            return False
        self._schedule(chat)
        return True

    def _show_reply(self, chat: int, message: int) -> bool:
        """Show the reply to a message: in the free places below it, or in new messages.

        Returns:
            False if the bot was closed before the reply began.
        """
        successor = self.chats.find_successor(chat)
        place = chat if successor is None else successor
        free = self.chats.list_free(chat) if successor is None else []
        replaced = [shown for shown in free if shown > message]
        with self._outbox.open_live(place, replaced) as live:
            parts = self._conversation.reply(Message(f"{chat}:{message}", str(chat), ""), live.add)
            if self._closing.is_set() and parts == FAILED:
                return False
            if parts and not self._is_shown(place, parts[0]):
                self._outbox.finish_live(place, live, parts[0], replaced)
        self._outbox.delete(place, [shown for shown in free if shown < message])
        self._outbox.send_parts(place, parts[1:])
        return True

    def _is_shown(self, chat: int, part: AnswerPart) -> bool:
        """Return whether a reply was shown already, before the process ended or a connection failed."""
        return part[0] == LINE_PART and bool(self.chats.list_sent(chat, part[1]))


def _make_message(said: Said) -> Message:
    return Message(
        said.id,
        str(said.chat),
        said.text,
        said.has_media,
        sent_at=said.sent_at,
        speaker=said.speaker,
        metadata=said.metadata,
        sender_id=said.sender_id,
        is_forwarded=bool(said.forwarded_by),
    )


def _choose_language(code: str) -> str | None:
    """Return the language of the bot's texts for that of an app, such as "pt-br", or None."""
    language = code.partition("-")[0].lower()
    return language if language in LANGUAGES else None
