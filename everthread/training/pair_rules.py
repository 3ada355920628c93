"""Makes pairs of a question and a line from a conversation's own lines, by rules. Pure.

Two kinds of pairs are made. A question that one speaker asked another one becomes a question about that speaker, with
the line after it as its text ("What do you do for fun?" → "What does Mia do for fun?"). And a line in the first person
answers the questions of the rules that it matches ("I adopted a greyhound." → "Which pet does Mia have?"). The rules
are in `pair_rules.toml`. They are English: lines in other languages make no pairs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from everthread.text.line_features import UNINFORMATIVE, line_flags
from everthread.text.salience import informative_words, is_question_only
from everthread.text.sentences import split_sentences
from everthread.text.word_lists import alternation, load_word_lists
from everthread.training.pairs import Pair, remove_duplicates

MIN_ANSWER_WORDS = 3  # informative words; "Yes, I do!" answers only beside its question
MAX_QUESTION_CHARS = 120
MAX_TEXT_CHARS = 400  # of a line; a longer one is about much else

_EN = load_word_lists(__file__)["en"]
_VERBS: Mapping[str, str] = _EN["questions"]
_YOU_ASKED = re.compile(rf"\b({'|'.join(_VERBS)}) you\b", re.IGNORECASE)
_YOU_LEFT = re.compile(r"\byou\b", re.IGNORECASE)
_OPENER = re.compile(r"(?:so|oh|well|and|but|wow|cool|hey|nice|yeah|ok|okay)\b,? ", re.IGNORECASE)
_OF_ASKER = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b|\bi'", re.IGNORECASE)
_THIS = re.compile(r"\b(?:that|this|it|those|these|them|there|he|she|him|her|they)\b", re.IGNORECASE)
_CONTRACTIONS = {
    re.compile(r"\b(i|we)'(?:m|re)\b"): r"\1 am",
    re.compile(r"\b(i|we)'ve\b"): r"\1 have",
    re.compile(r"\b(i|we)'d\b"): r"\1 would",
    re.compile(r"\b(i|we)'ll\b"): r"\1 will",
    re.compile(r"\bwe are\b"): "we am",  # so that rules have one form
}
_MACROS = {
    "<i>": rf"\b(?:i|we) (?:{alternation(_EN['adverbs'])} )*",
    "<words>": r"(?:[\w'-]+ ){0,4}",
    **{f"<{kind}>": rf"{alternation(nouns)}(?:e?s)?\b" for kind, nouns in _EN["kinds"].items()},
}


class Said(Protocol):
    """A line of a conversation, stored or not."""

    @property
    def session(self) -> str | None: ...
    @property
    def speaker(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """Questions that a sentence answers if it matches one of the expressions."""

    says: tuple[re.Pattern[str], ...]
    asks: tuple[str, ...]

    def find_questions(self, sentence: str, name: str) -> list[str]:
        """Return the questions about a speaker that a sentence in small letters answers."""
        match = next((found for each in self.says if (found := each.search(sentence))), None)
        return [] if match is None else [question.format(name=name, **match.groupdict()) for question in self.asks]


def make_pairs(lines: Sequence[Said]) -> list[Pair]:
    """Make pairs from lines of a conversation, in their order."""
    return remove_duplicates([*_pair_answers(lines), *(pair for line in lines for pair in pair_statements(line))])


def _pair_answers(lines: Sequence[Said]) -> Iterator[Pair]:
    """Yield the questions of one speaker with the line of another one that follows."""
    for asked, answer in pairwise(lines):
        if asked.session == answer.session and asked.speaker != answer.speaker and _is_answer(answer.text):
            yield from (Pair(question, answer.text) for question in find_questions(asked.text, answer.speaker))


def find_questions(text: str, name: str) -> list[str]:
    """Return the last question of a text, addressed to a speaker, as a question about that speaker; [] if it has none.

    Args:
        text: the line before the answer.
        name: the speaker who answers.
    """
    sentences = split_sentences(text.replace("’", "'"))
    if not sentences or not sentences[-1].endswith("?") or len(sentences[-1]) > MAX_QUESTION_CHARS:
        return []
    question = name_addressee(sentences[-1], name)
    return [question] if question and informative_words(question.replace(name, "")) else []


def name_addressee(question: str, name: str) -> str | None:
    """Turn a question to "you" into one about a speaker.

    Args:
        question: one sentence.
        name: the speaker.

    Returns:
        "What did Mia do on her …" for "What did you do on your …". None if the question is not to "you", points to what
        was said before ("Is that yours?"), or is about the asker.
    """
    question = _OPENER.sub("", question, count=1) if _OPENER.match(question) else question
    if _OF_ASKER.search(question) or _THIS.search(question):
        return None
    named, count = _YOU_ASKED.subn(lambda match: f"{_verb_form(match[1])} {name}", question, count=1)
    possessive = "their" if count else f"{name}'s"
    named, owned = re.subn(r"\byour\b", possessive, named, count=0 if count else 1, flags=re.IGNORECASE)
    if not count and not owned:
        named, count = re.subn(r"\byou(?=\?)", name, named, flags=re.IGNORECASE)  # "What inspired you?"
    if not count and not owned:
        return None
    named = re.sub(r"\byour\b", "their", named, flags=re.IGNORECASE)
    named = re.sub(r"\byou(?=[?.,]| (?:to|in|with|for|at|on)\b)", "them", named, flags=re.IGNORECASE)
    named = _YOU_LEFT.sub("they", named)
    return named[:1].upper() + named[1:]


def _verb_form(verb: str) -> str:
    """Return the form of a verb before a name: "Does" for "Do"."""
    form = _VERBS[verb.lower()]
    return form.capitalize() if verb[:1].isupper() else form


def _is_answer(text: str) -> bool:
    return (
        len(text) <= MAX_TEXT_CHARS
        and not line_flags(text) & UNINFORMATIVE
        and len(informative_words(text)) >= MIN_ANSWER_WORDS
    )


def pair_statements(line: Said) -> list[Pair]:
    """Return the questions about the speaker that a line in the first person answers, one of each rule that matches.

    Of a rule's questions the text's digest chooses one, so that all are used, and the same ones each time.
    """
    if line.role == "assistant" or len(line.text) > MAX_TEXT_CHARS:
        return []
    pairs = []
    digest = int.from_bytes(hashlib.blake2b(line.text.encode(errors="surrogatepass"), digest_size=8).digest())
    for rule in RULES.values():
        for sentence in split_sentences(line.text):
            if questions := [] if is_question_only(sentence) else rule.find_questions(_fold(sentence), line.speaker):
                pairs.append(Pair(questions[digest % len(questions)], line.text))
                break
    return pairs


def _fold(sentence: str) -> str:
    """Return a sentence in small letters, with "i am" for "I'm", "I've" and the like written out."""
    folded = sentence.replace("’", "'").lower()
    for pattern, words in _CONTRACTIONS.items():
        folded = pattern.sub(words, folded)
    return folded


def _compile(pattern: str) -> re.Pattern[str]:
    for macro, expression in _MACROS.items():
        pattern = pattern.replace(macro, expression)
    return re.compile(pattern)


RULES = {name: Rule(tuple(map(_compile, rule["says"])), tuple(rule["asks"])) for name, rule in _EN["rules"].items()}
