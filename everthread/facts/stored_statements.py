"""Reads, adds and forgets the statements of a bank, which are stored as units of kind `fact`.

Each change is one transaction with the bank's `ReadingState`, and fails if that has changed in the meantime.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from everthread.bank import kept_backups
from everthread.bank.line_versions import find_versions
from everthread.common.keys import SETTING_FACTS
from everthread.facts.fact_units import FACT, build_unit, parse_unit
from everthread.facts.history import value_key
from everthread.facts.reading_state import ReadingState, read_setting
from everthread.facts.types import Statement, StoredStatement
from everthread.stores.base import Store
from everthread.stores.unit_store import UnitReplacement
from everthread.text.analyzer import detect_language
from everthread.types import JSONValue, Line, NewUnit, Unit, now

NO_VECTORS = "none"  # the name of the model of units that are stored without vectors


def read_statements(store: Store, bank: str) -> dict[int, StoredStatement]:
    """Return the statements of a bank by their ids.

    A statement has the id of its first unit, so that a correction by the person does not change it.
    """
    units = store.units(bank, (FACT,), only_current=True)
    stored = [StoredStatement(parse_unit(unit), unit.id) for unit in units]
    return {each.statement.id: each for each in stored}


def store_statements(
    store: Store,
    bank: str,
    statements: Sequence[Statement],
    before: JSONValue | None,
    after: ReadingState,
    supersedes: Sequence[int] = (),
    lines: Sequence[Line] = (),
) -> int | None:
    """Store statements and the state in one transaction.

    Args:
        store: the store of the bank.
        bank: its id.
        statements: the new statements.
        before: the setting with the state when they were found.
        after: the new state.
        supersedes: ids of the statements that the first new ones supersede, in their order.
        lines: all lines that were read; nothing is stored if one has changed.

    Returns:
        The id of the first statement; None, with nothing stored, if the bank has changed in the meantime.
    """
    languages = _find_languages(store, bank, statements)
    units = [build_unit(statement, language) for statement, language in zip(statements, languages, strict=True)]
    return _replace(store, bank, before, after, units=units, supersedes=supersedes, lines=lines)


def _replace(
    store: Store,
    bank: str,
    before: JSONValue | None,
    after: ReadingState,
    *,
    delete_ids: Sequence[int] = (),
    units: Sequence[NewUnit] = (),
    supersedes: Sequence[int] = (),
    forgets: bool = False,
    lines: Sequence[Line] = (),
) -> int | None:
    """Replace units and the state in one transaction; return the first new id, or None if the bank has changed.

    The units get no vectors here, so that nothing waits for an embedder.
    """
    first_ids = [0]

    def make_value(first_id: int) -> JSONValue:
        first_ids.append(first_id)
        return after.with_units(first_id, len(units)).to_json()

    change = UnitReplacement(
        kind=FACT,
        delete_ids=delete_ids,
        units=units,
        vectors=(),
        min_id=after.last_id,
        setting=SETTING_FACTS,
        expected_value=before,
        make_value=make_value,
        supersedes=supersedes,
        forgets=forgets,
        lines=lines,
    )
    return first_ids[-1] if store.replace_units(bank, change, NO_VECTORS, now()) else None


def _find_languages(store: Store, bank: str, statements: Sequence[Statement]) -> list[str]:
    """Return the language of each statement's lines."""
    wanted = sorted({seq for statement in statements for seq in statement.seqs})
    languages = {line.seq: detect_language(line.text) for line in (store.get(bank, wanted) if wanted else ())}
    return [languages.get(statement.seqs[-1] if statement.seqs else 0, "en") for statement in statements]


def add_statements(
    store: Store,
    bank: str,
    statements: Sequence[Statement],
    before: JSONValue | None,
    supersedes: Sequence[int] = (),
) -> bool:
    """Store what the person or a model states, in one transaction.

    Args:
        store: the store of the bank.
        bank: its id.
        statements: the statements.
        before: the setting as `read_setting` returned it, before the statements so far were read.
        supersedes: the units in whose place the first of them are.

    Returns:
        False, with nothing stored, if a line or statements were changed in the meantime; read again.
    """
    return store_statements(store, bank, statements, before, ReadingState.parse(before), supersedes) is not None


def forget_statements(store: Store, bank: str, statements: Sequence[StoredStatement], before: JSONValue | None) -> bool:
    """Forget statements and not their lines, which are never read for facts again.

    Discarded versions of the lines, which may be restored, forget what they stated as well.

    Args:
        store: the store of the bank.
        bank: its id.
        statements: the statements; their units are deleted with all of their versions.
        before: the setting as `read_setting` returned it, before the statements were read.

    Returns:
        False, with nothing deleted, if statements were changed in the meantime; read again.

    Raises:
        StoreUnavailable: they are deleted, but bytes of them may remain.
    """
    seqs = {seq for statement, _ in statements for seq in statement.seqs}
    versions = set(find_versions(store, bank, seqs)) if seqs else seqs
    values = {(statement.attribute, value_key(statement.value)) for statement, _ in statements}
    state = ReadingState.parse(before)
    after = replace(state, excluded=state.excluded | versions, last_id=state.last_id + 1)  # even of excluded lines
    units = store.units(bank, (FACT,), include_retracted=True)
    discarded = {unit.id for unit in units if unit.retracted_at and _states(unit, versions, values)}
    deleted = discarded | _find_unit_versions(units, {each.unit_id for each in statements})

    def forget() -> bool:
        return _replace(store, bank, before, after, delete_ids=sorted(deleted), forgets=True) is not None

    def change(copy: Store) -> None:  # a backup may have the statements under ids of an earlier reading
        others = [unit for unit in copy.units(bank, (FACT,), include_retracted=True) if _states(unit, versions, values)]
        _forget_in_copy(copy, bank, versions, deleted | {unit.id for unit in others})

    return kept_backups.forget_units(store, bank, forget, change)


def _forget_in_copy(store: Store, bank: str, seqs: Collection[int], ids: Collection[int]) -> None:
    """Forget in a backup the statements that its bank has forgotten; `seqs` are their lines, and `ids` their units."""
    before = read_setting(store, bank)
    state = ReadingState.parse(before)
    _replace(
        store, bank, before, replace(state, excluded=state.excluded | set(seqs)), delete_ids=sorted(ids), forgets=True
    )


def _find_unit_versions(units: Iterable[Unit], ids: Collection[int]) -> set[int]:
    """Return the ids of all versions of units: those that they superseded, and those that have superseded them."""
    first_ids: dict[int, int] = {}  # of the first version of each unit
    for unit in sorted(units, key=lambda unit: unit.id):
        first_ids[unit.id] = first_ids.get(unit.supersedes or 0, parse_unit(unit).id)
    wanted = {first_ids.get(number, number) for number in ids}
    return {number for number, first_id in first_ids.items() if first_id in wanted}


def _states(unit: Unit, seqs: Collection[int], values: Collection[tuple[str, str]]) -> bool:
    """Return whether a unit derives from one of these lines, and states one of these values of attributes."""
    statement = parse_unit(unit)
    is_of_lines = any(seq in seqs for seq in statement.seqs)
    return is_of_lines and (statement.attribute, value_key(statement.value)) in values
