"""The sample of a character's style: its first reply that is long enough, included in every later prompt."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from everthread.common.keys import SETTING_SAMPLE
from everthread.text.analyzer import is_unspaced_script
from everthread.types import JSONValue, Line

if TYPE_CHECKING:
    from everthread.memory import Memory

MIN_SAMPLE_WORDS = 20  # of a reply that shows a style
MAX_SAMPLE_CHARS = 2_000  # some 300 words, which are part of every prompt


def find_sample(memory: Memory, settings: Mapping[str, JSONValue], exclude: Collection[int] = ()) -> str:
    """Return the text of the sample in the bank's settings; empty if its line is retracted or excluded."""
    seq = settings.get(SETTING_SAMPLE)
    lines = memory.store.get(memory.bank, [seq]) if isinstance(seq, int) and seq not in exclude else []
    return lines[0].text if lines else ""


def is_sample(line: Line) -> bool:
    """Return whether a reply is usable as a sample: complete, not refused, and of a suitable length."""
    if line.metadata.get("partial") or line.metadata.get("refused"):
        return False
    words = len(line.text) // 2 if is_unspaced_script(line.text) else len(line.text.split())
    return words >= MIN_SAMPLE_WORDS and len(line.text) <= MAX_SAMPLE_CHARS
