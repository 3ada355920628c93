"""Stores statements as units of kind `fact`, and reads the lines that were not read for facts yet.

The setting `SETTING_FACTS` has the number of the last line that was read. It is written in the same transaction as the
statements, if it has not changed since. So no line is skipped and none is read twice, even if a process is killed, or
two read at once. Units of that kind without an attribute are sentences that a language model or another memory wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from everthread.bank import kept_backups
from everthread.bank.line_versions import LINKS, find_versions, get_recorded, group_versions
from everthread.bank.settings import remember_policy
from everthread.common.keys import (
    META_GREETING,
    META_HEARD,
    META_NEEDS_CONSENT,
    META_REPEATS,
    META_UNDATED,
    SETTING_DROPPED_FACTS,
    SETTING_FACTS,
)
from everthread.errors import StoreUnavailable
from everthread.facts.attributes import is_known
from everthread.facts.history import is_moment, value_key
from everthread.facts.line_words import KnownKinds, keep_to_lines
from everthread.facts.sentences import describe_statement
from everthread.facts.types import WRITERS, Statement, StoredStatement, Writer
from everthread.stores.base import Store
from everthread.stores.limits import MAX_SEQ
from everthread.stores.unit_store import UnitReplacement
from everthread.text.analyzer import detect_language, remove_quotes
from everthread.types import JSONValue, Line, NewUnit, Unit, now

FACT = "fact"  # the kind of the units
BATCH_LINES = 512  # read and written together
CONTEXT_LINES = 4  # before a batch that are read again, for what pronouns in its first lines mean
NO_VECTORS = "none"  # the name of the model of units that are stored without vectors

StatementReader = Callable[[Sequence[Line], Sequence[Statement]], list[Statement]]
"""Returns what lines state, given the statements so far: see `facts.rules.read_statements`.

The first lines may have been read before; what they state is left out.
"""


@dataclass(frozen=True, slots=True)
class ReadingState:
    """How far a bank was read for facts.

    Attributes:
        last_seq: the number of the last line that was read.
        excluded: the numbers of lines that are never read, because the person had facts that they state forgotten.
        last_id: the last id that was given to a unit. None is given twice, as the person's merges and splits name ids.
    """

    last_seq: int = 0
    excluded: frozenset[int] = frozenset()
    last_id: int = 0

    @classmethod
    def parse(cls, value: JSONValue | None) -> ReadingState:
        """Parse the setting's value; an unset or invalid one is the state in which nothing was read."""
        if not isinstance(value, Mapping):
            return cls()
        last_seq, excluded, last_id = (value.get(name) for name in ("to", "never", "ids"))
        return cls(
            last_seq if type(last_seq) is int and 0 < last_seq < MAX_SEQ else 0,
            frozenset(seq for seq in excluded if type(seq) is int) if isinstance(excluded, list) else frozenset(),
            last_id if type(last_id) is int and 0 < last_id < MAX_SEQ else 0,
        )

    def to_json(self) -> JSONValue:
        """Return the setting's value."""
        never: dict[str, JSONValue] = {"never": sorted(self.excluded)} if self.excluded else {}
        return {"to": self.last_seq, "ids": self.last_id, **never}

    def with_units(self, first_id: int, count: int) -> ReadingState:
        """Return the state after units were stored, numbered from an id on."""
        return replace(self, last_id=first_id - 1 + count)


# ------------------------------------------------------------------ units


def build_unit(statement: Statement, language: str) -> NewUnit:
    """Build the unit of a statement, with a sentence in a language as its text.

    A statement that has an id takes the place of the one with this id.
    """
    seqs = statement.seqs or (0,)
    fields: dict[str, JSONValue] = {
        "subject": statement.subject or None,
        "attribute": statement.attribute or None,
        "value": statement.value,
        "ends": statement.ends or None,
        "moment": statement.moment,
        "event": statement.is_event or None,
        "writer": statement.writer,
        "confidence": None if statement.confidence == 1 else statement.confidence,
        "lines": list(statement.seqs),
        "of": statement.id or None,
        "position": None if statement.position == seqs[-1] else statement.position,
        META_UNDATED: statement.is_undated or None,
    }
    return NewUnit(
        kind=FACT,
        text=describe_statement(statement, language),
        first_seq=seqs[0],
        last_seq=seqs[-1],
        said_at=statement.said_at,
        metadata={name: value for name, value in fields.items() if value is not None},
        sources=statement.seqs,
    )


