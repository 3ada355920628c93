"""Finds the lines that answer a question about the present by a fact, and those that seem to. Pure.

"Where do I live?" asks for one attribute of one person. Words and meaning show neither whether "I live in Leeds" still
holds, nor whose home "My sister lives in Porto" names; facts do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from everthread.facts.attributes import FAVOURITE, RELATIONS, is_single
from everthread.facts.cache import FactIndex
from everthread.facts.history import held_at
from everthread.facts.selection import Asked, FindAsker, list_subjects, read_question
from everthread.facts.types import Fact
from everthread.text.analyzer import terms
from everthread.text.chat_spelling import expand_chat_spelling

_FAVOURITE_TERMS = frozenset(terms("favourite favorite"))


@dataclass(frozen=True, slots=True)
class AnsweringLines:
    """Numbers of lines, by what they state of the attributes that a question asks for.

    Attributes:
        current: the lines that state what holds or, if nothing does, that it has ended, the best first.
        misleading: those that state only what no longer holds, or what holds of others.
        is_complete: whether the question asks for nothing else, so that a current line answers it.
    """

    current: tuple[int, ...] = ()
    misleading: frozenset[int] = frozenset()
    is_complete: bool = False


NO_LINES = AnsweringLines()


def find_answering_lines(
    question: str, known: FactIndex, find_asker: FindAsker, moment: datetime, *, is_past: bool
) -> AnsweringLines:
    """Find the lines that answer a question by a fact; none for a question about the past, or for no attribute.

    Args:
        question: the question.
        known: what is known in the bank.
        find_asker: finds the name of the entity that asks.
        moment: when it is asked.
        is_past: whether it is asked as of that moment, so that later statements are left out.
    """
    asked = read_question(expand_chat_spelling(question), known, find_asker)
    if asked.is_about_past is not False or not (asked.subjects or asked.relatives or asked.is_about_asker):
        return NO_LINES
    known_at = moment if is_past else None
    attributes = _list_attributes(asked)
    if not (attributes or asked.terms & _FAVOURITE_TERMS):
        return NO_LINES
    subjects = dict.fromkeys(subject for subject, _ in list_subjects(asked))
    if asked.relatives and attributes == asked.attributes:
        subjects = dict.fromkeys(asked.subjects)  # "Where is my wife from?" asks nothing about the one who asks
    stating = [
        row for subject in subjects for row in _list_stating(subject, attributes, asked, known, moment, known_at)
    ]
    seqs = dict.fromkeys(seq for *_, row in sorted(stating, key=lambda row: row[:2], reverse=True) for seq in row)
    confused = attributes | RELATIONS if "name" in attributes else attributes  # "My dog is called Rex."
    alike = [fact for fact in known.facts(known_at) if _is_asked(fact.attribute, confused, asked)]
    others = {seq for fact in alike for seq in fact.seqs}.difference(seqs)
    left = asked.further_terms.difference(*(_list_terms(fact.attribute) for fact in alike))
    return AnsweringLines(tuple(seqs), frozenset(others), is_complete=not left)


def _list_attributes(asked: Asked) -> frozenset[str]:
    """Return the attributes that are asked for; "What is my sister's name?" asks who she is."""
    attributes = asked.attributes - {"name"} if asked.relatives else asked.attributes
    return attributes or frozenset(attribute for _, attribute in asked.relatives)


def _is_asked(attribute: str, attributes: Collection[str], asked: Asked) -> bool:
    """Return whether an attribute is asked for, also as "my favourite colour"."""
    if not attribute.startswith(FAVOURITE):
        return attribute in attributes
    kind = _list_terms(attribute) - _FAVOURITE_TERMS
    return not asked.terms.isdisjoint(_FAVOURITE_TERMS) and asked.terms.issuperset(kind)


def _list_terms(attribute: str) -> frozenset[str]:
    """Return the terms of a favourite kind of thing; of another attribute, which is asked for by its cues, none."""
    return _FAVOURITE_TERMS.union(terms(attribute)) if attribute.startswith(FAVOURITE) else frozenset()


def _list_stating(
    subject: str,
    attributes: Collection[str],
    asked: Asked,
    known: FactIndex,
    moment: datetime,
    known_at: datetime | None,
) -> Iterator[tuple[bool, datetime, list[int]]]:
    """Yield what is known of a subject: whether it has one value at a time, when it was said, and its lines."""
    by_attribute: dict[str, list[Fact]] = {}
    for fact in known.facts_about(subject, known_at):
        if _is_asked(fact.attribute, attributes, asked):
            by_attribute.setdefault(fact.attribute, []).append(fact)
    for attribute, facts in by_attribute.items():
        is_one = is_single(attribute)
        holding = [(is_one, fact.said_at, sorted(fact.seqs, reverse=True)) for fact in facts if held_at(fact, moment)]
        ended = ((is_one, each.said_at, [*each.seqs]) for each in known.list_endings(subject, attribute, known_at))
        yield from holding or ended
