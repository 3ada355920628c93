"""Stores the facts and the notes that another memory wrote. They derive from no line of the bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from everthread.memory import Memory
from everthread.types import JSONValue, NewUnit, Unit

Identity = tuple[JSONValue, JSONValue]


def store_units(memory: Memory, units: Sequence[NewUnit]) -> int:
    """Store units that the bank never had.

    A fact that was changed in its service supersedes the one in the bank. A note is stored if the bank has none.

    Args:
        memory: the bank.
        units: the units, each with its source in the metadata, and a fact also with its id.

    Returns:
        The number of units that were stored.
    """
    versions: dict[Identity, list[Unit]] = defaultdict(list)
    for stored in memory.units("fact") if units else ():
        versions[_identify(stored)].append(stored)
    has_note = bool(units and memory.units("note", only_current=True))
    added = 0
    for unit in units:
        known = versions[_identify(unit)] if unit.kind == "fact" else ()
        if (unit.kind == "note" and has_note) or any(version.text == unit.text for version in known):
            continue
        current = next((version.id for version in known if version.valid_to is None), None)
        memory.add_unit(unit, supersedes=current)
        has_note = has_note or unit.kind == "note"
        added += 1
    return added


def _identify(unit: NewUnit | Unit) -> Identity:
    return unit.metadata.get("source"), unit.metadata.get("id")
