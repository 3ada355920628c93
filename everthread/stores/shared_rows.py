"""Parses and packs rows of lines and sessions, and resolves keys, numbers and names of sessions, for every store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

from everthread.common.timestamps import from_micros
from everthread.errors import BadLine
from everthread.stores.base import PreparedLine
from everthread.stores.errors import missing_line_error
from everthread.text.analyzer import TermCounts
from everthread.types import Line, Metadata, NewLine, Receipt, Session

LINES_PER_PAGE = 1000  # lines read per statement
SESSION_GAP = timedelta(hours=1)  # after a longer silence, a line without a session starts a new one
LINE_COLUMNS = """line.seq, session.session_id, speaker.role, speaker.name, line.text, line.said_at, line.said_offset,
    line.parent_seq, line.metadata, line.key, line.retracted_at"""
SESSION_COLUMNS = "session_id, started_at, last_at, first_seq, last_seq, lines, ended_at, title, metadata"
REQUEST_KEY_PREFIX = "idem:"  # of a key that identifies the request that added a line, not the line at its source

# Chinese lines of an older analyser have vectors of their own text, which the shipped model can't read, instead
# of one of its gloss.
GLOSSED_SINCE = 5  # the first version of the analyser with glosses
GLOSSED_MODEL = "all-minilm-l6-v2-int8"


def source_key(line: Line) -> str | None:
    """Return the line's key if it identifies the line at its source; a replacement of the line inherits this key."""
    return None if line.key is None or line.key.startswith(REQUEST_KEY_PREFIX) else line.key


def releases_key(existing: Line, new: NewLine) -> bool:
    """Return whether a line passes its key to a new one: a retracted line does, to a line that is not retracted.

    The key of a request stays with the line that the request added.
    """
    return existing.retracted_at is not None and new.retracted_at is None and source_key(existing) is not None


def unchanged_seqs(stored: Iterable[Line], expected: Iterable[Line]) -> set[int]:
    """Return the numbers of the stored lines that equal an expected one. A number may belong to another line by now."""
    expected_content = {(line.seq, line.said_at, line.text) for line in expected}
    return {line.seq for line in stored if (line.seq, line.said_at, line.text) in expected_content}


def select_missing_receipts(own: Iterable[Receipt], present: Iterable[Receipt]) -> list[Receipt]:
    """Return the receipts of a copy that a store lacks, the earliest first.

    A receipt of a backup may name fewer lines than that of the store, of the same time.
    """
    times = {receipt.forgotten_at for receipt in present}
    missing = [receipt for receipt in own if receipt.forgotten_at not in times]
    return sorted(missing, key=lambda receipt: receipt.forgotten_at)


def next_seq(entry: PreparedLine, last: int) -> int:
    """Return the number of a line to be written after the bank's last.

    Raises:
        BadLine: the line has its own number, and it is not above `last`.
    """
    if entry.seq is None:
        return last + 1
    if entry.seq <= last:
        raise BadLine(f"line {entry.seq} can't be written after line {last}; write lines in the order of their numbers")
    return entry.seq


def map_corrections(
    bank: str, corrects: Mapping[int, int] | None, replaced: Collection[int], lines: Sequence[Line]
) -> dict[int, int]:
    """Map the corrected lines to the lines that correct them.

    Args:
        bank: the bank, for the message.
        corrects: the number of each corrected line, with the position of its correction in `lines`.
        replaced: the numbers of the lines that were retracted for the new ones.
        lines: the line of each entry; empty if every one was stored before.

    Raises:
        NotFound: a corrected line is missing or retracted.
    """
    if not corrects or not lines:
        return {}
    if missing := corrects.keys() - set(replaced):
        raise missing_line_error(bank, min(missing))
    return {seq: lines[position].seq for seq, position in corrects.items()}


def is_near(at: int, last_at: int) -> bool:
    """Return whether a line said at a time may belong to a session with its last line at another (microseconds)."""
    return abs(at - last_at) <= SESSION_GAP // timedelta(microseconds=1)


