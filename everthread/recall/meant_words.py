"""Reads the misspelt words of a question as the words of the bank that are meant, so that it finds the same lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from everthread.recall.query_parsing import MAX_QUERY_CHARS
from everthread.stores.base import TermIndex
from everthread.text import spelling
from everthread.text.analyzer import detect_language, terms
from everthread.text.lexicon import ENGLISH


def correct_question(store: TermIndex, bank: str, question: str) -> str:
    """Replace the misspelt words of an English question by words of the bank.

    Args:
        store: the store.
        bank: the bank's id.
        question: the question.
    """
    text = question[:MAX_QUERY_CHARS]
    misspelt = spelling.find_misspelt(text)
    if not misspelt or detect_language(text) != ENGLISH:
        return question
    return spelling.replace_words(question, find_meant(store, bank, misspelt))


def find_meant(store: TermIndex, bank: str, misspelt: Sequence[str]) -> dict[str, str]:
    """Find for misspelt words what is meant, among the words of the bank.

    Args:
        store: the store.
        bank: the bank's id.
        misspelt: the words.

    Returns:
        The commonest word that may be meant by each. One for which the bank has none is left out.
    """
    choices = {word: {meant: terms(meant) for meant in (word, *spelling.list_meant(word))} for word in misspelt}
    wanted = list({term for choice in choices.values() for found in choice.values() for term in found})
    read = store.postings(bank, wanted, len(wanted), 0)
    known = {term for term, posting in read.items() if posting.df}
    chosen = {word: _choose(word, choice, known) for word, choice in choices.items()}
    return {word: meant for word, meant in chosen.items() if meant is not None}


def _choose(word: str, choice: dict[str, list[str]], known: Collection[str]) -> str | None:
    """Return what is meant by a word, if anything.

    Args:
        word: the word.
        choice: the terms of the word, and of all that may be meant by it.
        known: the terms that the bank has.
    """
    own, *others = choice.items()
    if any(term in known for term in own[1]):
        # The bank has the word, or the one that is meant: "restaurent" and "restaurant" have the same term.
        meant = [each for each, found in others if found == own[1] and spelling.is_common(each)]
    else:
        meant = [each for each, found in others if any(term in known for term in found)]
    return min(meant, key=spelling.rank, default=None)
