"""Replays a conversation into a bank, line by line, with the notes and summaries that the recipe uses.

The background work is that of a chat, but without replies and recall, so the scribe gets no recalled lines as
background. The module measures nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from everthread.chat.character import DEFAULT_CHARACTER
from everthread.chat.prompt_builder import build_prefix, count_line_tokens
from everthread.chat.scribe_worker import ScribeWorker, make_job
from everthread.chat.window import DEFAULT_CONTEXT, NOTES_RESERVE_TOKENS, REPLY_RESERVE_TOKENS
from everthread.embedders.base import Embedder
from everthread.embedders.token_vectors import QuestionTokens, TokenEmbedder, token_scheme_of
from everthread.errors import BadLine
from everthread.memory import Memory
from everthread.recipes.base import MEMORY_TOKENS, Recipe
from everthread.scribes.base import Scribe
from everthread.text.tokens import estimate_tokens
from everthread.types import Line, NewLine, TokenCodes, Vector, Vectors

# The window of a chat with the default character, on a model with a context of DEFAULT_CONTEXT tokens.
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
    """Caches the vectors of texts and tokens, which several recipes embed, and the vectors of queries on demand."""

    def __init__(self, real: Embedder, cache_queries: bool = False) -> None:
        self.name, self.multilingual, self.token_scheme = real.name, real.multilingual, token_scheme_of(real)
        self.embed_query: Callable[[str], Vector] = cache(real.embed_query) if cache_queries else real.embed_query
        self._real = real
        self._vectors: dict[str, Vector | Vectors] = {}
        self._codes: dict[str, TokenCodes] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors |= dict(zip(new, self._real.embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts]) if texts else self._real.embed(texts)  # (N, D)

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenCodes]]:
        assert isinstance(self._real, TokenEmbedder)
        if new := [text for text in dict.fromkeys(texts) if text not in self._codes]:
            vectors, codes = self._real.embed_with_tokens(new)
            self._vectors |= dict(zip(new, vectors, strict=True))
            self._codes |= dict(zip(new, codes, strict=True))
        return self.embed(texts), [self._codes[text] for text in texts]

    def embed_query_with_tokens(self, text: str) -> tuple[Vector, QuestionTokens]:
        assert isinstance(self._real, TokenEmbedder)
        return self._real.embed_query_with_tokens(text)


@dataclass(slots=True)
class _Session:
    """An open session: its lines, their costs in tokens, and the number of lines that are in the notes."""

    lines: list[Line] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    noted: int = 0

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.costs.append(count_line_tokens(line, estimate_tokens))

    def window(self, recipe: Recipe) -> int:
        """Return the index of the window's first line: the window has the lines not in the notes, and the overlap."""
        first = max(self.noted - recipe.overlap, 0)
        return first if recipe.window is None else max(first, len(self.lines) - recipe.window)


class Replay:
    """Replays one conversation.

    If the recipe uses notes, lines that leave the window of a chat are added to the notes. If it uses notes or
    summaries, each session is ended after its last line, as in a chat if the person agrees.
    """

    def __init__(self, memory: Memory, lines: Sequence[NewLine], scribe: Scribe) -> None:
        if any(line.session is None for line in lines):
            raise BadLine("invalid line: a line to replay must have a session")
        self.memory = memory
        self.lines: list[Line] = []
        self._lines = lines
        self._last = {line.session: index for index, line in enumerate(lines)}  # the last line of each session
        self._open: dict[str, _Session] = {}
        self._worker = ScribeWorker(memory, scribe)

    def advance(self, count: int) -> None:
        """Continue until `count` lines are stored, and their notes and summaries are written."""
        kinds = self.memory.recipe.kinds
        for index in range(len(self.lines), count):
            new = self._lines[index]
            line = self.memory.observe_many([new])[0]
            self.lines.append(line)
            if "note" in kinds:
                self._note_evicted_lines(line)
            if self._last[new.session] == index and ("note" in kinds or "summary" in kinds):
                self._open.pop(line.session, None)
                self._worker.end_session(line.session, line.said_at)
                self._worker.join()

    def _note_evicted_lines(self, line: Line) -> None:
        """Add a line to its session, and update the notes with the lines that no longer fit into the window.

        Lines leave the window once they are in the notes.
        """
        session = self._open.setdefault(line.session, _Session())
        session.add(line)
        first = session.window(self.memory.recipe)
        evicted = self.memory.recipe.count_evicted_lines(session.costs[first:], WINDOW_BUDGET_TOKENS)
        if evicted and not any(job.kind == "notes" for job in self.memory.jobs()):
            self._worker.submit(make_job("notes", session.lines[first : first + evicted]))
            self._worker.join()
            last_noted = self._worker.last_noted_seq(session.lines)
            session.noted = sum(line.seq <= last_noted for line in session.lines)