def parse_unit(unit: Unit) -> Statement:
    """Return what a unit states. One without an attribute states its sentence."""
    data = unit.metadata
    attribute, value, moment = (data.get(name) for name in ("attribute", "value", "moment"))
    position, first_id = data.get("position"), data.get("of")
    is_sentence = not attribute
    return Statement(
        subject="" if is_sentence else str(data.get("subject", "")),
        attribute=str(attribute or ""),
        value=value if isinstance(value, str) else unit.text,
        seqs=_parse_seqs(unit),
        said_at=unit.said_at,
        ends=data.get("ends") is True,
        moment=moment if isinstance(moment, str) and is_moment(moment) else None,
        is_event=data.get("event") is True,
        writer=_parse_writer(data.get("writer")),
        confidence=_parse_confidence(data.get("confidence")),
        is_undated=unit.is_undated,
        position=position if type(position) is int else unit.last_seq,
        id=first_id if type(first_id) is int else unit.id,
    )


def _parse_seqs(unit: Unit) -> tuple[int, ...]:
    lines = unit.metadata.get("lines")
    if isinstance(lines, list) and all(type(seq) is int and unit.first_seq <= seq <= unit.last_seq for seq in lines):
        return tuple(lines)
    return tuple(sorted({unit.first_seq, unit.last_seq} - {0}))


def _parse_writer(value: JSONValue) -> Writer:
    return next((writer for writer in WRITERS if writer == value), "model")


def _parse_confidence(value: JSONValue) -> float:
    return float(value) if isinstance(value, int | float) else 1.0


def read_statements(store: Store, bank: str) -> dict[int, StoredStatement]:
    """Return the statements of a bank by their ids.

    A statement has the id of its first unit, so that a correction by the person does not change it.
    """
    units = store.units(bank, (FACT,), only_current=True)
    stored = [StoredStatement(parse_unit(unit), unit.id) for unit in units]
    return {each.statement.id: each for each in stored}


# --------------------------------------------------------------- catching up


def catch_up(
    store: Store,
    bank: str,
    reader: StatementReader,
    given: Mapping[int, StoredStatement] | None = None,
    limit: int | None = None,
) -> Mapping[int, StoredStatement]:
    """Read the lines that were not read yet, store what they state, and return all statements by their ids.

    Each batch of lines is stored in one transaction. In a bank that can't be written, their statements are returned
    without being stored. A bank that never remembers has none.

    Args:
        store: the store of the bank.
        bank: its id.
        reader: reads lines.
        given: the statements of the bank, if they have been read.
        limit: the maximum number of lines to read; None: all.

    Returns:
        As `read_statements` does.
    """
    known = None if given is None else dict(given)
    as_of: JSONValue | None = None  # the setting with which they were read; None: the given ones count as current
    while True:
        settings = store.settings(bank)
        if remember_policy(settings) is False:
            return {}
        before = settings.get(SETTING_FACTS)
        if known is None or as_of not in (None, before):
            known, as_of = read_statements(store, bank), before
        state = ReadingState.parse(before)
        size = BATCH_LINES if limit is None else min(BATCH_LINES, limit)
        lines = list(store.lines(bank, after=state.last_seq, limit=size, include_wordless=True)) if size else []
        if not lines:
            return known
        new, after = _Batch(store, bank, reader, lines, state).read([statement for statement, _ in known.values()])
        try:
            first_id = _store(store, bank, new, before, after)
        except StoreUnavailable:
            return _read_unstored(store, bank, reader, known, state, limit)
        limit = None if limit is None else limit - len(lines)
        if first_id is None:
            known = None
        else:
            known |= {
                number: StoredStatement(replace(each, id=number), number) for number, each in enumerate(new, first_id)
            }
            as_of = after.with_units(first_id, len(new)).to_json()


