"""Finds words without which a template of a grammar can't match, so that most lines need not try its expression. Pure.

Only what is certain counts: letters that every way through the expression contains. Letters in sets, in optional parts
and in conditions (lookarounds) don't.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from everthread.facts.templates import TOKEN, Template

MAX_WORDS = 40  # of one choice: looking for more takes as long as trying the expression
MAX_CHOICES = 3  # of one template

Choice: TypeAlias = frozenset[str]  # words in small letters, of which a text must contain one

_IDEOGRAPH = re.compile(r"[\u2e80-\u9fff]")


def find_required_words(template: Template, choices_of: Callable[[str], Sequence[Choice]]) -> tuple[Choice, ...]:
    """Return the choices of words that every match of a template contains, the most selective first.

    Args:
        template: the template; a list of templates is an alternation.
        choices_of: returns the choices of a macro.

    Returns:
        At most MAX_CHOICES. A text that contains no word of one of them, in small letters, doesn't match.
    """
    templates = [template] if isinstance(template, str) else template
    choices = _unite([_read(TOKEN.finditer(each), choices_of) for each in templates])
    return tuple(sorted(choices, key=_rank)[:MAX_CHOICES])


def _read(tokens: Iterator[re.Match[str]], choices_of: Callable[[str], Sequence[Choice]]) -> list[Choice]:
    """Return the choices of an alternation, up to the bracket that closes it."""
    ways: list[list[Choice]] = []
    parts: list[list[Choice]] = []  # the choices of each part of a way
    for token in tokens:
        match token.lastgroup:
            case "close":
                break
            case "bar":
                ways.append(list(chain.from_iterable(parts)))
                parts = []
            case "open":
                parts.append(_read(tokens, choices_of))
            case "condition":
                _read(tokens, choices_of)
                parts.append([])
            case "macro" | "of_slot":
                parts.append(list(choices_of(token["of_slot"] or token["macro"])))
            case "letters":
                letters = token[0].lower()
                parts += map(_choose, (letters[:-1], letters[-1]) if _is_quantified(token) else (letters,))
            case "quantifier":
                if parts and _is_optional(token["quantifier"]):
                    parts[-1] = []
            case _:
                parts.append([])
    return _unite([*ways, list(chain.from_iterable(parts))])


def _unite(ways: Sequence[Sequence[Choice]]) -> list[Choice]:
    """Return the choices of an alternation of these ways."""
    if len(ways) == 1:
        return list(ways[0])
    if not ways or not all(ways):
        return []
    words = frozenset[str]().union(*(min(choices, key=_rank) for choices in ways))
    return [words] if len(words) <= MAX_WORDS else []


def _choose(letters: str) -> list[Choice]:
    """Return the choice of one word; none for a single letter, which most texts contain."""
    return [frozenset((letters,))] if len(letters) > 1 or _IDEOGRAPH.match(letters) else []


def _is_quantified(token: re.Match[str]) -> bool:
    following = TOKEN.match(token.string, token.end())
    return following is not None and following.lastgroup == "quantifier"


def _is_optional(quantifier: str) -> bool:
    return quantifier[0] in "?*" or quantifier.startswith(("{0", "{,"))


def _rank(choice: Choice) -> tuple[int, int]:
    """Return a sort key by which the most selective choice is first: few words, and long ones."""
    return len(choice), -min(map(len, choice))
