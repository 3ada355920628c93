"""Runs the commands of a chat, such as /export."""

from __future__ import annotations

from datetime import date

from everthread.languages.wording import Wording
from everthread.server.messaging.live_conversation import LiveConversation
from everthread.server.telegram.explanation import explain
from everthread.server.telegram.outbox import CHARACTER, Outbox, digest
from everthread.server.telegram.updates import Said
from everthread.transfer.exporting import export
from everthread.types import now

MAX_FILE_BYTES = 50_000_000  # that a bot may send
MAX_BUTTONS = 24  # of characters; others are chosen by name

NAMES = ("end", "forget", "incognito", "why", "character", "export", "help")  # in the order of the app's list


def describe_commands(words: Wording) -> dict[str, str]:
    """Return the commands with their descriptions."""
    return {name: words(f"telegram.about-{name}") for name in NAMES}


class Commands:
    """Runs commands. Its methods raise the same errors as those of `LiveConversation` and `Outbox`."""

    def __init__(self, conversation: LiveConversation, outbox: Outbox) -> None:
        self._conversation, self._outbox = conversation, outbox

    def welcome(self, chat: int) -> None:
        """Tell what the bot does, and how to consent."""
        name = self._conversation.list_characters(str(chat))[0]
        self._outbox.send_text(chat, self._outbox.words(chat)("telegram.welcome", name=name))

    def run(self, said: Said) -> None:
        """Run a command; an unknown one gets the list of all, except in a group, where it may be another bot's."""
        name, argument = said.command
        chat, person = said.chat, str(said.chat)
        if name == "start":
            self.welcome(chat)
        elif name == "end":
            self._outbox.send_parts(chat, self._conversation.end(person))
        elif name == "forget":
            self._outbox.send_parts(chat, self._conversation.ask_to_forget(person))
        elif name == "incognito":
            self._outbox.send_parts(chat, self._conversation.switch_incognito(person))
        elif name == "why":
            self._explain(chat)
        elif name == "character":
            self._choose_character(chat, argument)
        elif name == "export":
            self._export(chat)
        elif name == "help" or not said.is_group:
            self._outbox.send_text(chat, self._outbox.words(chat)("telegram.help"))

    def _explain(self, chat: int) -> None:
        words = self._outbox.words(chat)
        memory, lines = self._conversation.read(str(chat))
        text = explain(memory, lines, words, now().astimezone()) if memory else words("why.nothing_recalled")
        self._outbox.send_text(chat, text)

    def _choose_character(self, chat: int, name: str) -> None:
        words, known = self._outbox.words(chat), self._conversation.list_characters(str(chat))
        if not name:
            buttons = [[(known_name, f"{CHARACTER}:{digest(known_name)}")] for known_name in known[:MAX_BUTTONS]]
            self._outbox.send_text(chat, words("telegram.characters", name=known[0]), buttons)
        elif self._conversation.choose_character(str(chat), name):
            present = self._conversation.list_characters(str(chat))[0]
            self._outbox.send_text(chat, words("telegram.character", name=present))
        else:
            self._outbox.send_text(chat, words("telegram.no-character", names=words.join(known)))

    def _export(self, chat: int) -> None:
        words, (memory, _) = self._outbox.words(chat), self._conversation.read(str(chat))
        if memory is None or not memory.stats().lines:
            self._outbox.send_text(chat, words("telegram.nothing-stored"))
            return
        content = "".join(export(memory)).encode()
        if len(content) > MAX_FILE_BYTES:
            self._outbox.send_text(chat, words("telegram.too-large"))
            return
        name = f"everthread-{date.today():%Y-%m-%d}.jsonl"
        self._outbox.send_file(chat, name, content)
