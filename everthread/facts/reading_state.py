"""How far a bank was read for facts, as the setting `SETTING_FACTS` stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from everthread.common.keys import SETTING_FACTS
from everthread.stores.base import Store
from everthread.stores.limits import MAX_SEQ
from everthread.types import JSONValue

RULES_VERSION = 4  # of the rules that read lines; raised when they read more, so that `reindex` reads lines again


@dataclass(frozen=True, slots=True)
class ReadingState:
    """How far a bank was read for facts.

    Attributes:
        last_seq: the number of the last line that was read.
        rules: the version of the rules that have read all of these lines.
        reread_to: the number of the last line that later rules have read again.
        excluded: the numbers of lines that are never read, because the person had facts that they state forgotten.
        last_id: the last id that was given to a unit. None is given twice, as the person's merges and splits name ids.
    """

    last_seq: int = 0
    rules: int = RULES_VERSION
    reread_to: int = 0
    excluded: frozenset[int] = frozenset()
    last_id: int = 0

    @classmethod
    def parse(cls, value: JSONValue | None) -> ReadingState:
        """Parse the setting's value; an unset or invalid one is the state in which nothing was read."""
        if not isinstance(value, Mapping):
            return cls()
        never = value.get("never")
        last_seq = _parse_number(value.get("to"))
        return cls(
            last_seq=last_seq,
            rules=_parse_number(value.get("rules")) or (1 if last_seq else RULES_VERSION),
            reread_to=_parse_number(value.get("again")),
            excluded=frozenset(seq for seq in never if type(seq) is int) if isinstance(never, list) else frozenset(),
            last_id=_parse_number(value.get("ids")),
        )

    def to_json(self) -> JSONValue:
        """Return the setting's value."""
        never: dict[str, JSONValue] = {"never": sorted(self.excluded)} if self.excluded else {}
        again: dict[str, JSONValue] = {"again": self.reread_to} if self.reread_to else {}
        return {"to": self.last_seq, "ids": self.last_id, "rules": self.rules, **again, **never}

    def with_units(self, first_id: int, count: int) -> ReadingState:
        """Return the state after units were stored, numbered from an id on."""
        return replace(self, last_id=first_id - 1 + count)


def _parse_number(value: JSONValue | None) -> int:
    return value if type(value) is int and 0 < value < MAX_SEQ else 0


def read_setting(store: Store, bank: str) -> JSONValue | None:
    """Return the setting of the state. Each change of statements that a person makes changes it.

    Read it before the statements from which a change is computed, so that the change fails if they are no longer these.
    """
    return store.settings(bank).get(SETTING_FACTS)
