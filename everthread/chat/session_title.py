"""The title that a model gives to a conversation after its first reply.

It is a unit of the kind `title` that derives from the first lines, so it is forgotten and retracted with any of them.
A person's own title is stored with the session and always comes first.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from everthread.bank.session_titles import KIND, titles_by_session
from everthread.bank.settings import remember_policy
from everthread.common.keys import META_GREETING, META_NEEDS_CONSENT
from everthread.errors import ScribeFailed
from everthread.memory import Memory
from everthread.scribes.base import Scribe, TitleScribe
from everthread.text.redaction import redact_rows
from everthread.types import Line, NewUnit

log = logging.getLogger("everthread")

MAX_TRIES = 3  # of a model that fails


def read_titles(memory: Memory) -> dict[str, str]:
    """Return the titles that models gave, by session."""
    return titles_by_session(memory.units(KIND, only_current=True))


def is_first_exchange(lines: Sequence[Line]) -> bool:
    """Return whether lines of a conversation end with its first whole reply, and a title may be written from them."""
    said = [line for line in lines if not line.metadata.get(META_GREETING)]
    if any(line.metadata.get(META_NEEDS_CONSENT) or line.metadata.get("partial") for line in said):
        return False
    return [line.role for line in said if line.role == "assistant"] == ["assistant"] and said[0].role == "user"


def write_title(memory: Memory, scribe: Scribe, session: str, lines: Sequence[Line]) -> NewUnit | None:
    """Return a title for a session that begins with these lines; None if it has one, or none is to be written.

    Raises:
        ModelError: the model fails.
    """
    if not isinstance(scribe, TitleScribe) or not _lacks_title(memory, session) or not is_first_exchange(lines):
        return None
    try:
        title = scribe.write_title(lines)
    except ScribeFailed as error:  # the first line remains the title
        log.info("a conversation gets no title: %s", error)
        return None
    if redact_rows(title) != title:
        return None
    first, last = lines[0], lines[-1]
    metadata = {"session": session, "scribe": scribe.name}
    sources = tuple(line.seq for line in lines)
    return NewUnit(KIND, title, first.seq, last.seq, last.said_at, metadata=metadata, sources=sources)


def _lacks_title(memory: Memory, session: str) -> bool:
    """Return whether a session of a bank that remembers has no title yet."""
    if remember_policy(memory.settings()) is False or session in read_titles(memory):
        return False
    return any(each.id == session and each.title is None for each in memory.sessions())
