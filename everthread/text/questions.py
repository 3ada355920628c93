"""Recognises what asks something: by a question mark, or by its form in the languages of the interface. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from everthread.text.chat_spelling import expand_chat_spelling
from everthread.text.english_words import is_listed_name
from everthread.text.line_features import is_in_question_order
from everthread.text.sentences import split_sentences
from everthread.text.word_lists import alternation, load_word_lists

MAX_CHARS = 200  # of a question without a mark; a longer sentence describes something

_MARKED = re.compile(r"[?？؟][^\w?？؟]*$")  # also before a quotation mark or an emoji
_WORD = re.compile(r"\w")
_CLAUSE_END = re.compile(r"[,，、;；:：\n]")  # a sentence of two clauses may be a statement: "Where I live, it rains."
_LISTS = load_word_lists(__file__)


def _list_forms(lists: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    """Yield regular expressions that match the beginnings of sentences that ask something."""
    for words in lists.values():
        before = rf"(?!.*{alternation(words['without'])}).*?" if "without" in words else ".*?"
        if "verbs" in words:
            yield rf"{alternation(words['question_words'])} {alternation(words['verbs'])}(?!\w)"
        if "beginnings" in words:
            yield rf"{alternation(words['beginnings'])}(?!\w)"
        if "inside" in words:
            yield rf"{before}{alternation(words['inside'])}"
        if "endings" in words:
            yield rf"{before}{alternation(words['endings'])}$"


# A name in small letters, which no list of subjects has: "did mia call".
_BEFORE_NAME = re.compile(r"(?:and |so |but )?(?:can|did|does|has|is|should|was|will) ([a-z]{3,}) \S")
_FORM = re.compile(alternation(_list_forms(_LISTS)))
_NO_QUESTION = re.compile(rf"{alternation(_LISTS['en']['not_before'])}(?!\w)")


def is_question(text: str) -> bool:
    """Return whether a message asks something: its last sentence has a question mark, or the form of a question.

    The forms are those that hardly any statement has, so some questions without a mark are not recognised.
    """
    return _is_marked(text) or any(map(_has_form, _split(text)[-1:]))


def is_question_only(text: str) -> bool:
    """Return whether a text only asks: each of its sentences has a question mark or the form of a question."""
    sentences = _split(text)
    return bool(sentences) and all(_is_marked(sentence) or _has_form(sentence) for sentence in sentences)


def _split(text: str) -> list[str]:
    """Return the sentences of a text that have words."""
    return [sentence for sentence in split_sentences(text) if _WORD.search(sentence)]


def _is_marked(text: str) -> bool:
    return _MARKED.search(text) is not None


def _has_form(sentence: str) -> bool:
    plain = expand_chat_spelling(sentence.rstrip(".。!！…").lower())
    if len(plain) > MAX_CHARS:
        return False
    if _CLAUSE_END.search(plain) is None and (_FORM.match(plain) is not None or _asks_about_name(plain)):
        return True
    return is_in_question_order(plain) and _NO_QUESTION.match(plain) is None


def _asks_about_name(plain: str) -> bool:
    match = _BEFORE_NAME.match(plain)
    return match is not None and is_listed_name(match[1])
