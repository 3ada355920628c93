"""Memory units (summaries, notes, facts) and scribe jobs, independent of any database: rows, checks and links.

A unit derives from a span of lines and is removed with any of them. A unit that supersedes another stores its id, so
the units of a kind form chains. When a unit is removed, its neighbours in the chain are linked, and its predecessor
becomes current again if the removed unit was current.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from typing import Any

import numpy as np

from everthread.common.timestamps import from_micros, to_micros, utc_offset_s
from everthread.errors import NotFound
from everthread.stores.json_text import canonical_json
from everthread.stores.unit_store import UnitKey, UnitReplacement
from everthread.types import NewUnit, ScribeJob, Unit, Vectors

UNIT_COLUMNS = """unit_id, kind, text, first_seq, last_seq, said_at, said_offset, valid_from, valid_to, importance,
    category, metadata, retracted_at, supersedes"""
# The metadata of a fact list its lines, which matters if there may be others between them.
UNIT_REF_COLUMNS = """kind, unit_id, first_seq, last_seq, supersedes, retracted_at IS NULL,
    CASE WHEN kind = 'fact' AND last_seq - first_seq > 1 THEN metadata END"""
# They change with the units of a kind: ids may be used again, but not at the same microsecond. Of the
# times only the low bits are summed, since the sum of many would be too large.
VERSION_COLUMNS = """count(*), coalesce(max(unit_id), 0), coalesce(sum(unit_id), 0), coalesce(max(valid_from), 0),
    coalesce(sum(valid_from & 1048575), 0), count(valid_to)"""
JOB_COLUMNS = "kind, session_id, first_seq, last_seq, queued_at, tries, error"
SINGLE_KINDS = ("note", "summary", "title")  # kinds with one current unit at a time: per bank, and per session


def parse_unit(row: tuple[Any, ...]) -> Unit:
    """Build a unit from a row of `UNIT_COLUMNS`."""
    number, kind, text, first, last, said_at, offset_s, *rest = row
    valid_from, valid_to, importance, category, metadata, retracted_at, supersedes = rest
    return Unit(
        id=number,
        kind=kind,
        text=text,
        first_seq=first,
        last_seq=last,
        said_at=from_micros(said_at, offset_s),
        valid_from=from_micros(valid_from),
        valid_to=None if valid_to is None else from_micros(valid_to),
        importance=importance,
        category=category,
        metadata=json.loads(metadata),
        retracted_at=None if retracted_at is None else from_micros(retracted_at),
        supersedes=supersedes,
    )


def unit_row(unit: Unit) -> tuple[Any, ...]:
    """Build the row of `UNIT_COLUMNS` for a unit."""
    return (
        unit.id,
        unit.kind,
        unit.text,
        unit.first_seq,
        unit.last_seq,
        to_micros(unit.said_at),
        utc_offset_s(unit.said_at),
        to_micros(unit.valid_from),
        None if unit.valid_to is None else to_micros(unit.valid_to),
        unit.importance,
        unit.category,
        canonical_json(unit.metadata),
        None if unit.retracted_at is None else to_micros(unit.retracted_at),
        unit.supersedes,
    )


def build_unit(new: NewUnit, number: int, at: int, supersedes: int | None) -> Unit:
    """Build the stored unit: current from `at` (microseconds since 1970), with `number` as its id."""
    return Unit(
        id=number,
        kind=new.kind,
        text=new.text,
        first_seq=new.first_seq,
        last_seq=new.last_seq,
        said_at=new.said_at,
        valid_from=from_micros(at),
        importance=new.importance,
        category=new.category,
        metadata=new.metadata,
        supersedes=supersedes,
    )


def check_unit(
    bank: str,
    new: NewUnit,
    last_seq: int,
    existing_seqs: Collection[int],
    supersedes: int | None,
    current: Mapping[int, str],
) -> None:
    """Check that a unit may be written.

    Args:
        bank: The bank, for the message.
        new: The unit to write.
        last_seq: The bank's highest line number.
        existing_seqs: The source lines of the unit that exist and are not retracted.
        supersedes: The id of the unit to supersede.
        current: Metadata (JSON) by id of the current units that `supersedes` names; without it, of all current units of
            the kind if that is one of `SINGLE_KINDS`.

    Raises:
        NotFound: A source line is missing, the superseded unit is not current, or there is a current unit of a kind
            that allows only one.
    """
    if new.last_seq > last_seq:
        raise NotFound(f"bank {bank!r} has no line {new.last_seq}, a source of the new {new.kind}")
    if missing := sorted(set(new.sources).difference(existing_seqs)):
        raise NotFound(
            f"bank {bank!r} no longer has line {missing[0]}, a source of the new {new.kind}; nothing was stored, "
            "because it may contain deleted text. Write it again from the existing lines"
        )
    if supersedes is not None and supersedes not in current:
        raise NotFound(
            f"bank {bank!r} has no current {new.kind} {supersedes} to supersede; it was retracted, "
            "forgotten or superseded in the meantime. Read the current one and write again"
        )
    if supersedes is None and (rival := _find_rival(new, current)) is not None:
        raise NotFound(
            f"bank {bank!r} already has a current {new.kind} {rival}, written in the meantime. Read it and write a "
            "new one that supersedes it"
        )


def _find_rival(new: NewUnit, current: Mapping[int, str]) -> int | None:
    """Return the current unit that excludes a new one: a bank has one note, a session one of the other kinds."""
    if new.kind == "note":
        return max(current, default=None)
    session = new.metadata.get("session")
    return next(
        (number for number, metadata in current.items() if summary_session(metadata) == session is not None), None
    )


def summary_session(metadata: str) -> str | None:
    """Return the session that a summary's metadata (JSON) name."""
    session = json.loads(metadata).get("session")
    return session if isinstance(session, str) else None


