"""Finds what no longer holds because of what a line states: who retires has no employer any more. Pure.

Which statuses end which attributes, and the other way round, is data, in `consequences.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def find_consequences(statements: Sequence[Statement], names: Names) -> Iterator[Statement]:
    """Yield what ends by what a line states. It ends before the rest of the line begins.

    Args:
        statements: what the line states.
        names: what was stated before, and in the line.
    """
    stated = {(each.subject, each.attribute) for each in statements}
    for each in statements:
        if each.ends:
            boss = each.subject, "boss"
            if each.attribute == "employer" and names.values[boss] and boss not in stated:
                yield replace(each, attribute="boss", value="")
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
