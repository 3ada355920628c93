"""Imports each conversation of an export into a bank of its own, such as one for each person or character."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.stores.limits import MAX_BANK_ID_CHARS
from everthread.transfer.files import shorten
from everthread.transfer.importing import BankWriter, CheckedFile, Progress
from everthread.transfer.services.changes import batch_conversations
from everthread.transfer.services.registry import OF_PEOPLE
from everthread.types import NewLine

TITLE = "{title}"  # in a bank's id: the title of a conversation
MIN_TITLE_CHARS = 40  # of a title in a bank's id: people with long names must not share a bank
_UNUSABLE = re.compile(r"[/\x00-\x1f\x7f]+")  # a title must not add a level to the id


def name_banks(pattern: str, source: CheckedFile) -> dict[str, str]:
    """Return the bank of each conversation, by the conversation's id.

    One without a usable title is named by its id, or by the file if it has no id, as a single chat of WhatsApp. Several
    chats of a messenger with the same title are those of different people: their ids are added to the title.

    Args:
        pattern: a bank's id with `TITLE`.
        source: the export.

    Raises:
        BadInput: the pattern is too long for titles.
    """
    rest = pattern.replace(TITLE, "")
    room = (MAX_BANK_ID_CHARS - len(rest)) // pattern.count(TITLE)
    if room < MIN_TITLE_CHARS:
        what = f"a bank's id has at most {MAX_BANK_ID_CHARS} characters, and each title needs {MIN_TITLE_CHARS}"
        raise BadInput(f"invalid bank {shorten(pattern)}: {what}; give a shorter one")
    titles = {each.id: _clean(each.title or "")[:room].strip() for each in source.contents.conversations}
    services = {id: label.metadata.get("source") for id, label in source.sessions.items()}
    chats = Counter((services.get(id), title) for id, title in titles.items())
    names: dict[str, str] = {}
    for id, title in titles.items():
        own = _clean(id.removeprefix(f"{services.get(id)}:") or source.path.stem)[:room].strip()
        is_shared = services.get(id) in OF_PEOPLE and chats[services.get(id), title] > 1
        name = f"{title[: room - len(own) - 1]} {own}".strip() if title and is_shared else title or own or "untitled"
        names[id] = pattern.replace(TITLE, name)
    return names


def _clean(title: str) -> str:
    """Return a title without characters that an id can't have; "" for one of dots, which addresses can't have."""
    title = _UNUSABLE.sub(" ", title).strip()
    return title if title.strip(".") else ""


def import_into_banks(
    open_bank: Callable[[str], Memory], source: CheckedFile, pattern: str, progress: Progress | None = None
) -> dict[str, dict[str, Any]]:
    """Store the lines of an export, those of each conversation in its own bank.

    Args:
        open_bank: opens a bank by its id, and creates it if it doesn't exist.
        source: the export.
        pattern: the ids of the banks, with `TITLE`.
        progress: called with the number of lines of each batch.

    Returns:
        The counts of `import_lines` for each bank.
    """
    banks = name_banks(pattern, source)
    writers: dict[str, BankWriter] = {}
    read = dict.fromkeys(banks.values(), 0)
    for batch in batch_conversations(source.read()):
        parts: dict[str, list[NewLine]] = {}
        for line in batch:
            parts.setdefault(banks[line.session or ""], []).append(line)
        for bank, lines in parts.items():
            if bank not in writers:
                writers[bank] = BankWriter(open_bank(bank), source)
            writers[bank].write(lines)
            read[bank] += len(lines)
        if progress is not None:
            progress(len(batch))
    for writer in writers.values():
        writer.finish()
    return {bank: writer.count(read[bank]) for bank, writer in writers.items()}
