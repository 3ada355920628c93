"""Synthetic conversations, for measuring speed at any size. They have the statistics of conversations and no meaning.

Words are real English function words at the top of a Zipf curve and invented ones below. Each session uses a few topic
words often, and topics recur. The n-th session is the same whatever the number of lines. An invented word is two or
three tokens where an English one is one, so models are a little slower on it.
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

VOCABULARY = 30_000  # distinct words: what two people use over years
SESSION_LINES = 20  # lines
MEAN_LINE_WORDS = 20  # a line, on average
EXPONENT = 1.0  # of Zipf's law, as it is for English
TOPIC_SHARE = 0.25  # share of a session's words drawn from its topic
TOPICS = 500  # subjects that a friendship comes back to
TOPIC_WORDS = 30
SPEAKERS = ("Mara", "Jonas")
FIRST_SAID_AT = datetime(2015, 1, 1, 18, tzinfo=UTC)
SESSION_INTERVAL = timedelta(hours=2)  # between sessions: a million lines then span eleven years

FUNCTION_WORDS = (
    "the i you and to a it of that in is was we for on my with have do but so this not be me at what just are "
    "like your they he she all about out there if when up get know had no can one how been would from time really "
    "will go has think who an or them her his did some more now were good then see as by too want could very "
    "their our him any"
).split()


def lines(count: int, seed: int = 0, skip: int = 0) -> Iterator[NewLine]:
    """Yield `count` lines in order, with keys, after the first `skip` ones."""
    first = -(-skip // SESSION_LINES)
    return islice((line for number in counter(first) for line in session(number, seed)), count)


def session(number: int, seed: int = 0) -> list[NewLine]:
    """One conversation of SESSION lines."""
    rng = np.random.default_rng((seed, number))
    lengths = 1 + rng.geometric(1 / MEAN_LINE_WORDS, SESSION_LINES)
    ids = _common(rng, int(lengths.sum()))
    topic = _topic(int(rng.integers(TOPICS)), seed)
    dwells = rng.random(len(ids)) < TOPIC_SHARE
    ids[dwells] = rng.choice(topic, int(dwells.sum()))
    spoken = np.split(_words()[ids], np.cumsum(lengths)[:-1])
    begun = FIRST_SAID_AT + number * SESSION_INTERVAL
    return [
        NewLine(
            text=" ".join(words.tolist()).capitalize() + ".",
            speaker=SPEAKERS[place % 2],
            said_at=begun + timedelta(seconds=30 * place),
            session=f"talk-{number}",
            key=f"synthetic:{seed}:{number}:{place}",
        )
        for place, words in enumerate(spoken)
    ]


def queries(count: int, skip: int, seed: int = 0) -> list[str]:
    """Return questions in the words of lines after the first `skip` ones, which no bank of that size contains."""
    rng = np.random.default_rng((seed, skip, 1))
    return [_question(line, rng) for line in lines(count, seed, skip)]


def _question(line: NewLine, rng: np.random.Generator) -> str:
    words = [word for word in line.text.lower().rstrip(".").split() if word not in FUNCTION_WORDS]
    chosen = rng.permutation(words)[:5].tolist() or ["that"]
    return f"What did {line.speaker} say about {' '.join(chosen)}?"


def _common(rng: np.random.Generator, amount: int) -> npt.NDArray[np.int64]:
    """Word numbers by their frequency."""
    found = np.searchsorted(_cumulative(), rng.random(amount))
    return np.minimum(found, VOCABULARY - 1).astype(np.int64)


def _topic(number: int, seed: int) -> npt.NDArray[np.int64]:
    """The words of a topic, none of them a function word."""
    return np.random.default_rng((seed, number, 2)).integers(len(FUNCTION_WORDS), VOCABULARY, TOPIC_WORDS)


def _made_up() -> Iterator[str]:
    """Pronounceable words, short ones first, all different."""
    syllables = [a + b for a, b in product("bdfgklmnprstvz", "aeiou")]
    for length in counter(2):
        shuffled = np.random.default_rng(length).permutation(len(syllables))
        for places in product(shuffled.tolist(), repeat=length):
            yield "".join(syllables[place] for place in places)


@cache
def _words() -> npt.NDArray[np.object_]:
    """Return (VOCABULARY,) the words, the most frequent first. Computed when they are first used."""
    return np.array([*FUNCTION_WORDS, *islice(_made_up(), VOCABULARY - len(FUNCTION_WORDS))], dtype=object)


@cache
def _cumulative() -> npt.NDArray[np.float64]:
    """Return (VOCABULARY,) the probability of each word or a more frequent one."""
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** EXPONENT)
    return np.asarray(shares / shares[-1])
