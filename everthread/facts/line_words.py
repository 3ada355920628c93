"""Restricts what statements say to the words of their lines. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from everthread.facts.attributes import FAVOURITE, KINDS, POSSESSIVE, RELATIONS, STATUSES, are_several
from everthread.facts.types import Statement
from everthread.text.analyzer import UNSPACED, terms
from everthread.types import Line

UNSPACED_LETTER = re.compile(rf"[{UNSPACED}]")


class KnownKinds:
    """The kinds and the relations of those that statements name, by name."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.kinds: dict[str, list[str]] = defaultdict(list)
        self.relations: dict[str, list[tuple[str, str]]] = defaultdict(list)  # owners, and what it is of each
        for statement in statements:
            if statement.attribute == "kind":
                self.kinds[statement.subject].append(statement.value)
            elif statement.attribute in RELATIONS and not statement.ends:
                self.relations[statement.value].append((statement.subject, statement.attribute))

    def describe(self, name: str) -> Iterator[str]:
        """Yield what someone is called by a relation: "Nora's sister", or of a pet also "Nora's cat".

        Nothing if several have the name: by "she", any of them could be meant.
        """
        if are_several(self.relations.get(name, ())):
            return
        for owner, relation in reversed(self.relations.get(name, ())):
            words = [*self.kinds.get(name, ()), relation] if relation == "pet" else [relation]
            yield from (f"{owner}{POSSESSIVE}{word}" for word in words)


def keep_to_lines(statement: Statement, lines: Sequence[Line], known: KnownKinds) -> Statement | None:
    """Return a statement in the words of its lines alone; None if it isn't theirs.

    Otherwise a name in a forgotten line would remain in what others state. Of a line that says only "my sister" the
    statement says no more, although the reader knows that this is Mia. `facts.entities` finds the name when facts are
    read.
    """
    text = " ".join(f"{line.speaker} {line.text}" for line in lines)
    kind = statement.attribute.removeprefix(FAVOURITE)
    if kind != statement.attribute and kind not in KINDS and not _contains(text, kind):
        return None
    is_given = statement.attribute == "status" and (statement.writer == "rules" or statement.value in STATUSES)
    if statement.value and not is_given and not _contains(text, statement.value):
        said = next((kind for kind in known.kinds.get(statement.value, ()) if _contains(text, kind)), None)
        if said is None or not statement.ends:
            return None
        statement = replace(statement, value=said)
    if _names(text, statement.subject):
        return statement
    for name in known.describe(statement.subject):
        if _names(text, name):
            return replace(statement, subject=name)
    return None


def _names(text: str, subject: str) -> bool:
    """Return whether a text has a name; of "Nora's sister" the owner's, and whatever else is no relation."""
    owner, *relations = subject.split(POSSESSIVE)
    return _has_words(text, owner) and all(word in RELATIONS or _has_words(text, word) for word in relations)


def _has_words(text: str, words: str) -> bool:
    """Return whether a text has some words, one after the other: "Ann" is not in "Hannover"."""
    found = text.casefold().find(words.casefold()) if words else -1
    if found < 0 or UNSPACED_LETTER.search(words):
        return found >= 0
    return re.search(rf"(?<!\w){re.escape(words.casefold())}(?!\w)", text.casefold()) is not None


def _contains(text: str, value: str) -> bool:
    """Return whether a text has all words of a value, in any form."""
    value_terms = set(terms(value))
    return value_terms <= set(terms(text)) if value_terms else value.casefold() in text.casefold()
