"""The copies of a line of a group chat: each bank in which the line was heard has one, in the session of the same name.

Copies have the same time and speaker, also after one of them was corrected. The session's metadata name the banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from everthread.chat.character_banks import character_name
from everthread.common.keys import SESSION_GROUP, SESSION_HEARD_BY
from everthread.errors import BadBankId, BankDamaged, BankTooNew
from everthread.stores.base import Store
from everthread.types import Filter, Line, Metadata

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class LineCopy:
    """A line as a bank stores it. name: of the bank's character."""

    bank: str
    name: str
    line: Line


def is_copy(line: Line, other: Line) -> bool:
    """Return whether lines of two banks, in one group chat, are copies of each other. Each bank has its own name for
    the user."""
    are_replies = line.role == other.role == "assistant"
    return (line.said_at, line.role) == (other.said_at, other.role) and (
        not are_replies or line.speaker == other.speaker
    )


def find_copy(store: Store, bank: str, line: Line) -> Line | None:
    """Return the copy of a line in another bank, or None. Of several versions the current one is preferred."""
    where = Filter(session=line.session, since=line.said_at, until=line.said_at + MICROSECOND)
    stored = store.lines(bank, where, include_retracted=True, include_wordless=True)
    copies = [other for other in stored if is_copy(line, other)]
    return max(copies, key=lambda copy: (copy.retracted_at is None, copy.text == line.text, copy.seq), default=None)


def list_copies(
    store: Store, bank: str, line: Line, permit: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> list[LineCopy]:
    """List a line of a bank, and its copies in the other banks in which it was heard.

    Args:
        store: the store of the banks.
        bank: the bank of the line.
        line: the line.
        permit: returns which of the other banks may be read; None: all.
    """
    others = list_listeners(store, bank, line.session)
    copies = [LineCopy(bank, character_name(store.settings(bank)), line)]
    for other in permit(others) if permit else others:
        try:
            if (copy := find_copy(store, other, line)) is not None:
                copies.append(LineCopy(other, character_name(store.settings(other)), copy))
        except (BankDamaged, BankTooNew):
            continue
    return copies


def list_listeners(store: Store, bank: str, session: str) -> list[str]:
    """List the other existing banks in which lines of a session were heard."""
    metadata = next((stored.metadata for stored in store.sessions(bank) if stored.id == session), {})
    return [other for other in read_listeners(metadata) if other != bank and _exists(store, other)]


def _exists(store: Store, bank: str) -> bool:
    try:
        return store.exists(bank)
    except BadBankId:
        return False


def read_listeners(metadata: Metadata) -> list[str]:
    """Return the banks in which lines of a session were heard, from its metadata, which a client may have changed."""
    heard_by, group = metadata.get(SESSION_HEARD_BY), metadata.get(SESSION_GROUP)
    banks: Sequence[object] = heard_by if isinstance(heard_by, list) else ()
    members: Sequence[object] = group if isinstance(group, list) else ()
    banks = [*banks, *(member.get("bank") for member in members if isinstance(member, dict))]
    return list(dict.fromkeys(bank for bank in banks if isinstance(bank, str)))
