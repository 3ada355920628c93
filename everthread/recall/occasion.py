"""Finds whether a question asks for the first or the last of several occasions, and orders lines accordingly. Pure.

"When did I last see Anna?" and "When did I first see Anna?" have nearly the same words and meaning, so only the times
of the lines tell their answers apart.
"""

from __future__ import annotations

import re
from enum import Enum

import numpy as np
import numpy.typing as npt

from everthread.text.analyzer import fold
from everthread.text.lexicon import LEXICONS
from everthread.text.word_lists import alternation, load_word_lists

# A question for the last occasion gives the newest line this advantage over the oldest. Set by hand on the development
# part of the corpus, where 1 to 2 put the right line first about as often.
TIME_WEIGHT = 1.5


class Occasion(Enum):
    """Which of several occasions is asked for."""

    FIRST = "first"
    LAST = "last"


def _compile(language: str, patterns: list[str]) -> re.Pattern[str]:
    edge = r"\b" if LEXICONS[language].stemmer else ""  # in scripts without spaces a phrase is within a run
    return re.compile(f"{edge}{fold(alternation(patterns))}")


_PATTERNS = {
    language: {occasion: _compile(language, lists[occasion.value]) for occasion in Occasion}
    for language, lists in load_word_lists(__file__).items()
}


def find_occasion(timeless: str, language: str) -> Occasion | None:
    """Return which occasion a question asks for; None if for neither, or for both.

    Args:
        timeless: the folded question without relative times.
        language: the code of its language.
    """
    text = fold(timeless)
    found = [occasion for occasion, pattern in _PATTERNS.get(language, {}).items() if pattern.search(text) is not None]
    return found[0] if len(found) == 1 else None


def score_times(said_at: npt.NDArray[np.int64], occasion: Occasion) -> npt.NDArray[np.float32]:
    """Return (C,) what each of C lines gains by its place in time, from 0 to TIME_WEIGHT.

    Args:
        said_at: (C,) when the lines were said.
        occasion: which occasion is asked for.
    """
    place = np.empty(len(said_at), np.float32)
    place[np.argsort(said_at, kind="stable")] = np.linspace(0, TIME_WEIGHT, len(said_at), dtype=np.float32)
    return place if occasion is Occasion.LAST else TIME_WEIGHT - place