def new_session_name(at: int, find_names: Callable[[str], set[str]]) -> str:
    """Build an unused name for a session from its time.

    Args:
        at: the time of its first line, in microseconds since 1970.
        find_names: returns the existing names with a prefix.
    """
    prefix = from_micros(at).strftime("%Y-%m-%dT%H:%M:%SZ")
    existing = find_names(prefix)
    candidates = (prefix if n == 1 else f"{prefix}-{n}" for n in count(1))
    return next(name for name in candidates if name not in existing)


def parse_line(row: tuple[Any, ...]) -> Line:
    """Build a line from a row of `LINE_COLUMNS`."""
    seq, session, role, speaker, text, said_at, said_offset, parent, metadata, key, retracted_at = row
    retraction = None if retracted_at is None else from_micros(retracted_at)
    parsed = {} if metadata == "{}" else json.loads(metadata)  # most lines have none, and parsing all takes long
    return Line(seq, session, role, speaker, text, from_micros(said_at, said_offset), parent, parsed, key, retraction)


def read_pages(read: Callable[[int, int], list[Line]], after: int, limit: int | None) -> Iterator[Line]:
    """Iterate over lines in pages, so that no connection is held while the caller processes them.

    Args:
        read: returns the next lines after a number, at most as many as its second argument.
        after: start after this number.
        limit: the largest number of lines; None for all.
    """
    remaining = math.inf if limit is None else limit
    while remaining:
        size = int(min(remaining, LINES_PER_PAGE))
        page = read(after, size)
        yield from page
        if len(page) < size:
            return
        after, remaining = page[-1].seq, remaining - size


def to_new_line(line: Line) -> NewLine:
    """Return the line as a new one, without its number and retraction."""
    return NewLine(
        text=line.text,
        speaker=line.speaker,
        role=line.role,
        said_at=line.said_at,
        session=line.session,
        metadata=line.metadata,
        parent=line.parent,
        key=line.key,
    )


def parse_session(row: tuple[Any, ...]) -> Session:
    """Build a session from a row of `SESSION_COLUMNS`."""
    name, start, last, first, final, lines, ended, title, metadata = row
    end = None if ended is None else from_micros(ended)
    parsed = json.loads(metadata or "{}")  # a session has neither before it is titled
    return Session(name, from_micros(start), from_micros(last), first, final, lines, end, title, parsed)


def change_session(session: Session, title: str | None, metadata: Metadata | None) -> Session:
    """Return a session with another title and other values in its metadata; see `stores.base.LineStore.set_session`."""
    merged = {**session.metadata, **(metadata or {})}
    return replace(
        session,
        title=session.title if title is None else title or None,
        metadata={name: value for name, value in merged.items() if value is not None},
    )


def describe_miscounts(counts: Iterable[tuple[str, int, int]]) -> list[str]:
    """Describe the counters of a bank that differ from a recount.

    Args:
        counts: name, recorded value and counted value of each.
    """
    return [
        f"{name}: {recorded} recorded, {counted} found; export the lines into a new bank"
        for name, recorded, counted in counts
        if recorded != counted
    ]


def sum_by_name(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up the counts of each name, without names that have none."""
    totals: dict[str, int] = {}
    for name, number in counts:
        if number:
            totals[name] = totals.get(name, 0) + number
    return totals


def pack_line(
    seq: int, at: int, offset_s: int, session: int, speaker: int, terms: TermCounts, flags: int
) -> tuple[int, ...]:
    """Pack the columns of a line: a record of `LINE_DTYPE`.

    Args:
        seq: its number.
        at: its time, in microseconds since 1970.
        offset_s: seconds of its speaker's clock from UTC.
        session: the number of its session.
        speaker: the number of its speaker.
        terms: its term counts.
        flags: bits; see `text.line_features`.
    """
    return seq, at + offset_s * 1_000_000, offset_s, session, speaker, terms.length, terms.head_length, flags
