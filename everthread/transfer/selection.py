"""Narrows a checked file to some of its conversations, and gives its speakers the names that the bank has for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from everthread.transfer.importing import CheckedFile
from everthread.types import NewLine


def select(
    source: CheckedFile,
    sessions: Collection[str] | None = None,
    names: Mapping[str, str] | None = None,
    assistants: Collection[str] = (),
) -> CheckedFile:
    """Return a file with a part of another's lines. An exported bank that is restored as a whole keeps its names.

    Args:
        source: the other file.
        sessions: the ids of the conversations; None: all.
        names: the new names of speakers, by their names in the file.
        assistants: the speakers in the file who are chatbots.
    """
    if sessions is None and not names and not assistants:
        return source
    given, chosen = names or {}, None if sessions is None else frozenset(sessions)

    def read() -> Iterator[NewLine]:
        for line in source.read():
            if chosen is None or (line.session or "") in chosen:
                role = "assistant" if line.speaker in assistants else line.role
                yield replace(line, speaker=given.get(line.speaker or "", line.speaker), role=role)

    if chosen is None:
        return replace(source, read=read)
    count = sum(each.messages for each in source.contents.conversations if each.id in chosen)
    return replace(source, read=read, line_count=count, head=None, units=())
