"""Recognises the keywords of text messages: STOP, START, HELP, and their synonyms by language in `keywords.toml`."""

from __future__ import annotations

from pathlib import Path

from everthread.server.messaging.commands import Command, find_forget_request, load_words, normalize

_FILE = Path(__file__).with_name("keywords.toml")
_GROUPS: tuple[Command, ...] = ("stop", "start", "yes", "help")
KEYWORDS: dict[str, Command] = {word: group for group in _GROUPS for word in load_words(_FILE, group)}


def find_command(text: str) -> Command | None:
    """Return the command that a text message consists of, or None for any other message."""
    return KEYWORDS.get(normalize(text)) or find_forget_request(text)
