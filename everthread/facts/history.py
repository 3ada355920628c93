"""Computes facts and the time in which each holds from what lines state. Pure.

Statements are read in the order in which they were said. A new value of an attribute that has one value at a time takes
the place of the old one; values of other attributes are true beside each other until it is said that one ended.

A memory of the past takes the place of no present value: after "I live in Leeds", "I moved to Bonn in 2010" says where
the speaker lived before. That is what a statement of an event does whose moment is before the value that holds is known
to begin, and more than a year before it was said. So "We moved in March", said in May, replaces what was said in April.
The value of a memory held until the other one began. "I've lived in Bonn since 2010" is about the present, whenever it
is said.

Nothing is stored: if a statement is taken away, the facts are those that the others give.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from everthread.common.timestamps import to_micros
from everthread.facts.attributes import DESCRIBED, is_single, takes_the_place
from everthread.facts.partial_dates import read_moment
from everthread.facts.sentences import describe_fact
from everthread.facts.types import Fact, Statement
from everthread.text.analyzer import fold

Position = tuple[int, int, int, int, int, int]

ARTICLES = ("a ", "an ", "the ", "my ", "our ", "his ", "her ", "their ")


def build_facts(
    statements: Iterable[Statement], *, as_of: datetime | None = None, known_at: datetime | None = None
) -> list[Fact]:
    """Build the facts that follow from statements.

    Args:
        statements: what lines state; their subjects are names of entities.
        as_of: only facts that held at this moment; None for all, also those that have ended.
        known_at: only what had been said until this moment.

    Returns:
        The facts by subject, attribute and time, each subject in the order in which they were first named.
    """
    groups: dict[tuple[str, str], list[Statement]] = defaultdict(list)
    for statement in sorted(statements, key=statement_order):
        if known_at is None or statement.said_at <= known_at:
            groups[statement.subject, statement.attribute].append(statement)
    facts = [fact for group in groups.values() for fact in _History(group).build()]
    return [fact for fact in facts if as_of is None or held_at(fact, as_of)]


def sort_facts(facts: Collection[Fact]) -> list[Fact]:
    """Sort facts by their positions (`find_positions`)."""
    positions = find_positions(facts)
    return sorted(facts, key=lambda fact: positions[fact.id])


def find_positions(facts: Collection[Fact]) -> dict[int, Position]:
    """Return the position of each fact among those of a list, by its id.

    Attributes are in the order in which a value of each was first stored. Of the values of one, those that hold come
    first, then those whose beginning is known, and of these the one that was said last.
    """
    first_ids: dict[tuple[str, str], int] = {}
    for fact in facts:
        key = fact.subject, fact.attribute
        first_ids[key] = min(fact.id, first_ids.get(key, fact.id))
    return {
        fact.id: (
            first_ids[fact.subject, fact.attribute],
            int(not fact.holds),
            int(fact.since is None),
            -to_micros(fact.said_at),
            -max(fact.seqs, default=0),
            fact.id,
        )
        for fact in facts
    }


def statement_order(statement: Statement) -> tuple[datetime, int, int]:
    """Return the key by which statements are sorted into the order in which they were said."""
    return statement.said_at, statement.position, statement.id


def held_at(fact: Fact, moment: datetime) -> bool:
    """Return whether a fact held at a moment. One that began at an unknown time held at any time before its end."""
    return (fact.since is None or fact.since <= moment) and (fact.until is None or moment < fact.until)


def value_key(value: str) -> str:
    """Return the form of a value in which two wordings are compared: without case, accents and an article."""
    key = fold(value).strip()
    return next((key.removeprefix(article) for article in ARTICLES if key.startswith(article)), key)


def resolve_ended(statements: Iterable[Statement]) -> list[Statement]:
    """Give each statement that something has ended the value as it was stated before, if it names that otherwise.

    After "I have a red bike", "I sold the bike" is about that one, and after "a bike", "I sold my red bike" too; after
    "I'm allergic to peanuts", "my peanut allergy is gone". The value must be the only one that is meant.

    Args:
        statements: the statements in the order in which they were said.
    """
    resolved = []
    stated: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)  # the values that hold, by their keys
    for statement in statements:
        key = value_key(statement.value)
        head = key.rpartition(" ")[2].rstrip("s")
        values = stated[statement.subject, statement.attribute, head]
        if not statement.ends:
            values[key] = statement.value
        elif values.pop(key, None) is None and statement.attribute in DESCRIBED:
            meant = [each for each in values if _is_same_thing(each, key)]
            if len(meant) == 1:
                resolved.append(replace(statement, value=values.pop(meant[0])))
                continue
        resolved.append(statement)
    return resolved


def _is_same_thing(one: str, other: str) -> bool:
    """Return whether two keys may name the same thing: one has more words before, or is the plural of the other."""
    short, long = sorted((one, other), key=len)
    return bool(short) and (long.endswith(f" {short}") or long == f"{short}s")


@dataclass(slots=True)
class _Interval:
    """A value while it holds, and the statements that state it."""

    statements: list[Statement]
    since: datetime | None
    until: datetime | None = None
    ended_by: Statement | None = None
    replaced_by: str | None = None
    replaces: str | None = None
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = value_key(self.statements[0].value)

    def extend(self, statement: Statement) -> None:
        """Add a statement of the same value. The moment from which it holds is the one that was given last."""
        self.statements.append(statement)
        if statement.moment is not None:
            self.since = _begin(statement)

    def end(self, moment: datetime, by: Statement) -> None:
        self.until = moment if self.since is None else max(moment, self.since)
        self.ended_by = by

    def build(self) -> Fact:
        told = [statement.moment for statement in self.statements if statement.moment is not None]
        last, by = self.statements[-1], self.ended_by
        fact = Fact(
            id=self.statements[0].id,
            subject=last.subject,
            attribute=last.attribute,
            value=last.value,
            seqs=tuple(sorted({seq for statement in self.statements for seq in statement.seqs})),
            statements=tuple(statement.id for statement in self.statements),
            said_at=last.said_at,
            since=self.since,
            until=self.until,
            since_stated=told[-1] if told else None,
            until_stated=None if by is None else by.moment,
            replaced_by=self.replaced_by,
            replaces=self.replaces,
            confidence=max(statement.confidence for statement in self.statements),
            writers=tuple(dict.fromkeys(statement.writer for statement in self.statements)),
            can_resume=by is not None and by.ends and value_key(by.value) == self.key,
            undated=last.is_undated,
            until_undated=by is not None and by.is_undated and by.moment is None,
        )
        return replace(fact, text=describe_fact(fact))


@dataclass(slots=True)
class _History:
    """The values of one attribute of one subject, from its statements in the order in which they were said."""

    statements: Sequence[Statement]
    intervals: list[_Interval] = field(default_factory=list)
    open: dict[str, _Interval] = field(default_factory=dict)  # those that hold, by the key of their value
    past: dict[str, _Interval] = field(default_factory=dict)  # those that memories state, by key
    keys: set[str] = field(default_factory=set)  # of all values

    def build(self) -> list[Fact]:
        for statement in self.statements:
            if statement.ends:
                self._end(statement)
            else:
                self._state(statement)
        return [interval.build() for interval in self.intervals]

    def _state(self, statement: Statement) -> None:
        key = value_key(statement.value)
        if key in self.open:
            self.open[key].extend(statement)
            return
        former = self._find_former(statement.attribute, key)
        until = next((each.since for each in former.values() if each.since is not None), None)
        if until is not None and _is_memory(statement, until):
            self._remember(statement, key, until)
            return
        new = self._add(statement, _begin(statement))
        for old, interval in former.items():
            interval.end(new.since or statement.said_at, statement)
            interval.replaced_by, new.replaces = statement.value, interval.statements[-1].value
            del self.open[old]
        self.open[key] = new

    def _find_former(self, attribute: str, key: str) -> dict[str, _Interval]:
        """Return the values that hold and whose place a new one takes, by key."""
        if not is_single(attribute):
            return {}  # without going through all values, of which there may be many
        return {old: interval for old, interval in self.open.items() if takes_the_place(attribute, key, old)}

    def _remember(self, statement: Statement, key: str, until: datetime) -> None:
        """Add a value that held before the one that holds, from the moment that a statement names."""
        since = _begin(statement)
        known = self.past.get(key)
        if known is not None and known.until is not None and since is not None and since < known.until:
            known.extend(statement)
            return
        self.past[key] = self._add(statement, since)
        self.past[key].until = until

    def _end(self, statement: Statement) -> None:
        """End the values that a statement names, or note that an unknown one has ended."""
        key = value_key(statement.value)
        moment = (
            statement.said_at if statement.moment is None else read_moment(statement.moment, statement.said_at.tzinfo)
        )
        for ended in [key] if key else list(self.open):
            if ended in self.open:
                self.open.pop(ended).end(moment, statement)
        if key and key not in self.keys:
            self._add(statement, None).end(moment, statement)

    def _add(self, statement: Statement, since: datetime | None) -> _Interval:
        interval = _Interval([statement], since)
        self.intervals.append(interval)
        self.keys.add(interval.key)
        return interval


def _is_memory(statement: Statement, until: datetime) -> bool:
    """Return whether a statement is of an event before a moment, and over a year before it was said."""
    moment = statement.moment
    return moment is not None and is_long_ago(statement) and moment < until.date().isoformat()[: len(moment)]


def is_long_ago(statement: Statement) -> bool:
    """Return whether a statement is of an event more than a year before it was said."""
    moment = statement.moment
    if moment is None or not statement.is_event or statement.is_undated:
        return False
    said = statement.said_at.date().isoformat()
    year_before = f"{int(said[:4]) - 1:04}{said[4:]}"
    return moment < year_before[: len(moment)]


def _begin(statement: Statement) -> datetime | None:
    """Return the moment from which a statement says that its value holds."""
    if statement.moment is not None:
        return read_moment(statement.moment, statement.said_at.tzinfo)
    return None if statement.is_undated else statement.said_at
