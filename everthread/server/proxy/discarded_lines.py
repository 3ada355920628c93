"""Finds the discarded line of a message that a client sends again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from everthread.server.proxy.message_text import ChatMessage, is_same, normalize
from everthread.types import Line, Role

MAX_COMPARED = 16  # the latest lines after one line, which are searched for a text that contains another


class DiscardedLines:
    """The discarded lines of a session by their texts."""

    def __init__(self, lines: Iterable[Line]) -> None:
        """Index lines.

        Args:
            lines: the lines, ascending by seq.
        """
        self._latest: dict[tuple[Role, str], Line] = {}
        self._latest_after: dict[tuple[Role, str, int | None], Line] = {}
        self._after: defaultdict[tuple[Role, int | None], list[Line]] = defaultdict(list)
        for line in lines:
            text = normalize(line.text)
            self._latest[line.role, text] = line
            self._latest_after[line.role, text, line.parent] = line
            self._after[line.role, line.parent].append(line)

    def find(self, message: ChatMessage, parent: int | None = None) -> Line | None:
        """Find the line of a message: one with its text, preferably after the line `parent` and late, or else one after
        `parent` whose text contains it."""
        role, text = message.role, message.normalized
        line = self._latest_after.get((role, text, parent)) or self._latest.get((role, text))
        if line is not None:
            return line
        siblings = self._after.get((role, parent), [])[-MAX_COMPARED:]
        return next((line for line in reversed(siblings) if is_same(normalize(line.text), text)), None)
