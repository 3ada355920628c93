"""Reads lines again that earlier rules have read, and adds what the present rules find.

Nothing that is stored is changed, and what the person has confirmed, corrected, ended or forgotten stays so. How far
the lines were read again is written with the statements, so that an interrupted call is continued by the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from everthread.bank.settings import remember_policy
from everthread.facts.fact_units import FACT, parse_unit
from everthread.facts.line_batch import LineBatch, StatementReader
from everthread.facts.reading_state import RULES_VERSION, ReadingState, read_setting
from everthread.facts.stored_statements import store_statements
from everthread.stores.base import Store

BATCH_LINES = 2048  # some seconds; all facts of the bank are read for each batch


def count_earlier(store: Store, bank: str) -> int:
    """Return how many lines are left that earlier rules have read, by their numbers: forgotten ones count as well."""
    state = ReadingState.parse(read_setting(store, bank))
    return 0 if _is_done(store, bank, state) else state.last_seq - state.reread_to


def reread_lines(
    store: Store, bank: str, reader: StatementReader, progress: Callable[[int], None] | None = None
) -> int:
    """Read the lines again that earlier rules have read; return the number of statements added.

    Args:
        store: the store.
        bank: the bank's id.
        reader: reads lines.
        progress: called with the number of lines of each batch, counted as by `count_earlier`.
    """
    added = 0
    while True:
        before = read_setting(store, bank)
        state = ReadingState.parse(before)
        if _is_done(store, bank, state):
            return added
        found = store.lines(bank, after=state.reread_to, limit=BATCH_LINES, include_wordless=True)
        lines = [line for line in found if line.seq <= state.last_seq]
        if not lines:
            after = replace(state, rules=RULES_VERSION, reread_to=0)
            store_statements(store, bank, [], before, after)
            continue
        units = store.units(bank, (FACT,), include_retracted=True)
        stored = [parse_unit(unit) for unit in units]
        current = [each for each, unit in zip(stored, units, strict=True) if not (unit.retracted_at or unit.valid_to)]
        known = [each for each in current if each.seqs and each.seqs[-1] < lines[0].seq]
        new = LineBatch(store, bank, reader, lines, state).read_again(known, stored)
        if store_statements(store, bank, new, before, replace(state, reread_to=lines[-1].seq)) is not None:
            added += len(new)
            if progress is not None:
                progress(lines[-1].seq - state.reread_to)


def _is_done(store: Store, bank: str, state: ReadingState) -> bool:
    return state.rules >= RULES_VERSION or remember_policy(store.settings(bank)) is False
