"""ExtractiveScribe: writes about a conversation without a model, in the words of the conversation itself.

It selects sentences and never writes its own, so it can't invent anything or attribute a word to the wrong speaker.
The same lines always give the same text: it uses no clock and no randomness.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from everthread.bank.line_validation import replace_unstorable
from everthread.errors import BadInput
from everthread.scribes.base import CATEGORIES, NOTES_TOKENS, SUMMARY_TOKENS, CosinesToTarget
from everthread.text import redaction, salience
from everthread.text.analyzer import split_words, terms
from everthread.text.centrality import Floats, degree_centrality, is_repetition, select_by_mmr, tfidf_cosines
from everthread.text.dates import format_date
from everthread.text.sentences import shorten, split_sentences
from everthread.text.tokens import estimate_tokens
from everthread.text.word_lists import alternation, load_word_lists
from everthread.types import FoundUnit, Line

MAX_CANDIDATES = 400  # the most informative sentences, which are compared with one another: quadratic time
CENTRALITY_WEIGHT = 1.0  # weight of centrality relative to informativeness; set by hand
MAX_INFORMATIVENESS = 4.0  # about the greatest `salience.informativeness`
MIN_COMPARED_COSINE = 0.4  # cosine of two sentences from which they are checked for repetition
MAX_NEW_SHARE = 0.5  # share of the notes' limit that new rows may take from old ones
MAX_NOTE_TOKENS = 40  # tokens of a sentence in the notes; a longer one is shortened
MIN_RELEVANT_SHARE = 0.4  # share of the question's informative words in a relevant text; set by hand
MIN_ABOUT_COSINE = 0.25  # cosine from which a row is about a target; set by hand for the shipped model
STANDALONE_WORDS = 4  # a question with this many informative words is clear by itself
CONTEXT_LINES = 2  # lines whose words complete a dependent question
MAX_CONTEXT_WORDS = 12  # more would outweigh the question

_LISTS = load_word_lists(__file__)
_EN, _ZH = _LISTS["en"], _LISTS["zh"]
_DEPENDENT = re.compile(
    rf"^\W*{alternation(_EN['openers'])}\b|\b{alternation(_EN['references'])}\b"
    rf"|^{alternation(_ZH['openers'])}|{alternation(_ZH['references'])}",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:[-*•]\s*)+(?:\d{1,2} \w+ \d{4}: )?")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a line."""

    line: Line
    text: str
    informativeness: float
    terms: tuple[str, ...]


