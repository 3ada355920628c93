"""Signals that are read from the texts of the best candidates: the first person, and lasting facts. Pure.

Only the best candidates by the other signals are read, which costs little and needs nothing stored: these signals work
in banks of earlier versions, and after a change of the word lists.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from everthread.recall.features import Signals, weighted_sum
from everthread.recall.query_parsing import ParsedQuery
from everthread.recall.standing_facts import Fact, Request, find_fact
from everthread.text.first_person import Person, find_person

Indexes = npt.NDArray[np.intp]

OF_PERSONS = (
    "first_person",  # the speaker signal, for a line in the first person
    "experience",  # 1 if the query asks what happened, and the line says so in the first person ("I adopted a cat")
)
SIGNALS = (
    *OF_PERSONS,
    "standing",  # 1 if the query requests advice, and the line says what lasts and bears on it; DIET for food
)
NO_INDEXES = np.empty(0, np.intp)
MIN_COSINE = 0.27  # of a line that says what lasts to a request on which it bears
DIET = 1.5  # the signal of a line about a diet, for a request about food: such lines are far from it in meaning
MAX_READ_LINES = 120  # with all lines instead, 0.3 points more were recalled at 50, and the same at 10

# A rough score, by which the lines to be read are chosen. The numbers are near the fitted ones.
_ROUGH_WEIGHTS = {
    "cosine": 2.0,
    "cosine_near": 4.5,
    "cosine_session": 2.0,
    "bm25_window": 1.3,
    "bm25_session": 0.6,
    "day": 2.0,
    "near_day": 2.0,
    "month": 4.0,
    "empty": -10.0,
}


def needs_texts(parsed: ParsedQuery, names: Collection[str]) -> bool:
    """Return whether one of the named signals is read from texts, and may not be 0 for this query."""
    return any(name in names for name in (SIGNALS if parsed.request else OF_PERSONS))


def choose_lines(parsed: ParsedQuery, signals: Signals, best: Indexes, on_diets: Indexes = NO_INDEXES) -> Indexes:
    """Return the indexes of the candidates whose texts are read, ascending: the best, and people's lines about diets.

    None is read for a query whose signals of texts are all 0: it neither asks what happened, nor names one speaker, nor
    requests advice.

    Args:
        parsed: the parsed query.
        signals: the signals of all candidates.
        best: the indexes of the best candidates (`find_best`).
        on_diets: the indexes of the candidates with a word of diets, if the query requests food.
    """
    if not parsed.asks_what_happened and not parsed.request and not signals["speaker"].any():
        return NO_INDEXES
    return np.union1d(best, on_diets[signals["person"][on_diets] > 0]) if len(on_diets) else best


def find_best(signals: Signals) -> Indexes:
    """Return the indexes of the best MAX_READ_LINES candidates by a rough score, ascending; of people's lines only."""
    by_people = np.flatnonzero(signals["person"])
    if len(by_people) <= MAX_READ_LINES:
        return by_people
    rough = weighted_sum(signals, _ROUGH_WEIGHTS)[by_people]
    return np.sort(by_people[np.argpartition(rough, -MAX_READ_LINES)[-MAX_READ_LINES:]])


def compute_signals(parsed: ParsedQuery, signals: Signals, chosen: Indexes, texts: Sequence[str]) -> Signals:
    """Compute the signals that are read from texts.

    Args:
        parsed: the parsed query.
        signals: the other signals of all candidates.
        chosen: the indexes of the candidates that were read.
        texts: their texts.

    Returns:
        By name of the signal, (C,) its values; 0 for candidates that were not read.
    """
    person = np.zeros(len(signals["speaker"]), np.float32)
    person[chosen] = [find_person(text) for text in texts]
    return {
        "first_person": np.where(person >= Person.FIRST, signals["speaker"], np.float32(0)),
        "experience": (person == Person.EXPERIENCE).astype(np.float32) * parsed.asks_what_happened,
        "standing": _find_standing(parsed, signals, chosen, texts),
    }


def _find_standing(
    parsed: ParsedQuery, signals: Signals, chosen: Indexes, texts: Sequence[str]
) -> npt.NDArray[np.float32]:
    """Return (C,) the signal of lines that say what lasts and bear on a request for advice.

    A line bears on a request if both are about food, or if it is near to it in meaning.
    """
    standing = np.zeros(len(signals["cosine"]), np.float32)
    if not parsed.request:
        return standing
    facts = np.array([find_fact(text, parsed.language) for text in texts], np.intp)
    facts[(signals["asks"] + signals["empty"])[chosen] > 0] = Fact.NONE
    standing[chosen] = (signals["cosine"][chosen] >= MIN_COSINE) & (facts > Fact.NONE)
    if parsed.request == Request.FOOD:
        standing[chosen[facts == Fact.DIET]] = DIET
    return standing
