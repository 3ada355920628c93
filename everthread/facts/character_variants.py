"""Lets patterns match characters that are written in two ways, as Chinese ones are, and letters with accents. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXPANDED = frozenset(("clauses", "blocks", "macros", "patterns", "since", "at"))  # tables of regular expressions


def add_variants(table: Mapping[str, Any], variants: Mapping[str, str]) -> dict[str, Any]:
    """Return the table of a grammar in which each character of a pattern also matches its variant.

    Args:
        table: the table of its file.
        variants: the other way of writing each character.
    """
    return {key: _expand(key, value, variants, is_pattern=False) for key, value in table.items()}


def _expand(key: str, value: Any, variants: Mapping[str, str], *, is_pattern: bool) -> Any:
    is_pattern = (is_pattern or key in EXPANDED) and key != "cues"
    if isinstance(value, str):
        return _expand_expression(value, variants) if is_pattern else value
    if isinstance(value, list) and not is_pattern and all(isinstance(each, str) for each in value):
        return _add_words(value, variants)
    if key == "words":  # each is a list of one form and its plurals
        return [*value, *([_translate(word, variants) for word in each] for each in value)]
    if isinstance(value, list):
        return [_expand(key, each, variants, is_pattern=is_pattern) for each in value]
    if isinstance(value, dict):
        words = {} if is_pattern else {_translate(name, variants): each for name, each in value.items()}
        return {name: _expand(name, each, variants, is_pattern=is_pattern) for name, each in (words | value).items()}
    return value


def _add_words(words: list[str], variants: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys([*words, *(_translate(word, variants) for word in words)]))


def _translate(word: str, variants: Mapping[str, str]) -> str:
    return "".join(variants.get(character, character) for character in word)


def _expand_expression(expression: str, variants: Mapping[str, str]) -> str:
    """Replace each character that has a variant by a set of both."""
    pieces, is_in_set, is_escaped = [], False, False
    for character in expression:
        both = character + variants.get(character, "")
        pieces.append(both if len(both) == 1 or is_in_set else f"[{both}]")
        if not is_escaped and character in "[]":
            is_in_set = character == "["
        is_escaped = character == "\\" and not is_escaped
    return "".join(pieces)
