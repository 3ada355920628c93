"""Composes the lines of the people, of our own conversations, generated ones and facts, with markers."""

from __future__ import annotations

import json
from functools import cache
from random import Random

from everthread.bench import synthetic
from everthread.bench.corpus import load_corpus
from everthread.bench.soak.markers import make_marker
from everthread.demo.sample import LANGUAGES, Sample

SYNTHETIC_SHARE = 0.2  # share of lines without meaning, but with many different words
FACT_SHARE = 0.15  # share of lines from which facts with the marker are extracted
SYNTHETIC_SESSIONS = 200
FACTS = (
    "My sister {} moved to Lisbon in May.",
    "My dog is called {}.",
    "I work for {} now.",
    "My name is {}.",
    "I live in {} with my brother.",
    "My favourite band is {}.",
    "I was born in {}, on 3 April 1985.",
    "Meine Schwester heißt {}.",
)


def compose_line(rng: Random) -> tuple[str, str]:
    """Return a new marker and a text with it."""
    marker, kind = make_marker(rng, "person"), rng.random()
    if kind < FACT_SHARE:
        return marker, rng.choice(FACTS).format(marker.capitalize())
    if kind < FACT_SHARE + SYNTHETIC_SHARE:
        text = rng.choice(_list_generated(rng.randrange(SYNTHETIC_SESSIONS)))
    else:
        text = rng.choice(_list_written())
    return marker, f"{text} {marker}."


def compose_question(rng: Random, text: str) -> str:
    """Return a question about a text: some of its words, in their order."""
    words = text.split()
    start = rng.randrange(max(1, len(words) - 6))
    return f"What was it about {' '.join(words[start : start + 6])}?"


@cache
def _list_written() -> list[str]:
    """Return the lines that were written for this project."""
    rows = [row for language in LANGUAGES for row in Sample.load(language).path.read_text("utf-8").splitlines()]
    corpus = [line.text for conversation in load_corpus("development", "all") for line in conversation.lines]
    return [*corpus, *(json.loads(row)["text"] for row in rows)]


@cache
def _list_generated(session: int) -> list[str]:
    """Return the lines of a generated session."""
    return [line.text for line in synthetic.session(session)]
