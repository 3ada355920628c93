"""Finds the words that a question and a line have in common, to show why the line was found. Pure."""

from __future__ import annotations

import re

from everthread.text.analyzer import is_unspaced_script, terms
from everthread.text.keywords import term_counts

MIN_WORD_CHARS = 3  # shorter words are rarely the subject; not in scripts without spaces

_WORD = re.compile(r"[^\W\d_]+")


def find_shared_words(question: str, text: str, limit: int = 2) -> list[str]:
    """Return the longest words of a question that a text has, too, also in another form.

    Args:
        question: the question; its spelling is returned.
        text: the text.
        limit: the maximum number of words.
    """
    shared = set(term_counts(question)) & set(term_counts(text))
    words = [term for term in shared if is_unspaced_script(term)]
    for word in _WORD.findall(question):
        if len(word) >= MIN_WORD_CHARS and not is_unspaced_script(word) and shared.issuperset(terms(word) or [""]):
            words.append(word)
    return sorted(dict.fromkeys(sorted(words)), key=len, reverse=True)[:limit]
