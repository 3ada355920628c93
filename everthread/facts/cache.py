"""Keeps in memory what is known in a bank, until its statements change.

A statement may change at any time, in any process: a line is forgotten, the person corrects a fact. So each use
compares the version of the bank's units of kind `fact`, which costs much less than to read them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import takewhile

from everthread.bank.settings import remember_policy
from everthread.common.keys import SETTING_ENTITIES, SETTING_FACTS
from everthread.errors import NotFound
from everthread.facts.attributes import FAVOURITE, RELATIONS
from everthread.facts.entities import Entities, EntityEdit, FindSpeaker
from everthread.facts.entity_edits import follow_versions, parse_edits
from everthread.facts.fact_units import FACT
from everthread.facts.history import build_facts, sort_facts, statement_order, value_key
from everthread.facts.line_batch import StatementReader
from everthread.facts.person_names import list_person_names
from everthread.facts.reading_state import ReadingState
from everthread.facts.stored_statements import read_statements
from everthread.facts.types import Fact, Statement, StoredStatement
from everthread.facts.unread_lines import catch_up
from everthread.stores.base import Store
from everthread.stores.unit_store import UnitVersion
from everthread.text.analyzer import normalize, terms
from everthread.types import JSONValue

MAX_KEPT_STATEMENTS = 20_000  # in memory, about 1 KiB each; those of a larger bank are read each time

# Of units, the person's edits, the person's names, the people who have spoken, and whether the bank remembers.
_Version = tuple[UnitVersion, JSONValue | None, tuple[str, ...], tuple[str, ...], bool]
WORD = re.compile(r"\w+(?:['’-]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")

Stored = Mapping[int, StoredStatement]  # by the statement's id


def normalize_word(word: str) -> str:
    """Return a word in small letters, without a possessive ending."""
    return normalize(_POSSESSIVE.sub("", word))


def normalize_name(name: str) -> str:
    """Return the form in which a name is looked up in a question."""
    return " ".join(map(normalize_word, WORD.findall(name)))


class FactIndex:
    """The facts and entities of a bank at one time. Its attributes are computed when they are first needed."""

    def __init__(
        self,
        stored: Stored,
        edits: Sequence[EntityEdit] = (),
        person_names: Sequence[str] = (),
        speakers: Sequence[str] = (),
        find_speaker: FindSpeaker = lambda seq: None,
    ) -> None:
        """Compute what is known by statements. The other arguments are those of `Entities`."""
        self.stored = stored
        self._terms: dict[tuple[str, str], frozenset[str]] = {}
        statements = [statement for statement, _ in stored.values()]
        self.entities = Entities(statements, edits, person_names, speakers, find_speaker)

    @cached_property
    def _facts(self) -> list[Fact]:
        return sort_facts(build_facts(self.entities.statements))

    @cached_property
    def _statements_by_subject(self) -> Mapping[str, list[Statement]]:
        by_subject: dict[str, list[Statement]] = defaultdict(list)
        for statement in self.entities.statements:
            by_subject[statement.subject].append(statement)
        return by_subject

    @cached_property
    def _facts_by_subject(self) -> Mapping[str, list[Fact]]:
        by_subject: dict[str, list[Fact]] = defaultdict(list)
        for fact in self._facts:
            by_subject[fact.subject].append(fact)
        return by_subject

    @cached_property
    def _ended_by_seq(self) -> Mapping[int, list[Fact]]:
        """The facts that have ended or were replaced, by the numbers of the lines that state them."""
        by_seq: dict[int, list[Fact]] = defaultdict(list)
        for fact in self._facts:
            for number in () if fact.holds else fact.statements:
                statement = self.stored[number].statement
                for seq in () if statement.ends else statement.seqs:
                    by_seq[seq].append(fact)
        return by_seq

    @cached_property
    def _confirmed_by_seq(self) -> Mapping[int, list[Fact]]:
        """The facts that hold and that the person has confirmed or corrected, by the numbers of their lines."""
        by_seq: dict[int, list[Fact]] = defaultdict(list)
        for fact in self._facts:
            for seq in fact.seqs if fact.holds and fact.is_confirmed else ():
                by_seq[seq].append(fact)
        return by_seq

    @cached_property
    def _current_seqs(self) -> frozenset[int]:
        """The numbers of the lines that state what still holds."""
        return frozenset(seq for fact in self._facts if fact.holds for seq in fact.seqs)

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the entities that facts are about, by what they are called (`normalize_name`)."""
        names: dict[str, dict[str, None]] = defaultdict(dict)
        first_names: dict[str, dict[str, None]] = defaultdict(dict)
        for entity in self.entities.all():
            if entity.name in self._statements_by_subject:
                for name in (entity.name, *entity.aliases):
                    names[normalize_name(name)][entity.name] = None
                first, _, last = entity.name.partition(" ")
                if entity.kind == "person" and last[:1].isupper():
                    first_names[normalize_name(first)][entity.name] = None
        return {name: tuple(found) for name, found in (first_names | names).items()}

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """The names of people with relatives, by what they are called. Of some, nothing else is known."""
        return {normalize_name(owner): owner for entity in self.entities.all() for owner, _ in entity.relations}

    def facts(self, known_at: datetime | None = None) -> list[Fact]:
        """Return all facts in their order, also those that have ended.

        Args:
            known_at: only what had been said until this moment; None: all.
        """
        if known_at is None:
            return self._facts
        return sort_facts(build_facts(self.entities.statements, known_at=known_at))

    def facts_about(self, subject: str, known_at: datetime | None = None) -> list[Fact]:
        """Return the facts about the one entity of a name, as `facts` does."""
        if known_at is None:
            return self._facts_by_subject.get(subject, [])
        return sort_facts(build_facts(self._statements_by_subject.get(subject, ()), known_at=known_at))

    def relations_to(self, subject: str, known_at: datetime | None = None) -> list[Fact]:
        """Return the facts that say what an entity is to others: "Nora's sister is Mia", of Mia."""
        related = (fact for fact in self.facts(known_at) if fact.attribute in RELATIONS)
        return [fact for fact in related if self.names.get(normalize_name(fact.value)) == (subject,)]

    def value_terms(self, fact: Fact) -> frozenset[str]:
        """Return the terms of a fact's value, and of the kind of a favourite."""
        key = fact.attribute if fact.attribute.startswith(FAVOURITE) else "", fact.value
        if key not in self._terms:
            self._terms[key] = frozenset(terms(f"{key[0].removeprefix(FAVOURITE)} {fact.value}"))
        return self._terms[key]

    def ended_facts(self, seq: int, known_at: datetime | None = None) -> list[Fact]:
        """Return the facts that a line states and that have ended or were replaced since."""
        ended = self._ended_by_seq.get(seq, [])
        if known_at is None or not ended:
            return ended
        ids = {number for fact in ended for number in fact.statements}
        subjects = dict.fromkeys(fact.subject for fact in ended)
        then = [fact for subject in subjects for fact in self.facts_about(subject, known_at) if not fact.holds]
        return [fact for fact in then if seq in fact.seqs and not ids.isdisjoint(fact.statements)]

    def corrected_facts(self, seq: int, text: str) -> list[Fact]:
        """Return the facts of a line to which the person has given a value that its text doesn't have."""
        plain = text.casefold()
        return [fact for fact in self._confirmed_by_seq.get(seq, ()) if fact.value.casefold() not in plain]

    def has_current(self, seq: int) -> bool:
        """Return whether a line states something that still holds."""
        return seq in self._current_seqs

    def find_fact(self, number: int) -> Fact:
        """Return a fact by its id or that of one of its statements. Raises NotFound."""
        fact = next((fact for fact in self.facts() if number in (fact.id, *fact.statements)), None)
        if fact is None:
            raise NotFound(f"there is no fact {number}; its lines may have been removed. List the facts again")
        return fact

    def statements_of(self, fact: Fact) -> list[StoredStatement]:
        """Return the statements of a fact."""
        return [self.stored[number] for number in fact.statements if number in self.stored]

    def endings_of(self, fact: Fact) -> list[StoredStatement]:
        """Return the statements that a fact has ended: those after it, until its value is stated again."""
        numbers = set(fact.statements)
        stored = sorted(self.statements_of_value(fact), key=lambda each: statement_order(each.statement))
        first = next((place for place, (each, _) in enumerate(stored) if each.id in numbers), len(stored))
        own = takewhile(lambda each: each.statement.ends or each.statement.id in numbers, stored[first:])
        return [each for each in own if each.statement.ends and each.statement.id not in numbers]

    def list_endings(self, subject: str, attribute: str) -> list[Statement]:
        """Return the statements that an attribute's value has ended, whichever it was."""
        own = self._statements_by_subject.get(subject, ())
        return [each for each in own if each.attribute == attribute and each.ends]

    def statements_of_value(self, fact: Fact) -> list[StoredStatement]:
        """Return all statements of a fact's value, also that it ended, or was true before and is again."""
        key = fact.subject, fact.attribute, value_key(fact.value)
        return [
            self.stored[each.id]
            for each in self.entities.statements
            if (each.subject, each.attribute, value_key(each.value)) == key
        ]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The facts, the version of the bank from which they follow, and the number of the last line that was read."""

    version: _Version
    known: FactIndex
    read_to: int


class FactCache:
    """Reads what is known in one bank. Thread-safe: what is kept is replaced as a whole."""

    def __init__(self, store: Store, bank: str) -> None:
        self._store, self._bank = store, bank
        self._kept: _Kept | None = None

    def clear(self) -> None:
        """Keep nothing in memory."""
        self._kept = None

    def count_unread(self) -> int:
        """Return how many lines at most have not been read for facts yet; 0 in a bank that never remembers."""
        if not self._store.exists(self._bank):
            return 0  # a bank that was forgotten would be created again
        (*_, remembers), read_to = self._find_version()
        kept = self._kept
        read_to = read_to if kept is None else max(read_to, kept.read_to)
        return max(self._store.corpus_stats(self._bank).last_seq - read_to, 0) if remembers else 0

    def read(self, reader: StatementReader, limit: int | None = None, exclude: Collection[int] = ()) -> FactIndex:
        """Return what is known, once the lines that were not read for facts yet have been read.

        Args:
            reader: reads lines.
            limit: the maximum number of lines to read; None: all.
            exclude: lines that need not be read; if there are no others, none is read.
        """
        version, read_to = self._find_version()
        kept = self._kept
        if kept is not None and kept.version != version:
            kept = self._kept = None  # it may have the text of a forgotten line
        read_to = read_to if kept is None else max(read_to, kept.read_to)
        last_seq = self._store.corpus_stats(self._bank).last_seq
        if last_seq <= read_to or limit == 0 or _has_all(exclude, read_to + 1, last_seq):
            return self._keep(version, read_statements, read_to) if kept is None else kept.known
        stored = catch_up(self._store, self._bank, reader, None if kept is None else kept.known.stored, limit)
        if not self._store.exists(self._bank):
            return FactIndex({})
        after, now_read_to = self._find_version()
        is_complete = limit is None or now_read_to <= read_to
        read_to = last_seq if is_complete else now_read_to
        if after != version:
            return self._keep(after, read_statements, read_to)
        if kept is not None and len(stored) == len(kept.known.stored):
            self._kept = replace(kept, read_to=read_to)
            return kept.known
        return self._keep(after, lambda *_: stored, read_to)

    def _find_version(self) -> tuple[_Version, int]:
        """Return the version of the bank, and the number of the last line that was read."""
        settings = self._store.settings(self._bank)
        edits, remembers = settings.get(SETTING_ENTITIES), remember_policy(settings) is not False
        speakers = tuple(
            speaker.name for speaker in self._store.corpus_stats(self._bank).speakers if speaker.role == "user"
        )
        units = self._store.unit_version(self._bank, FACT)
        version = units, edits, list_person_names(settings), speakers, remembers
        return version, ReadingState.parse(settings.get(SETTING_FACTS)).last_seq

    def _keep(self, version: _Version, read: Callable[[Store, str], Stored], read_to: int) -> FactIndex:
        """Compute what is known at a version, and keep it unless it is large."""
        _, edits, person_names, speakers, remembers = version
        stored = read(self._store, self._bank) if remembers else {}
        own_edits = follow_versions(self._store, self._bank, parse_edits(edits), stored)
        known = FactIndex(stored, own_edits, person_names, speakers, self._find_speaker)
        if len(known.stored) <= MAX_KEPT_STATEMENTS:
            self._kept = _Kept(version, known, read_to)
        return known

    def _find_speaker(self, seq: int) -> str | None:
        return next((line.speaker for line in self._store.get(self._bank, [seq])), None)


def _has_all(seqs: Collection[int], first: int, last: int) -> bool:
    """Return whether numbers include all from the first to the last."""
    return last - first < len(seqs) and all(seq in seqs for seq in range(first, last + 1))
