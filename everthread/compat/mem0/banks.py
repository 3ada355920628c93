"""Finds the banks and the lines of memories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from everthread.bank.line_keys import find_current_version
from everthread.bank.line_versions import get_recorded
from everthread.compat.mem0.filters import find_ids, not_expired, translate
from everthread.compat.mem0.ids import PREFIX, find_line, identify, may_hold, name_bank, owner_of
from everthread.errors import BadInput, NotFound
from everthread.memory import Memory as Bank
from everthread.stores.base import Store
from everthread.stores.conditions import METADATA_PREFIX, get_metadata
from everthread.types import ROLES, AllOf, Comparison, Condition, Filter, Line, now


class MemoryNotFound(NotFound, ValueError):
    """No memory has this id. mem0 raises a ValueError."""


class MemoryBanks:
    """The banks of a store that hold memories."""

    def __init__(
        self, store: Store, open_bank: Callable[[str], Bank], list_banks: Callable[[], list[str]] | None = None
    ) -> None:
        """Find memories in a store.

        Args:
            store: the store.
            open_bank: opens one of its banks, and creates it if it doesn't exist.
            list_banks: lists those of its banks that may be read; None: all.
        """
        self.store, self.open, self._list_banks = store, open_bank, list_banks or store.banks

    def list_all(self) -> list[str]:
        """Return the ids of all banks of memories."""
        return [bank for bank in self._list_banks() if bank.startswith(PREFIX) and owner_of(bank)]

    def find(self, ids: Mapping[str, str]) -> list[Bank]:
        """Return the banks that may hold memories with these ids."""
        if "user_id" in ids:
            name = name_bank(ids)
            return [self.open(name)] if self.store.exists(name) else []
        return [self.open(bank) for bank in self.list_all() if may_hold(bank, ids)]

    def filter(self, filters: Mapping[str, Any] | None, show_expired: bool) -> Iterator[tuple[Bank, Filter]]:
        """Yield the banks that may hold what mem0's filters allow, each with its filter.

        Raises:
            BadInput: a filter is invalid.
        """
        if filters is not None and not isinstance(filters, Mapping):
            raise BadInput(f"invalid filters: got {filters!r}, expected a dict such as {{'user_id': 'nora'}}")
        for bank in self.find(find_ids(filters or {})):
            condition = translate(filters or {}, owner_of(bank.bank), partial(_texts_of, bank))
            parts: tuple[Condition, ...] = (condition,) if show_expired else (condition, not_expired(now()))
            yield bank, Filter(role=ROLES, condition=AllOf(parts))

    def find_recorded(self, memory_id: str) -> tuple[Bank, Line] | None:
        """Return the first version of a memory, retracted or not, with its bank; None if there is no such memory."""
        found = find_line(memory_id, self.list_all())
        if found is None:
            return None
        name, seq = found
        line = get_recorded(self.store, name, seq)
        if line is None or not line.text or UUID(identify(name, line)) != UUID(str(memory_id)):
            return None
        return self.open(name), line

    def find_current(self, memory_id: str) -> tuple[Bank, Line] | None:
        """Return the current version of a memory with its bank; None if there is no such memory."""
        found = self.find_recorded(memory_id)
        if found is None:
            return None
        bank, line = found
        current = line if line.retracted_at is None else find_current_version(self.store, bank.bank, line)
        return None if current is None else (bank, current)

    def require(self, memory_id: str) -> tuple[Bank, Line]:
        """Return the current version of a memory with its bank.

        Raises:
            MemoryNotFound: there is no such memory.
        """
        found = self.find_current(memory_id)
        if found is None:
            raise MemoryNotFound(f"there is no memory {memory_id!r}; get_all lists the ids")
        return found


def _texts_of(bank: Bank, name: str) -> Iterator[str]:
    """Yield the texts that the lines of a bank have in a field."""
    for line in bank.lines():
        fields = {**line.metadata, **owner_of(bank.bank), "role": line.role}
        value = get_metadata(fields, Comparison(f"{METADATA_PREFIX}{name}", "exists"))
        if isinstance(value, str):
            yield value
