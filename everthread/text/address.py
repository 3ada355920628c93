"""Leaves out of a question the name of the one who is asked: "Kit, where do I live?". Pure."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"(?:@\S+|[^\s,，、:!?]{1,30}(?: [^\s,，、:!?]{1,30})?[,，、:!])\s*(?=\w|¿)")
_AFTER = re.compile(r"[,，]\s*[^\s,，?？!.。]+(?=[\s?？!.。]*$)")


def remove_address(question: str) -> str:
    """Return a question without one or two words before its first comma, and the one after its only other comma."""
    before = _BEFORE.match(question)
    rest = question[before.end() :] if before else question
    after = _AFTER.search(rest)
    if after is None or "," in rest[: after.start()] or "，" in rest[: after.start()]:
        return rest
    return rest[: after.start()] + rest[after.end() :]
