"""Manual corrections of lines and units.

Nothing is overwritten: a corrected line is retracted and replaced by another, and a corrected unit is superseded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from everthread.bank.line_versions import get_recorded
from everthread.common.keys import META_BY_HAND, META_CORRECTS, META_NOTED_TO, META_PREFIX, META_RECALLED, META_UNDATED
from everthread.errors import BadInput, NotFound
from everthread.stores.base import LineStore, Store
from everthread.stores.errors import missing_line_error
from everthread.stores.shared_rows import source_key
from everthread.stores.unit_store import UnitStore
from everthread.types import Filter, JSONValue, Line, NewLine, NewUnit, Unit


def build_correction(store: LineStore, bank: str, seq: int, text: str, key: str | None = None) -> NewLine:
    """Build the line that replaces another with a new text, by the same speaker at the same time.

    Metadata about the old text, such as the positions of its quotes, is dropped. The evidence of what was recalled for
    it stays. If the line that it answers was forgotten, the new line answers none.

    Args:
        store: the store of the bank.
        bank: its id.
        seq: the number of the line to correct.
        text: the new text.
        key: the new line's key, if the old line has none from its source.

    Raises:
        NotFound: the line is missing or retracted, or without words and not a person's, such as a tool call.
    """
    old = get_recorded(store, bank, seq)
    is_call = old is not None and not old.text and old.role != "user"
    if old is None or old.retracted_at is not None or is_call:
        raise missing_line_error(bank, seq)
    metadata = {**keep_source_metadata(old), META_CORRECTS: old.metadata.get(META_CORRECTS, seq)}
    metadata |= {name: old.metadata[name] for name in (META_UNDATED, META_RECALLED) if name in old.metadata}
    parent = None if old.parent is None or get_recorded(store, bank, old.parent) is None else old.parent
    return NewLine(text, old.speaker, old.role, old.said_at, old.session, metadata, parent, source_key(old) or key)


def keep_source_metadata(line: Line) -> dict[str, JSONValue]:
    """Return the metadata of a line that came with it from its source, without that which Everthread added."""
    return {name: value for name, value in line.metadata.items() if not name.startswith(META_PREFIX)}


def sort_by_position(lines: Sequence[Line]) -> list[Line]:
    """Order the lines of a session (ascending by seq) by position: a correction takes the corrected line's place."""
    ordered = [line for line in lines if META_CORRECTS not in line.metadata]
    for line in lines:
        if META_CORRECTS in line.metadata:
            key = _position_key(line)
            index = next((n for n, other in enumerate(ordered) if _position_key(other) > key), len(ordered))
            ordered.insert(index, line)
    return ordered


def _position_key(line: Line) -> tuple[datetime, int]:
    """Return the sort key of a line: its time, then its position."""
    return line.said_at, line.position


def build_edit(store: UnitStore, bank: str, kind: str, number: int, text: str) -> NewUnit:
    """Build the unit that replaces a current one with a new text.

    Raises:
        BadInput: it is a fact with an attribute, whose text follows from its value.
        NotFound: there is no such current unit.
    """
    units = [unit for unit in store.units(bank, (kind,), only_current=True, ids=[number]) if unit.kind == kind]
    if not units:
        raise NotFound(f"bank {bank!r} has no current {kind} {number} that could be edited; read the current one")
    if kind == "fact" and units[0].metadata.get("attribute"):
        raise BadInput(
            f"the text of fact {number} can't be edited: it follows from the value; correct that with correct_fact, "
            "`everthread facts correct` or on the page"
        )
    edited = _with_text(units[0], text)
    is_corrected = kind == "fact" and "value" in edited.metadata  # by correct_fact, which says so there
    return replace(edited, metadata={**edited.metadata, "value": text}) if is_corrected else edited


def build_note(store: Store, bank: str, text: str) -> tuple[NewUnit, int | None]:
    """Build the note that replaces the current one; without one, a note that derives from the bank's last line.

    Returns:
        The note, and the id of the note that it supersedes.

    Raises:
        BadInput: the bank has no line.
    """
    notes = store.units(bank, ("note",), only_current=True)
    if notes:
        return _with_text(notes[-1], text), notes[-1].id
    sessions = [session for session in store.sessions(bank) if session.lines]
    latest = max(sessions, key=lambda session: session.last_seq, default=None)
    last = None if latest is None else list(store.lines(bank, Filter(session=latest.id)))[-1]
    if last is None:
        raise BadInput(
            f"bank {bank!r} has no line yet, and notes derive from lines; store a line first", reason="nothing-said"
        )
    metadata = {META_BY_HAND: True, META_NOTED_TO: 0}
    return NewUnit("note", text, last.seq, last.seq, last.said_at, metadata=metadata, sources=(last.seq,)), None


def _with_text(old: Unit, text: str) -> NewUnit:
    """Return a new unit like an old one, with a text written by hand."""
    metadata = {**old.metadata, META_BY_HAND: True}
    return NewUnit(old.kind, text, old.first_seq, old.last_seq, old.said_at, old.importance, old.category, metadata)
