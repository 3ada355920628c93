"""Recognises the commands in text messages, and renders the bot's own texts.

A keyword is a whole message: "Stop!" is a keyword, "Don't stop now" is conversation. `keywords.toml` lists the words by
language; `texts.toml` has the bot's own texts.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

Keyword = Literal["stop", "start", "yes", "help"]
ForgetRequest = Literal["me", "everything"]

LANGUAGE = "en"  # of the bot's own texts
MAX_COURTESIES = 3  # around a request to forget, on either side


def _load(name: str) -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _normalize(text: str) -> str:
    """Fold case and remove punctuation, except apostrophes."""
    text = unicodedata.normalize("NFKC", re.sub("[’ʼ`´]", "'", text)).casefold()
    return " ".join(re.sub(r"[^\w\s']|_", " ", text).split())


def _collect(languages: Iterable[dict[str, list[str]]], group: str) -> frozenset[str]:
    return frozenset(_normalize(phrase) for language in languages for phrase in language.get(group, ()))


_LANGUAGES = _load("keywords.toml").values()
KEYWORDS: dict[str, Keyword] = {word: name for name in get_args(Keyword) for word in _collect(_LANGUAGES, name)}
FORGET_ME, FORGET_EVERYTHING, COURTESIES = (
    _collect(_LANGUAGES, group) for group in ("forget_me", "forget_everything", "courtesy")
)

_TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))[LANGUAGE]
TEXTS: dict[str, str] = _TEXTS["texts"]


def find_keyword(text: str) -> Keyword | None:
    """Return the keyword that a message consists of, or None for any other message."""
    return KEYWORDS.get(_normalize(text))


def find_forget_request(text: str) -> ForgetRequest | None:
    """Return the kind of request to be forgotten that a message consists of.

    Returns:
        "me" for an unambiguous request, "everything" for one that may also be the answer to a question, None for any
        other message.
    """
    text = _strip_courtesies(_normalize(text))
    return "me" if text in FORGET_ME else "everything" if text in FORGET_EVERYTHING else None


def _strip_courtesies(text: str) -> str:
    for _ in range(MAX_COURTESIES):
        for word in COURTESIES:
            text = text.removeprefix(f"{word} ").removesuffix(f" {word}")
    return text


def render_text(name: str, lines: int) -> str:
    """Render one of the bot's own texts.

    Args:
        name: a key of `TEXTS`.
        lines: the number of lines that the text mentions, if it does.
    """
    count = _TEXTS["one_line"] if lines == 1 else _TEXTS["many_lines"].format(number=lines)
    return TEXTS[name].format(lines=count)