def _store(
    store: Store,
    bank: str,
    statements: Sequence[Statement],
    before: JSONValue | None,
    after: ReadingState,
    supersedes: Sequence[int] = (),
) -> int | None:
    """Store statements and the state in one transaction.

    Returns:
        The id of the first statement; None, with nothing stored, if the bank has changed in the meantime.
    """
    languages = _find_languages(store, bank, statements)
    units = [build_unit(statement, language) for statement, language in zip(statements, languages, strict=True)]
    return _replace(store, bank, before, after, units=units, supersedes=supersedes)


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
    )
    return first_ids[-1] if store.replace_units(bank, change, NO_VECTORS, now()) else None


def _find_languages(store: Store, bank: str, statements: Sequence[Statement]) -> list[str]:
    """Return the language of each statement's lines."""
    wanted = sorted({seq for statement in statements for seq in statement.seqs})
    languages = {line.seq: detect_language(line.text) for line in (store.get(bank, wanted) if wanted else ())}
    return [languages.get(statement.seqs[-1] if statement.seqs else 0, "en") for statement in statements]


def _read_unstored(
    store: Store,
    bank: str,
    reader: StatementReader,
    known: Mapping[int, StoredStatement],
    state: ReadingState,
    limit: int | None,
) -> dict[int, StoredStatement]:
    """Read the remaining lines without storing anything."""
    statements = dict(known)
    for lines in _read_batches(store, bank, state.last_seq, limit):
        batch = _Batch(store, bank, reader, lines, state)
        new, state = batch.read([statement for statement, _ in statements.values()])
        for number, statement in enumerate(new, max(statements, default=0) + 1):
            statements[number] = StoredStatement(replace(statement, id=number), number)
    return statements


def _read_batches(store: Store, bank: str, after: int, limit: int | None) -> Iterator[list[Line]]:
    """Yield the lines after a number in batches."""
    lines = store.lines(bank, after=after, limit=limit, include_wordless=True)
    while batch := list(islice(lines, BATCH_LINES)):
        yield batch


@dataclass(frozen=True, slots=True)
class _Batch:
    """Consecutive lines that are read for facts."""

    store: Store
    bank: str
    reader: StatementReader
    lines: Sequence[Line]
    state: ReadingState

    def read(self, known: Sequence[Statement]) -> tuple[list[Statement], ReadingState]:
        """Return what the lines state, in their order, and the state afterwards."""
        excluded = self.state.excluded | self._find_excluded()
        carried, copies = self._carry_over()
        readable = [line for line in self.lines if line.seq not in excluded | copies and is_readable(line)]
        found = [*carried, *self._read_lines(readable, known, self._read_context(excluded))]
        after = replace(self.state, last_seq=self.lines[-1].seq, excluded=frozenset(excluded))
        return sorted(found, key=lambda statement: statement.seqs[-1]), after

    def _find_excluded(self) -> set[int]:
        """Return the lines that are never read, with those that repeat, correct or replace one of them."""
        excluded = set(self.state.excluded)
        linked = {line.seq: line for line in self.lines if any(name in line.metadata for name in LINKS)}
        groups = group_versions(self.store, self.bank, list(linked.values())) if excluded and linked else {}
        for group in {id(group): group for group in groups.values()}.values():
            versions = {line.seq for line in group}
            if not versions.isdisjoint(self.state.excluded):
                excluded |= versions & linked.keys()
        return excluded

    def _read_context(self, excluded: Collection[int]) -> list[Line]:
        """Return the readable ones of the lines shortly before the batch.

        So a pronoun means the same wherever a batch begins, which depends on when facts are asked for.
        """
        first_seq = self.lines[0].seq
        before = self.store.get(self.bank, range(max(first_seq - CONTEXT_LINES, 1), first_seq))
        return [line for line in before if line.seq not in excluded and is_readable(line)]

    def _read_lines(
        self, lines: Sequence[Line], known: Sequence[Statement], context: Sequence[Line]
    ) -> Iterator[Statement]:
        """Yield what lines state. A statement of other lines, of no known attribute, or known already is left out."""
        given = {line.seq: replace(line, text=remove_quotes(line.text, line.metadata)) for line in (*context, *lines)}
        found = self.reader(list(given.values()), known) if lines else []
        kinds = KnownKinds([*known, *found])
        new = {line.seq for line in lines}
        stored = {_content(statement) for statement in known}
        for statement in found:
            seqs = statement.seqs
            if seqs and seqs[-1] in new and given.keys() >= set(seqs) and is_known(statement.attribute):
                said = keep_to_lines(statement, [given[seq] for seq in seqs], kinds)
                if said is not None and _content(dated := _date(said, given[seqs[-1]])) not in stored:
                    stored.add(_content(dated))
                    yield dated

    def _carry_over(self) -> tuple[list[Statement], set[int]]:
        """Return what restored lines stated before they were discarded, and which of the lines these are.

        So the person's corrections come back, and a language model need not read the lines again.
        """
        restored = [line for line in self.lines if META_REPEATS in line.metadata]
        if not restored:
            return [], set()
        units = [unit for unit in self.store.units(self.bank, (FACT,), include_retracted=True) if unit.retracted_at]
        current = [parse_unit(unit) for unit in units if unit.valid_to is None]
        statements = sorted(current, key=lambda statement: statement.id)  # as their lines state them
        read = {seq for statement in statements for seq in statement.seqs} | self.state.excluded
        copies = {original: line for line in restored if (original := self._find_original(line, read))}
        carried: list[Statement] = []
        for statement in statements:
            if statement.attribute and statement.seqs and copies.keys() >= set(statement.seqs):
                lines = [copies[seq] for seq in statement.seqs]
                seqs = tuple(line.seq for line in lines)
                carried.append(replace(statement, seqs=seqs, position=lines[-1].position, id=0))
        return carried, {line.seq for line in copies.values()}

    def _find_original(self, line: Line, read: Collection[int]) -> int | None:
        """Return the latest of the discarded lines that a line repeats which was read for facts."""
        original: Line | None = line
        while original is not None:
            seq = original.metadata.get(META_REPEATS)
            recorded = get_recorded(self.store, self.bank, seq) if type(seq) is int and 0 < seq < original.seq else None
            if recorded is None or (recorded.text, recorded.speaker) != (line.text, line.speaker):
                return None
            if recorded.seq in read:
                return recorded.seq
            original = recorded
        return None


