"""How far replies drift from a character's style, in windows of a long talk.

Style is what is left when the topic is taken away, and four things are measured against the sample, which is the first
reply that shows the character's style:

- delta: Burrows's Delta over function words, the mean difference of their z-scores (Burrows 2002, "'Delta': a measure
  of stylistic difference and a guide to likely authorship"); mean and spread are those of all windows and the sample;
- words a reply;
- punctuation: the sum of the differences of each mark's frequency in a hundred words;
- phrases: how many of the sample's phrases a hundred words hold, runs of two or three words with a word among them that
  is no function word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from everthread.errors import BadInput
from everthread.text.analyzer import UNSPACED, normalize

WINDOW_REPLIES = 20  # replies
MIN_WINDOWS = 3  # fewer give z-scores that say nothing
MARKS = "!?,.;:…—*~\"'()"
PHRASE_LENGTHS = (2, 3)  # words

# English function words, and of Chinese the particles, pronouns, prepositions and conjunctions of one character.
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
_KNOWN = frozenset(FUNCTION_WORDS)
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:'[^\W_{UNSPACED}]+)*")


@dataclass(frozen=True, slots=True)
class Drift:
    """One window of replies against the sample."""

    first: int  # number of the first reply, from 1
    replies: int
    delta: float
    words: float  # a reply
    punctuation: float
    phrases: float  # of the sample's, in a hundred words


def tokens(text: str) -> list[str]:
    """Return the words of a text, folded; of Chinese the characters."""
    return _WORD.findall(normalize(text))


def measure_drift(
    sample: str, replies: Sequence[str], window: int = WINDOW_REPLIES, reference: Sequence[str] = ()
) -> list[Drift]:
    """Measure how far each window of replies is from the sample.

    Args:
        sample: the reply that shows the style.
        replies: later replies, in their order. A rest that is less than half a window belongs to the last one.
        window: replies in a window.
        reference: further texts for the mean and spread of function words, so that two talks can be compared.

    Raises:
        BadInput: for a sample without words, and for fewer than three windows.
    """
    if not tokens(sample):
        raise BadInput("the sample of style has no words; expected a reply of at least some twenty")
    parts = _windows(replies, window)
    if len(parts) < MIN_WINDOWS:
        raise BadInput(
            f"{len(replies)} replies make {len(parts)} windows of {window}; expected at least {MIN_WINDOWS} windows: "
            "talk longer, or give a smaller --window"
        )
    texts = ["\n".join(part) for part in parts]
    deltas = burrows_delta(sample, texts, reference)
    own = phrases(sample)
    return [
        Drift(
            first=1 + window * number,
            replies=len(part),
            delta=deltas[number],
            words=float(np.mean([len(tokens(reply)) for reply in part])),
            punctuation=punctuation(sample, text),
            phrases=100 * sum(count_phrases(own, reply) for reply in part) / max(len(tokens(text)), 1),
        )
        for number, (part, text) in enumerate(zip(parts, texts, strict=True))
    ]


def _windows(replies: Sequence[str], window: int) -> list[Sequence[str]]:
    parts = [replies[start : start + window] for start in range(0, len(replies), window)]
    if len(parts) > 1 and len(parts[-1]) < window / 2:
        parts[-2:] = [[*parts[-2], *parts[-1]]]
    return parts


def burrows_delta(sample: str, texts: Sequence[str], reference: Sequence[str] = ()) -> list[float]:
    """Return Burrows's Delta of each text from the sample, 0 for the same shares of function words.

    Args:
        sample: the text that they are compared with.
        texts: the texts.
        reference: further texts for mean and spread.
    """
    shares = np.array([_shares(text) for text in (sample, *texts, *reference)])
    spread = shares.std(axis=0)
    told = spread > 0  # words that all use alike tell nothing
    if not told.any():
        return [0.0] * len(texts)
    scores = (shares[:, told] - shares[:, told].mean(axis=0)) / spread[told]
    return [float(np.abs(scores[number] - scores[0]).mean()) for number in range(1, 1 + len(texts))]


def _shares(text: str) -> list[float]:
    counts = Counter(tokens(text))
    total = max(counts.total(), 1)
    return [counts[word] / total for word in FUNCTION_WORDS]


def punctuation(sample: str, text: str) -> float:
    """Return the sum of the differences of each mark's frequency in a hundred words."""
    one, other = _marks(sample), _marks(text)
    return float(sum(abs(one[mark] - other[mark]) for mark in MARKS))


def _marks(text: str) -> dict[str, float]:
    folded = normalize(text)
    total = max(len(tokens(text)), 1)
    return {mark: 100 * folded.count(mark) / total for mark in MARKS}


def phrases(text: str) -> set[tuple[str, ...]]:
    """Return the runs of two and three words of a text that are not all function words."""
    return {run for run in _runs(text) if not _KNOWN.issuperset(run)}


def count_phrases(own: Container[tuple[str, ...]], text: str) -> int:
    """Count the occurrences of these phrases in a text."""
    return sum(run in own for run in _runs(text))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = tokens(text)
    return (tuple(words[at : at + length]) for length in PHRASE_LENGTHS for at in range(len(words) - length + 1))


def table(columns: Mapping[str, Sequence[Drift]]) -> str:
    """Return the windows of one talk or more, by name, for the terminal and the docs."""
    rows = ["| talk | replies | delta | words | punctuation | phrases |", "|---|---|---|---|---|---|"]
    for name, windows in columns.items():
        for each in windows:
            span = f"{each.first} to {each.first + each.replies - 1}"
            figures = f"{each.delta:.2f} | {each.words:.0f} | {each.punctuation:.1f} | {each.phrases:.1f}"
            rows.append(f"| {name} | {span} | {figures} |")
    return "\n".join(rows)
