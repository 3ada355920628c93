"""Finds what no longer holds because of what a line states: who retires has no employer any more. Pure.

Which statuses end which attributes, and the other way round, is data, in `consequences.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

from everthread.facts.attributes import is_single, takes_the_place
from everthread.facts.history import is_long_ago, value_key
from everthread.facts.referents import Names
from everthread.facts.types import Statement
from everthread.text.word_lists import load_word_lists

_ALL = load_word_lists(__file__)["all"]
# Attributes of which the same thing can't have both.
OPPOSITES = {"likes": "dislikes", "hobby": "dislikes", "plays": "dislikes", "dislikes": "likes"}
LOST_BY_DEATH = ("pet", "partner")  # relations that end; a mother stays one
STEM_CHARS = 4  # that the words for a workplace and for the work there have in common
STEM_IDEOGRAPHS = 2
_STAGES = {status: stage for stage, statuses in enumerate(_ALL["stages"].values()) for status in statuses}
_ENGAGED = 0  # the first stage


def find_consequences(statements: Sequence[Statement], names: Names) -> Iterator[Statement]:
    """Yield what ends by what a line states. It ends before the rest of the line begins.

    Args:
        statements: what the line states.
        names: what was stated before, and in the line.
    """
    stated = {(each.subject, each.attribute) for each in statements}
    for each in statements:
        if each.ends:
            yield from _end_with(each, names, stated)
            continue
        opposite = OPPOSITES.get(each.attribute)
        if opposite and value_key(each.value) in names.values[each.subject, opposite]:
            yield replace(each, attribute=opposite, ends=True)
        for attribute in _ALL["ended_by"].get(value_key(each.value), ()) if each.attribute == "status" else ():
            if names.values[each.subject, attribute] and (each.subject, attribute) not in stated:
                yield replace(each, attribute=attribute, value="", ends=True)
        statuses = names.values[each.subject, "status"].intersection(_ALL["outdated_by"].get(each.attribute, ()))
        if (each.subject, "status") not in stated and not is_long_ago(each):
            yield from (replace(each, attribute="status", value=status, ends=True) for status in sorted(statuses))
        lost = _find_lost_relation(each, names)
        if lost is not None and lost not in stated:
            yield replace(each, subject=lost[0], attribute=lost[1], value=each.subject, ends=True)
        if each.attribute == "status" and not is_long_ago(each):
            yield from _end_earlier_stages(each, names, stated)


def _end_with(statement: Statement, names: Names, stated: Set[tuple[str, str]]) -> Iterator[Statement]:
    """Yield what ends with an employer or a partner: the boss, the work of a baker with a bakery, an engagement."""
    subject, attribute = statement.subject, statement.attribute
    if attribute == "employer":
        employers = {value_key(statement.value)} if statement.value else names.values[subject, attribute]
        work = names.values[subject, "occupation"]
        ended = ["boss"] if names.values[subject, "boss"] else []
        ended += ["occupation"] if any(_share_stem(one, other) for one in employers for other in work) else []
        yield from (replace(statement, attribute=name, value="") for name in ended if (subject, name) not in stated)
    if attribute == "partner":
        known = names.find_partners(subject)
        if statement.value and known and statement.value not in known:  # an earlier partner
            return
        partners = {subject, *([statement.value] if statement.value else known)}
        for name, status in _list_statuses(partners, names, stated):
            if _STAGES.get(status) == _ENGAGED:
                yield replace(statement, subject=name, attribute="status", value=status)


def _share_stem(one: str, other: str) -> bool:
    """Return whether a workplace and the work there are named alike: "bakery" and "baker"."""
    length = STEM_CHARS if one.isascii() else STEM_IDEOGRAPHS
    # Of the last words: "Datadog" names no "data scientist".
    stem, work = one.rpartition(" ")[2][:length], other.rpartition(" ")[2]
    return len(stem) == length and work.startswith(stem)


def _end_earlier_stages(statement: Statement, names: Names, stated: Set[tuple[str, str]]) -> Iterator[Statement]:
    """Yield the end of a partner's status that comes before one: "engaged" before "married"."""
    stage = _STAGES.get(value_key(statement.value), _ENGAGED)
    for name, status in _list_statuses(names.find_partners(statement.subject), names, stated):
        if _STAGES.get(status, stage) < stage:
            yield replace(statement, subject=name, value=status, ends=True)


def _list_statuses(people: Iterable[str], names: Names, stated: Set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the known statuses of people, each with the name, without people whose status the line states."""
    unstated = [name for name in sorted(people) if (name, "status") not in stated]
    return [(name, status) for name in unstated for status in sorted(names.values[name, "status"])]


def _find_lost_relation(statement: Statement, names: Names) -> tuple[str, str] | None:
    """Return whose pet or partner someone was, with this relation, if the statement is of a death that ends it."""
    if (statement.attribute, statement.value) != ("status", "dead"):
        return None
    relation = names.find_owner(statement.subject)
    if relation is None or relation[1] not in LOST_BY_DEATH:
        return None
    return relation if value_key(statement.subject) in names.values[relation] else None


def settle(names: Names, statements: Sequence[Statement]) -> None:
    """Forget the values that no longer hold after a line has been read."""
    for statement in statements:
        values = names.values[statement.subject, statement.attribute]
        key = value_key(statement.value)
        if statement.ends:
            values.difference_update({key} if key else values.copy())
        elif is_single(statement.attribute) and statement.attribute != "name" and not statement.moment:
            others = values - {key}
            values.difference_update(old for old in others if takes_the_place(statement.attribute, key, old))
