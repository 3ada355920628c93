"""Measures what a reader of facts finds in annotated conversations (`fact_sets`), and what it invents.

A statement is right if a fact of one of its lines has the same subject, attribute and value, and both hold or both
end. The rules of agreement:

* Values agree if one wording of the gold value has the same words, without case, accents, outer punctuation, articles
  and possessives ("the Beatles" is "Beatles"; "old bike" is not "bike").
* Subjects agree if they have the same name. A relation is replaced by the name that the conversation's own annotation
  gives it ("Nora's sister" is "Mia"), if it gives one only.
* A fact of mark ? makes a statement right, and is not missed. Unless it says "ended", it may hold or end.
* An ending of an attribute that has one value at a time may leave out the value: it ends the one that holds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from everthread.bench.fact_sets import GoldConversation, GoldFact, GoldLine
from everthread.facts.attributes import RELATIONS, is_single
from everthread.facts.types import Statement
from everthread.text.analyzer import fold
from everthread.types import Line, NewLine, now

DETERMINERS = frozenset(
    "a an the my our your his her its their "
    "der die das den dem ein eine einen einem einer mein meine meinen meinem meiner unser unsere unseren "
    "el la los las un una unos unas mi mis su sus nuestro nuestra nuestros nuestras".split()
)
PARTNERS = frozenset("husband wife boyfriend girlfriend fiance fiancee spouse".split())
# Returns what consecutive lines of a bank state, given the statements of the lines before them.
Reader = Callable[[Sequence[Line], Sequence[Statement]], list[Statement]]
_OUTER = " .,;:!?\"'()“”„«»。，！？；：、"


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """A fact of mark + or -, its line, and the statement that agrees with it, if there is one."""

    line: GoldLine
    fact: GoldFact
    statement: Statement | None


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """A statement, its last line, and the fact that it agrees with, if there is one."""

    line: GoldLine
    statement: Statement
    fact: GoldFact | None


@dataclass(frozen=True, slots=True)
class JudgedConversation:
    """A conversation with its facts of marks + and -, and with the statements that were read from it."""

    conversation: GoldConversation
    facts: tuple[JudgedFact, ...]
    statements: tuple[JudgedStatement, ...]


def judge_all(
    conversations: Sequence[GoldConversation],
    reader: Reader,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[JudgedConversation]:
    """Judge a reader on conversations; progress is called with the number of those done, and of all."""
    judged = []
    for done, conversation in enumerate(conversations, 1):
        judged.append(judge(conversation, read_sessions(group_sessions(conversation.talk), reader)))
        progress(done, len(conversations))
    return judged


def read_sessions(sessions: Iterable[Sequence[Line]], reader: Reader) -> list[Statement]:
    """Return the statements that a reader finds in the lines of a bank, which it is given session by session."""
    known: list[Statement] = []
    for lines in sessions:
        known += reader(lines, tuple(known))
    return known


def group_sessions(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines by session, in order."""
    return [list(group) for _, group in groupby(lines, lambda line: line.session)]


def number_lines(lines: Iterable[NewLine]) -> list[Line]:
    """Number the lines of a dataset as a bank does."""
    return [
        Line(seq, line.session or "", line.role, line.speaker, line.text, line.said_at or now(), key=line.key)
        for seq, line in enumerate(lines, 1)
    ]


def judge(conversation: GoldConversation, statements: Iterable[Statement]) -> JudgedConversation:
    """Compare statements with the facts of their lines."""
    names = Names(conversation)
    by_seq = {gold.line.seq: gold for gold in conversation.lines}
    found: dict[tuple[int, GoldFact], Statement] = {}
    judged = []
    for statement in statements:
        lines = [by_seq[seq] for seq in statement.seqs]
        agreeing = [(gold, fact) for gold in lines for fact in gold.facts if names.agree(statement, fact)]
        # A statement that agrees with several facts counts for one that is to be found and was not yet.
        agreeing.sort(key=lambda pair: (not pair[1].is_counted, (pair[0].number, pair[1]) in found))
        if agreeing:
            found.setdefault((agreeing[0][0].number, agreeing[0][1]), statement)
        judged.append(JudgedStatement(lines[-1], statement, agreeing[0][1] if agreeing else None))
    facts = tuple(
        JudgedFact(gold, fact, found.get((gold.number, fact)))
        for gold in conversation.lines
        for fact in gold.facts
        if fact.is_counted
    )
    return JudgedConversation(conversation, facts, tuple(judged))


class Names:
    """Decides whether statements and facts of a conversation agree."""

    def __init__(self, conversation: GoldConversation) -> None:
        facts = [fact for gold in conversation.lines for fact in gold.facts if fact.attribute in RELATIONS]
        self._names: dict[str, str] = {}
        for _ in range(2):  # the second time with the names of subjects that are relations themselves
            self._names = self._name_relations(facts)

    def _name_relations(self, facts: Iterable[GoldFact]) -> dict[str, str]:
        named: dict[str, set[str]] = defaultdict(set)
        for fact in facts:
            named[f"{self.resolve(fact.subject)}'s {fact.attribute}"].add(normalize_name(fact.values[0]))
        return {relation: next(iter(names)) for relation, names in named.items() if len(names) == 1}

    def agree(self, statement: Statement, fact: GoldFact) -> bool:
        """Return whether a statement states a fact."""
        return (
            statement.attribute == fact.attribute
            and fact.ends in (None, statement.ends)
            and self.resolve(statement.subject) == self.resolve(fact.subject)
            and self._values_agree(statement, fact)
        )

    def resolve(self, subject: str) -> str:
        """Return the name of a subject, folded; a relation without a known name stays one."""
        return self._resolve(normalize_name(subject))

    def _resolve(self, name: str) -> str:
        owner, _, relation = name.rpartition("'s ")
        if not owner:
            return name
        known_as = f"{self._resolve(owner)}'s {'partner' if relation in PARTNERS else relation}"
        return self._names.get(known_as, known_as)

    def _values_agree(self, statement: Statement, fact: GoldFact) -> bool:
        if not statement.value and statement.ends:
            return is_single(fact.attribute)
        value = normalize_value(statement.value)
        return any(value == normalize_value(wording) for wording in fact.values)


def normalize_name(name: str) -> str:
    """Return the form of a name in which two are compared: folded, with every possessive written 's."""
    return re.sub(r"(?<=s)' ", "'s ", fold(name).strip())


def normalize_value(value: str) -> str:
    """Return the form of a value in which two are compared: folded, without outer punctuation and determiners."""
    words = fold(value).strip(_OUTER).split()
    return " ".join([*(word for word in words[:-1] if word not in DETERMINERS), *words[-1:]])
