"""The lorebook of a character's card: texts that are part of a prompt while their keywords are in the conversation.

Pure. Of the format (https://github.com/kwaroran/character-card-spec-v3) only `keys`, `secondary_keys`, `selective`,
`constant`, `enabled`, `case_sensitive`, `insertion_order` and `content` of an entry are used, and `scan_depth` and
`token_budget` of the book. Entries with `use_regex` are ignored: a pattern of a stranger can take forever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from everthread.text.mention import find_mention
from everthread.text.tokens import TokenCounter

SCAN_DEPTH_LINES = 4  # the newest lines, in which keywords are searched
TOKEN_BUDGET = 500  # tokens of all entries together
MAX_SCANNED_CHARS = 20_000  # of these lines
MAX_ENTRIES, MAX_KEYS = 1000, 50  # of a book, of an entry; real ones have a hundred, and three

Entry = Mapping[str, Any]


def find_entries(card: Mapping[str, Any], lines: Sequence[str], count: TokenCounter) -> list[str]:
    """Return the texts of the entries that apply to a conversation, in their order.

    Args:
        card: the fields of the card, as in `Character.card`.
        lines: the lines of the conversation, oldest first.
        count: counts the tokens of a text. Entries for which the budget is too small are left out.
    """
    data = card.get("data")
    book = data.get("character_book") if isinstance(data, Mapping) else None
    if not isinstance(book, Mapping) or not isinstance(book.get("entries"), list):
        return []
    depth = _get_number(book, "scan_depth", SCAN_DEPTH_LINES)
    text = "\n".join(lines[-depth:] if depth else ())[-MAX_SCANNED_CHARS:]
    entries = [entry for entry in book["entries"][:MAX_ENTRIES] if isinstance(entry, Mapping) and _applies(entry, text)]
    entries.sort(key=lambda entry: _get_number(entry, "insertion_order", 0))
    return list(_within_budget(entries, _get_number(book, "token_budget", TOKEN_BUDGET), count))


def _applies(entry: Entry, text: str) -> bool:
    if entry.get("enabled") is False or entry.get("use_regex") or not _get_content(entry):
        return False
    if entry.get("constant"):
        return True
    sensitive = bool(entry.get("case_sensitive"))
    required = ["keys", "secondary_keys"] if entry.get("selective") and _get_keys(entry, "secondary_keys") else ["keys"]
    return all(
        any(find_mention(key, text, case_sensitive=sensitive) for key in _get_keys(entry, name)) for name in required
    )


def _within_budget(entries: Iterable[Entry], budget: int, count: TokenCounter) -> Iterable[str]:
    for content in map(_get_content, entries):
        if (tokens := count(content)) <= budget:
            budget -= tokens
            yield content


def _get_content(entry: Entry) -> str:
    content = entry.get("content")
    return content.strip() if isinstance(content, str) else ""


def _get_keys(entry: Entry, name: str) -> list[str]:
    keys = entry.get(name)
    return (
        [key.strip() for key in keys[:MAX_KEYS] if isinstance(key, str) and key.strip()]
        if isinstance(keys, list)
        else []
    )


def _get_number(values: Mapping[str, Any], name: str, default: int) -> int:
    """Return a number of a book or an entry, at least 0; `default` if it is missing or invalid."""
    value = values.get(name)
    return max(int(value), 0) if isinstance(value, int | float) and abs(value) < 1e9 else default
