"""A channel, such as SMS: its names, commands, texts, and the length of its messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from everthread.languages.wording import DEFAULT_LANGUAGE, load_wording
from everthread.server.messaging.commands import Command, find_forget_request
from everthread.server.messaging.message import hash_id
from everthread.server.messaging.splitting import FittingCounter, split_reply


@dataclass(frozen=True, slots=True)
class Channel:
    """The properties of a channel. Banks store its names, so they never change.

    Attributes:
        name: the beginning of the ids of its banks ("sms/…"), the keys of its lines ("sms:…") and the names of its
            tables.
        setting: the name of the setting with a person's state.
        count_fitting: returns how many of the first characters of a text, at least one, fit into one message.
        max_messages: the messages of a reply; a longer reply is cut.
        find_command: returns the command that a message consists of, or None. A channel that never returns "stop" has
            no opt-out.
        own_texts: the names of the texts that it takes from the languages' table of its name; "stopped", "started" and
            "help" answer the commands. All others are those of the table "message".
        hashes_ids: whether the keys of lines contain a hash of the message's id instead of the id.
    """

    name: str
    setting: str
    count_fitting: FittingCounter
    max_messages: int
    find_command: Callable[[str], Command | None] = find_forget_request
    own_texts: frozenset[str] = frozenset()
    hashes_ids: bool = True

    def get_bank(self, person: str) -> str:
        """Return the id of a person's bank."""
        return f"{self.name}/{person}"

    def make_key(self, message_id: str) -> str:
        """Return the key of the line of a message."""
        return f"{self.name}:{hash_id(message_id) if self.hashes_ids else message_id}"

    def render_text(
        self, name: str, number: int, language: str = DEFAULT_LANGUAGE, characters: Sequence[str] = ()
    ) -> str:
        """Render one of the bot's own texts.

        Args:
            name: the name of the text.
            number: the number of lines that the text mentions, if it does.
            language: the language of the text.
            characters: the names of the characters that the text mentions, if it does.
        """
        table, words = self.name if name in self.own_texts else "message", load_wording(language)
        return words(f"{table}.{name}", number=number, names=words.join(characters))

    def split(self, text: str) -> list[str]:
        """Split a text into messages."""
        return split_reply(text, self.count_fitting, self.max_messages)
