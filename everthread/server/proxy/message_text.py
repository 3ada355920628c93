"""Compares the texts of messages: front ends change white space, wrap questions in templates, and cut thoughts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Literal, NamedTuple
from uuid import uuid4

from everthread.bank.line_validation import replace_unstorable
from everthread.types import Metadata, Role

KEY_PREFIX = "proxy:"
META_MESSAGE_ID = "message_id"  # in the metadata of a message, or of its line
DIGEST_CHARS = 32  # of 64 hexadecimal digits
MAX_CACHED_TEXTS = 8192
MAX_CACHED_CHARS = 2000  # of each
MAX_COMPARED_CHARS = 2000  # at the beginning of a text that may have been changed
ALTERED_SHARE = 0.8  # of pieces of three characters that a text and its changed version have in common, at least
THOUGHT_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    '<details type="reasoning"': "</details>",  # of Open WebUI
    '<details type="tool_calls"': "</details>",
}
FENCE = re.compile(r"^[^\S\n]*```", re.MULTILINE)  # begins or ends a block of code, whose tags are shown to the person
# A fence, or the beginning of a thought, which begins a line or follows another: elsewhere the text is about such tags.
THOUGHT_START = re.compile(rf"{FENCE.pattern}|(?:^|(?<=>))[^\S\n]*({'|'.join(THOUGHT_TAGS)})", re.MULTILINE)
# The end of a thought that the template of the model began, so that the reply lacks its opening tag.
THOUGHT_END = re.compile(r"^[^\S\n]*</think(?:ing)?>[^\S\n]*$", re.MULTILINE)


class ChatMessage(NamedTuple):
    """A message of the person or the assistant in a request, with its words.

    One without text names a reply by its id. said_at is the time that the client gives; few do.
    """

    role: Literal["user", "assistant"]
    text: str
    name: str | None = None
    metadata: Metadata | None = None
    said_at: datetime | None = None

    @property
    def speaker(self) -> str:
        """The name of the speaker."""
        return self.name or self.role

    @property
    def message_id(self) -> str:
        """The id in the metadata; empty without one."""
        value = (self.metadata or {}).get(META_MESSAGE_ID)
        return value if isinstance(value, str) else ""

    @property
    def is_reference(self) -> bool:
        """True if it only names a reply."""
        return not self.text and bool(self.message_id)

    @property
    def normalized(self) -> str:
        """The text for comparisons."""
        return normalize(self.text)


def normalize(text: str) -> str:
    """Normalise a text for comparisons: without thoughts, as it is stored, in NFC, with single spaces."""
    return _normalize_short(text) if len(text) <= MAX_CACHED_CHARS else _normalize(text)


def drop_cached_texts() -> None:
    """Drop the texts that are kept because a client sends them again, after some of them were forgotten."""
    _normalize_short.cache_clear()


def _normalize(text: str) -> str:
    storable = replace_unstorable(remove_thoughts(text))[0]
    normalized = " ".join(unicodedata.normalize("NFC", storable).split())
    return text if normalized == text else normalized  # one copy of it is enough


_normalize_short = lru_cache(maxsize=MAX_CACHED_TEXTS)(_normalize)


def remove_thoughts(text: str, *, cuts_unfinished: bool = False) -> str:
    """Remove the thoughts of a model from its text.

    Args:
        text: the text.
        cuts_unfinished: whether a thought that does not end is removed as well, if nothing was said before it.
    """
    at, is_code = 0, False
    parts: list[str] = []
    for found in THOUGHT_START.finditer(text):
        opening = found[1]
        if found.start() < at or (opening and is_code):
            continue
        if opening is None:
            is_code = not is_code
            continue
        end = text.find(THOUGHT_TAGS[opening], found.end())
        if end < 0:
            is_unfinished = not "".join([*parts, text[at : found.start()]]).strip()
            return "" if cuts_unfinished and is_unfinished else "".join([*parts, text[at:]])
        parts.append(text[at : found.start()])
        at = end + len(THOUGHT_TAGS[opening])
    if not at and (closing := THOUGHT_END.search(text)) and not len(FENCE.findall(text, 0, closing.start())) % 2:
        at = closing.end()
    return "".join([*parts, text[at:]])


def is_same(one: str, other: str) -> bool:
    """Return whether two normalised texts are the same message: one contains the other."""
    return bool(one and other) and (one in other or other in one)


def measure_likeness(one: str, other: str) -> float:
    """Return 1 if two normalised texts are the same, less if one is the other with a few changes, or else 0."""
    if is_same(one, other):
        return 1.0
    pieces, others = _count_pieces(one), _count_pieces(other)
    share = 2 * (pieces & others).total() / max(1, pieces.total() + others.total())
    return share if share >= ALTERED_SHARE else 0.0


def _count_pieces(text: str) -> Counter[str]:
    """Count the pieces of three characters in the beginning of a text."""
    return Counter(text[start : start + 3] for start in range(min(len(text), MAX_COMPARED_CHARS) - 2))


def key_prefix(role: Role, normalized: str) -> str:
    """Return the beginning of the keys of all lines with this text, by which a resent message is found."""
    return f"{KEY_PREFIX}{role}:{sha256(normalized.encode('utf-8', 'replace')).hexdigest()[:DIGEST_CHARS]}:"


def new_key(role: Role, text: str) -> str:
    """Return a new key for a line with this text."""
    return f"{key_prefix(role, normalize(text))}{uuid4().hex[:12]}"
