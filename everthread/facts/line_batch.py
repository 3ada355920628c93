"""Consecutive lines of a bank that are read for facts together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from everthread.bank.line_versions import LINKS, get_recorded, group_versions
from everthread.common.keys import META_GREETING, META_HEARD, META_NEEDS_CONSENT, META_REPEATS
from everthread.facts.attributes import is_known
from everthread.facts.fact_units import FACT, parse_unit
from everthread.facts.line_words import KnownKinds, keep_to_lines
from everthread.facts.partial_dates import is_moment
from everthread.facts.reading_state import ReadingState
from everthread.facts.role_play import MAX_PLAYED_LINES, find_played
from everthread.facts.types import Statement
from everthread.stores.base import Store
from everthread.text.analyzer import remove_quotes
from everthread.types import Line

CONTEXT_LINES = 4  # before a batch that are read again, for what pronouns in its first lines mean

StatementReader = Callable[[Sequence[Line], Sequence[Statement]], list[Statement]]
"""Returns what lines state, given the statements so far: see `facts.rules.read_statements`.

The first lines may have been read before; what they state is left out.
"""


@dataclass(frozen=True, slots=True)
class LineBatch:
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
        readable, context = self._choose_lines(excluded, copies)
        found = [*carried, *self._read_lines(readable, known, context)]
        after = replace(self.state, last_seq=self.lines[-1].seq, excluded=frozenset(excluded))
        return sorted(found, key=lambda statement: statement.seqs[-1]), after

    def read_again(self, known: Sequence[Statement], stored: Sequence[Statement]) -> list[Statement]:
        """Return what lines that were read before state by the present rules and isn't stored, in their order.

        Args:
            known: what the lines before them state.
            stored: all statements of the bank, and those that the person's corrections took the place of. To an
                attribute that the person has confirmed, corrected or ended in a line, nothing of the line is added.
        """
        excluded = self.state.excluded | self._find_excluded()
        readable, context = self._choose_lines(excluded)
        contents = {_content(each) for each in stored}
        decided = {(seq, each.attribute) for each in stored if each.writer == "person" for seq in each.seqs}
        return [
            each
            for each in self._read_lines(readable, known, context)
            if _content(each) not in contents and decided.isdisjoint((seq, each.attribute) for seq in each.seqs)
        ]

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

    def _choose_lines(self, excluded: Collection[int], copies: Collection[int] = ()) -> tuple[list[Line], list[Line]]:
        """Return the readable lines outside role plays, and the lines before and between them, for context.

        A bot's lines are context, because people answer its questions, and so are the lines before: a pronoun means the
        same wherever a batch begins, which depends on when facts are asked for.
        """
        first_seq = self.lines[0].seq
        before = list(self.store.get(self.bank, range(max(first_seq - MAX_PLAYED_LINES, 1), first_seq)))
        unread = find_played([*before, *self.lines]) | set(excluded)
        readable = [line for line in self.lines if line.seq not in unread | set(copies) and is_readable(line)]
        others = [line for line in before if line.seq >= first_seq - CONTEXT_LINES]
        others += [line for line in self.lines if line.role == "assistant"]
        return readable, [line for line in others if line.seq not in unread and (is_readable(line) or _is_by_bot(line))]

    def _read_lines(
        self, lines: Sequence[Line], known: Sequence[Statement], context: Sequence[Line]
    ) -> Iterator[Statement]:
        """Yield what lines state. A statement of other lines, of no known attribute, or known already is left out."""
        ordered = sorted((*context, *lines), key=lambda line: line.seq)
        given = {line.seq: replace(line, text=remove_quotes(line.text, line.metadata)) for line in ordered}
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


def _is_by_bot(line: Line) -> bool:
    return line.role == "assistant" and bool(line.text) and not line.metadata.get(META_GREETING)


def _content(statement: Statement) -> tuple[object, ...]:
    """Return what a statement says, and its lines."""
    said = statement.subject, statement.attribute, statement.value, statement.ends, statement.moment
    return *said, statement.seqs


def _date(statement: Statement, line: Line) -> Statement:
    """Return a statement with the time and the place of its last line, and without an invalid moment."""
    moment = statement.moment if statement.moment and is_moment(statement.moment) else None
    position = line.position
    return replace(statement, said_at=line.said_at, is_undated=line.is_undated, moment=moment, position=position)
