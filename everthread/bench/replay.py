"""Replays a conversation into a bank, line by line, with what a scribe writes if the recipe uses it.

It does the background work of a chat (`chat.py`) without replies and recall, so the scribe gets no recalled lines as
background. It measures nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from everthread.chat.character import DEFAULT_CHARACTER
from everthread.chat.prompt_builder import build_prefix, count_line_tokens
from everthread.chat.scribe_worker import ScribeWorker, make_job
from everthread.chat.window import DEFAULT_CONTEXT, NOTES_RESERVE_TOKENS, REPLY_RESERVE_TOKENS
from everthread.embedders.base import Embedder
from everthread.errors import BadLine
from everthread.memory import Memory
from everthread.recipes.base import MEMORY_TOKENS, Recipe
from everthread.scribes.base import Scribe
from everthread.text.tokens import estimate_tokens
from everthread.types import Line, NewLine, Vector, Vectors

# Tokens of the window of a chat with the default character, on a model with a context of NOMINAL tokens.
WINDOW_BUDGET_TOKENS = (
    DEFAULT_CONTEXT
    - DEFAULT_CONTEXT // 8
    - NOTES_RESERVE_TOKENS
    - MEMORY_TOKENS
    - REPLY_RESERVE_TOKENS
    - estimate_tokens(build_prefix(DEFAULT_CHARACTER))
)


class CountingScribe:
    """Counts the calls of a scribe by method."""

    def __init__(self, scribe: Scribe) -> None:
        self.name = scribe.name
        self.calls: Counter[str] = Counter()
        self._scribe = scribe

    def summarize(self, *given: Any, **named: Any) -> str:
        self.calls["summarize"] += 1
        return self._scribe.summarize(*given, **named)

    def update_notes(self, *given: Any, **named: Any) -> str:
        self.calls["note"] += 1
        return self._scribe.update_notes(*given, **named)

    def categorize(self, *given: Any, **named: Any) -> str:
        self.calls["categorize"] += 1
        return self._scribe.categorize(*given, **named)

    def narrow(self, *given: Any, **named: Any) -> str | None:
        self.calls["narrow"] += 1
        return self._scribe.narrow(*given, **named)

    def redact(self, text: str) -> str | None:
        self.calls["strip"] += 1
        return self._scribe.redact(text)

    def is_relevant(self, query: str, text: str) -> bool:
        self.calls["relevant"] += 1
        return self._scribe.is_relevant(query, text)

    def rate_importance(self, text: str) -> int:
        self.calls["importance"] += 1
        return self._scribe.rate_importance(text)

    def rewrite_query(self, query: str, lines: Sequence[Line]) -> str:
        self.calls["rewrite_query"] += 1
        return self._scribe.rewrite_query(query, lines)

    def rewrite_memory(self, text: str, lines: Sequence[Line]) -> str:
        self.calls["rewrite_memory"] += 1
        return self._scribe.rewrite_memory(text, lines)


class CachedEmbedder:
    """Caches the vectors of texts, which every recipe stores; queries are embedded every time."""

    def __init__(self, real: Embedder) -> None:
        self.name, self.multilingual = real.name, real.multilingual
        self._real = real
        self._known: dict[str, Vector] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known |= dict(zip(new, self._real.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else self._real.embed(texts)  # (N, D)

    def embed_query(self, text: str) -> Vector:
        return self._real.embed_query(text)


@dataclass(slots=True)
class _Session:
    """An open session: its lines, their costs in tokens, and how many of them are in the notes."""

    lines: list[Line] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    noted: int = 0

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.costs.append(count_line_tokens(line, estimate_tokens))

    def window(self, recipe: Recipe) -> int:
        """Return the index of the window's first line: the lines not in the notes yet, and the recipe's overlap."""
        first = max(self.noted - recipe.overlap, 0)
        return first if recipe.window is None else max(first, len(self.lines) - recipe.window)


class Replay:
    """Replays one conversation.

    If the recipe uses notes, lines that leave the window of a chat are noted. If it uses notes or summaries, each
    session is ended after its last line, as in a chat when the person agrees.
    """

    def __init__(self, memory: Memory, lines: Sequence[NewLine], scribe: Scribe) -> None:
        if any(line.session is None for line in lines):
            raise BadLine("invalid line: a line to replay must have a session")
        self.memory = memory
        self.lines: list[Line] = []
        self._lines = lines
        self._last = {line.session: place for place, line in enumerate(lines)}  # where each session ends
        self._open: dict[str, _Session] = {}
        self._desk = ScribeWorker(memory, scribe)

    def advance(self, count: int) -> None:
        """Continue until `count` lines are stored, and everything that is to be written about them is written."""
        wanted = self.memory.recipe.kinds
        for place in range(len(self.lines), count):
            new = self._lines[place]
            line = self.memory.observe_many([new])[0]
            self.lines.append(line)
            if "note" in wanted:
                self._leave(line)
            if self._last[new.session] == place and ("note" in wanted or "summary" in wanted):
                self._open.pop(line.session, None)
                self._desk.end_session(line.session, line.said_at)
                self._desk.join()

    def _leave(self, line: Line) -> None:
        """Note the lines that no longer fit into the window. They leave it when that is done."""
        session = self._open.setdefault(line.session, _Session())
        session.add(line)
        first = session.window(self.memory.recipe)
        gone = self.memory.recipe.count_evicted_lines(session.costs[first:], WINDOW_BUDGET_TOKENS)
        if gone and not any(waiting.kind == "notes" for waiting in self.memory.jobs()):
            self._desk.submit(make_job("notes", session.lines[first : first + gone]))
            self._desk.join()
            noted = self._desk.last_noted_seq(session.lines)
            session.noted = sum(each.seq <= noted for each in session.lines)
