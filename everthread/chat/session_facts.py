"""Writes the facts that a language model lists of one session, each from the lines that say it.

A fact with an attribute becomes a statement if its lines hold it: they must name its subject and a word of its value.
Others become sentences if their lines have at least half of the words; the rest may be a paraphrase. A fact that names
no line, or whose lines don't hold it, is dropped and counted. Statements of the rules or of the person about the same
lines stay as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everthread.chat.scribe_material import mark_undated, read_lines
from everthread.common.keys import META_NEEDS_CONSENT, SESSION_FACTS_TO
from everthread.errors import NotFound
from everthread.facts import line_words
from everthread.facts.attributes import is_known, is_single
from everthread.facts.dropped_facts import count_dropped
from everthread.facts.entities import Entities
from everthread.facts.fact_units import FACT
from everthread.facts.history import value_key
from everthread.facts.line_batch import is_readable
from everthread.facts.partial_dates import is_moment
from everthread.facts.reading_state import ReadingState, read_setting
from everthread.facts.role_play import find_played
from everthread.facts.stored_statements import add_statements, read_statements
from everthread.facts.types import Statement
from everthread.memory import Memory
from everthread.scribes.base import FactScribe, ListedFact
from everthread.scribes.extractive import is_repeated, term_set
from everthread.text import redaction
from everthread.text.salience import informative_words
from everthread.types import Line, NewUnit, Session

PRONOUNS = frozenset(("i", "me", "you", "he", "him", "she", "her", "it", "we", "us", "they", "them", "user"))
MODEL_CONFIDENCE = 0.8
MAX_KNOWN = 40  # facts that the model is given
MIN_SAID_SHARE = 0.5  # of a sentence's terms that its lines have; the rest may be a paraphrase
NO_LINE, NOT_SAID, SECRET, EXCLUDED = "no line", "not said", "secret", "forgotten before"
STATED = "stated already"  # by the rules, the person or this model: the same, or another value of the same lines


def list_session_facts(memory: Memory, scribe: FactScribe, session: Session) -> SessionFacts:
    """Ask a model for the facts of a session's lines that it has not read yet. Nothing is stored.

    Args:
        memory: the bank.
        scribe: lists the facts.
        session: the session; nothing is listed of one that waits for the person's consent.

    Raises:
        NotFound: a line was removed while the scribe read it; any of the facts may be about it.
        ModelError: the scribe failed.
    """
    span = (session.id, read_to(session) + 1, session.last_seq)
    lines = read_lines(memory, *span)
    played = find_played(lines)
    told = [line for line in lines if line.seq not in played]
    if any(line.metadata.get(META_NEEDS_CONSENT) for line in lines):
        return SessionFacts(memory, scribe.name, session, (), ())
    texts = " ".join(f"{line.speaker} {line.text}" for line in told).casefold()
    known = [fact for fact in memory.facts() if fact.subject and fact.subject.casefold() in texts]
    known.sort(key=lambda fact: fact.id)  # the latest MAX_KNOWN of them are described
    listed: Sequence[ListedFact] = ()
    if any(line.role == "user" for line in told):
        listed = scribe.list_facts(told, [fact.text for fact in known[-MAX_KNOWN:]])
    if read_lines(memory, *span) != lines:
        raise NotFound("a line was removed while the scribe read it; any of the facts may be about it")
    return SessionFacts(memory, scribe.name, session, told, listed)


def read_to(session: Session) -> int:
    """Return the number of the last line of a session that a model has read for facts; 0 without any."""
    seq = session.metadata.get(SESSION_FACTS_TO)
    return seq if isinstance(seq, int) else 0


@dataclass(slots=True)
class SessionFacts:
    """The facts that a model has listed of a session's lines; none without lines."""

    memory: Memory
    scribe_name: str
    session: Session
    lines: Sequence[Line]
    listed: Sequence[ListedFact]
    dropped: Counter[str] = field(default_factory=Counter)

    def store(self) -> int:
        """Store what is listed and holds, and count the rest; return the number of new statements and sentences.

        Raises:
            NotFound: a line was removed, or other facts were written, in the meantime; nothing is stored.
        """
        if not self.lines:
            return 0
        store, bank = self.memory.store, self.memory.bank
        before = read_setting(store, bank)
        stored = [statement for statement, _ in read_statements(store, bank).values()]
        statements: list[Statement] = []
        sentences: list[NewUnit] = []
        known = [term_set(unit.text) for unit in self.memory.units(FACT)]
        excluded = ReadingState.parse(before).excluded
        stated = _Stated(self.memory.read_known(limit=0).entities)
        for fact in self.listed:
            if not fact.seqs or not excluded.isdisjoint(fact.seqs):
                self.dropped[EXCLUDED if fact.seqs else NO_LINE] += 1
            elif _is_statement(fact):
                statement = self._state(fact, [*stored, *statements])
                if statement is not None and stated.includes(statement, [*stored, *statements]):
                    self.dropped[STATED] += 1
                elif statement is not None:
                    statements.append(statement)
            elif (unit := self._phrase(fact, known, excluded)) is not None:
                sentences.append(unit)
        if statements and not add_statements(store, bank, statements, before):
            raise NotFound("a line was removed, or other facts were written, while the scribe read; it reads again")
        for unit in sentences:
            self.memory.add_unit(unit)
        count_dropped(store, bank, self.dropped)
        self.memory.set_session(self.session.id, metadata={SESSION_FACTS_TO: self.session.last_seq})
        return len(statements) + len(sentences)

    def _state(self, fact: ListedFact, known: Sequence[Statement]) -> Statement | None:
        """Return what a fact states; None if its lines don't hold it, or it has a secret."""
        said = [line for line in self.lines if line.seq in fact.seqs and is_readable(line)]
        if not said:
            self.dropped[NOT_SAID] += 1
            return None
        stated = f"{fact.subject} {fact.attribute} {fact.value}".strip()
        if redaction.redact_rows(stated) != stated:
            self.dropped[SECRET] += 1
            return None
        last = said[-1]
        statement = Statement(
            fact.subject,
            fact.attribute,
            fact.value,
            tuple(line.seq for line in said),
            last.said_at,
            ends=fact.ends,
            moment=_read_moment(fact, said),
            is_event=True,  # a model may also give the moment of a memory
            writer="model",
            confidence=MODEL_CONFIDENCE,
            is_undated=last.is_undated,
            position=last.position,
        )
        kept = line_words.keep_to_lines(statement, said, line_words.KnownKinds(known))
        self.dropped[NOT_SAID] += kept is None
        return kept

    def _phrase(self, fact: ListedFact, known: list[frozenset[str]], excluded: Collection[int]) -> NewUnit | None:
        """Return the unit of a fact that is only a sentence; None if it is known, or nothing but a secret."""
        text = redaction.redact_rows(fact.text)
        if text is None or is_repeated(terms := term_set(text), known):
            self.dropped[SECRET if text is None else STATED] += 1
            return None
        seqs = _find_sources(fact, _index_terms(self.lines))
        if not set(seqs).isdisjoint(excluded):
            self.dropped[EXCLUDED] += 1
            return None
        if not self._is_said(text, fact.seqs):
            self.dropped[NOT_SAID] += 1
            return None
        known.append(terms)
        said = [line for line in self.lines if line.seq in seqs]
        return NewUnit(
            kind=FACT,
            text=text,
            first_seq=said[0].seq,
            last_seq=said[-1].seq,
            said_at=said[-1].said_at,
            metadata={
                "session": self.session.id,
                "scribe": self.scribe_name,
                "lines": [*seqs],
                **mark_undated(said),
            },
            sources=tuple(line.seq for line in said),
        )

    def _is_said(self, text: str, seqs: Collection[int]) -> bool:
        """Return whether lines have enough of a sentence's informative terms, except for the speakers' names."""
        speakers = " ".join({line.speaker for line in self.lines})
        stated = term_set(" ".join(informative_words(text))) - term_set(speakers)
        said = term_set(" ".join(line.text for line in self.lines if line.seq in seqs))
        return bool(stated) and len(stated & said) >= MIN_SAID_SHARE * len(stated)


