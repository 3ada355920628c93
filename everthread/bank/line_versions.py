"""Finds the versions of a line.

Returning to a discarded branch stores copies of its lines under new numbers; a correction, and a line that replaces
another under its key, are new lines.
"""

from __future__ import annotations

from everthread.bank.line_validation import replace_unstorable
from everthread.common.keys import META_CORRECTS, META_REPEATS, META_REPLACES
from everthread.stores.base import LineStore
from everthread.types import Filter, Line


def find_versions(store: LineStore, bank: str, seq: int) -> list[int]:
    """Return the numbers of all versions of a line, including retracted ones, ascending.

    These are the line itself, the lines that it repeats, corrects or replaces, and those that repeat, correct or
    replace it. Metadata of an imported line may contain numbers of another bank; therefore a copy must have the same
    text, and a correction the same session, speaker and time. `META_REPLACES` is never imported.
    """
    line = get_recorded(store, bank, seq)
    if line is None:
        return [seq]
    versions = {line.seq: line}
    pending = [line]
    while pending:
        version = pending.pop()
        linked = [
            *_find_linked(store, bank, version, META_REPEATS),
            *_find_linked(store, bank, version, META_CORRECTS),
        ]
        others = [other for other in linked if _is_version(version, other)] + _find_replaced(store, bank, version)
        new = {other.seq: other for other in others if other.seq not in versions}
        versions |= new
        pending += new.values()
    return sorted(versions)


def find_correction(store: LineStore, bank: str, seq: int, text: str) -> Line | None:
    """Return the current version of a retracted line, if it has this text."""
    old = get_recorded(store, bank, seq)
    if old is None or old.retracted_at is None:
        return None
    versions = store.get(bank, find_versions(store, bank, seq))
    return next(
        (line for line in versions if META_CORRECTS in line.metadata and line.text == replace_unstorable(text)[0]), None
    )


def _find_linked(store: LineStore, bank: str, line: Line, name: str) -> list[Line]:
    """Return the line that a line's metadata names, and the lines whose metadata name it."""
    later = store.lines(
        bank, Filter(session=line.session, metadata={name: line.seq}), include_retracted=True, include_wordless=True
    )
    return [*_find_named(store, bank, line, name), *later]


def _find_replaced(store: LineStore, bank: str, line: Line) -> list[Line]:
    """Return the line that a line replaced, and the line that replaced it, in any session."""
    replaced = _find_named(store, bank, line, META_REPLACES)
    if line.retracted_at is None or line.key is not None:  # a line that was replaced has passed on its key
        return replaced
    where = Filter(metadata={META_REPLACES: line.seq})
    return [*replaced, *store.lines(bank, where, after=line.seq, include_retracted=True, include_wordless=True)]


def _find_named(store: LineStore, bank: str, line: Line, name: str) -> list[Line]:
    """Return the earlier line whose number a line's metadata have under this name, if it exists."""
    number = line.metadata.get(name)
    earlier = get_recorded(store, bank, number) if isinstance(number, int) and 0 < number < line.seq else None
    return [] if earlier is None else [earlier]


def _is_version(line: Line, other: Line) -> bool:
    """Return whether one line repeats or corrects the other."""
    if META_CORRECTS not in line.metadata and META_CORRECTS not in other.metadata:
        return line.text == other.text
    return (line.session, line.speaker, line.said_at) == (other.session, other.speaker, other.said_at)


def get_recorded(store: LineStore, bank: str, seq: int) -> Line | None:
    """Return the line with this number, retracted or not."""
    line = next(iter(store.lines(bank, after=seq - 1, limit=1, include_retracted=True, include_wordless=True)), None)
    return line if line is not None and line.seq == seq else None