def is_readable(line: Line) -> bool:
    """Return whether a line may state facts: it is a person's, was not heard by the way, and waits for no consent."""
    marks = (META_NEEDS_CONSENT, META_HEARD, META_GREETING)
    return line.role == "user" and bool(line.text) and not any(line.metadata.get(mark) for mark in marks)


def _content(statement: Statement) -> tuple[object, ...]:
    """Return what a statement says, and its lines."""
    said = statement.subject, statement.attribute, statement.value, statement.ends, statement.moment
    return *said, statement.seqs


def _date(statement: Statement, line: Line) -> Statement:
    """Return a statement with the time and the place of its last line, and without an invalid moment."""
    moment = statement.moment if statement.moment and is_moment(statement.moment) else None
    position = line.position
    return replace(statement, said_at=line.said_at, is_undated=line.is_undated, moment=moment, position=position)


# ------------------------------------------------------------ what people change


def read_setting(store: Store, bank: str) -> JSONValue | None:
    """Return the setting of the state. Each change of statements that a person makes changes it.

    Read it before the statements from which a change is computed, so that the change fails if they are no longer these.
    """
    return store.settings(bank).get(SETTING_FACTS)


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
    return _store(store, bank, statements, before, ReadingState.parse(before), supersedes) is not None


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
    after = replace(state, excluded=state.excluded | seqs, last_id=state.last_id + 1)  # even of excluded lines
    units = store.units(bank, (FACT,), include_retracted=True)
    discarded = {unit.id for unit in units if unit.retracted_at and _states(unit, versions, values)}
    deleted = discarded | _find_unit_versions(units, {each.unit_id for each in statements})
    if _replace(store, bank, before, after, delete_ids=sorted(deleted), forgets=True) is None:
        return False

    def change(copy: Store) -> None:  # a backup may have the statements under ids of an earlier reading
        others = [unit for unit in copy.units(bank, (FACT,), include_retracted=True) if _states(unit, versions, values)]
        _forget_in_copy(copy, bank, seqs, deleted | {unit.id for unit in others})

    kept_backups.change_backups(store, bank, change)
    return True


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
