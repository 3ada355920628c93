"""Generates synthetic conversations of any size, with the statistics of real ones but without meaning.

The most frequent words of the Zipf curve are English function words; the others are invented. Each session uses a few
topic words often, and topics recur. The n-th session does not depend on the number of lines. An invented word has two
or three tokens instead of one, so models are a little slower on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count as counter
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from everthread.types import NewLine

VOCABULARY = 30_000  # distinct words, as two people use over years
SESSION_LINES = 20
MEAN_LINE_WORDS = 20
EXPONENT = 1.0  # of Zipf's law for English
TOPIC_SHARE = 0.25  # share of a session's words drawn from its topic
TOPICS = 500  # subjects that two friends return to
TOPIC_WORDS = 30
SPEAKERS = ("Mara", "Jonas")
FIRST_SAID_AT = datetime(2015, 1, 1, 18, tzinfo=UTC)
SESSION_INTERVAL = timedelta(hours=2)  # between sessions; a million lines then span eleven years

FUNCTION_WORDS = (
    "the i you and to a it of that in is was we for on my with have do but so this not be me at what just are "
    "like your they he she all about out there if when up get know had no can one how been would from time really "
    "will go has think who an or them her his did some more now were good then see as by too want could very "
    "their our him any"
).split()


def lines(count: int, seed: int = 0, skip: int = 0) -> Iterator[NewLine]:
    """Yield `count` lines in order, with keys, none of which is among the first `skip` lines."""
    first = -(-skip // SESSION_LINES)
    return islice((line for number in counter(first) for line in session(number, seed)), count)


def session(number: int, seed: int = 0) -> list[NewLine]:
    """Return the SESSION_LINES lines of a session."""
    rng = np.random.default_rng((seed, number))
    lengths = 1 + rng.geometric(1 / MEAN_LINE_WORDS, SESSION_LINES)
    ids = _draw_words(rng, int(lengths.sum()))
    topic = _topic_words(int(rng.integers(TOPICS)), seed)
    on_topic = rng.random(len(ids)) < TOPIC_SHARE
    ids[on_topic] = rng.choice(topic, int(on_topic.sum()))
    words_by_line = np.split(_build_vocabulary()[ids], np.cumsum(lengths)[:-1])
    started_at = FIRST_SAID_AT + number * SESSION_INTERVAL
    return [
        NewLine(
            text=" ".join(words.tolist()).capitalize() + ".",
            speaker=SPEAKERS[index % 2],
            said_at=started_at + timedelta(seconds=30 * index),
            session=f"talk-{number}",
            key=f"synthetic:{seed}:{number}:{index}",
        )
        for index, words in enumerate(words_by_line)
    ]


def queries(count: int, skip: int, seed: int = 0) -> list[str]:
    """Return questions made of words of lines that are not among the first `skip` ones."""
    rng = np.random.default_rng((seed, skip, 1))
    return [_build_question(line, rng) for line in lines(count, seed, skip)]


def _build_question(line: NewLine, rng: np.random.Generator) -> str:
    words = [word for word in line.text.lower().rstrip(".").split() if word not in FUNCTION_WORDS]
    chosen = rng.permutation(words)[:5].tolist() or ["that"]
    return f"What did {line.speaker} say about {' '.join(chosen)}?"


def _draw_words(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    """Draw the indices of words by their frequency."""
    indices = np.searchsorted(_cumulative_shares(), rng.random(count))
    return np.minimum(indices, VOCABULARY - 1).astype(np.int64)


def _topic_words(number: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the indices of a topic's words, none of which is a function word."""
    return np.random.default_rng((seed, number, 2)).integers(len(FUNCTION_WORDS), VOCABULARY, TOPIC_WORDS)


def _invent_words() -> Iterator[str]:
    """Yield different pronounceable words, short ones first."""
    syllables = [a + b for a, b in product("bdfgklmnprstvz", "aeiou")]
    for length in counter(2):
        shuffled = np.random.default_rng(length).permutation(len(syllables))
        for indices in product(shuffled.tolist(), repeat=length):
            yield "".join(syllables[index] for index in indices)


@cache
def _build_vocabulary() -> npt.NDArray[np.object_]:
    """Return the words (VOCABULARY,), the most frequent first."""
    return np.array([*FUNCTION_WORDS, *islice(_invent_words(), VOCABULARY - len(FUNCTION_WORDS))], dtype=object)


@cache
def _cumulative_shares() -> npt.NDArray[np.float64]:
    """Return the cumulative probabilities of the words (VOCABULARY,)."""
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** EXPONENT)
    return np.asarray(shares / shares[-1])
