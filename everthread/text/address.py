"""Finds in a question the name of the one who is asked: "Kit, where do I live?". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from everthread.text.analyzer import fold

_BEFORE = re.compile(r"(?:@\S+|[^\s,，、:!?]{1,30}(?: [^\s,，、:!?]{1,30})?[,，、:!])\s*(?=\w|¿)")
_AFTER = re.compile(r"[,，]\s*[^\s,，?？!.。]+(?=[\s?？!.。]*$)")

_MENTION = re.compile(r"(?<![\w.])@(\w[\w.-]*)|<@[!&]?(\w+)>")  # as in chats of groups, also by a number
_ALL = frozenset(("all", "channel", "everyone", "here"))
_WORD = re.compile(r"\w+")


def remove_address(question: str) -> str:
    """Return a question without one or two words before its first comma, and the one after its only other comma."""
    before = _BEFORE.match(question)
    rest = question[before.end() :] if before else question
    after = _AFTER.search(rest)
    if after is None or "," in rest[: after.start()] or "，" in rest[: after.start()]:
        return rest
    return rest[: after.start()] + rest[after.end() :]


def is_addressed(question: str, name: str, others: Iterable[str]) -> bool | None:
    """Return whether a question in a group is for the one with a name; None if it names no one.

    Args:
        question: the question, with what is said before it.
        name: the name.
        others: the names of the others, except of the one who asks.
    """
    mentions = {fold(mention[1] or mention[2]).strip(".-") for mention in _MENTION.finditer(question)}
    words = set(_WORD.findall(question))
    if mentions & (_ALL | _list_forms(name)) or words & set(_WORD.findall(name)):
        return True
    is_for_other = mentions or any(first[0] in words for each in others if (first := _WORD.findall(each)))
    return False if is_for_other else None


def _list_forms(name: str) -> set[str]:
    """Return the forms of a name after an @: the account, its words, and these without a space."""
    words = _WORD.findall(fold(name))
    return {fold(name), "".join(words), "_".join(words), ".".join(words), *words}
