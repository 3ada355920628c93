"""LineWriter: writes lines into one bank, and lets its recipe update the units that derive from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from everthread.bank.branches import find_branch
from everthread.bank.corrections import build_correction
from everthread.bank.embedding_backlog import EmbeddingBacklog
from everthread.bank.line_keys import check_source_key, find_by_key, is_unchanged, split_known
from everthread.bank.line_preparation import prepare_lines
from everthread.bank.line_validation import clean_lines
from everthread.bank.line_versions import find_correction
from everthread.common.keys import META_REPLACES
from everthread.embedders.encoder import FAILURES
from everthread.errors import EverthreadError, NotFound
from everthread.recall.reader import BankReader
from everthread.recipes.base import Recipe
from everthread.stores.errors import missing_line_error
from everthread.types import Line, NewLine

log = logging.getLogger("everthread")


class LineWriter:
    """Writes the lines of one bank. Thread-safe."""

    def __init__(self, reader: BankReader, backlog: EmbeddingBacklog) -> None:
        """Write into a bank.

        Args:
            reader: the bank.
            backlog: receives the lines that are embedded later.
        """
        self._reader, self._backlog = reader, backlog
        self.before_first_write: Callable[[], None] | None = None  # called once

    def write(
        self,
        recipe: Recipe,
        lines: Sequence[NewLine],
        *,
        replacing: Sequence[int] = (),
        corrects: int | None = None,
        defer_embedding: bool = False,
        chained: bool = False,
    ) -> list[Line]:
        """Write lines in one transaction. Lines whose keys are stored already are not embedded again.

        Args:
            recipe: the bank's recipe.
            lines: the cleaned lines.
            replacing: numbers of lines to retract first; retracted and forgotten ones are skipped.
            corrects: the line among `replacing` that the first line corrects; its pin moves to the new line.
            defer_embedding: embed the lines later.
            chained: whether each line answers the one before it; only the parent of the first is used then.

        Returns:
            For each line the new line, or the one stored under its key.

        Raises:
            BadLine: a parent does not exist.
            NotFound: the corrected line is retracted or forgotten.
            StoreUnavailable: the bank can't be written.
        """
        if (prepare := self.before_first_write) is not None:
            self.before_first_write = None
            prepare()
        store, bank, encoder = self._reader.store, self._reader.bank, self._reader.encoder
        known, new = split_known(store, bank, lines, replacing)
        entries = prepare_lines(new, () if defer_embedding else recipe.embedded_roles, encoder.try_embed)
        if chained:
            entries = [replace(entry, follows=index > 0) for index, entry in enumerate(entries)]
        written: list[Line] = []
        if new or replacing:
            written = store.append(bank, entries, encoder.name, replaces=replacing, corrects=corrects)
        if defer_embedding:
            self._backlog.add(written)
        self.update_units(recipe)
        new_lines = iter(written)
        return [line or next(new_lines) for line in known]

    def correct(self, recipe: Recipe, seq: int, text: str, key: str | None = None) -> Line:
        """Replace the text of a line.

        Args:
            recipe: the bank's recipe.
            seq: the number of the line.
            text: the new text.
            key: the new line's key, if the line has none from its source.

        Returns:
            The new line; if the line was already corrected to this text, or the key is known, the stored one.

        Raises:
            NotFound: the line is retracted or forgotten.
            BadLine, StoreUnavailable: as in `write`.
        """
        store, bank = self._reader.store, self._reader.bank
        known = None if key is None else store.get_by_key(bank, [key]).get(key)
        if correction := known or find_correction(store, bank, seq, text):
            return correction
        new = clean_lines([build_correction(store, bank, seq, text, key)])
        line = self.write(recipe, new, replacing=[seq], corrects=seq)[0]
        if line.text != new[0].text:  # a concurrent correction took the key
            raise missing_line_error(bank, seq)
        return line

    def put(self, recipe: Recipe, new: NewLine) -> Line:
        """Store a line in place of the current line with its key, in one transaction. The new line inherits its pin.

        If another writer stores or retracts a line with this key at the same time, the call starts again.

        Args:
            recipe: the bank's recipe.
            new: the line.

        Returns:
            The new line, or the current one if it is the same (see `line_keys.is_unchanged`).

        Raises:
            BadLine: the line has no key, or a value is invalid.
            StoreUnavailable: the bank can't be written.
        """
        store, bank = self._reader.store, self._reader.bank
        (cleaned,) = clean_lines([new])
        key = check_source_key(cleaned)
        given = cleaned if new.said_at is not None else replace(cleaned, said_at=None)
        while True:
            stored = find_by_key(store, bank, key)
            if stored is not None and is_unchanged(stored, given):
                return stored
            try:
                if stored is None:
                    line = self.write(recipe, [cleaned])[0]
                else:
                    linked = replace(cleaned, metadata={**cleaned.metadata, META_REPLACES: stored.seq})
                    line = self.write(recipe, [linked], replacing=[stored.seq], corrects=stored.seq)[0]
            except NotFound:  # the stored line was retracted or forgotten since it was read
                continue
            if is_unchanged(line, given):
                return line

    def restore(self, recipe: Recipe, seq: int) -> list[Line]:
        """Make a line the last one of its session, in one transaction.

        Args:
            recipe: the bank's recipe.
            seq: the number of the line, current or retracted.

        Returns:
            The copies that were added; empty if the line is current.

        Raises:
            NotFound: the bank has no such line.
            BadQuery: a line that led to it was forgotten.
            StoreUnavailable: as `write`.
        """
        branch = find_branch(self._reader.store, self._reader.bank, seq)
        discarded = [line.seq for line in branch.discarded]
        return self.write(recipe, clean_lines(branch.copies), replacing=sorted(discarded), chained=True)

    def update_units(self, recipe: Recipe) -> None:
        """Let a recipe update the units that derive from lines. If it fails, the next line or query completes it."""
        try:
            recipe.update(self._reader)
        except (EverthreadError, *FAILURES) as error:
            log.warning("recipe %s could not update its units yet: %s", recipe.name, error)
