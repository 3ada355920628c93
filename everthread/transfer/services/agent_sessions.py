"""Reads the sessions of coding agents: each is a file of JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from everthread.errors import BadFile
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, ReadOptions
from everthread.transfer.services.export import ExportFile


def read_sessions(
    files: Iterable[ExportFile],
    options: ReadOptions,
    shorten: Callable[[object], object],
    build: Callable[[str, Sequence[object]], Conversation],
) -> Iterator[Entry]:
    """Yield the conversation of each session.

    Args:
        files: the sessions.
        options: how they are read; if they are read strictly, a broken row breaks its session.
        shorten: returns a row without what is not needed, so that it takes less memory.
        build: builds a conversation from the file's name and its rows; a row that is not JSON is a BadFile.
    """
    for file in files:
        rows = [shorten(value) for _, value in file.rows()]
        broken = next((row for row in rows if isinstance(row, BadFile)), None)
        if broken is not None and options.strict:
            yield BrokenConversation(file.name, str(broken))
        else:
            yield build(PurePosixPath(file.name).stem, rows)
