"""Rewrites questions and chunks with a scribe, so that they can be understood alone.

If the scribe fails, texts stay as they were said, and the scribe is not called again for a while: no line is lost, and
only one request waits for a model that is down.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from everthread.common.keys import META_REWRITTEN
from everthread.errors import EverthreadError, ModelError, raised_as
from everthread.recall.reader import BankReader
from everthread.recall.types import Query
from everthread.scribes.base import Scribe
from everthread.types import Line, NewUnit

log = logging.getLogger("everthread")

CONTEXT_LINES = 3  # lines before a chunk or a question that the scribe is shown
COOLDOWN_S = 30.0  # in which a scribe that has failed is not called


class Rewriter:
    """Rewrites questions and chunks with a scribe, which is opened when it is first needed. Thread-safe."""

    def __init__(self, scribe: Callable[[], Scribe]) -> None:
        self._open_scribe = scribe
        self._scribe: Scribe | None = None
        self._retry_at = 0.0  # by time.monotonic()

    def rewrite_question(self, reader: BankReader, query: Query) -> str:
        """Rewrite a question so that it can be understood without the lines that are in the prompt already."""
        shown = reader.store.get(reader.bank, sorted(query.exclude)[-CONTEXT_LINES - 1 :])
        before = [line for line in shown if line.text.strip() != query.text.strip()]
        if not before:
            return query.text
        return self._try(lambda scribe: scribe.rewrite_query(query.text, before), query.text)

    def rewrite_chunks(self, reader: BankReader, units: Sequence[NewUnit]) -> list[NewUnit]:
        """Add the rewritten texts to chunks. Vectors are computed from these; the chunks' own texts stay."""
        return [self._chunk(unit, reader.store.get(reader.bank, unit.sources)) for unit in units]

    def _chunk(self, unit: NewUnit, lines: Sequence[Line]) -> NewUnit:
        text = self._try(lambda scribe: scribe.rewrite_memory(unit.text.strip(), lines), "")
        return replace(unit, metadata={**unit.metadata, META_REWRITTEN: text}) if text else unit

    def _try(self, rewrite: Callable[[Scribe], str], otherwise: str) -> str:
        if time.monotonic() < self._retry_at:
            return otherwise
        try:
            self._scribe = self._scribe or self._open_scribe()
            with raised_as(ModelError, "the scribe"):
                return rewrite(self._scribe)
        except EverthreadError as error:
            self._retry_at = time.monotonic() + COOLDOWN_S
            log.warning("questions and chunks are not rewritten for %.0f s: %s", COOLDOWN_S, error)
            return otherwise
