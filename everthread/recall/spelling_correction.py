"""Corrects the spelling of a question by the words of the bank, so that it finds what the right one finds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from everthread.recall.types import Query
from everthread.stores.base import Store
from everthread.stores.postings import Postings
from everthread.text import spelling
from everthread.text.analyzer import detect_language, normalize, terms
from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.english_words import is_common, rank
from everthread.text.lexicon import ENGLISH
from everthread.text.questions import is_question
from everthread.types import Filter, Seqs

MAX_QUESTIONS = 5  # a word in more lines is known, even if all of them are questions
MAX_RECORDS = 10_000  # of terms, the rarest first


def correct_query(store: Store, bank: str, query: Query) -> Query:
    """Write out words of chats in an English query, and replace its misspelt words by words of the bank.

    Args:
        store: the store.
        bank: the bank's id.
        query: the query, whose restrictions also limit which lines have the words of the bank.
    """
    query = _expand_chat_spelling(query)
    unknown = spelling.find_unknown_words(query.text)
    if not unknown or detect_language(query.text) != ENGLISH:
        return query
    names = {part for name in store.corpus_stats(bank).names for part in normalize(name).split()}
    unknown = [word for word in unknown if normalize(word) not in names]
    within = store.filter_seqs(bank, query.where or Filter(), query.as_of)
    corrections = _find_corrections(store, bank, unknown, within, query.exclude)
    return replace(query, text=spelling.replace_words(query.text, corrections)) if corrections else query


def _expand_chat_spelling(query: Query) -> Query:
    """Write out the words of a short English query that are typed as in chats ("whats", "u")."""
    if len(query.text) > spelling.MAX_CHARS:
        return query
    expanded = expand_chat_spelling(query.text)
    # The text as it is, because "wat" and "u" are Dutch as well.
    is_english = expanded != query.text and detect_language(query.text) == ENGLISH
    return replace(query, text=expanded) if is_english else query


def _find_corrections(
    store: Store, bank: str, unknown: Sequence[str], within: Seqs | None, exclude: Collection[int]
) -> dict[str, str]:
    """Find the corrections of unknown words among the words of the bank.

    Args:
        store: the store.
        bank: the bank's id.
        unknown: the words.
        within: the numbers of the lines that may be found, ascending; None: all.
        exclude: numbers of lines that are not found, such as the question itself.

    Returns:
        The commonest candidate for each that the bank has, else one that is sure. A word that the bank has itself, and
        not only in questions, is left out; so is one without a candidate.
    """
    candidates = {word: {each: set(terms(each)) for each in spelling.list_candidates(word)} for word in unknown}
    own = {word: set(terms(word)) for word in unknown if candidates[word]}
    wanted = sorted(
        {term for each in candidates.values() for found in each.values() for term in found}.union(*own.values())
    )
    if not wanted:
        return {}
    read = store.postings(bank, wanted, len(wanted), MAX_RECORDS, within)
    known = {term for term, posting in read.items() if posting.df}
    chosen = {
        word: _choose(word, candidates[word], known, is_known=_is_known(store, bank, found, read, exclude))
        for word, found in own.items()
    }
    return {word: correction for word, correction in chosen.items() if correction is not None}


def _is_known(
    store: Store, bank: str, own: Collection[str], read: Mapping[str, Postings], exclude: Collection[int]
) -> bool:
    """Return whether the bank has a word in lines other than excluded ones and questions, which repeat an error."""
    postings = [read[term] for term in own if term in read]
    seqs = {int(seq) for posting in postings for seq in posting.records["seq"]}.difference(exclude)
    if len(seqs) > MAX_QUESTIONS or any(posting.df > len(posting.records) for posting in postings):
        return True
    texts = store.texts(bank, np.array(sorted(seqs))) if seqs else []
    return any(not is_question(text) for _, text in texts)


def _choose(word: str, candidates: Mapping[str, Set[str]], known: Set[str], *, is_known: bool) -> str | None:
    """Return the correction of a word, if there is any.

    Args:
        word: the word.
        candidates: the terms of the candidates.
        known: the terms that the bank has.
        is_known: whether the bank has the word.
    """
    if is_known:
        # The bank may as well have the right word: "restaurent" and "restaurant" have the same term.
        own = set(terms(word))
        right = [each for each, found in candidates.items() if found == own and is_common(each)]
    else:
        right = [each for each, found in candidates.items() if not found.isdisjoint(known)]
        if not right:  # the bank may have a related word, or lines of the month
            commonest = min(candidates, key=rank)
            return commonest if spelling.is_sure_correction(word, commonest) else None
    return min(right, key=rank, default=None)
