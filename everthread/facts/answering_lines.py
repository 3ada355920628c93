"""Finds the lines that answer a question by a fact, and those that seem to. Pure.

"Where do I live?" asks for one attribute of one person. Words and meaning show neither whether "I live in Leeds" still
holds, nor whose home "My sister lives in Porto" names; facts do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from everthread.facts.attributes import FAVOURITE, RELATIONS, is_single
from everthread.facts.cache import FactIndex
from everthread.facts.history import held_at
from everthread.facts.selection import Asked, FindAsker, read_question
from everthread.facts.types import Fact
from everthread.text.address import remove_address
from everthread.text.analyzer import terms
from everthread.text.chat_spelling import expand_chat_spelling

_FAVOURITE_TERMS = frozenset(terms("favourite favorite"))


@dataclass(frozen=True, slots=True)
class AnsweringLines:
    """Numbers of lines, by what they state of the attributes that a question asks for.

    Attributes:
        answering: the lines that state what holds or, if nothing does, that it has ended, the best first. For a
            question about what held before, those that state that.
        misleading: those that state only what held or holds at another time, or what holds of others.
        is_complete: whether the question asks for nothing else, so that such a line answers it.
    """

    answering: tuple[int, ...] = ()
    misleading: frozenset[int] = frozenset()
    is_complete: bool = False


NO_LINES = AnsweringLines()


class _Answer(NamedTuple):
    """The lines of a fact, when it was last stated, and whether its attribute has one value at a time."""

    is_one: bool
    said_at: datetime
    seqs: Sequence[int]


def find_answering_lines(
    question: str, known: FactIndex, find_asker: FindAsker, moment: datetime, *, is_past: bool
) -> AnsweringLines:
    """Find the lines that answer a question by a fact, with or without the name of the one who is asked.

    A question that asks for no attribute, or for another time in the past than that before the present, has no such
    lines. Without any facts, which may be because the lines are in a language that isn't read, no question has.

    Args:
        question: the question.
        known: what is known in the bank.
        find_asker: finds the name of the entity that asks.
        moment: when it is asked.
        is_past: whether it is asked as of that moment, so that later statements are left out.
    """
    if not known.stored:
        return NO_LINES
    readings = dict.fromkeys((question, remove_address(question)))
    found = [_find_lines(reading, known, find_asker, moment, is_past=is_past) for reading in readings]
    return next((lines for lines in found if lines.is_complete), found[0])


def _find_lines(
    question: str, known: FactIndex, find_asker: FindAsker, moment: datetime, *, is_past: bool
) -> AnsweringLines:
    """Find the lines that answer a question as it is worded."""
    asked = read_question(expand_chat_spelling(question), known, find_asker)
    attributes = _list_attributes(asked)
    if asked.time in (None, "past") or not (attributes or asked.terms & _FAVOURITE_TERMS):
        return NO_LINES
    if not (asked.subjects or asked.relatives or asked.is_about_asker):
        return NO_LINES
    confused = attributes | RELATIONS if "name" in attributes else attributes  # "My dog is called Rex."
    alike = [fact for fact in known.facts(moment if is_past else None) if _is_asked(fact.attribute, confused, asked)]
    own = [fact for fact in alike if _is_asked(fact.attribute, attributes, asked) and _is_about(fact, asked, known)]
    left = asked.further_terms.difference(*(_list_terms(fact.attribute) for fact in alike))
    named = [fact for fact in own if left and left <= _list_value_terms(fact, known)]
    found = _list_former(own, named, moment) if asked.time == "former" else _list_present(own, named, known, moment)
    answers = sorted(found, key=lambda answer: answer[:2], reverse=True)
    seqs = dict.fromkeys(seq for answer in answers for seq in answer.seqs)
    if asked.time == "former" and not seqs:
        return NO_LINES
    others = {seq for fact in alike for seq in fact.seqs}.difference(seqs)
    return AnsweringLines(tuple(seqs), frozenset(others), is_complete=not asked.is_open and (bool(named) or not left))


def _list_attributes(asked: Asked) -> frozenset[str]:
    """Return the attributes that are asked for; "What is my sister's name?" asks who she is."""
    if _asks_who(asked):
        return frozenset(attribute for _, attribute in asked.relatives)
    return asked.attributes - {"name"} if asked.relatives else asked.attributes


def _asks_who(asked: Asked) -> bool:
    """Return whether a question asks only who someone's relative is."""
    return bool(asked.relatives) and asked.attributes <= {"name"} and asked.terms.isdisjoint(_FAVOURITE_TERMS)


def _is_about(fact: Fact, asked: Asked, known: FactIndex) -> bool:
    """Return whether a fact is about those that a question names; of "my cat", not that one has a dog."""
    if not _asks_who(asked):
        return fact.subject in asked.subjects
    is_other = fact.attribute == "pet" and fact.value not in asked.subjects and known.facts_about(fact.value)
    return (fact.subject, fact.attribute) in asked.relatives and not is_other


def _list_value_terms(fact: Fact, known: FactIndex) -> frozenset[str]:
    """Return the terms of a fact's value; of a pet, also what it is."""
    if fact.attribute != "pet":
        return known.value_terms(fact)
    kinds = (each for each in known.facts_about(fact.value) if each.attribute in ("kind", "breed"))
    return known.value_terms(fact).union(*map(known.value_terms, kinds))


def _is_asked(attribute: str, attributes: Collection[str], asked: Asked) -> bool:
    """Return whether an attribute is asked for, also as "my favourite colour"."""
    if not attribute.startswith(FAVOURITE):
        return attribute in attributes
    kind = _list_terms(attribute) - _FAVOURITE_TERMS
    return not asked.terms.isdisjoint(_FAVOURITE_TERMS) and asked.terms.issuperset(kind)


def _list_terms(attribute: str) -> frozenset[str]:
    """Return the terms of a favourite kind of thing; of another attribute, which is asked for by its cues, none."""
    return _FAVOURITE_TERMS.union(terms(attribute)) if attribute.startswith(FAVOURITE) else frozenset()


def _list_present(own: Sequence[Fact], named: Sequence[Fact], known: FactIndex, moment: datetime) -> Iterator[_Answer]:
    """Yield what holds of each attribute, or that it has ended; of several values, those that the question names."""
    for subject, attribute in dict.fromkeys((fact.subject, fact.attribute) for fact in own):
        facts = [fact for fact in own if (fact.subject, fact.attribute) == (subject, attribute)]
        if named and not is_single(attribute):
            facts = [fact for fact in facts if fact in named]
        holding = [_build_answer(fact) for fact in facts if held_at(fact, moment)]
        ended = known.list_endings(subject, attribute) if facts else []
        is_one = is_single(attribute)
        yield from holding or (_Answer(is_one, each.said_at, each.seqs) for each in ended if each.said_at <= moment)


def _list_former(own: Sequence[Fact], named: Sequence[Fact], moment: datetime) -> Iterator[_Answer]:
    """Yield what held before the present or, if the question names a value ("before York"), before that one."""
    values = {fact.value for fact in named}
    for fact in own:
        is_over = fact.until is not None and fact.until <= moment
        if is_over and is_single(fact.attribute) and (not values or fact.replaced_by in values):
            yield _build_answer(fact)


def _build_answer(fact: Fact) -> _Answer:
    return _Answer(is_single(fact.attribute), fact.said_at, sorted(fact.seqs, reverse=True))
