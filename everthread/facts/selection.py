"""Selects the facts that answer a question: about those that it names, the attributes that it asks for first. Pure.

Only facts about those are selected that a question names, by a name, a relation ("my sister", "Mia's husband") or as
the one who asks. Of them, those of an attribute that it asks for, and those whose value it names; all, if it names
nothing else. The words are data, in `selection.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from everthread.facts.attributes import is_single
from everthread.facts.cache import WORD, FactIndex, normalize_name, normalize_word
from everthread.facts.grammar import Relation, load_grammar
from everthread.facts.history import held_at
from everthread.facts.open_questions import is_open, list_hints
from everthread.facts.types import Fact
from everthread.text.analyzer import STOP_WORDS, UNSPACED_LANGUAGES, detect_language, normalize, terms
from everthread.text.word_lists import load_word_lists

MAX_CHARS = 500  # of a question that are read; a longer text names many people and asks for none of them
MAX_NAME_WORDS = 4
MAX_RELATION_WORDS = 3  # "mother in law"
DEFAULT_LANGUAGE = "en"

AskedTime = Literal["present", "former", "past"]
FindAsker = Callable[[], str | None]  # None: it is unknown who asks

_POSSESSIVE = re.compile(r"['’]s$")
_LISTS = load_word_lists(__file__)


@dataclass(frozen=True, slots=True)
class Asked:
    """The entities that a question names, and what it asks for.

    Attributes:
        subjects: the names of entities, in the order in which the question names them.
        relatives: whose relatives it names, and what they are: ("Nora", "sister"). Of these people nothing else is
            asked.
        attributes: the attributes that it asks for.
        terms: its terms, without those of names.
        is_broad: whether it asks for all that is known of them.
        is_exact: whether it only names them.
        is_about_asker: whether it has a word for the one who asks, even if nothing is known of that person.
        further_terms: its terms that neither name anyone nor ask for an attribute. Words that only have to do with one
            ("dinner") and kinds of pets are among them.
        is_open: whether no fact alone can answer it, as it asks for advice, for a way, for a time or a place that facts
            don't have, for several attributes, or for something between two people.
        time: whether it asks for what holds, for what held before ("former"), or for another time in the past;
            None if its language has no words for that.
    """

    subjects: tuple[str, ...]
    relatives: tuple[tuple[str, str], ...]
    attributes: frozenset[str]
    terms: frozenset[str]
    is_broad: bool
    is_exact: bool
    is_about_asker: bool
    further_terms: frozenset[str]
    is_open: bool
    time: AskedTime | None


def select_facts(
    question: str,
    known: FactIndex,
    find_asker: FindAsker,
    moment: datetime,
    *,
    is_past: bool,
    with_replaced: bool = False,
) -> list[Fact]:
    """Select the facts that answer a question, the most relevant first.

    Args:
        question: the question.
        known: what is known in the bank.
        find_asker: finds the name of the entity that asks.
        moment: when it is asked.
        is_past: whether it is asked as of that moment, so that later statements are left out.
        with_replaced: whether to select what was replaced, too, as what has ended is.
    """
    asked = read_question(question, known, find_asker)
    known_at = moment if is_past else None
    ranked: list[tuple[tuple[int, bool, bool, float], Fact]] = []
    for subject, attributes in list_subjects(asked):
        for fact in known.facts_about(subject, known_at):
            rank = _rank(fact, known, asked, attributes)
            holds = held_at(fact, moment)
            is_over = fact.until is not None and (with_replaced or fact.replaced_by is None)
            if rank and (holds or (is_over and rank > 1)):
                ranked.append(((-rank, not holds, not is_single(fact.attribute), -fact.said_at.timestamp()), fact))
    return [fact for _, fact in sorted(ranked, key=lambda each: each[0])]


def read_question(question: str, known: FactIndex, find_asker: FindAsker, language: str | None = None) -> Asked:
    """Find the entities that a question names, and what it asks for. Without a language, it is detected."""
    question = question[:MAX_CHARS]
    language = language or detect_language(question)
    lists = _LISTS.get(language, _LISTS[DEFAULT_LANGUAGE])
    is_unspaced = language in UNSPACED_LANGUAGES
    names = _Names(known, find_asker, language, lists)
    found = (names.find_unspaced if is_unspaced else names.find)(question)
    relatives, rest = found.relatives, found.rest
    attributes = _find_attributes(rest, language)
    left = frozenset(terms(rest)) - _fold_words(lists["everything"]) - _fold_words(lists["speaker"])
    words = {normalize(word) for word in WORD.findall(question)}
    return Asked(
        found.subjects,
        relatives,
        attributes,
        frozenset(terms(rest)),
        is_broad=not attributes and (is_unspaced or not left),
        is_exact=not attributes and not left,
        is_about_asker=_has_any(lists["owner"] + lists["speaker"], question, words, is_unspaced),
        further_terms=_list_further_terms(rest, left, language),
        is_open=found.mentions > 1 or is_open(question, _list_cues(rest, language), bool(relatives), language),
        time=_find_time(lists, question, words, is_unspaced),
    )


def _find_time(lists: Mapping[str, Any], question: str, words: Collection[str], is_unspaced: bool) -> AskedTime | None:
    """Return the time for which a question asks."""
    if "past" not in lists:
        return None
    if _has_any(lists["former"], question, words, is_unspaced):
        return "former"
    return "past" if _has_any(lists["past"], question, words, is_unspaced) else "present"


def _has_any(listed: Sequence[str], question: str, words: Collection[str], is_unspaced: bool) -> bool:
    """Return whether a question has one of the listed words."""
    return any(word in question if is_unspaced else normalize(word) in words for word in listed)


def _list_further_terms(rest: str, left: Collection[str], language: str) -> frozenset[str]:
    """Return the terms of a question that neither name anyone nor ask for an attribute.

    Args:
        rest: the question without names.
        left: its terms, without those of questions that ask for all that is known.
        language: its language.
    """
    lists = _LISTS.get(language, _LISTS[DEFAULT_LANGUAGE])
    listed = [word for name in ("asking", "past", "former") for word in lists.get(name, ())]
    cues = _list_cues(rest, language).keys() - list_hints(language) - _list_pet_kinds(language)
    asking = [*listed, *cues]
    if language not in UNSPACED_LANGUAGES:
        return frozenset(left) - _fold_words(asking)
    for word in sorted((*asking, *lists["everything"], *lists["speaker"]), key=len, reverse=True):
        rest = rest.replace(normalize(word), " ")
    return frozenset(rest.split())


@cache
def _list_pet_kinds(language: str) -> frozenset[str]:
    """Return the words for kinds of pets: "cat"."""
    grammar = load_grammar(language)
    relations = {} if grammar is None else grammar.relations
    pets = (word for word, relation in relations.items() if relation.attribute == "pet")
    return frozenset(word for word in pets if relations[word].noun != "pet")


def list_subjects(asked: Asked) -> Iterator[tuple[str, Collection[str] | None]]:
    """Yield the subjects of the facts to select, and the attributes to which they are restricted."""
    for subject in asked.subjects:
        yield subject, None
    for owner in dict.fromkeys(owner for owner, _ in asked.relatives):
        if owner not in asked.subjects:
            yield owner, {attribute for each, attribute in asked.relatives if each == owner}


def _rank(fact: Fact, known: FactIndex, asked: Asked, attributes: Collection[str] | None) -> int:
    """Return how relevant a fact is: 3 its attribute is asked for, 2 its value is named, 1 all is asked for, 0 not."""
    if attributes is not None:
        return 3 if fact.attribute in attributes else 0
    if fact.attribute in asked.attributes or (fact.subject, fact.attribute) in asked.relatives:
        return 3
    if not asked.terms.isdisjoint(known.value_terms(fact)):
        return 2
    return int(asked.is_broad)


class _Found(NamedTuple):
    """The entities that a question names, the relatives, the question without names, and how many it names."""

    subjects: tuple[str, ...]
    relatives: tuple[tuple[str, str], ...]
    rest: str
    mentions: int


class _Names:
    """Finds the entities that a question names."""

    def __init__(self, known: FactIndex, find_asker: FindAsker, language: str, lists: Mapping[str, Any]) -> None:
        self._known, self._find_asker, self._lists = known, find_asker, lists
        grammar = load_grammar(language)
        self._relations: Mapping[str, Relation] = {} if grammar is None else grammar.relations
        self._language = language

    @cached_property
    def _last_words(self) -> Collection[str]:
        """The last words of the words for relations: "law" of "mother in law"."""
        return frozenset(relation.rpartition(" ")[2] for relation in self._relations)

    @cached_property
    def _asker(self) -> str | None:
        return self._find_asker()

    def find(self, question: str) -> _Found:
        """Find the entities that a question names. A name beside a relation ("my son Tom") is not another one."""
        words = self._restore_apostrophes([match[0] for match in WORD.finditer(question)])
        keys = [normalize_word(word) for word in words]
        is_small = question == question.lower()
        subjects: dict[str, None] = {}
        relatives: dict[tuple[str, str], None] = {}
        rest: list[str] = []
        mentions: set[Hashable] = set()
        at, named_to = 0, 0
        while at < len(words):
            owners, length = self._find_name(words, keys, at, is_small)
            if keys[at] in self._lists["owner"] and self._asker is not None:
                owners, length = [self._asker], 1
            relation, relation_length = self._find_relation(keys[at + length :])
            if not owners:
                rest.append(words[at])
            elif relation and (keys[at] in self._lists["owner"] or _POSSESSIVE.search(words[at + length - 1])):
                for owner in owners:
                    relatives[owner, relation.attribute] = None
                    subjects |= dict.fromkeys(self._find_relatives(owner, relation))
                length += relation_length
                named_to = at + length
                mentions.add((*owners, relation.attribute))
            else:
                subjects |= dict.fromkeys(owners)
                if at != named_to:
                    mentions.add(tuple(owners))
            at += length
        own = {normalize(word) for word in rest} & set(self._lists["speaker"])
        if own - (set(self._lists["object"]) if subjects else set()) and self._asker is not None:
            subjects[self._asker] = None
            mentions.add((self._asker,))
        return _Found(tuple(subjects), tuple(relatives), " ".join(rest), len(mentions))

    def _restore_apostrophes(self, words: Sequence[str]) -> list[str]:
        """Return the words of a question with the apostrophes that are left out in chats: "whats my sisters job"."""
        if self._language != DEFAULT_LANGUAGE:
            return [*words]
        owned = self._relations.keys() | _cues(self._language).keys()
        return [
            f"{word[:-1]}'s" if self._is_owner(normalize(word)) and normalize(after) in owned else word
            for word, after in zip_longest(words, words[1:], fillvalue="")
        ]

    def _is_owner(self, word: str) -> bool:
        """Return whether a word is a name or a relation with an s after it."""
        known = self._known.names, self._last_words
        return (
            word.endswith("s") and not any(word in each for each in known) and any(word[:-1] in each for each in known)
        )

    def _find_relation(self, keys: Sequence[str]) -> tuple[Relation | None, int]:
        """Return the longest word for a relation that words begin with, if any, and how many of them it has."""
        for length in range(min(MAX_RELATION_WORDS, len(keys)), 0, -1):
            if relation := self._relations.get(" ".join(keys[:length])):
                return relation, length
        return None, 0

    def _find_name(self, words: Sequence[str], keys: Sequence[str], at: int, is_small: bool) -> tuple[list[str], int]:
        """Return the entities of the longest name that begins at a word, and the number of its words; else 1."""
        for length in range(min(MAX_NAME_WORDS, len(words) - at), 0, -1):
            if not is_small and not words[at][:1].isupper():
                continue
            found = self._known.names.get(" ".join(keys[at : at + length]))
            if found and not (length == 1 and keys[at] in STOP_WORDS):
                return list(found), length
        return [], 1

    def find_unspaced(self, question: str) -> _Found:
        """Return the same as `find` in a script without spaces, where names stand anywhere."""
        text = normalize(question)
        mentions: set[Hashable] = set()
        subjects: dict[str, None] = {}
        relatives: dict[tuple[str, str], None] = {}
        for key, names in self._known.names.items():
            if key in text:
                subjects |= dict.fromkeys(names)
                mentions.add(names)
                text = text.replace(key, " ")
        for word, relation in self._relations.items():
            for owner in self._lists["owner"]:
                if self._asker is not None and f"{owner}{word}" in text:
                    relatives[self._asker, relation.attribute] = None
                    subjects |= dict.fromkeys(self._find_relatives(self._asker, relation))
                    mentions.add((self._asker, relation.attribute))
                    text = text.replace(f"{owner}{word}", " ")
        if self._asker is not None and any(word in text for word in self._lists["speaker"]):
            subjects[self._asker] = None
            mentions.add((self._asker,))
        return _Found(tuple(subjects), tuple(relatives), text, len(mentions))

    def _find_relatives(self, owner: str, relation: Relation) -> Iterator[str]:
        """Yield the entities that are something to another one: "my sister", "Mia's cat"."""
        found = [fact.value for fact in self._known.facts_about(owner) if fact.attribute == relation.attribute]
        for name in (*found, f"{owner}'s {relation.attribute}", f"{owner}'s {relation.noun}"):
            for entity in self._known.names.get(normalize_name(name), ()):
                if relation.attribute != "pet" or self._is_kind(entity, relation.noun):
                    yield entity

    def _is_kind(self, pet: str, noun: str) -> bool:
        kinds = [normalize(fact.value) for fact in self._known.facts_about(pet) if fact.attribute == "kind"]
        return not kinds or noun == "pet" or noun in kinds


def _find_attributes(text: str, language: str) -> frozenset[str]:
    """Return the attributes for which a question without names asks."""
    return frozenset(attribute for attributes in _list_cues(text, language).values() for attribute in attributes)


def _list_cues(text: str, language: str) -> Mapping[str, Collection[str]]:
    """Return the words of a question without names that ask for attributes, each with its attributes."""
    if language in UNSPACED_LANGUAGES:
        return {word: attributes for word, attributes in _cues(language).items() if word in text}
    by_word = _cues_and_relations(language)
    found: dict[str, Collection[str]] = {}
    rest = f" {' '.join(map(normalize, WORD.findall(text)))} "
    for phrase in (cue for cue in by_word if " " in cue and f" {cue} " in rest):
        found[phrase] = by_word[phrase]
        rest = rest.replace(f" {phrase} ", " ")
    return found | {word: by_word[word] for word in rest.split() if word in by_word}


@cache
def _cues_and_relations(language: str) -> Mapping[str, frozenset[str]]:
    """Return the attributes that each word of a language asks for, with its words for relations."""
    grammar, cues = load_grammar(language), _cues(language if language in _LISTS else DEFAULT_LANGUAGE)
    relations = {} if grammar is None else grammar.relations
    found = {word: frozenset((relation.attribute,)) for word, relation in relations.items()}
    return found | {word: attributes | found.get(word, frozenset()) for word, attributes in cues.items()}


@cache
def _cues(language: str) -> Mapping[str, frozenset[str]]:
    """Return the attributes that each word asks for."""
    by_word: dict[str, set[str]] = {}
    for attribute, words in _LISTS[language]["attributes"].items():
        for word in words:
            by_word.setdefault(normalize(word), set()).add(attribute)
    return {word: frozenset(attributes) for word, attributes in by_word.items()}


def _fold_words(words: Iterable[str]) -> frozenset[str]:
    return frozenset(term for word in words for term in terms(word))