@dataclass(slots=True)
class _Stated:
    """Compares a model's statements with those that were made of the same lines."""

    entities: Entities
    names: dict[str, str] = field(default_factory=dict)  # of entities, by what a statement calls them

    def includes(self, statement: Statement, others: Iterable[Statement]) -> bool:
        """Return whether others say the same as a statement, or another value of an attribute that has one.

        If the person has confirmed, corrected or ended a fact of a line, a model adds nothing to that attribute;
        otherwise the corrected value would return.
        """
        subject = self._name(statement.subject)
        return any(
            each.attribute == statement.attribute
            and not set(each.seqs).isdisjoint(statement.seqs)
            and self._name(each.subject) == subject
            and (each.writer == "person" or (each.ends == statement.ends and _is_same_value(each, statement)))
            for each in others
        )

    def _name(self, subject: str) -> str:
        """Return the name of the entity that a subject means."""
        if subject not in self.names:
            found = self.entities.find(subject)
            self.names[subject] = found[0].name if len(found) == 1 else subject.casefold()
        return self.names[subject]


def _is_same_value(one: Statement, other: Statement) -> bool:
    return is_single(one.attribute) or value_key(one.value) == value_key(other.value)


def _is_statement(fact: ListedFact) -> bool:
    """Return whether a fact can be stated. A model can't give names, by which people would be taken for others."""
    is_named = fact.subject.casefold() not in PRONOUNS | {""}
    return is_named and is_known(fact.attribute) and fact.attribute != "name" and bool(fact.value or fact.ends)


def _read_moment(fact: ListedFact, said: Sequence[Line]) -> str | None:
    """Return the moment that a model gives, if it is valid; of undated lines, only if they contain its year."""
    if not fact.moment or not is_moment(fact.moment):
        return None
    is_written = any(fact.moment[:4] in line.text for line in said)
    return None if said[-1].is_undated and not is_written else fact.moment


def _index_terms(lines: Sequence[Line]) -> dict[str, list[int]]:
    """Return the numbers of the lines that contain each term. The speakers' names come from no line."""
    seqs_by_term: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        for term in term_set(line.text):
            seqs_by_term[term].append(line.seq)
    for name in term_set(" ".join({line.speaker for line in lines})):
        seqs_by_term.pop(name, None)
    return seqs_by_term


def _find_sources(fact: ListedFact, seqs_by_term: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the lines that a fact derives from: those that it names, and the nearest with each word that they lack.

    So a name that the model took from another line is forgotten with that line.
    """
    sources = set(fact.seqs)
    for term in term_set(" ".join(informative_words(fact.text))):
        seqs = seqs_by_term.get(term, ())
        if seqs and sources.isdisjoint(seqs):
            sources.add(min(seqs, key=lambda seq: abs(seq - fact.seqs[0])))
    return sorted(sources)