class ExtractiveScribe:
    """A scribe that needs no model. Thread-safe; raises nothing but BadInput for a limit below 1."""

    name = "extractive"

    def summarize(self, lines: Sequence[Line], person: str, limit: int = SUMMARY_TOKENS) -> str:
        """Return the person's most informative sentences in their order, one per row, with the day.

        Example: "- 6 May 2024: I moved to Lisbon.", or "- 6 May 2024: Nora: I moved to Lisbon." if several people
        talked. If the first row alone exceeds the limit, it is shortened.
        """
        sentences = _choose_sentences([line for line in lines if line.speaker == person])
        several = len({line.speaker for line in lines if line.role == "user"}) > 1
        speaker = f"{' '.join(person.split())}: " if several else ""
        prefixes = [format_dated(_get_day(sentence.line), speaker) for sentence in sentences]
        return "\n".join(_select_rows(sentences, prefixes, check_limit(limit)))

    def update_notes(
        self, old: str, recalled: Sequence[Line | FoundUnit], leaving: Sequence[Line], limit: int = NOTES_TOKENS
    ) -> str:
        """Return the old rows, followed by the most informative sentences of the leaving lines, each with its speaker.

        If not all fit, the newest are kept. New rows take at most MAX_NEW_SHARE of the limit from old ones, and
        replace those that they repeat; sentences that repeat a recalled text are left out.
        """
        limit = check_limit(limit)
        rows = [row.rstrip() for row in old.splitlines() if row.strip()]
        recalled_terms = [term_set(sentence) for line in recalled for sentence in split_sentences(line.text)]
        sentences = [
            sentence
            for sentence in _choose_sentences(leaving)
            if not is_repeated(frozenset(sentence.terms), recalled_terms)
        ]
        prefixes = [f"{' '.join(sentence.line.speaker.split())}: " for sentence in sentences]
        room = max(int(limit * MAX_NEW_SHARE), limit - estimate_tokens("\n".join(rows)) - 1) if rows else limit
        new = _select_rows(sentences, prefixes, room, MAX_NOTE_TOKENS)
        new_terms = [term_set(row) for row in new]
        old_rows = [row for row in rows if not is_repeated(term_set(row), new_terms)]
        return "\n".join([*_select_newest(old_rows, new, limit), *new])

    def categorize(self, text: str, categories: Sequence[str] = CATEGORIES) -> str:
        """Return the category with the most words in the text; "other" if it has words of none.

        A category that is not among CATEGORIES is recognised by its name alone.
        """
        return salience.choose_category(text, categories)

    def redact(self, text: str) -> str | None:
        """Return the text with [removed] for card and account numbers, keys, passwords and PINs.

        None if no row of substance is left.
        """
        return redaction.redact_rows(text)

    def narrow(self, text: str, target: str, compute_cosines: CosinesToTarget | None = None) -> str | None:
        """Return the rows that are about the target, or None.

        Such a row shares an informative word with the target, has a word of a category that the target names, or has a
        cosine of at least MIN_ABOUT_COSINE to the target.
        """
        rows = [row for row in text.splitlines() if row.strip()]
        cosines = [0.0] * len(rows)
        if compute_cosines is not None and rows:
            cosines = list(compute_cosines([join_row(row) for row in rows]))
        selected = [
            row
            for row, cosine in zip(rows, cosines, strict=True)
            if salience.is_about(join_row(row), target) or cosine >= MIN_ABOUT_COSINE
        ]
        return "\n".join(selected) or None

    def is_relevant(self, query: str, text: str) -> bool:
        """Return whether the text has at least MIN_RELEVANT_SHARE of the query's informative words, by their stems."""
        query_terms = frozenset(terms(" ".join(salience.informative_words(query))))
        return bool(query_terms) and len(query_terms.intersection(terms(text))) >= MIN_RELEVANT_SHARE * len(query_terms)

    def rate_importance(self, text: str) -> int:
        """Rate the importance by rules: small talk 1, births, deaths and weddings 9, illness 8, moving and jobs 7 …"""
        return salience.rate_importance(text)

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        """Return the query, followed by the informative words of the last two lines if it depends on them.

        A query depends on them if it has fewer than STANDALONE_WORDS informative words and says "he", "it", "there" or
        "and …", or if it has no informative word at all.
        """
        words = salience.count_words(salience.informative_words(query))
        if words >= STANDALONE_WORDS or (words and not _DEPENDENT.search(query)):
            return query
        query_words = set(split_words(query))
        earlier = [
            word
            for line in lines[-CONTEXT_LINES:]
            for word in _WORD.findall(line.text)
            if salience.informative_words(word)
        ]
        carried = [word for word in dict.fromkeys(earlier) if not query_words.issuperset(split_words(word))]
        return " ".join([query, *carried[-MAX_CONTEXT_WORDS:]])

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        """Return the text with day and speaker of the line that contains it, or else of the last line.

        Example: "On 6 May 2024 Nora said: …". Without lines the text is unchanged.
        """
        if not lines:
            return text
        line = next((line for line in reversed(lines) if text.strip() in line.text), lines[-1])
        day = _get_day(line)
        return f"On {format_date(day)} {line.speaker} said: {text}" if day else f"{line.speaker} said: {text}"


def format_dated(day: date | None, text: str) -> str:
    """Format a row of a summary; None: without a day."""
    return f"- {format_date(day)}: {text}" if day else f"- {text}"


def _get_day(line: Line) -> date | None:
    return None if line.is_undated else line.said_at.date()


def join_row(text: str) -> str:
    """Join a text to one row that every database can store, without a bullet or a date before it."""
    return _BULLET.sub("", " ".join(replace_unstorable(text)[0].split())).strip()


