"""What every store makes of a line: a row as a Line, a line as its packed record, and the session that it joins."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any

from everthread.common.timestamps import moment
from everthread.errors import BadLine
from everthread.stores.base import PreparedLine
from everthread.stores.problems import missing_line
from everthread.text.analyzer import TermCounts
from everthread.types import Line, NewLine, Session

SESSION_GAP = timedelta(hours=1)  # a line without a session, said longer than this after the last one, begins a new one


REQUEST = "idem:"  # how a key begins that names the request by which a line came, and not the line at its source


def source_key(line: Line) -> str | None:
    """The key, if it names the line at its source. Whatever takes the place of the line takes this key as well."""
    return None if line.key is None or line.key.startswith(REQUEST) else line.key


def gives_way(holder: Line, new: NewLine) -> bool:
    """Whether a line leaves its key to a new one: a retracted line does, to one that is not. The key of a request stays
    with what came of the request."""
    return holder.retracted_at is not None and new.retracted_at is None and source_key(holder) is not None


def unchanged(found: Iterable[Line], of: Iterable[Line]) -> set[int]:
    """The numbers of the lines that are the same as those given: a number may be another line's by now."""
    same = {(line.seq, line.said_at, line.text) for line in of}
    return {line.seq for line in found if (line.seq, line.said_at, line.text) in same}


def next_seq(entry: PreparedLine, last: int) -> int:
    """The number of a line to be written behind the bank's last. BadLine for one of its own that is no greater."""
    if entry.seq is None:
        return last + 1
    if entry.seq <= last:
        raise BadLine(f"line {entry.seq} can't be written behind line {last}; lines come in the order of their numbers")
    return entry.seq


def heirs(bank: str, corrects: int | None, replaced: Collection[int], first: Line | None) -> dict[int, int]:
    """The number of the first new line by that of the one it corrects, if it corrects any. NotFound where that is
    gone."""
    if corrects is None or first is None:  # one that is known by its key was written before
        return {}
    if corrects not in replaced:
        raise missing_line(bank, corrects)
    return {corrects: first.seq}


def session_name(at: int, like: Callable[[str], set[str]]) -> str:
    """The name of a new session, made of its time; `like` tells which names begin as it does, so that it is new."""
    name = moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")
    taken = like(name)
    return next(each for n in range(1, len(taken) + 2) if (each := name if n == 1 else f"{name}-{n}") not in taken)


def line(row: tuple[Any, ...]) -> Line:
    """A row: seq, session, role, speaker, text, time, offset, parent, metadata, key, time of retraction."""
    seq, session, role, speaker, text, said_at, said_offset, parent, metadata, key, retracted_at = row
    gone = None if retracted_at is None else moment(retracted_at)
    told = {} if metadata == "{}" else json.loads(metadata)  # of most lines there is none, and of lines there are many
    return Line(seq, session, role, speaker, text, moment(said_at, said_offset), parent, told, key, gone)


def offered(line: Line) -> NewLine:
    """A line as it was offered, with all that it has but its number and its retraction."""
    said = line.text, line.speaker, line.role, line.said_at, line.session
    return NewLine(*said, line.metadata, line.parent, line.key)


def session(row: tuple[Any, ...]) -> Session:
    """A row: name, time of the first and of the last line, their seqs, lines, time at which it was ended."""
    name, start, last, first, final, lines, ended = row
    return Session(name, moment(start), moment(last), first, final, lines, None if ended is None else moment(ended))


def pack_line(
    seq: int, at: int, away: int, session: int, speaker: int, words: TermCounts, marks: int
) -> tuple[int, ...]:
    """The record of LINE of a line said at that moment, by a clock so many seconds from UTC."""
    return seq, at + away * 1_000_000, away, session, speaker, words.length, words.head_length, marks
