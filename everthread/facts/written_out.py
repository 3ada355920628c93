"""Writes out what people leave out when they type: an apostrophe, or "I'm" before their own name. Pure.

"toms a plumber" is about Tom if he is known, and "Sam here, 27" is what Sam says.
"""

from __future__ import annotations

import re

from everthread.facts.grammar import Grammar
from everthread.facts.name_words import is_likely_name, is_name_only
from everthread.facts.referents import Names
from everthread.text.english_words import is_word


def write_out(text: str, speaker: str, grammar: Grammar, names: Names) -> str:
    """Return a text with the apostrophes and capitals of names, and with "I'm" before the speaker's own."""
    names.written.clear()
    text = grammar.contracted.sub(lambda match: _restore_apostrophe(match, names), text)
    text = grammar.small_word.sub(lambda match: _restore_capital(match, grammar, names), text)
    greeted = grammar.greeting.match(text) if grammar.i_am else None
    if greeted is None or not text.startswith(speaker, greeted.end()):
        return text
    rest = grammar.own_name_end.match(text, greeted.end() + len(speaker))
    return f"{grammar.i_am} {speaker}, {text[rest.end() :]}" if rest else text


def _restore_apostrophe(match: re.Match[str], names: Names) -> str:
    name = match["name"]
    return f"{name}'s" if names.is_known(name) and not names.is_known(match[0]) else match[0]


def _restore_capital(match: re.Match[str], grammar: Grammar, names: Names) -> str:
    """Return what a match has, with a capital if its last word is a name."""
    groups = match.groupdict()
    person = groups.get("person") or groups.get("person_before")
    word = person or match[0]
    is_first_name = _is_listed(word, grammar) and grammar.no_capital.fullmatch(word) is None
    if not (is_first_name or names.is_known(word) or (person and _may_be_name(word))):
        return match[0]
    names.written[word.capitalize()] = word
    return f"{match[0].removesuffix(word)}{word.capitalize()}"


def _is_listed(word: str, grammar: Grammar) -> bool:
    """Return whether a word in small letters is listed as a name, and as no other word."""
    if grammar.word_employer is None:  # there is no list of words
        return word in grammar.first_names
    return is_name_only(word) or (word in grammar.first_names and not is_word(word))


def _may_be_name(word: str) -> bool:
    return is_likely_name(word) and not word.endswith("s")  # "my friend niamhs flat"
