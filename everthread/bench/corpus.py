"""Loads a corpus of long conversations with questions, written for this project; more is in its README.

A third of it, `held_out`, is neither trained on nor looked at while recall is developed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal

from everthread.bench.bank_files import list_banks, read_bank
from everthread.bench.questions import AnnotatedConversation

FOLDER = files("everthread.bench").joinpath("corpus")

Part = Literal["development", "held_out"]
Talk = Literal["assistant", "people"]  # whether a bot takes part


def load_corpus(part: Part, language: str = "en", talk: Talk | None = None) -> list[AnnotatedConversation]:
    """Return the conversations of a part in one language, by name.

    Args:
        part: which part.
        language: its code, or "all".
        talk: only those with a bot, or only those among people; None: both.
    """
    folder = FOLDER.joinpath(part)
    names = [name for name in list_banks(folder) if language == "all" or name.startswith(f"{language}_")]
    banks = (read_bank(folder, name, "detail") for name in names)
    return [bank for bank in banks if talk is None or (talk == "assistant") == has_bot(bank)]


def has_bot(conversation: AnnotatedConversation) -> bool:
    """Return whether a bot takes part in a conversation."""
    return any(line.role == "assistant" for line in conversation.lines)


def write_pairs(conversations: list[AnnotatedConversation], path: Path) -> int:
    """Write a pair of every question and each line that answers it, as `everthread train --pairs` reads them.

    Returns:
        The number of pairs.
    """
    pairs = [pair for conversation in conversations for pair in _make_pairs(conversation)]
    path.write_text("".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs), "utf-8")
    return len(pairs)


def _make_pairs(conversation: AnnotatedConversation) -> Iterator[dict[str, str]]:
    texts = {str(line.key): line.text for line in conversation.lines}
    for question in conversation.questions:
        for key in sorted(question.gold):
            yield {"query": question.text, "text": texts[key]}
