"""Finds the versions of lines.

Returning to a discarded branch stores copies of its lines under new numbers; a correction, and a line that replaces
another under its key, are new lines. Each names an earlier line in its metadata: a correction names the first version,
which may be missing in a bank that was imported without its retracted lines, or have another number there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from everthread.bank.line_validation import replace_unstorable
from everthread.common.keys import META_CORRECTS, META_REPEATS, META_REPLACES
from everthread.stores.arrays import to_ranges
from everthread.stores.base import LineStore
from everthread.types import AnyOf, Comparison, Filter, Line

LINKS = (META_REPEATS, META_CORRECTS, META_REPLACES)  # names in the metadata of a line: the number of an earlier one

_CorrectionKey = tuple[int, str, str, datetime]


def find_versions(store: LineStore, bank: str, seqs: Collection[int]) -> list[int]:
    """Return the numbers of all versions of lines, including retracted ones, ascending.

    These are the lines themselves, the lines that they repeat, correct or replace, and those that repeat, correct or
    replace them. Metadata of an imported line may contain numbers of another bank; therefore a copy must have the same
    text, and a correction the same session, speaker and time. `META_REPLACES` is never imported.

    However many lines there are, their sessions are read once, and again as long as that finds other versions.
    """
    return sorted({*seqs, *read_versions(store, bank, seqs)})


def read_versions(store: LineStore, bank: str, seqs: Collection[int]) -> dict[int, Line]:
    """Return all versions of lines by number, as `find_versions` does; forgotten ones are left out."""
    return _read_versions(store, bank, read_recorded(store, bank, seqs))


def find_newer_versions(store: LineStore, bank: str, versions: Mapping[int, Line], after: int) -> dict[int, Line]:
    """Return the other versions of lines among those after a number, by number.

    Args:
        store: the store of the bank.
        bank: its id.
        versions: versions as they were read; they may have been forgotten since.
        after: the number.
    """
    lines = store.lines(bank, after=after, include_retracted=True, include_wordless=True)
    return {line.seq: line for line in _select_versions(lines, versions)}


def group_versions(store: LineStore, bank: str, lines: Sequence[Line]) -> dict[int, list[Line]]:
    """Return the versions of each line (see `find_versions`) by its number, in any order.

    Args:
        store: the store of the bank.
        bank: its id.
        lines: the lines, current or retracted.
    """
    versions = _read_versions(store, bank, lines)
    groups = {seq: [line] for seq, line in versions.items()}
    for line in versions.values():
        for name in LINKS:
            earlier = versions.get(_linked_seq(line, name))
            if earlier is not None and _is_version(line, earlier, name):
                _join_groups(groups, line.seq, earlier.seq)
    first: dict[_CorrectionKey, int] = {}
    for line in versions.values():
        if (key := _correction_key(line)) is not None:
            _join_groups(groups, line.seq, first.setdefault(key, line.seq))
    return groups


def _join_groups(groups: dict[int, list[Line]], first: int, second: int) -> None:
    """Join the groups of two lines. The smaller one is added to the larger one, as there may be long ones."""
    smaller, larger = sorted((groups[first], groups[second]), key=len)
    if smaller is not larger:
        larger += smaller
        groups |= {line.seq: larger for line in smaller}


def _read_versions(store: LineStore, bank: str, lines: Sequence[Line]) -> dict[int, Line]:
    """Return lines and all their versions, by number."""
    versions: dict[int, Line] = {}
    found = lines
    while found:
        versions |= {line.seq: line for line in found}
        _add_earlier(store, bank, versions, found)
        found = _find_later(store, bank, versions)
    return versions


def find_correction(store: LineStore, bank: str, seq: int, text: str) -> Line | None:
    """Return the current version of a retracted line, if it has this text."""
    old = get_recorded(store, bank, seq)
    if old is None or old.retracted_at is None:
        return None
    versions = store.get(bank, find_versions(store, bank, [seq]))
    return next(
        (line for line in versions if META_CORRECTS in line.metadata and line.text == replace_unstorable(text)[0]), None
    )


def _add_earlier(store: LineStore, bank: str, versions: dict[int, Line], lines: Iterable[Line]) -> None:
    """Add the versions before lines: those that they name, those that these name, and so on."""
    pending = list(lines)
    while pending:
        links = [(line, name, number) for line in pending for name in LINKS if (number := _linked_seq(line, name))]
        named = {seq for _, _, seq in links} - versions.keys()
        recorded = {line.seq: line for line in read_recorded(store, bank, named)}
        earlier = {
            seq: recorded[seq]
            for line, name, seq in links
            if seq in recorded and _is_version(line, recorded[seq], name)
        }
        versions |= earlier
        pending = list(earlier.values())


def _find_later(store: LineStore, bank: str, versions: Mapping[int, Line]) -> list[Line]:
    """Return the other lines that name one of the versions, and those that name these.

    Copies and corrections are in the same session. A line that replaced another may be in any session; it exists only
    if the other has passed on its key.
    """
    replaced = {_linked_seq(line, META_REPLACES) for line in versions.values()}
    anywhere = any(line.retracted_at and line.key is None and seq not in replaced for seq, line in versions.items())
    has_link = AnyOf(tuple(Comparison(f"metadata.{name}", "exists") for name in LINKS))
    sessions = None if anywhere else tuple({line.session for line in versions.values()})
    first = min(map(_first_seq, versions.values()))
    where = Filter(session=sessions, condition=has_link)
    lines = store.lines(bank, where, after=first, include_retracted=True, include_wordless=True)
    return list(_select_versions(lines, versions))


def _select_versions(lines: Iterable[Line], versions: Mapping[int, Line]) -> Iterator[Line]:
    """Yield those of some lines, ascending, that are further versions of the lines with these versions."""
    known = dict(versions)
    keys = {_correction_key(line) for line in known.values()} - {None}
    for line in lines:
        is_linked = any(_links_to(line, name, known) for name in LINKS) or _correction_key(line) in keys
        if line.seq not in known and is_linked:
            known[line.seq] = line
            keys |= {_correction_key(line)} - {None}
            yield line


def _correction_key(line: Line) -> _CorrectionKey | None:
    """Return what all corrections of a line have in common, also if it is in another bank."""
    number = line.metadata.get(META_CORRECTS)
    return (number, line.session, line.speaker, line.said_at) if type(number) is int else None


def _first_seq(line: Line) -> int:
    """Return the least number that a version of a line may have; 0 if it names a line of another bank."""
    if _correction_key(line) is None:
        return line.seq
    return _linked_seq(line, META_CORRECTS)


def _links_to(line: Line, name: str, known: Mapping[int, Line]) -> bool:
    """Return whether a line names a known one under this name, and is a version of it."""
    earlier = known.get(_linked_seq(line, name))
    if earlier is None or not _is_version(line, earlier, name):
        return False
    return name == META_REPLACES or line.session == earlier.session


def _linked_seq(line: Line, name: str) -> int:
    """Return the number of the earlier line that a line's metadata have under this name; 0 if it has no such number."""
    number = line.metadata.get(name)
    return number if type(number) is int and 0 < number < line.seq else 0


