"""Learns refusing words from a language model: from real replies, or from its account of its own refusals.

A model's intensities, from 1 to 10, are scaled to the dictionary's 0 to 2. This is the method of the Emi chatbot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from everthread.common.atomic_write import write_atomically
from everthread.errors import ConfigError
from everthread.llms.base import LLM
from everthread.scribes.llm import ask_for_json
from everthread.scribes.prompts import quote_parts
from everthread.scribes.responses import RefusingWords, Unusable
from everthread.text.analyzer import UNSPACED, normalize
from everthread.text.refusal_words import MAX_INTENSITY, add_phrases, extend_shipped, read_tables, shipped_words
from everthread.text.tokens import estimate_tokens

MAX_MODEL_INTENSITY = 10  # the highest intensity in a model's answer
ANSWER_TOKENS = 1_000
MAX_WORD_CHARS = 60  # characters of a word or phrase
MIN_WORD_CHARS, MIN_WORD_CHARS_UNSPACED = 4, 2  # shorter words, such as "no", are too common

FROM_REPLIES = (
    "The REPLIES come from a chatbot, and some of them refuse what the person asked for. List the words and short "
    "phrases by which they refuse, each copied word for word from a reply, with the strength of the refusal from 1 (a "
    "mild apology) to 10 (a flat no). Leave out what a friendly answer may say as well. "
    'Form: {"words": [{"word": "...", "intensity": 7}]}. If no reply refuses, the list is empty.'
)
FROM_ITSELF = (
    "List 20 words and short phrases with which you refuse what a person asks for, in the LANGUAGE, each with the "
    "strength of the refusal from 1 (a mild apology) to 10 (a flat no). Leave out what a friendly answer may say as "
    'well. Form: {"words": [{"word": "...", "intensity": 7}]}.'
)

_SIGNS = re.compile(r"[{}_^\x00-\x1f\x7f]|\.\.\.")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def learn_from_replies(llm: LLM, replies: Sequence[str]) -> dict[str, float]:
    """Ask a model for the words by which these replies refuse.

    Args:
        llm: the model.
        replies: real replies, the most informative first; as many are sent as fit in half the model's context.

    Returns:
        Words that occur in the replies, with intensities from 0 to 2.

    Raises:
        ScribeFailed: if two answers could not be used.
        ModelError: if the model fails.
    """
    sent: list[str] = []
    room = llm.context // 2
    for reply in replies:
        room -= estimate_tokens(reply) + 2
        if room < 0 and sent:
            break
        sent.append(reply)
    text = normalize("\n".join(sent))
    words = _ask_for_words(llm, FROM_REPLIES, quote_parts(REPLIES="\n\n".join(sent)))
    return {word: intensity for word, intensity in words.items() if word in text}


def learn_from_model(llm: LLM, language: str) -> dict[str, float]:
    """Ask a model for the words by which it refuses.

    Args:
        llm: the model.
        language: the language, such as "English".

    Returns:
        Words with intensities from 0 to 2.

    Raises:
        ScribeFailed: if two answers could not be used.
        ModelError: if the model fails.
    """
    return _ask_for_words(llm, FROM_ITSELF, quote_parts(LANGUAGE=language))


def save_words(path: Path, words: Mapping[str, float]) -> None:
    """Add words to a file atomically. Words that it already has are overwritten; its comments are lost.

    Raises:
        ConfigError: if the existing file is invalid.
        StoreUnavailable: if it can't be written.
    """
    tables = read_tables(path) if path.exists() else {}
    if tables:
        extend_shipped(path)  # a faulty file is left as it is
    add_phrases(shipped_words(), words)
    tables["phrases"] = {**tables.get("phrases", {}), **words}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder of {path} can't be created: {error.strerror}; choose another file") from error
    write_atomically(path, _format_toml(tables).encode())


def _ask_for_words(llm: LLM, instruction: str, data: str) -> dict[str, float]:
    def usable(answer: RefusingWords) -> dict[str, float]:
        intensities = {}
        for entry in answer.words:
            if not 0 < entry.intensity <= MAX_MODEL_INTENSITY:
                raise Unusable(f"an intensity was not from 1 to {MAX_MODEL_INTENSITY}")
            word = normalize(entry.word).strip(" \t\n.!,\"'")
            if _is_usable(word):
                intensities[word] = round(entry.intensity * MAX_INTENSITY / MAX_MODEL_INTENSITY, 2)
        if answer.words and not intensities:
            raise Unusable(f"none of its words was {MIN_WORD_CHARS} to {MAX_WORD_CHARS} characters of plain text")
        return intensities

    return ask_for_json(llm, "refusing words", instruction, data, RefusingWords, usable, ANSWER_TOKENS)


def _is_usable(word: str) -> bool:
    min_chars = MIN_WORD_CHARS_UNSPACED if _UNSPACED.search(word) else MIN_WORD_CHARS
    return min_chars <= len(word) <= MAX_WORD_CHARS and not _SIGNS.search(word)


def _format_toml(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Return the tables as TOML, whose basic strings, numbers and lists of texts are written as in JSON."""
    rows = ["# Refusing words in addition to Everthread's: docs/recipes.md explains them.", ""]
    for name, table in tables.items():
        rows += [f"[{name}]", *(f"{_format_json(key)} = {_format_json(value)}" for key, value in table.items()), ""]
    return "\n".join(rows)


def _format_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
