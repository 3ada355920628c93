"""Recognises commands: messages that are not conversation.

A command is a whole message: "Stop!" is a command, "Don't stop now" is conversation. `forget_requests.toml` lists the
requests to be forgotten by language, `language_requests.toml` those for another language, and `group_requests.toml`
those for several characters. All other commands are the channel's own.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# "yes" brings back a person who has opted out, and is conversation otherwise. "forget everything" may be the answer to
# a question, "forget me" is unambiguous.
Command = Literal["stop", "start", "yes", "help", "forget me", "forget everything"]

MAX_COURTESIES = 3  # around a request to forget, on either side


def normalize(text: str) -> str:
    """Fold case and remove punctuation, except apostrophes."""
    text = unicodedata.normalize("NFKC", re.sub("[’ʼ`´]", "'", text)).casefold()
    return " ".join(re.sub(r"[^\w\s']|_", " ", text).split())


def load_words(file: Path, group: str) -> frozenset[str]:
    """Load the words of a group in all languages, normalised."""
    languages = tomllib.loads(file.read_text(encoding="utf-8")).values()
    return frozenset(normalize(words) for language in languages for words in language.get(group, ()))


_REQUESTS_FILE = Path(__file__).with_name("forget_requests.toml")
FORGET_ME, FORGET_EVERYTHING, COURTESIES = (
    load_words(_REQUESTS_FILE, group) for group in ("forget_me", "forget_everything", "courtesy")
)


_LANGUAGE_REQUESTS = tomllib.loads(Path(__file__).with_name("language_requests.toml").read_text(encoding="utf-8"))
_LANGUAGES_BY_NAME = {
    normalize(name): language for language, names in _LANGUAGE_REQUESTS["names"].items() for name in names
}


_GROUP_REQUESTS = tomllib.loads(Path(__file__).with_name("group_requests.toml").read_text(encoding="utf-8"))
_GROUP_BEGINS, _GROUP_ENDS = (frozenset(map(normalize, _GROUP_REQUESTS[group])) for group in ("begin", "end"))


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """A request to talk with several characters, or to end that."""

    names: tuple[str, ...] = ()
    is_end: bool = False


def find_forget_request(text: str) -> Command | None:
    """Return the request to be forgotten that a message consists of, or None for any other message."""
    text = _strip_courtesies(normalize(text))
    return "forget me" if text in FORGET_ME else "forget everything" if text in FORGET_EVERYTHING else None


def find_language_request(text: str) -> str | None:
    """Return the code of the language that a message asks for ("Language: Deutsch"), or None for any other message."""
    text = normalize(text)
    for word in _LANGUAGE_REQUESTS["words"]:
        if text.startswith(word):
            return _LANGUAGES_BY_NAME.get(text.removeprefix(word).lstrip())
    return None


def find_group_request(text: str) -> GroupRequest | None:
    """Return what a message asks about a group ("Group: Mia, Captain Vey", "End group"), or None for any other one."""
    if normalize(text) in _GROUP_ENDS:
        return GroupRequest(is_end=True)
    begin, colon, names = text.replace("：", ":").partition(":")
    if not colon or normalize(begin) not in _GROUP_BEGINS:
        return None
    return GroupRequest(tuple(filter(None, (name.strip(" .!。") for name in re.split(r"[,;，、；\n]", names)))))


def _strip_courtesies(text: str) -> str:
    for _ in range(MAX_COURTESIES):
        for word in COURTESIES:
            text = text.removeprefix(f"{word} ").removesuffix(f" {word}")
    return text
