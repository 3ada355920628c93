"""A stand-in for Telegram: its Bot API over HTTP, and people who write to the bot."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from typing import Any

from hardship import PATIENCE
from hardship.loopback import Quiet, serve_handler

TOKEN = "123456:AAEverthreadEverthreadEverthread_x"
BOT = {"id": 123456, "is_bot": True, "first_name": "Ever", "username": "ever_bot"}
ANN = {"id": 7, "is_bot": False, "first_name": "Ann", "language_code": "en"}
BEN = {"id": 8, "is_bot": False, "first_name": "Ben", "last_name": "Lo", "language_code": "de-AT"}
GROUP = -1001

Fault = int | str  # seconds to wait after a 429; "502"; "cut" before the request has an effect, or "lost" after


@dataclass
class Shown:
    """A message as people see it."""

    sender: dict[str, Any]
    text: str
    keyboard: list[tuple[str, str]] = field(default_factory=list)  # labels and data
    date: int = field(default_factory=lambda: int(time.time()))
    asks_for_reply: bool = False


@dataclass
class Telegram:
    """A running stand-in. Requests of a method fail with `faults`, one each."""

    url: str = ""
    updates: list[dict[str, Any]] = field(default_factory=list)  # that are not confirmed
    chats: dict[int, dict[int, Shown]] = field(default_factory=dict)  # by chat and message
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # of pressed buttons
    files: list[tuple[str, bytes]] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)  # groups that became supergroups
    lost_topics: dict[int, str] = field(default_factory=dict)  # by topic: the error that it is answered with
    changed: threading.Condition = field(default_factory=threading.Condition)
    keeps_updates: bool = False  # they are delivered again, whatever the bot confirms
    last_update: int = 1000
    last_message: int = 0
    closing: bool = False

    # ------------------------------------------------------------------- people

    def write(self, text: str, chat: int = 7, sender: dict[str, Any] = ANN, **more: Any) -> int:
        """Let a person write a message; return its id."""
        with self.changed:
            message = self.add(chat, Shown(sender, text, date=more.pop("date", int(time.time()))))
            self.deliver(message=self.describe(chat, message, text, sender, more))
        return message

    def edit(self, message: int, text: str, chat: int = 7, sender: dict[str, Any] = ANN, **more: Any) -> None:
        """Let a person edit a message."""
        with self.changed:
            self.chats[chat][message].text = text
            edited = {"edit_date": int(time.time()), **more}
            self.deliver(edited_message=self.describe(chat, message, text, sender, edited))

    def press(self, label: str, chat: int = 7, sender: dict[str, Any] = ANN) -> None:
        """Let a person press the newest button with this label."""
        with self.changed:
            message = max(each for each, shown in self.chats[chat].items() if label in dict(shown.keyboard))
            data = dict(self.chats[chat][message].keyboard)[label]
            where = {"message_id": message, "chat": describe_chat(chat)}
            query = {"id": str(self.last_update), "from": sender, "message": where, "data": data}
            self.deliver(callback_query=query)

    def upgrade(self, chat: int, successor: int) -> None:
        """Turn a group into a supergroup, which is another chat."""
        with self.changed:
            self.moved[chat] = successor
            self.deliver(message=self.describe(chat, 0, "", ANN, {"migrate_to_chat_id": successor}))
            self.deliver(message=self.describe(successor, 0, "", ANN, {"migrate_from_chat_id": chat}))

    def describe(
        self, chat: int, message: int, text: str, sender: dict[str, Any], more: dict[str, Any]
    ) -> dict[str, Any]:
        """Describe a message as the API does."""
        answered = more.pop("reply_to", None)
        if answered is not None:
            shown = self.chats[chat].get(answered) or Shown(sender, "")
            more["reply_to_message"] = {"message_id": answered, "from": shown.sender, "chat": describe_chat(chat)}
        date = self.chats[chat][message].date if message in self.chats.get(chat, {}) else int(time.time())
        where = {"message_id": message, "chat": describe_chat(chat)}
        return {**where, "from": sender, "date": date, "text": text, **more}

    def deliver(self, **update: Any) -> None:
        """Add an update."""
        with self.changed:
            self.last_update += 1
            self.updates.append({"update_id": self.last_update, **update})
            self.changed.notify_all()

    def add(self, chat: int, shown: Shown) -> int:
        """Add a message to a chat; return its id."""
        self.last_message += 1
        self.chats.setdefault(chat, {})[self.last_message] = shown
        return self.last_message

    # ------------------------------------------------------------------ looking on

    def texts(self, chat: int = 7) -> list[str]:
        """Return the texts of the bot's messages in a chat."""
        return [shown.text for shown in self.bot_messages(chat)]

    def sent(self, method: str) -> list[dict[str, Any]]:
        """Return the arguments of the calls of a method."""
        return [values for name, values in list(self.calls) if name == method]

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds, also one that a change in the bank makes true."""
        end = time.monotonic() + PATIENCE
        with self.changed:
            while not condition():
                assert time.monotonic() < end, "the condition did not become true"
                self.changed.wait(0.02)

    def wait_for(self, text: str, chat: int = 7) -> None:
        """Wait until the bot's last message contains a text."""
        self.wait(lambda: text in (self.texts(chat) or [""])[-1])

    def wait_for_copies(self, count: int, text: str, chat: int = 7) -> None:
        """Wait until a number of the bot's messages have exactly this text."""
        self.wait(lambda: self.texts(chat).count(text) == count)

    def wait_for_reply(self, text: str, chat: int = 7) -> None:
        """Wait until the bot's last message is this reply, which is stored by then."""
        self.wait(lambda: self.texts(chat)[-1:] == [text] and self.bot_messages(chat)[-1].keyboard)

    def bot_messages(self, chat: int = 7) -> list[Shown]:
        """Return the bot's messages in a chat."""
        return [shown for shown in list(self.chats.get(chat, {}).values()) if shown.sender is BOT]

    def wait_until_read(self) -> None:
        """Wait until the bot has confirmed all updates."""
        self.wait(lambda: not self.updates)

    # --------------------------------------------------------------------- the API

    def call(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        chat, message, text = int(values.get("chat_id", 0)), int(values.get("message_id", 0)), values.get("text", "")
        match method:
            case "getMe":
                return ok(BOT)
            case "getUpdates":
                return ok(self.get_updates(values))
            case _ if chat in self.moved:
                description = "Bad Request: group chat was upgraded to a supergroup chat"
                return error(400, description, migrate_to_chat_id=self.moved[chat])
            case _ if (topic := int(values.get("message_thread_id", 0))) in self.lost_topics:
                return error(400, f"Bad Request: {self.lost_topics[topic]}")
            case "sendMessage" | "editMessageText" if not text or len(text.encode("utf-16-le")) > 2 * 4096:
                return error(400, "Bad Request: message text is empty or too long")
            case "sendMessage":
                markup = values.get("reply_markup") or {}
                shown = Shown(BOT, text, read_keyboard(markup), "force_reply" in markup)
                return ok({"message_id": self.add(chat, shown)})
            case "editMessageText" | "deleteMessage" if message not in self.chats.get(chat, {}):
                return error(400, "Bad Request: message not found")
            case "editMessageText":
                shown = self.chats[chat][message]
                assert shown.sender is BOT
                keyboard = read_keyboard(values.get("reply_markup") or {})
                if (shown.text, shown.keyboard) == (text, keyboard):
                    return error(400, "Bad Request: message is not modified")
                shown.text, shown.keyboard = text, keyboard
                return ok(True)
            case "deleteMessage":
                del self.chats[chat][message]
                return ok(True)
            case "answerCallbackQuery":
                self.notices.append(text)
                return ok(True)
            case "sendChatAction" | "setMyCommands" | "sendDocument":
                return ok(True)
        return error(404, "Not Found")

    def get_updates(self, values: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the updates from an offset on, and confirm those before it."""
        offset = values.get("offset") or 0
        if not self.keeps_updates:
            self.updates[:] = [update for update in self.updates if update["update_id"] >= offset]
            self.changed.notify_all()
        elif values["timeout"]:
            self.changed.wait_for(lambda: self.closing, 0.02)
        self.changed.wait_for(lambda: self.closing or self.updates, values["timeout"])
        return list(self.updates)


def describe_chat(chat: int) -> dict[str, Any]:
    return {"id": chat, "type": "private" if chat > 0 else "supergroup"}


def read_keyboard(markup: dict[str, Any]) -> list[tuple[str, str]]:
    buttons = [button for row in markup.get("inline_keyboard", []) for button in row]
    assert all(len(button["callback_data"].encode()) <= 64 for button in buttons)
    return [(button["text"], button["callback_data"]) for button in buttons]


def ok(result: object) -> dict[str, Any]:
    return {"ok": True, "result": result}


def error(code: int, description: str, **parameters: int) -> dict[str, Any]:
    return {"ok": False, "error_code": code, "description": description, "parameters": parameters}


@contextmanager
def telegram() -> Iterator[Telegram]:
    """Serve a Bot API for the bot with TOKEN."""
    server = Telegram()

    class Handler(Quiet):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # the bot was stopped
                super().handle()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            prefix, _, method = self.path.rpartition("/")
            if prefix != f"/bot{TOKEN}":
                self.answer(error(401, "Unauthorized"))
                return
            with server.changed:
                values = self.read(body)
                fault = server.faults.get(method, [])
                failing = fault.pop(0) if fault else None
                if isinstance(failing, int):
                    self.answer(error(429, "Too Many Requests", retry_after=failing))
                elif failing == "502":
                    self.answer_with(502, b"<html>502 Bad Gateway</html>")
                elif failing == "cut":
                    self.close_connection = True
                else:
                    answer = server.call(method, values)
                    server.calls.append((method, values))
                    server.changed.notify_all()
                    if failing == "lost":
                        self.close_connection = True
                    else:
                        self.answer(answer)

        def read(self, body: bytes) -> dict[str, Any]:
            kind = self.headers["Content-Type"]
            if kind == "application/json":
                values: dict[str, Any] = json.loads(body)
                return values
            form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=HTTP)
            values = {}
            for part in form.walk():
                if part.get_filename():
                    server.files.append((str(part.get_filename()), part.get_payload(decode=True)))  # type: ignore[arg-type]
                elif name := part.get_param("name", header="content-disposition"):
                    values[str(name)] = str(part.get_content()).strip()
            return values

        def answer(self, document: dict[str, Any]) -> None:
            status = 200 if document["ok"] else document["error_code"]
            self.answer_with(status, json.dumps(document).encode())

        def answer_with(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serve_handler(Handler) as url:
        server.url = url
        try:
            yield server
        finally:
            with server.changed:
                server.closing = True
                server.changed.notify_all()
