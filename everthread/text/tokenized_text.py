"""Stores a text with the offsets of its tokens and with its metadata. Pure.

A token extends to the beginning of the next one, so the tokens are the whole text, including blanks and line breaks.
Values that can't be stored are rejected here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, cast

from everthread.common.timestamps import to_micros
from everthread.errors import BadInput
from everthread.types import JSONValue, Metadata

MAX_IMPORTANCE = 10


@dataclass(frozen=True, slots=True)
class Text:
    """A stored text, without tokens that were evicted."""

    key: int
    text: str
    starts: tuple[int, ...]  # the offsets at which the tokens begin; the first is 0
    metadata: Metadata
    timestamp: datetime | None
    importance: int | None  # from 1 to 10; None: not rated

    def pieces(self, first: int, last: int) -> list[str]:
        """Return the tokens from first to last (excluded)."""
        ends = (*self.starts[first:last], self._end(last))
        return [self.text[start:end] for start, end in pairwise(ends)]

    def join_tokens(self, first: int, last: int) -> str:
        """Return the tokens from first to last (excluded) as one text."""
        return self.text[self.starts[first] : self._end(last)]

    def drop_tokens(self, tokens: int) -> Text:
        """Return the text without its first tokens."""
        cut = self.starts[tokens]
        return replace(self, text=self.text[cut:], starts=tuple(start - cut for start in self.starts[tokens:]))

    def _end(self, last: int) -> int:
        return self.starts[last] if last < len(self.starts) else len(self.text)


def make_text(
    key: int,
    text: str,
    starts: Sequence[int],
    metadata: Metadata,
    timestamp: datetime | None,
    importance: int | None,
) -> Text:
    """Check the values of a text and create it. Characters before the first start become a token.

    Raises:
        BadInput: the text is empty, the starts don't ascend, or a value can't be stored.
    """
    if not text:
        raise BadInput("the text is empty; omit it")
    all_starts = tuple(starts) if len(starts) and starts[0] == 0 else (0, *starts)
    if all_starts[-1] >= len(text) or any(a >= b for a, b in pairwise(all_starts)):
        raise BadInput(
            f"invalid token offsets {list(starts)[:8]} … for {len(text)} characters of text; expected ascending ones"
        )
    if timestamp is not None:
        to_micros(timestamp, "timestamp", BadInput)
    if importance is not None and not (isinstance(importance, int) and 1 <= importance <= MAX_IMPORTANCE):
        raise BadInput(f"invalid importance {importance!r}; expected a whole number from 1 to {MAX_IMPORTANCE}")
    return Text(key, text, all_starts, _copy_metadata(metadata), timestamp, importance)


def _copy_metadata(metadata: Metadata) -> Metadata:
    """Return a copy of the metadata.

    Raises:
        BadInput: JSON can't represent the metadata exactly.
    """
    try:
        copy = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"metadata must be JSON-serialisable ({error}), got {metadata!r}") from error
    if not isinstance(copy, dict) or copy != metadata:
        raise BadInput(f"metadata must be a mapping with str keys, and lists instead of tuples, got {metadata!r}")
    return cast("dict[str, JSONValue]", copy)


def to_state(text: Text) -> dict[str, Any]:
    """Return the text as JSON."""
    at = None if text.timestamp is None else text.timestamp.isoformat()
    return {
        "key": text.key,
        "text": text.text,
        "starts": list(text.starts),
        "metadata": text.metadata,
        "timestamp": at,
        "importance": text.importance,
    }


def from_state(state: Mapping[str, Any]) -> Text:
    """Return the text that `to_state` saved."""
    at = state["timestamp"]
    at = None if at is None else datetime.fromisoformat(at)
    return make_text(state["key"], state["text"], state["starts"], state["metadata"], at, state["importance"])
