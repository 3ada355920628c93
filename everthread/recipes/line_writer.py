"""LineWriter: writes lines into one bank, and lets its recipe update the units that derive from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from everthread.bank.branches import find_branch
from everthread.bank.corrections import build_correction
from everthread.bank.embedding_backlog import EmbeddingBacklog
from everthread.bank.line_keys import check_source_key, find_by_keys, is_unchanged, split_known
from everthread.bank.line_preparation import prepare_lines
from everthread.bank.line_validation import check_lines, clean_lines
from everthread.bank.line_versions import find_correction
from everthread.common.keys import META_REPLACES
from everthread.errors import EverthreadError, ModelError, NotFound, raised_as
from everthread.recall.reader import BankReader
from everthread.recipes.base import Recipe
from everthread.stores.errors import missing_line_error
from everthread.types import Line, NewLine, now

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
        self.before_first_write: Callable[[], None] | None = None  # called until it succeeds once

    def write(
        self,
        recipe: Recipe,
        lines: Sequence[NewLine],
        *,
        replacing: Sequence[int] = (),
        corrects: Mapping[int, int] | None = None,
        defer_embedding: bool = False,
        chained: bool = False,
        after: int = 0,
    ) -> list[Line]:
        """Write lines in one transaction. Lines whose keys are stored already are not embedded again.

        Args:
            recipe: the bank's recipe.
            lines: the cleaned lines.
            replacing: numbers of lines to retract first; retracted and forgotten ones are skipped.
            corrects: lines among `replacing`, each with the position of the line that corrects it; its pin moves to the
                new line.
            defer_embedding: embed the lines later.
            chained: whether each line answers the one before it; only the parent of the first is used then.
            after: a number that the bank has assigned; see `LineStore.append`.

        Returns:
            For each line the new line, or the one stored under its key.

        Raises:
            BadLine: a parent does not exist.
            NotFound: a corrected line is retracted or forgotten, or the bank was forgotten since.
            StoreUnavailable: the bank can't be written.
        """
        if (prepare := self.before_first_write) is not None:
            prepare()
            self.before_first_write = None  # only now: if it failed, the next write calls it again
        store, bank, encoder = self._reader.store, self._reader.bank, self._reader.encoder
        known, new = split_known(store, bank, lines, replacing)
        roles = () if defer_embedding else recipe.embedded_roles
        entries = prepare_lines(new, roles, encoder.try_embed, recipe.token_roles)
        if chained:
            entries = [replace(entry, follows=index > 0) for index, entry in enumerate(entries)]
        written: list[Line] = []
        if new or replacing:
            positions = _positions_among_new(known, corrects or {})
            written = store.append(bank, entries, encoder.name, replaces=replacing, corrects=positions, after=after)
        if defer_embedding:
            self._backlog.add(written)
        else:
            self._backlog.try_update_words()
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
        line = self.write(recipe, new, replacing=[seq], corrects={seq: 0})[0]
        if line.text != new[0].text:  # a concurrent correction took the key
            raise missing_line_error(bank, seq)
        return line

    def write_all(
        self,
        recipe: Recipe,
        lines: Iterable[NewLine],
        batch_lines: int,
        progress: Callable[[int], None] | None,
        *,
        replacing: bool,
    ) -> list[Line]:
        """Validate lines, and write them in batches, each in one transaction.

        Args:
            recipe: the bank's recipe.
            lines: the lines.
            batch_lines: the size of a batch.
            progress: called after each batch with the number of lines stored so far.
            replacing: whether each line replaces the one with its key; see `put`.

        Raises:
            BadLine: a value is invalid, or a line that replaces another has no key; nothing is stored.
            NotFound: the bank was forgotten in the meantime.
            StoreUnavailable: as `write`.
        """
        given = check_lines(lines)
        cleaned = clean_lines(given)
        if replacing:
            for line in cleaned:
                check_source_key(line)
            cleaned = [
                replace(line, said_at=new.said_at and line.said_at) for line, new in zip(cleaned, given, strict=True)
            ]
        stored: list[Line] = []
        after = 0
        for start in range(0, len(cleaned), batch_lines):
            batch = cleaned[start : start + batch_lines]
            stored += self.put(recipe, batch) if replacing else self.write(recipe, batch, after=after)
            after = max([after, *(line.seq for line in stored[start:])])
            if progress is not None:
                progress(len(stored))
        return stored

    def put(self, recipe: Recipe, lines: Sequence[NewLine]) -> list[Line]:
        """Store lines in place of the current lines with their keys, in one transaction. They inherit the pins.

        Of several lines with one key the last counts. If another writer stores or retracts a line with one of the keys
        at the same time, the call starts again with the lines that are not stored.

        Args:
            recipe: the bank's recipe.
            lines: the cleaned lines, each with a key; one without a time is said now, unless it is stored already.

        Returns:
            For each line the new line, or the current one if it is the same (see `line_keys.is_unchanged`).

        Raises:
            BadLine: a parent does not exist.
            StoreUnavailable: the bank can't be written.
        """
        store, bank = self._reader.store, self._reader.bank
        by_key = {str(line.key): line for line in lines}
        stored: dict[str, Line] = {}
        while pending := {key: line for key, line in by_key.items() if key not in stored}:
            current = find_by_keys(store, bank, list(pending))
            stored |= {key: line for key, line in current.items() if is_unchanged(line, pending[key])}
            new = [_complete(line, current.get(key)) for key, line in pending.items() if key not in stored]
            corrects = {current[key].seq: n for n, line in enumerate(new) if (key := str(line.key)) in current}
            try:
                written = self.write(recipe, new, replacing=sorted(corrects), corrects=corrects)
            except NotFound:  # a stored line was retracted or forgotten since it was read
                continue
            stored |= {str(line.key): line for line in written if is_unchanged(line, pending[str(line.key)])}
        return [stored[str(line.key)] for line in lines]

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
        """Let a recipe update the units that derive from lines. If it fails, the next line or query completes it.

        A recipe of the caller's own may raise any error. The lines are stored by then: a caller who gets an error and
        tries again would store them twice.
        """
        try:
            with raised_as(ModelError, f"recipe {recipe.name}"):
                recipe.update(self._reader)
        except EverthreadError as error:
            cause = error.__cause__  # a recipe's own error, whose place its author has to find
            log.warning("recipe %s could not update its units yet: %s", recipe.name, error, exc_info=cause)


def _positions_among_new(known: Sequence[Line | None], corrects: Mapping[int, int]) -> dict[int, int]:
    """Map each corrected line to the position of its correction among the new lines; to the first if that is stored."""
    new = (index for index, line in enumerate(known) if line is None)
    positions = {index: position for position, index in enumerate(new)}
    return {seq: positions.get(index, 0) for seq, index in corrects.items()}


def _complete(line: NewLine, replaced: Line | None) -> NewLine:
    """Return a line with a time, and in its metadata the number of the line that it replaces, if there is one."""
    link = {} if replaced is None else {META_REPLACES: replaced.seq}
    return replace(line, said_at=line.said_at or now().astimezone(), metadata={**line.metadata, **link})
