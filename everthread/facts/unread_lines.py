"""Reads the lines that were not read for facts yet, and stores what they state.

How far a bank was read is written in the same transaction as the statements, if it has not changed since. So no line is
skipped and none is read twice, even if a process is killed, or two read at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from everthread.bank.settings import remember_policy
from everthread.common.keys import SETTING_FACTS
from everthread.errors import StoreUnavailable
from everthread.facts.line_batch import LineBatch, StatementReader
from everthread.facts.reading_state import ReadingState
from everthread.facts.stored_statements import read_statements, store_statements
from everthread.facts.types import StoredStatement
from everthread.stores.base import Store
from everthread.types import JSONValue, Line

BATCH_LINES = 512  # read and written together


def catch_up(
    store: Store,
    bank: str,
    reader: StatementReader,
    given: Mapping[int, StoredStatement] | None = None,
    limit: int | None = None,
) -> Mapping[int, StoredStatement]:
    """Read the lines that were not read yet, store what they state, and return all statements by their ids.

    Each batch of lines is stored in one transaction. In a bank that can't be written, their statements are returned
    without being stored. A bank that never remembers, or is forgotten meanwhile, has none.

    Args:
        store: the store of the bank.
        bank: its id.
        reader: reads lines.
        given: the statements of the bank, if they have been read.
        limit: the maximum number of lines to read; None: all.

    Returns:
        As `read_statements` does.
    """
    known = None if given is None else dict(given)
    as_of: JSONValue | None = None  # the setting with which they were read; None: the given ones count as current
    while True:
        settings = store.settings(bank)
        if remember_policy(settings) is False:
            return {}
        before = settings.get(SETTING_FACTS)
        if known is None or as_of not in (None, before):
            known, as_of = read_statements(store, bank), before
        state = ReadingState.parse(before)
        size = BATCH_LINES if limit is None else min(BATCH_LINES, limit)
        lines = list(store.lines(bank, after=state.last_seq, limit=size, include_wordless=True)) if size else []
        if not lines:
            return known
        new, after = LineBatch(store, bank, reader, lines, state).read([statement for statement, _ in known.values()])
        if not store.exists(bank):  # forgotten meanwhile
            return {}
        try:
            first_id = store_statements(store, bank, new, before, after, lines=lines)
        except StoreUnavailable:
            return _read_unstored(store, bank, reader, known, state, limit)
        limit = None if limit is None else limit - len(lines)
        if first_id is None:
            if not store.exists(bank):
                return {}
            known = None
        else:
            known |= {
                number: StoredStatement(replace(each, id=number), number) for number, each in enumerate(new, first_id)
            }
            as_of = after.with_units(first_id, len(new)).to_json()


def _read_unstored(
    store: Store,
    bank: str,
    reader: StatementReader,
    known: Mapping[int, StoredStatement],
    state: ReadingState,
    limit: int | None,
) -> dict[int, StoredStatement]:
    """Read the remaining lines without storing anything."""
    statements = dict(known)
    for lines in _read_batches(store, bank, state.last_seq, limit):
        batch = LineBatch(store, bank, reader, lines, state)
        new, state = batch.read([statement for statement, _ in statements.values()])
        for number, statement in enumerate(new, max(statements, default=0) + 1):
            statements[number] = StoredStatement(replace(statement, id=number), number)
    return statements


def _read_batches(store: Store, bank: str, after: int, limit: int | None) -> Iterator[list[Line]]:
    """Yield the lines after a number in batches."""
    lines = store.lines(bank, after=after, limit=limit, include_wordless=True)
    while batch := list(islice(lines, BATCH_LINES)):
        yield batch
