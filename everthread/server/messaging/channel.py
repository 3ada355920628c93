"""A channel, such as SMS: its names, commands, texts, and the length of its messages."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from everthread.server.messaging.commands import Command, find_forget_request
from everthread.server.messaging.message import hash_id
from everthread.server.messaging.splitting import FittingCounter, split_reply

LANGUAGE = "en"  # of the bot's own texts

_TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))[LANGUAGE]


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
        own_texts: the channel's texts by name, in addition to those in `texts.toml` or instead of them; "stopped",
            "started" and "help" answer the commands.
    """

    name: str
    setting: str
    count_fitting: FittingCounter
    max_messages: int
    find_command: Callable[[str], Command | None] = find_forget_request
    own_texts: Mapping[str, str] = field(default_factory=dict)

    def get_bank(self, person: str) -> str:
        """Return the id of a person's bank."""
        return f"{self.name}/{person}"

    def make_key(self, message_id: str) -> str:
        """Return the key of the line of a message."""
        return f"{self.name}:{hash_id(message_id)}"

    @property
    def texts(self) -> dict[str, str]:
        """All texts of the bot, by name."""
        return {**_TEXTS["texts"], **self.own_texts}

    def render_text(self, name: str, number: int) -> str:
        """Render one of the bot's own texts.

        Args:
            name: a key of `texts`.
            number: the number of lines that the text mentions, if it does.
        """
        count = _TEXTS["one_line"] if number == 1 else _TEXTS["many_lines"].format(number=number)
        return self.texts[name].format(lines=count)

    def split(self, text: str) -> list[str]:
        """Split a text into messages."""
        return split_reply(text, self.count_fitting, self.max_messages)