def _is_version(line: Line, earlier: Line, name: str) -> bool:
    """Return whether a line that names another under this name repeats, corrects or replaces it."""
    if name == META_REPLACES:
        return True
    if META_CORRECTS not in line.metadata and META_CORRECTS not in earlier.metadata:
        return line.text == earlier.text
    return (line.session, line.speaker, line.said_at) == (earlier.session, earlier.speaker, earlier.said_at)


def get_recorded(store: LineStore, bank: str, seq: int) -> Line | None:
    """Return the line with this number, retracted or not."""
    line = next(iter(store.lines(bank, after=seq - 1, limit=1, include_retracted=True, include_wordless=True)), None)
    return line if line is not None and line.seq == seq else None


def read_recorded(store: LineStore, bank: str, seqs: Collection[int]) -> list[Line]:
    """Return the lines with these numbers, retracted or not, ascending; forgotten ones are left out."""
    wanted = sorted(set(seqs))
    found = {line.seq: line for line in store.get(bank, wanted)} if len(wanted) > 1 else {}
    for first, last in to_ranges([seq for seq in wanted if seq not in found]):
        others = store.lines(
            bank, after=first - 1, limit=last - first + 1, include_retracted=True, include_wordless=True
        )
        found |= {line.seq: line for line in others if line.seq <= last}
    return [found[seq] for seq in wanted if seq in found]
