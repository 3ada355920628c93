"""A character's style: its first reply that was long enough, which every later prompt shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from everthread.common.keys import SETTING_SAMPLE
from everthread.text.analyzer import is_unspaced_script
from everthread.types import JSONValue, Line

if TYPE_CHECKING:
    from everthread.memory import Memory

MIN_SAMPLE_WORDS = 20  # words of a reply that shows a style
MAX_SAMPLE_CHARS = 2_000  # characters of it: some 300 words, which stand in every prompt


def find_sample(memory: Memory, settings: Mapping[str, JSONValue], exclude: Collection[int] = ()) -> str:
    """The first reply that was long enough, by the bank's settings, if it still stands, and is none of those."""
    seq = settings.get(SETTING_SAMPLE)
    found = memory.store.get(memory.bank, [seq]) if isinstance(seq, int) and seq not in exclude else []
    return found[0].text if found else ""


def is_sample(line: Line) -> bool:
    """Whether a reply is one to keep to: whole, no refusal, and of a length that shows a style and leaves room."""
    if line.metadata.get("partial") or line.metadata.get("refused"):
        return False
    words = len(line.text) // 2 if is_unspaced_script(line.text) else len(line.text.split())
    return words >= MIN_SAMPLE_WORDS and len(line.text) <= MAX_SAMPLE_CHARS
