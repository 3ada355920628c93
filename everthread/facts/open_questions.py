"""Recognises questions that no fact alone answers, though they have the words of one. Pure.

"What should I eat?" asks for advice, "Who do I live with?" for another attribute than "Where do I live?", and "Does Mia
like me?" for something between two people. The words are data, in `open_questions.toml`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial

from everthread.facts.cache import WORD
from everthread.text.analyzer import UNSPACED_LANGUAGES, normalize
from everthread.text.word_lists import load_word_lists

_LISTS = load_word_lists(__file__)
_SECONDARY = frozenset({"name", "kind"})  # asked for with another: "the name of my company", "what kind of job"


@cache
def list_hints(language: str) -> frozenset[str]:
    """Return the words that only have to do with an attribute: "dinner" with a diet."""
    return frozenset(map(normalize, _LISTS.get(language, {}).get("hints", ())))


def is_open(question: str, cues: Mapping[str, Collection[str]], has_relatives: bool, language: str) -> bool:
    """Return whether no fact alone answers a question.

    Args:
        question: the question.
        cues: its words that ask for attributes, with these.
        has_relatives: whether it names relatives of someone.
        language: its language.
    """
    if language not in _LISTS:
        return False
    lists, has_any = _LISTS[language], partial(_has_any, _join_words(question, language), language)
    relays = has_any(lists["relaying"])
    if has_any(lists["company"]) and not any("partner" in attributes for attributes in cues.values()):
        return True
    if has_any(lists["open"]) or (not relays and has_any([*lists["modal"], *lists["object"]])):
        return True
    weak = frozenset(map(normalize, lists["weak"]))
    asked = [own for word in cues.keys() - weak if (own := frozenset(cues[word]) - _SECONDARY)]
    if not asked:
        return has_relatives and not relays and not has_any(lists["who"])
    common = frozenset.intersection(*asked)
    limits = (attributes for word, attributes in lists.get("asked_by", {}).items() if has_any([word]))
    return not common or any(common.isdisjoint(attributes) for attributes in limits)


def _join_words(question: str, language: str) -> str:
    """Return the words of a question with a space on both sides of each; in a script without spaces, its text."""
    if language in UNSPACED_LANGUAGES:
        return normalize(question)
    return f" {' '.join(map(normalize, WORD.findall(question)))} "


def _has_any(text: str, language: str, phrases: Iterable[str]) -> bool:
    if language in UNSPACED_LANGUAGES:
        return any(normalize(phrase) in text for phrase in phrases)
    return any(f" {normalize(phrase)} " in text for phrase in phrases)