def check_limit(limit: int) -> int:
    """Return the limit.

    Raises:
        BadInput: if it is below 1.
    """
    if limit < 1:
        raise BadInput(f"limit must be at least 1 token, got {limit}")
    return limit


def term_set(text: str) -> frozenset[str]:
    """Return the terms of a text without their order."""
    return frozenset(terms(text))


def is_repeated(row: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Return whether a row repeats one of the others, by their terms."""
    return any(is_repetition(row, other) for other in others)


def _choose_sentences(lines: Sequence[Line]) -> list[_Sentence]:
    """Return at most MAX_CANDIDATES informative sentences in their order, only the last of those with equal terms."""
    latest: dict[tuple[str, ...], _Sentence] = {}
    for line in sorted(lines, key=lambda line: (line.said_at, line.seq)):
        for text in split_sentences(line.text):
            if rating := salience.informativeness(text):
                sentence = _Sentence(line, text, rating, tuple(terms(text)))
                latest.pop(sentence.terms, None)
                latest[sentence.terms] = sentence
    unique = list(latest.values())
    chosen = sorted(range(len(unique)), key=lambda index: -unique[index].informativeness)[:MAX_CANDIDATES]
    return [unique[index] for index in sorted(chosen)]


def _select_rows(
    candidates: Sequence[_Sentence], prefixes: Sequence[str], room: int, max_row_tokens: int | None = None
) -> list[str]:
    """Return the most informative and least repetitive rows that fit in `room` tokens, in their order.

    If no row fits, the best is shortened.
    """
    similarity = tfidf_cosines([sentence.terms for sentence in candidates])  # (N, N)
    unrepeated = _find_unrepeated(candidates, similarity)
    if not unrepeated:
        return []
    similarity = similarity[np.ix_(unrepeated, unrepeated)]
    relevance = CENTRALITY_WEIGHT * degree_centrality(similarity) + np.array(
        [candidates[index].informativeness for index in unrepeated]
    )  # (N,)
    texts = [
        candidates[index].text if max_row_tokens is None else shorten(candidates[index].text, max_row_tokens)
        for index in unrepeated
    ]
    rows = [prefixes[index] + text for index, text in zip(unrepeated, texts, strict=True)]
    costs = [estimate_tokens(row) + 1 for row in rows]  # including the line break
    remaining = room + 1

    def accepts(index: int) -> bool:
        nonlocal remaining
        remaining -= (cost := costs[index] if costs[index] <= remaining else 0)
        return cost > 0

    if selected := select_by_mmr(relevance / (CENTRALITY_WEIGHT + MAX_INFORMATIVENESS), similarity, accepts):
        return [rows[index] for index in sorted(selected)]
    best = int(relevance.argmax())
    prefix = prefixes[unrepeated[best]]
    cut = shorten(texts[best], room - estimate_tokens(prefix))
    return [prefix + cut] if cut else []


def _find_unrepeated(candidates: Sequence[_Sentence], similarity: Floats) -> list[int]:
    """Return the indices of the sentences that no later one repeats; repetitions have at least MIN_COMPARED_COSINE."""
    sets = [frozenset(sentence.terms) for sentence in candidates]
    pairs = np.argwhere(np.triu(similarity, 1) >= MIN_COMPARED_COSINE)
    repeated = {int(one) for one, later in pairs if is_repetition(sets[one], sets[later])}
    return [index for index in range(len(candidates)) if index not in repeated]


def _select_newest(rows: Sequence[str], new: Sequence[str], limit: int) -> list[str]:
    """Return the newest old rows that fit together with the new ones, in their order.

    If none fits and there are no new rows, the newest is shortened.
    """
    remaining = limit - sum(estimate_tokens(row) + 1 for row in new)
    selected: list[str] = []
    for row in reversed(rows):
        cost = estimate_tokens(row) + (1 if selected else 0)
        if cost <= remaining:
            selected.append(row)
            remaining -= cost
    if rows and not selected and not new:
        selected = [cut] if (cut := shorten(rows[-1], limit)) else []
    return selected[::-1]
