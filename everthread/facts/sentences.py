"""Writes statements and facts as sentences for prompts, in the language of the talk. Pure.

The sentences of each language are data, in `sentences.toml`. A language without any gets English ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from everthread.facts.attributes import FAVOURITE, RELATIONS, is_single
from everthread.facts.partial_dates import read_moment
from everthread.facts.person_names import UNNAMED
from everthread.facts.types import Fact, Statement
from everthread.text.word_lists import load_word_lists

DEFAULT_LANGUAGE = "en"
CONSTANT = ("birthday", "origin")  # a new value corrects the one before, and does not hold since it was said
_SENTENCES = load_word_lists(__file__)
_INSERTED = re.compile(r"(\{(?:attribute|(?:a |the )?value)\})")
_NEEDS_ARTICLE = re.compile(r"(?!(?:an?|the|my|our|his|her|their|some|one|two|three|four|five|six|seven) )[a-z]")
_PLURAL = re.compile(r"(?<![siu])s(?: (?:at|of|in|for|with) .*)?$")
_UNIT_OF_AGE = re.compile(  # at the end of an age that is not in years alone: "three weeks", "三个月"
    r"(?:months?|weeks?|days?|monate?n?|wochen?|tage?n?|mes(?:es)?|semanas?|días?|[岁歲月周天半])$", re.IGNORECASE
)
_VOWEL = re.compile(r"[aeio]|u(?!ni|s[aeiou]|ti)|hour|honest|heir")


def describe_statement(statement: Statement, language: str = DEFAULT_LANGUAGE) -> str:
    """Write a statement as a sentence: "Nora lives in Porto (since March 2024)."."""
    words = _words(language)
    moment = statement.moment and _render_moment(statement.moment, words)
    notes = [words["until" if statement.ends else "since"].format(moment=moment)] if moment else []
    return _join(_clause(statement, words, is_ended=statement.ends), notes, words)


def describe_fact(fact: Fact, language: str = DEFAULT_LANGUAGE, reader: str | None = None) -> str:
    """Write a fact as a sentence, with since when it holds or until when it held.

    Also named are the value that it replaced: "Nora lives in Porto (since March 2024; before: Leeds).", or the one that
    replaced it; and of an age when it was said: "Nora is 34 years old (as of May 2024)."

    Args:
        fact: the fact.
        language: the language of the sentence.
        reader: the entity that reads it: "You live in Porto."; None: someone else.
    """
    words = _words(language)
    notes = [] if fact.holds else _end_notes(fact, words)
    is_of_time = fact.since_stated or (fact.replaces and fact.attribute not in CONSTANT)
    if fact.holds and fact.since is not None and is_of_time:
        notes.append(words["since"].format(moment=_render_time(fact.since_stated, fact.since, words)))
    if fact.replaces and fact.holds:
        notes.append(words["before"].format(value=fact.replaces))
    if fact.attribute == "age" and fact.holds and not (fact.undated or notes):
        notes.append(words["as_of"].format(moment=_render_time(None, fact.said_at, words)))
    clause = _clause(fact, words, reader, is_ended=not fact.holds)
    return _join(clause if reader is None else clause[:1].upper() + clause[1:], notes, words)


def describe_end(fact: Fact, language: str = DEFAULT_LANGUAGE) -> str:
    """Write until when a fact held, and what took its place: "until March 2026; then: Berlin"."""
    words = _words(language)
    return str(words["parentheses"][1]).join(_end_notes(fact, words))


def _end_notes(fact: Fact, words: Mapping[str, Any]) -> list[str]:
    moment = words["unknown"] if fact.until_undated else _render_time(fact.until_stated, fact.until, words)
    notes = [words["until"].format(moment=moment)]
    return [*notes, words["then"].format(value=fact.replaced_by)] if fact.replaced_by else notes


def _words(language: str) -> Mapping[str, Any]:
    return _SENTENCES[language if language in _SENTENCES else DEFAULT_LANGUAGE]


def _join(clause: str, notes: list[str], words: Mapping[str, Any]) -> str:
    """Add notes in parentheses, and the full stop, unless the clause is a sentence already."""
    start, separator, end = words["parentheses"]
    note = f"{start}{separator.join(notes)}{end}" if notes else ""
    if note and clause.endswith((".", "。", "!", "?")):
        return clause[:-1] + note + clause[-1]
    return clause if not note and clause.endswith((".", "。", "!", "?")) else clause + note + words["stop"]


def _clause(item: Statement | Fact, words: Mapping[str, Any], reader: str | None = None, *, is_ended: bool) -> str:
    """Return the sentence of a statement or a fact without its time and its full stop."""
    if not item.attribute:
        return item.value
    is_reader = reader is not None and item.subject == reader
    subject = translate_name(item.subject, words, reader)
    forms = {
        "{attribute}": words["relations"].get(item.attribute, item.attribute),
        "{value}": item.value,
        "{a value}": _with_article(item.value),
        "{the value}": f"the {item.value}" if _NEEDS_ARTICLE.match(item.value) else item.value,
    }
    form = "you" if is_reader else "ended" if is_ended else "holds"
    is_unit_said = item.attribute == "age" and _UNIT_OF_AGE.search(item.value) is not None
    attribute = "age with unit" if is_unit_said else item.attribute
    template = words[form].get(f"{attribute} {item.value}") or _find_template(attribute, words, form)
    clause = "".join(
        forms[part] if part in forms else _contract(part.replace("{subject}", subject), words)
        for part in _INSERTED.split(template)
    )
    if template.startswith("{subject}") and subject != item.subject:
        clause = clause[:1].upper() + clause[1:]
    return str(words["you_ended"]).format(clause=clause) if is_reader and is_ended else clause


def _contract(text: str, words: Mapping[str, Any]) -> str:
    """Return a part of a sentence with contractions, such as "del" for "de el". A value is left as it was said."""
    for long, short in words["contractions"]:
        text = text.replace(long, short)
    return text


def _find_template(attribute: str, words: Mapping[str, Any], form: str) -> str:
    """Return the sentence of an attribute; `form` is "holds", "ended" or "you"."""
    own = words[form].get(attribute)
    if own is not None:
        return str(own)
    if attribute.startswith(FAVOURITE):
        kind = "favourite"
    elif attribute in RELATIONS:
        kind = "relation" if is_single(attribute) else "relation_many"
    else:
        kind = "other"
    return str(words[kind if form == "holds" else f"{kind}_{form}"])


def translate_name(name: str, words: Mapping[str, Any], reader: str | None = None) -> str:
    """Return a name, or a relation such as "Nora's sister" in the language of the words; "your sister" to its owner."""
    if name == UNNAMED:
        return str(words["user"])
    owner, separator, relation = name.rpartition("'s ")
    noun = words["relations"].get(relation)
    if separator and owner == reader:
        return str(words["of_you"]).format(relation=noun or relation)
    if not separator:
        return name
    if noun is None:
        return f"{translate_name(owner, words, reader)}{separator}{relation}"
    noun = words["definite"].get(relation, noun)
    return str(words["of"]).format(owner=translate_name(owner, words, reader), relation=noun)


def _with_article(value: str) -> str:
    """Return an English value with an indefinite article, if it is a single thing without one."""
    head = value.split(" of ")[0].split(" at ")[0]
    if not _NEEDS_ARTICLE.match(value) or _PLURAL.search(head):
        return value
    return f"{'an' if _VOWEL.match(value) else 'a'} {value}"


def _render_time(told: str | None, moment: datetime | None, words: Mapping[str, Any]) -> str:
    """Write a moment as the lines say it; if they don't, the month of the line."""
    if told is not None or moment is None:
        return _render_moment(told or "", words)
    return _render_moment(f"{moment.year:04}-{moment.month:02}", words)


def _render_moment(moment: str, words: Mapping[str, Any]) -> str:
    """Write a year, month or day ("2024", "2024-03", "2024-03-05")."""
    at = read_moment(moment, None)
    form = ("year", "month", "day")[moment.count("-")]
    return str(words[form]).format(year=at.year, month=words["months"][at.month - 1], day=at.day)
