"""Exports a bank as text in one of several formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from everthread.memory import Memory
from everthread.transfer import jsonl


def export(
    memory: Memory,
    *,
    retracted: bool = False,
    ascii_only: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Iterator[str]:
    """Yield a bank as JSON Lines, which an import into an empty bank makes into the same bank again.

    Args:
        memory: the bank.
        retracted: whether retracted lines and units are included.
        ascii_only: whether other characters are escaped.
        progress: called with the number of lines of each part.
    """
    for text, lines in jsonl.format_bank(memory, retracted=retracted, ascii_only=ascii_only):
        if progress is not None and lines:
            progress(lines)
        yield text
