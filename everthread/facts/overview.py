"""Answers questions for all that is known of someone, or for what has changed. Pure.

"What do you know about me?" and "What has changed for Mia since spring?" share no topic with any line, so they are
recognised by their form alone. The forms are data, in `overview.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from everthread.common.once import once
from everthread.facts.attributes import topic_order
from everthread.facts.cache import FactIndex
from everthread.facts.grammar import load_grammar
from everthread.facts.history import held_at
from everthread.facts.moments import find_moment, read_told_moment
from everthread.facts.partial_dates import read_moment
from everthread.facts.selection import FindAsker, list_subjects, read_question
from everthread.facts.types import Fact
from everthread.text.address import remove_address
from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.time_words import CALENDAR_YEARS
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 150  # of a question; a longer one asks for more than a form has
LATELY = timedelta(days=45)  # as on the page

_LISTS = load_word_lists(__file__)
_EDGES = " \t\n?!.…？！。"


@dataclass(frozen=True, slots=True)
class OverviewQuestion:
    """A question for all that is known of someone, or for what has changed.

    Attributes:
        language: its language.
        names: those that it names, in its own words; none for everyone.
        since: since when what has changed is asked for; None: all that holds is asked for.
    """

    language: str
    names: tuple[str, ...]
    since: datetime | None


def parse_overview(question: str, moment: datetime) -> OverviewQuestion | None:
    """Return what a question asks for an overview of; None if it asks for something else.

    Args:
        question: the question.
        moment: when it is asked, on the clock of the one who asks.
    """
    text = question.strip(_EDGES)
    if not text or len(text) > MAX_CHARS:
        return None
    texts = list(_list_readings(text))
    for language, form in _list_forms():
        match = next((match for each in texts if (match := form.fullmatch(each))), None)
        groups = match.groupdict() if match else {}
        told = groups.get("since")
        since = None if told is None else _find_start(told, language, moment)
        if not groups or (told is not None and since is None):
            continue
        names = re.split(_LISTS[language]["and"], groups.get("who") or "", flags=re.IGNORECASE)
        return OverviewQuestion(language, tuple(name for name in names if name.strip()), since)
    return None


def _list_readings(text: str) -> Iterator[str]:
    """Yield a question without the name of the one who is asked, then as it is; each also written out."""
    for reading in dict.fromkeys((remove_address(text), text)):
        yield from (reading, expand_chat_spelling(reading))


def select_overview(
    asked: OverviewQuestion, known: FactIndex, find_asker: FindAsker, moment: datetime, *, is_past: bool
) -> list[Fact]:
    """Return the facts that answer a question: by topic what holds, or what was learnt or ended, the latest first.

    Args:
        asked: the question.
        known: what is known in the bank.
        find_asker: finds the name of the entity that asks.
        moment: when it is asked.
        is_past: whether it is asked as of that moment, so that later statements are left out.

    Returns:
        The facts; none if one of those that it names isn't known, or it asks about something of theirs only.
    """
    known_at = moment if is_past else None
    if not asked.names:
        facts = [fact for fact in known.facts(known_at) if fact.subject]
    elif (found := _select_about(asked, known, find_asker, known_at)) is not None:
        facts = found
    else:
        return []
    if asked.since is None:
        return [fact for fact in facts if held_at(fact, moment)]
    changed = [(at, fact) for fact in facts if (at := _find_change(fact, known, asked.since, moment)) is not None]
    return [fact for _, fact in sorted(changed, key=lambda each: each[0], reverse=True)]


def _select_about(
    asked: OverviewQuestion, known: FactIndex, find_asker: FindAsker, known_at: datetime | None
) -> list[Fact] | None:
    """Return the facts about those that a question names, by topic; None if it names anything else."""
    facts: dict[int, Fact] = {}
    for name in asked.names:
        read = read_question(name, known, find_asker, asked.language)
        if not read.subjects or not read.is_exact:
            return None
        for subject, attributes in list_subjects(read):
            about = sorted(known.facts_about(subject, known_at), key=lambda fact: topic_order(fact.attribute))
            if attributes is None:
                about = [*about, *known.relations_to(subject, known_at)]
            facts |= {fact.id: fact for fact in about if attributes is None or fact.attribute in attributes}
    return list(facts.values())


def _find_change(fact: Fact, known: FactIndex, since: datetime, moment: datetime) -> datetime | None:
    """Return when a fact ended or was learnt, if that was since a moment; None if not.

    A fact that was replaced is left out, as the one that took its place names it. A fact that ended
    before the moment may have been learnt since then ("I sold my boat in 2019").
    """
    if fact.replaced_by is not None and fact.until is not None and fact.until <= moment:
        return None
    if fact.until is not None and not fact.until_undated and since <= fact.until <= moment:
        return fact.until
    own = [each for each, _ in known.statements_of(fact)]
    stated = [each for each in own if not each.ends] or own
    learnt = min((each.said_at for each in stated), default=None)
    is_dated = not any(each.is_undated for each in stated)
    return learnt if learnt is not None and is_dated and since <= learnt <= moment else None


def _find_start(text: str, language: str, moment: datetime) -> datetime | None:
    """Return the moment since which a text ("since spring") asks; None if it leaves a doubt."""
    if moment.year not in CALENDAR_YEARS:
        return None
    lists = _LISTS[language]
    if re.fullmatch(lists["lately"], text, re.IGNORECASE):
        return moment - LATELY
    season = lists["season"].format(season=f"(?P<season>{'|'.join(lists['seasons'])})")
    if match := re.fullmatch(season, text, re.IGNORECASE):
        month = lists["seasons"][match["season"].lower()]
        is_before = match.groupdict().get("last_year") is not None or month > moment.month
        year = moment.year - is_before
        return datetime(year, month, 1, tzinfo=moment.tzinfo)
    if re.fullmatch(lists["this_year"], text, re.IGNORECASE):
        return datetime(moment.year, 1, 1, tzinfo=moment.tzinfo)
    grammar = load_grammar(language)
    if grammar is None:
        return None
    told = _period(language).fullmatch(text) or find_moment(
        (*grammar.since, *grammar.at), lambda expression: expression.search(text)
    )
    start = None if told is None else read_told_moment(told, moment, grammar)
    return None if start is None else read_moment(start, moment.tzinfo)


@once
def _period(language: str) -> re.Pattern[str]:
    """Return the form of a time that ends now ("in the last two months")."""
    grammar = load_grammar(language)
    assert grammar is not None
    units = f"{alternation(sorted(grammar.units, key=len, reverse=True))})"
    counts = "|".join(sorted(grammar.counts, key=len, reverse=True))
    words = {"count": rf"(?P<count>\d{{1,2}}|{counts})", "unit": f"(?P<unit>{units}", "step": f"(?P<step>{units}"}
    return re.compile(_LISTS[language]["period"].format(**words), re.IGNORECASE)


@once
def _list_forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the forms of all languages, each with its language."""
    return tuple((language, form) for language, lists in _LISTS.items() for form in _compile(lists))


def _compile(lists: Mapping[str, Any]) -> Iterator[re.Pattern[str]]:
    slots = {"{who}": "(?P<who>.+?)", "{since}": f"(?P<since>{lists['since']})"}
    for form in (*lists["changed"], *lists["known"]):
        expanded = re.sub(alternation(map(re.escape, slots)), lambda match: slots[match[0]], form)
        yield re.compile(f"{lists['opening']}{expanded}", re.IGNORECASE)