def build_unit_rows(change: UnitReplacement, first_id: int, at: int) -> list[tuple[Any, ...]]:
    """Build the rows of `UNIT_COLUMNS` for the new units of a replacement, numbered from `first_id`."""
    superseded = chain(change.supersedes, repeat(None))
    pairs = enumerate(zip(change.units, superseded, strict=False), first_id)
    return [unit_row(build_unit(new, number, at, old)) for number, (new, old) in pairs]


def source_seqs(change: UnitReplacement) -> list[int]:
    """Return the numbers of the lines from which the new units of a replacement derive, ascending and distinct."""
    return sorted({seq for new in change.units for seq in new.sources})


def vectors_by_key(change: UnitReplacement, first_id: int) -> dict[UnitKey, Vectors]:
    """Return the vectors of a replacement's new units by kind and id, numbered from `first_id`."""
    return {(change.kind, number): data for number, data in enumerate(change.vectors, first_id)}


# --------------------------------------------------------------------------- links


@dataclass(frozen=True, slots=True)
class UnitRef:
    """A unit without its text: its key, the lines from which it derives, and the unit that it supersedes."""

    kind: str
    id: int
    first_seq: int
    last_seq: int
    supersedes: int | None
    is_live: bool  # not retracted
    lines: frozenset[int] | None = None  # those of the span from which it derives; None: all

    def find_earliest(self, times: Mapping[int, int]) -> int:
        """Return the earliest of the times of lines, by number, of those from which the unit derives."""
        derived = range(self.first_seq, self.last_seq + 1) if self.lines is None else self.lines
        few, many = (times, derived) if len(times) < len(derived) else (derived, times)
        return min(times[seq] for seq in few if seq in many)

    @property
    def key(self) -> UnitKey:
        return self.kind, self.id

    @property
    def predecessor(self) -> UnitKey | None:
        """The key of the unit that this one supersedes."""
        return None if self.supersedes is None else (self.kind, self.supersedes)


def parse_unit_ref(row: tuple[Any, ...]) -> UnitRef:
    """Build the reference to a unit from a row of `UNIT_REF_COLUMNS`."""
    kind, number, first, last, supersedes, is_live, metadata = row
    lines = [] if metadata is None else json.loads(metadata).get("lines")
    is_list = isinstance(lines, list) and all(type(seq) is int and first <= seq <= last for seq in lines)
    listed = frozenset(lines) if is_list and first in lines and last in lines else None
    return UnitRef(kind, number, first, last, supersedes, bool(is_live), listed)


def find_affected(refs: Sequence[UnitRef], seqs: Sequence[int]) -> list[UnitRef]:
    """Return the units that derive from any of these lines (ascending)."""
    spans = np.array([(ref.first_seq, ref.last_seq) for ref in refs], np.int64).reshape(-1, 2)
    lines = np.asarray(seqs, np.int64)
    is_affected = np.searchsorted(lines, spans[:, 0]) < np.searchsorted(lines, spans[:, 1], "right")
    wanted = frozenset(seqs)
    affected = compress(refs, is_affected.tolist())
    return [ref for ref in affected if ref.lines is None or not ref.lines.isdisjoint(wanted)]


def plan_unlinking(
    refs: Sequence[UnitRef], removed: Sequence[UnitRef]
) -> tuple[dict[UnitKey, int | None], set[UnitKey]]:
    """Compute how the chains change when some units are removed.

    Args:
        refs: All units of the chains concerned.
        removed: The units to remove.

    Returns:
        The new `supersedes` of the units that need another one, and the keys of the units that become current again.
    """
    by_key = {ref.key: ref for ref in refs if ref.is_live}
    removed_keys = {ref.key for ref in removed}

    def find_predecessor(ref: UnitRef) -> UnitKey | None:
        while ref.predecessor in removed_keys and ref.predecessor in by_key:
            ref = by_key[ref.predecessor]
        return ref.predecessor

    remaining = [ref for key, ref in by_key.items() if key not in removed_keys]
    predecessors = {ref.key: find_predecessor(ref) for ref in remaining}
    relinked = {
        ref.key: predecessor and predecessor[1]
        for ref in remaining
        if (predecessor := predecessors[ref.key]) != ref.predecessor
    }
    reopened = {find_predecessor(ref) for ref in removed if ref.is_live} - set(predecessors.values())
    return relinked, {key for key in reopened if key is not None}


def find_chain(refs: Sequence[UnitRef], kind: str, number: int) -> list[UnitRef]:
    """Return a unit and, newest first, the units that it superseded.

    Raises:
        NotFound: There is no such unit, or it is retracted.
    """
    by_key = {ref.key: ref for ref in refs if ref.is_live}
    chain: list[UnitRef] = []
    key: UnitKey | None = (kind, number)
    while key is not None and key in by_key:
        chain.append(by_key[key])
        key = chain[-1].predecessor
    if not chain:
        raise NotFound(f"there is no {kind} {number}; nothing was forgotten")
    return chain


# ---------------------------------------------------------------------- scribe jobs


def parse_job(row: tuple[Any, ...]) -> ScribeJob:
    """Build a scribe job from a row of `JOB_COLUMNS`."""
    kind, session, first, last, queued_at, tries, error = row
    return ScribeJob(kind, session, first, last, from_micros(queued_at), tries, error)


def job_row(job: ScribeJob) -> tuple[Any, ...]:
    """Build the row of `JOB_COLUMNS` for a scribe job."""
    return job.kind, job.session, job.first_seq, job.last_seq, to_micros(job.queued_at), job.tries, job.error


def job_key(job: ScribeJob) -> tuple[str, str, int]:
    """Return the primary key of a scribe job: kind, session and first line."""
    return job.kind, job.session, job.first_seq
