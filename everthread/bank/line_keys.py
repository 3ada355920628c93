"""Resolves keys, which identify lines at their source. A bank has at most one line per key.

A retracted line keeps its key until another line with the key is stored, so that a repeated import recognises its lines
even if they have been retracted or corrected since. A line that replaces the current line with its key retracts it in
the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from everthread.bank.line_versions import get_recorded, group_versions
from everthread.common.keys import META_KEY_FROM, META_PREFIX, META_UNDATED
from everthread.errors import BadLine
from everthread.stores.base import LineStore
from everthread.stores.json_text import canonical_json
from everthread.stores.shared_rows import REQUEST_KEY_PREFIX, releases_key
from everthread.types import Line, Metadata, NewLine, now


def split_known(
    store: LineStore, bank: str, lines: Sequence[NewLine], replaces: Collection[int]
) -> tuple[list[Line | None], list[NewLine]]:
    """Separate new lines from lines whose keys are stored already.

    Args:
        store: the store of the bank.
        bank: its id.
        lines: the lines.
        replaces: numbers of lines that will be retracted first.

    Returns:
        For each line the stored line with its key, or None; and the lines to write. A line that takes the key of
        another line records the number of that line in its metadata.
    """
    lines_by_key = store.get_by_key(bank, [line.key for line in lines if line.key])
    pairs = [(line, lines_by_key.get(line.key or "")) for line in lines]
    releasing = [existing for line, existing in pairs if existing is not None and releases_key(existing, line)]
    current = find_current_versions(store, bank, releasing, replaces)
    known: list[Line | None] = []
    new: list[NewLine] = []
    for line, existing in pairs:
        stored = None if existing is None else _resolve(existing, line, replaces, current)
        known.append(stored)
        if stored is None:
            previous = {} if existing is None else {META_KEY_FROM: existing.seq}
            new.append(replace(line, metadata={**line.metadata, **previous}))
    return known, new


def _resolve(
    existing: Line, new: NewLine, replaces: Collection[int], current: Mapping[int, Line | None]
) -> Line | None:
    """Return the stored line for a new line with the key of an existing one; None if the new line may take the key.

    A line that version 0.1.0 corrected still has its key; its correction is returned.

    Args:
        existing: the line with the key.
        new: the new line.
        replaces: numbers of lines that will be retracted first.
        current: the current versions of lines that release their keys, by number.
    """
    if existing.seq in replaces and existing.retracted_at is None:
        return None if releases_key(replace(existing, retracted_at=now()), new) else existing
    return current.get(existing.seq) if releases_key(existing, new) else existing


def find_line(store: LineStore, bank: str, seq: int | None, key: str | None) -> Line | None:
    """Return the current line with a number or a key; None if the bank has no such line."""
    if key is not None:
        return find_by_key(store, bank, key)
    line = None if seq is None else get_recorded(store, bank, seq)
    return line if line is not None and line.retracted_at is None else None


def find_by_key(store: LineStore, bank: str, key: str) -> Line | None:
    """Return the current line with a key; of a line that version 0.1.0 corrected, its correction."""
    return find_by_keys(store, bank, [key]).get(key)


def find_by_keys(store: LineStore, bank: str, keys: Sequence[str]) -> dict[str, Line]:
    """Return the current lines with these keys, as `find_by_key` does."""
    existing = store.get_by_key(bank, keys)
    corrections = find_current_versions(store, bank, [line for line in existing.values() if line.retracted_at])
    current = {key: line if line.retracted_at is None else corrections[line.seq] for key, line in existing.items()}
    return {key: line for key, line in current.items() if line is not None}


def find_current_version(store: LineStore, bank: str, line: Line) -> Line | None:
    """Return the newest version of a retracted line that is not retracted; None without one."""
    return find_current_versions(store, bank, [line])[line.seq]


def find_current_versions(
    store: LineStore, bank: str, lines: Sequence[Line], replaces: Collection[int] = ()
) -> dict[int, Line | None]:
    """Return the newest version of each retracted line that is neither retracted nor among the lines to replace.

    Args:
        store: the store of the bank.
        bank: its id.
        lines: the retracted lines.
        replaces: numbers of lines that will be retracted first.

    Returns:
        The version of each line by the line's number; None for a line without one.
    """
    versions = group_versions(store, bank, lines)
    current = {
        line.seq: [each for each in versions[line.seq] if each.retracted_at is None and each.seq not in replaces]
        for line in lines
    }
    return {seq: max(found, key=lambda line: line.seq, default=None) for seq, found in current.items()}


def check_source_key(new: NewLine) -> str:
    """Check that a line that replaces another has a key that identifies both at their source, and return it.

    Raises:
        BadLine: it has no key, or that of a request.
    """
    if new.key is None or new.key.startswith(REQUEST_KEY_PREFIX):
        raise BadLine(
            f"a line that replaces another needs the key of both at their source, got key={new.key!r}; expected a text "
            f"that does not begin with {REQUEST_KEY_PREFIX}"
        )
    return new.key


def is_unchanged(stored: Line, new: NewLine) -> bool:
    """Return whether a stored line has the text, the speaker, the role and the metadata of a cleaned one.

    A time or a session that the new line names must be equal, too; of an undated line the stored one must be undated.
    Other metadata that Everthread adds are not compared.
    """
    is_dated = new.metadata.get(META_UNDATED) is not True
    return (
        (stored.text, stored.speaker, stored.role) == (new.text, new.speaker, new.role)
        and (new.said_at in (None, stored.said_at) if is_dated else stored.is_undated)
        and new.session in (None, stored.session)
        and _own_metadata(stored.metadata) == _own_metadata(new.metadata)
    )


def _own_metadata(metadata: Metadata) -> str:
    """Return the metadata that a line was given by its source, as JSON."""
    return canonical_json({name: value for name, value in metadata.items() if not name.startswith(META_PREFIX)})


def key_history(store: LineStore, bank: str, line: Line) -> Iterator[Line]:
    """Iterate over a line and the lines that had its key before, newest first."""
    current: Line | None = line
    while current is not None:
        yield current
        seq = current.metadata.get(META_KEY_FROM)  # an import may have set it to anything
        current = get_recorded(store, bank, seq) if type(seq) is int and 0 < seq < current.seq else None
