"""Twelve short talks that name a person first and then use only pronouns, and a model that resolves these.

The model knows the person only from the earlier lines that it is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from everthread import NewLine
from everthread.types import Message

NAMES = {"he": ("Tom", "Oskar", "Pavel", "Lund"), "she": ("Ida", "Marta", "Vera", "Jun")}
WORDS = {"he": "he", "him": "he", "she": "she", "her": "she"}
BETWEEN = (  # what is said between the name and what matters
    ("How long ago that is, I can hardly believe it.", "Yes, time flies, and we are none the younger for it."),
    ("Oh, really? You have not told me about that yet.", "I meant to, but then the phone rang the whole evening."),
    ("It has been ages since the three of us had dinner.", "We should do that again before the autumn is over."),
)

# The first line of each talk, the relevant line, the question, and the words by which the answer is recognised.
TALKS = (
    ("I met Tom at the market.", "He bakes bread in a shop by the river now.", "What is Tom's job?", "bakes bread"),
    ("Oskar called last night.", "He repairs bicycles behind the station now.", "What is Oskar's job?", "bicycles"),
    ("Ida wrote me a letter.", "She tunes pianos in the old theatre now.", "What is Ida's job?", "tunes pianos"),
    ("Marta came to choir again.", "She drives the night bus to the airport now.", "What is Marta's job?", "night bus"),
    ("Pavel is back from his trip.", "He lives on a boat in the harbour now.", "Where is Pavel's home?", "on a boat"),
    ("Lund has finished school.", "He lives above a bakery in Riga now.", "Where is Lund's home?", "in Riga"),
    ("Vera sent me a photograph.", "She lives in a tower with no lift now.", "Where is Vera's home?", "tower"),
    ("Jun rang at the door today.", "She lives next to a quarry in the north now.", "Where is Jun's home?", "quarry"),
    ("Tom's birthday was on Sunday.", "He keeps three noisy parrots in the kitchen.", "Which pet has Tom?", "parrots"),
    ("Ida won the raffle.", "She keeps an old tortoise under the stairs.", "Which pet has Ida?", "tortoise"),
    ("Pavel has the flu.", "He keeps a blind greyhound on the sofa.", "Which pet has Pavel?", "greyhound"),
    ("Vera was on the radio.", "She keeps two goats behind the garage.", "Which pet has Vera?", "goats"),
)


def lines() -> list[NewLine]:
    """Return the lines of all talks, each talk in its own session."""
    return [
        NewLine(text, ("Nora", "Ben")[number % 2], session=f"talk {place}")
        for place, (opening, fact, *_) in enumerate(TALKS)
        for number, text in enumerate((opening, *BETWEEN[place % 3], fact))
    ]


def resolved(messages: Sequence[Message]) -> str:
    """Answer as a model that replaces he and she by the last matching name in the lines shown."""
    material = dict(re.findall(r"^(LINES|TEXT|QUESTION):\n<<<\n(.*?)\n>>>", messages[-1].content, re.S | re.M))
    text = material.get("TEXT") or material["QUESTION"]

    def named(match: re.Match[str]) -> str:
        known = material["LINES"] if "QUESTION" in material else f"{material['LINES']}\n{text[: match.start()]}"
        at, name = max((known.rfind(name), name) for name in NAMES[WORDS[match[0].casefold()]])
        return name if at >= 0 else match[0]

    return json.dumps({"text": re.sub(rf"\b({'|'.join(WORDS)})\b", named, text, flags=re.IGNORECASE)})
