"""Explains in words what a reply was reminded of: the answer to /why."""

from __future__ import annotations

from datetime import datetime

from everthread.common.keys import META_RECALLED
from everthread.errors import NotFound
from everthread.languages.wording import Wording
from everthread.memory import Memory
from everthread.types import Hit, Line

MAX_HITS = 8
MAX_CHARS = 300  # of a memory


def explain(memory: Memory, lines: list[Line], words: Wording, at: datetime) -> str:
    """List what was recalled last in a conversation, each with its age.

    Args:
        memory: the bank.
        lines: of the conversation.
        words: of the language.
        at: the present time.
    """
    answered = next((line for line in reversed(lines) if META_RECALLED in line.metadata and line.seq > 0), None)
    if answered is None:
        return words("why.nothing_recalled")
    try:
        hits = memory.evidence(answered.seq).hits
    except NotFound:
        return words("why.nothing_recalled")
    if not hits:
        return words("why.nothing_relevant")
    return "\n".join((words("telegram.why"), *(_describe(hit, words, at) for hit in hits[:MAX_HITS])))


def _describe(hit: Hit, words: Wording, at: datetime) -> str:
    source = hit.source
    text = source.text if len(source.text) <= MAX_CHARS else f"{source.text[:MAX_CHARS].rstrip()} …"
    age = "" if source.is_undated else f" ({words.distance(source.said_at, at)})"
    return f"• {source.speaker}: {text}{age}"
