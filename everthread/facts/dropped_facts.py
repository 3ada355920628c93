"""Counts of a model's facts that were not stored, by reason, in a setting of the bank."""

from __future__ import annotations

from collections.abc import Mapping

from everthread.common.keys import SETTING_DROPPED_FACTS
from everthread.stores.base import Store
from everthread.types import JSONValue


def count_dropped(store: Store, bank: str, dropped: Mapping[str, int]) -> None:
    """Add to the numbers of facts of a model that were not stored, by reason."""
    added = {reason: count for reason, count in dropped.items() if count}

    def add(value: JSONValue | None) -> JSONValue:
        counts = _parse_dropped(value)
        return counts | {reason: counts.get(reason, 0) + count for reason, count in added.items()}

    if added:
        store.update_setting(bank, SETTING_DROPPED_FACTS, add)


def read_dropped(store: Store, bank: str) -> dict[str, int]:
    """Return the numbers of facts of a model that were not stored, by reason."""
    return _parse_dropped(store.settings(bank).get(SETTING_DROPPED_FACTS))


def _parse_dropped(value: JSONValue | None) -> dict[str, int]:
    counts = value.items() if isinstance(value, Mapping) else ()
    return {str(reason): count for reason, count in counts if type(count) is int}
