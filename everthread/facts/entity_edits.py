"""Reads the setting with the person's merges and splits of entities, which store ids, no text.

A mention names a statement by its id. If a line is corrected or restored, its new version states the same under a new
id, which is looked up here when the edits are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from everthread.bank.line_versions import group_versions, read_recorded
from everthread.facts.entities import SUBJECT, VALUE, EntityEdit, Mention
from everthread.facts.fact_units import FACT, parse_unit
from everthread.facts.history import value_key
from everthread.facts.stored_statements import read_statements
from everthread.facts.types import Statement, StoredStatement
from everthread.stores.base import Store
from everthread.types import JSONValue


def parse_edits(value: JSONValue | None) -> list[EntityEdit]:
    """Parse the setting with the person's merges and splits; leave out invalid ones."""
    edits = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and len(item) == 2 and item[0] in ("same", "apart") and isinstance(item[1], list):
            mentions = tuple(cast("Mention", tuple(each)) for each in item[1] if _is_mention(each))
            edits.append(EntityEdit(item[0], mentions))
    return edits


def _is_mention(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value)


def edit_to_json(edit: EntityEdit) -> JSONValue:
    """Return an edit as the setting stores it."""
    return [edit.kind, [list(mention) for mention in edit.mentions]]


def read_current_edits(store: Store, bank: str, value: JSONValue) -> JSONValue:
    """Return the setting with mentions in current versions of lines alone, as `follow_versions` does."""
    return [*map(edit_to_json, follow_versions(store, bank, parse_edits(value), read_statements(store, bank)))]


def follow_versions(
    store: Store, bank: str, edits: Sequence[EntityEdit], stored: Mapping[int, StoredStatement]
) -> list[EntityEdit]:
    """Return edits with the mentions in the current versions of lines, for those in versions that were replaced.

    Args:
        store: the store of the bank.
        bank: its id.
        edits: the edits.
        stored: the current statements by their ids.
    """
    missing = {number for edit in edits for number, _ in edit.mentions} - stored.keys()
    units = store.units(bank, (FACT,), include_retracted=True, ids=sorted(missing)) if missing else []
    if not units:
        return list(edits)
    replaced = {unit.id: parse_unit(unit) for unit in units}
    lines = read_recorded(store, bank, sorted({seq for each in replaced.values() for seq in each.seqs}))
    versions = {seq: {line.seq for line in group} for seq, group in group_versions(store, bank, lines).items()}
    successors = _Successors(replaced, versions, [statement for statement, _ in stored.values()])
    return [replace(edit, mentions=successors.follow(edit.mentions)) for edit in edits]


@dataclass(slots=True)
class _Successors:
    """The statements of the current versions of lines, for those of earlier versions.

    Attributes:
        replaced: the statements of earlier versions, by id.
        versions: the numbers of all versions of each line.
        current: the current statements.
    """

    replaced: Mapping[int, Statement]
    versions: Mapping[int, set[int]]
    current: Sequence[Statement]

    def follow(self, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
        """Return mentions, with those of the same name in the current version in the place of replaced ones."""
        by_seq: dict[int, list[Statement]] = defaultdict(list)
        for statement in self.current:
            for seq in statement.seqs:
                by_seq[seq].append(statement)
        found: dict[Mention, None] = {}
        for mention in mentions:
            found |= dict.fromkeys(self._find(mention, by_seq) if mention[0] in self.replaced else [mention])
        return tuple(found)

    def _find(self, mention: Mention, by_seq: Mapping[int, Sequence[Statement]]) -> list[Mention]:
        old, part = self.replaced[mention[0]], mention[1]
        seqs = {version for seq in old.seqs for version in self.versions.get(seq, ())}
        statements = {each.id: each for seq in seqs for each in by_seq.get(seq, ())}.values()
        named = [
            (each, place) for each in statements for place in (SUBJECT, VALUE) if _has_name(each, place, old, part)
        ]
        alike = [(each.id, place) for each, place in named if (each.attribute, place) == (old.attribute, part)]
        return alike or [(each.id, place) for each, place in named]


def _has_name(statement: Statement, part: int, other: Statement, other_part: int) -> bool:
    """Return whether mentions in two statements have the same name."""
    return value_key(_name(statement, part)) == value_key(_name(other, other_part))


def _name(statement: Statement, part: int) -> str:
    return statement.subject if part == SUBJECT else statement.value
