"""Measures how far replies drift from a character's style, in windows of a long conversation.

Four measures, which don't depend on the topic, compare each window with the sample, the first reply that shows the
character's style:

- delta: Burrows's Delta over function words, the mean difference of their z-scores (Burrows 2002, "'Delta': a measure
  of stylistic difference and a guide to likely authorship"); mean and spread are those of all windows and the sample;
- words a reply;
- punctuation: the sum of the differences of each mark's frequency in a hundred words;
- phrases: the number of the sample's phrases in a hundred words. A phrase is a run of two or three words that are not
  all function words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from everthread.errors import BadInput
from everthread.text.analyzer import UNSPACED, normalize

WINDOW_REPLIES = 20
MIN_WINDOWS = 3  # with fewer windows z-scores are meaningless
MARKS = "!?,.;:…—*~\"'()"
PHRASE_LENGTHS = (2, 3)  # words

# English function words; Chinese particles, pronouns, prepositions and conjunctions of one character.
FUNCTION_WORDS = tuple(
    """
    a about after all am an and any are as at be been before but by can could did do does for from had has have he her
    here him his how i if in into is it its just like may me might more most must my never no not now of on one only or
    our out over shall she should so some than that the their them then there these they this those through to too up us
    very was we well were what when where which who why will with would yes yet you your aye tis ye oh ah
    我 你 您 他 她 它 们 这 那 的 了 着 过 得 地 吗 呢 吧 啊 呀 嘛 啦 哦 是 在 有 和
    与 跟 也 都 就 还 又 再 很 太 不 没 把 被 给 对 从
    """.split()
)
_FUNCTION_WORD_SET = frozenset(FUNCTION_WORDS)
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:'[^\W_{UNSPACED}]+)*")


@dataclass(frozen=True, slots=True)
class Drift:
    """The distance of one window of replies from the sample."""

    first: int  # number of the first reply, from 1
    replies: int
    delta: float
    words: float  # a reply
    punctuation: float
    phrases: float  # phrases of the sample in a hundred words


def tokens(text: str) -> list[str]:
    """Return the folded words of a text; for Chinese, its characters."""
    return _WORD.findall(normalize(text))


def measure_drift(
    sample: str, replies: Sequence[str], window: int = WINDOW_REPLIES, reference: Sequence[str] = ()
) -> list[Drift]:
    """Measure how far each window of replies is from the sample.

    Args:
        sample: the reply that shows the style.
        replies: later replies, in their order. A remainder of less than half a window joins the last window.
        window: replies in a window.
        reference: further texts for the mean and spread of function words, so that two talks can be compared.

    Raises:
        BadInput: for a sample without words, and for fewer than three windows.
    """
    if not tokens(sample):
        raise BadInput("the sample of style has no words; expected a reply of about twenty or more")
    parts = _split_windows(replies, window)
    if len(parts) < MIN_WINDOWS:
        raise BadInput(
            f"{len(replies)} replies make {len(parts)} windows of {window}; expected at least {MIN_WINDOWS} windows: "
            "talk longer, or give a smaller --window"
        )
    texts = ["\n".join(part) for part in parts]
    deltas = burrows_delta(sample, texts, reference)
    sample_phrases = phrases(sample)
    return [
        Drift(
            first=1 + window * number,
            replies=len(part),
            delta=deltas[number],
            words=float(np.mean([len(tokens(reply)) for reply in part])),
            punctuation=punctuation(sample, text),
            phrases=100 * sum(count_phrases(sample_phrases, reply) for reply in part) / max(len(tokens(text)), 1),
        )
        for number, (part, text) in enumerate(zip(parts, texts, strict=True))
    ]


def _split_windows(replies: Sequence[str], window: int) -> list[Sequence[str]]:
    parts = [replies[start : start + window] for start in range(0, len(replies), window)]
    if len(parts) > 1 and len(parts[-1]) < window / 2:
        parts[-2:] = [[*parts[-2], *parts[-1]]]
    return parts


def burrows_delta(sample: str, texts: Sequence[str], reference: Sequence[str] = ()) -> list[float]:
    """Return Burrows's Delta between each text and the sample; 0 for equal shares of function words.

    Args:
        sample: the text with which the others are compared.
        texts: the texts.
        reference: further texts for mean and spread.
    """
    shares = np.array([_compute_shares(text) for text in (sample, *texts, *reference)])
    spread = shares.std(axis=0)
    informative = spread > 0  # words that all texts use equally are not
    if not informative.any():
        return [0.0] * len(texts)
    scores = (shares[:, informative] - shares[:, informative].mean(axis=0)) / spread[informative]
    return [float(np.abs(scores[number] - scores[0]).mean()) for number in range(1, 1 + len(texts))]


def _compute_shares(text: str) -> list[float]:
    counts = Counter(tokens(text))
    total = max(counts.total(), 1)
    return [counts[word] / total for word in FUNCTION_WORDS]


def punctuation(sample: str, text: str) -> float:
    """Return the sum of the differences of each mark's frequency in a hundred words."""
    one, other = _mark_frequencies(sample), _mark_frequencies(text)
    return float(sum(abs(one[mark] - other[mark]) for mark in MARKS))


def _mark_frequencies(text: str) -> dict[str, float]:
    folded = normalize(text)
    total = max(len(tokens(text)), 1)
    return {mark: 100 * folded.count(mark) / total for mark in MARKS}


def phrases(text: str) -> set[tuple[str, ...]]:
    """Return the runs of two and three words of a text that are not all function words."""
    return {run for run in _word_runs(text) if not _FUNCTION_WORD_SET.issuperset(run)}


def count_phrases(wanted: Container[tuple[str, ...]], text: str) -> int:
    """Count the occurrences of these phrases in a text."""
    return sum(run in wanted for run in _word_runs(text))


def _word_runs(text: str) -> Iterator[tuple[str, ...]]:
    words = tokens(text)
    return (
        tuple(words[start : start + length]) for length in PHRASE_LENGTHS for start in range(len(words) - length + 1)
    )


def table(columns: Mapping[str, Sequence[Drift]]) -> str:
    """Return the windows of one or more conversations, by name, for the terminal and the docs."""
    rows = ["| talk | replies | delta | words | punctuation | phrases |", "|---|---|---|---|---|---|"]
    for name, windows in columns.items():
        for drift in windows:
            span = f"{drift.first} to {drift.first + drift.replies - 1}"
            figures = f"{drift.delta:.2f} | {drift.words:.0f} | {drift.punctuation:.1f} | {drift.phrases:.1f}"
            rows.append(f"| {name} | {span} | {figures} |")
    return "\n".join(rows)
