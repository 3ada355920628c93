"""Recognises what asks something: by a question mark, or by its form in the languages of the interface. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from everthread.text.line_features import is_in_question_order
from everthread.text.sentences import split_sentences
from everthread.text.word_lists import alternation, load_word_lists

MARKS = ("?", "？", "؟")
MAX_CHARS = 200  # of a question without a mark; a longer sentence describes something

_CLAUSE = r"[^,，、;；:：\n]*"  # a sentence with another clause may be a statement: "Where I live, it rains."


def _list_forms(lists: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    """Yield regular expressions of sentences that ask something."""
    for words in lists.values():
        for name in ("questions", "requests"):
            if name in words:
                yield rf"{alternation(words[name])}(?!\w){_CLAUSE}"
        if "anywhere" in words:
            yield rf"{_CLAUSE}{alternation(words['anywhere'])}{_CLAUSE}"
        if "endings" in words:
            yield rf"{_CLAUSE}{alternation(words['endings'])}"


_FORM = re.compile(alternation(_list_forms(load_word_lists(__file__))))


def is_question(text: str) -> bool:
    """Return whether a message asks something, which its last sentence does."""
    if text.rstrip().endswith(MARKS):
        return True
    sentences = split_sentences(text)
    return bool(sentences) and _asks(sentences[-1])


def is_question_only(text: str) -> bool:
    """Return whether a text only asks: each of its sentences does."""
    sentences = split_sentences(text)
    return bool(sentences) and all(map(_asks, sentences))


def _asks(sentence: str) -> bool:
    if sentence.endswith(MARKS):
        return True
    plain = sentence.rstrip(".。!！…").lower()
    return len(plain) <= MAX_CHARS and (is_in_question_order(plain) or _FORM.fullmatch(plain) is not None)
