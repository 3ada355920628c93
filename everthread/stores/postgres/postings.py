"""The keyword index of a bank on Postgres: for each term, blocks of records of the lines that contain it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from everthread.stores.arrays import is_member
from everthread.stores.postgres.bulk_insert import insert, split_by_size
from everthread.stores.postgres.connections import Connection, Cursor
from everthread.stores.postings import (
    POSTING_DTYPE,
    Postings,
    Records,
    TermRecords,
    choose_terms,
    estimate_df,
    find_records,
    merge_blocks,
    order_by_rarity,
    select_records,
)
from everthread.types import Seqs

RECORDS_PER_BLOCK = 192  # a row of more than 2 KB would be moved out of its page
TERMS_PER_STATEMENT = 1000  # limits the blocks of a large bank that are in memory together

_INTO = "posting (bank_id, term, first, before, count, data)"
_KINDS = ("text", "bigint", "int", "int", "bytea")

Blocks = Mapping[str, tuple[int, int, int]]  # term -> first, before and count of its last block


def last_blocks(db: Connection, bank: str, terms: Sequence[str]) -> Blocks:
    """Return first, before and count of the last block of each term that has any."""
    rows = db.execute(
        """SELECT term, last.first, last.before, last.count FROM unnest(%s::text[]) AS term, LATERAL (
           SELECT first, before, count FROM everthread.posting
           WHERE bank_id = %s AND posting.term = term.term ORDER BY first DESC LIMIT 1) AS last""",
        (list(terms), bank),
    )
    return {term: (first, before, count) for term, first, before, count in rows}


def add(db: Connection, bank: str, terms: TermRecords, last: Blocks) -> None:
    """Append records (ascending by seq, after the stored ones) to the blocks of each term."""
    grown: list[tuple[str, int, int, bytes]] = []
    full: list[tuple[str, int, int, int, bytes]] = []
    for term, records in terms.items():
        new = np.array(records, POSTING_DTYPE)
        first, before, count = last.get(term, (0, 0, RECORDS_PER_BLOCK))
        fitting, new = new[: RECORDS_PER_BLOCK - count], new[RECORDS_PER_BLOCK - count :]
        if len(fitting):
            grown.append((term, first, len(fitting), fitting.tobytes()))
        before += count if term in last else 0
        before += len(fitting)
        for start in range(0, len(new), RECORDS_PER_BLOCK):
            block = new[start : start + RECORDS_PER_BLOCK]
            full.append((term, int(block[0]["seq"]), before + start, len(block), block.tobytes()))
    for batch in split_by_size(grown):
        db.execute(
            """UPDATE everthread.posting SET count = posting.count + grown.count, data = posting.data || grown.data
               FROM unnest(%s::text[], %s::bigint[], %s::int[], %s::bytea[]) AS grown (term, first, count, data)
               WHERE bank_id = %s AND posting.term = grown.term AND posting.first = grown.first""",
            (*map(list, zip(*batch, strict=True)), bank),
        )
    if full:
        insert(db, bank, _INTO, _KINDS, full)


def remove(db: Connection, bank: str, terms: Mapping[str, Sequence[int]]) -> None:
    """Remove the records of these seqs (ascending) from each term's blocks; empty blocks are deleted.

    Each block is read and written once.
    """
    names = list(terms)
    for start in range(0, len(names), TERMS_PER_STATEMENT):
        _remove_from_blocks(db, bank, {term: terms[term] for term in names[start : start + TERMS_PER_STATEMENT]})


def _remove_from_blocks(db: Connection, bank: str, terms: Mapping[str, Sequence[int]]) -> None:
    totals = {term: before + count for term, (_, before, count) in last_blocks(db, bank, list(terms)).items()}
    shrunk: list[tuple[str, int, int, int, bytes]] = []
    empty: list[tuple[str, int]] = []
    for term, first, data in _read_affected_blocks(db, bank, terms):
        records = np.frombuffer(data, POSTING_DTYPE)
        remaining = records[~is_member(records["seq"], np.array(terms[term]))]
        totals[term] -= len(records) - len(remaining)
        if not len(remaining):
            empty.append((term, first))
        elif len(remaining) < len(records):
            shrunk.append((term, first, int(remaining[0]["seq"]), len(remaining), remaining.tobytes()))
    with db.pipeline():
        _run_for_all(db, _SHRINK, ("text", "bigint", "bigint", "int", "bytea"), shrunk, bank)
        _run_for_all(db, _DELETE, ("text", "bigint"), empty, bank)
        _run_for_all(db, _RECOUNT, ("text", "bigint"), list(totals.items()), bank, bank)


def _read_affected_blocks(
    db: Connection, bank: str, terms: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, int, bytes]]:
    """Return the blocks in which records of these seqs (ascending) are, or belong; of a term in their order."""
    rows = db.execute(
        """SELECT block.* FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS gone (term, low, high), LATERAL (
           SELECT term, first, data FROM everthread.posting
           WHERE bank_id = %s AND posting.term = gone.term AND first <= greatest(high, (
               SELECT min(first) FROM everthread.posting AS earliest
               WHERE earliest.bank_id = %s AND earliest.term = gone.term))
               AND first >= coalesce((
               SELECT first FROM everthread.posting AS earlier WHERE earlier.bank_id = %s AND earlier.term = gone.term
               AND earlier.first <= low ORDER BY first DESC LIMIT 1), 0) ORDER BY first OFFSET 0) AS block""",
        (list(terms), [seqs[0] for seqs in terms.values()], [seqs[-1] for seqs in terms.values()], bank, bank, bank),
        binary=True,
    )
    yield from rows


def find(db: Connection, bank: str, seqs: Seqs) -> dict[str, list[tuple[int, int, int]]]:
    """Find the records of lines (ascending) by comparing all records of the bank; see `find_records`."""
    last = " + ".join(f"(get_byte(data, 8 * count - {8 - byte})::bigint << {8 * byte})" for byte in range(4))
    blocks = db.execute(
        f"SELECT term, data FROM everthread.posting WHERE bank_id = %s AND first <= %s AND {last} >= %s",
        (bank, int(seqs[-1]), int(seqs[0])),
        binary=True,
    ).fetchall()
    return find_records(blocks, seqs) if blocks else {}


def count_records(db: Connection, bank: str, last: int) -> int:
    """Count the records of the lines up to a number."""
    query = "SELECT data FROM everthread.posting WHERE bank_id = %s AND first <= %s"
    blocks = db.execute(query, (bank, last), binary=True)
    return sum(int((np.frombuffer(data, POSTING_DTYPE)["seq"] <= last).sum()) for (data,) in blocks)


def insert_among(db: Connection, bank: str, terms: TermRecords) -> None:
    """Insert records (ascending by seq) of lines that have none, among the stored ones of each term."""
    names = list(terms)
    for start in range(0, len(names), TERMS_PER_STATEMENT):
        _insert_into_blocks(db, bank, {term: terms[term] for term in names[start : start + TERMS_PER_STATEMENT]})


def _insert_into_blocks(db: Connection, bank: str, terms: TermRecords) -> None:
    totals = {term: before + count for term, (_, before, count) in last_blocks(db, bank, list(terms)).items()}
    affected: dict[str, list[bytes]] = {}
    replaced: list[tuple[str, int]] = []
    for term, first, data in _read_affected_blocks(
        db, bank, {term: [seq for seq, *_ in records] for term, records in terms.items()}
    ):
        affected.setdefault(term, []).append(data)
        replaced.append((term, first))
    rows = [
        (term, int(block[0]["seq"]), 0, len(block), block.tobytes())
        for term, records in terms.items()
        for block in merge_blocks(affected.get(term, ()), records, RECORDS_PER_BLOCK)
    ]
    totals = {term: totals.get(term, 0) + len(records) for term, records in terms.items()}
    with db.pipeline():
        _run_for_all(db, _DELETE, ("text", "bigint"), replaced, bank)
        insert(db, bank, _INTO, _KINDS, rows)
        _run_for_all(db, _RECOUNT, ("text", "bigint"), list(totals.items()), bank, bank)


def _run_for_all(
    db: Connection, statement: str, kinds: Sequence[str], rows: Sequence[tuple[Any, ...]], *values: object
) -> None:
    """Run one statement for all rows."""
    if rows:
        arrays = ", ".join(f"%s::{kind}[]" for kind in kinds)
        db.execute(statement.format(f"unnest({arrays})"), (*map(list, zip(*rows, strict=True)), *values))


_SHRINK = """UPDATE everthread.posting SET first = less.start, count = less.count, data = less.data
    FROM {} AS less (term, first, start, count, data)
    WHERE bank_id = %s AND posting.term = less.term AND posting.first = less.first"""
_DELETE = """DELETE FROM everthread.posting USING {} AS gone (term, first)
    WHERE bank_id = %s AND posting.term = gone.term AND posting.first = gone.first"""
_RECOUNT = """UPDATE everthread.posting SET before = total - count FROM {} AS now (term, total)
    WHERE bank_id = %s AND posting.term = now.term AND before <> total - count AND first = (
        SELECT first FROM everthread.posting AS last WHERE last.bank_id = %s AND last.term = now.term
        ORDER BY first DESC LIMIT 1)"""


def read(
    db: Connection, bank: str, terms: Sequence[str], max_terms: int, limit: int, within: Seqs | None
) -> dict[str, Postings]:
    """Return the records of the rarest terms; see `stores.base.TermIndex.postings`."""
    counts, records = parse(send(db, bank, terms, max_terms, limit))
    chosen, _ = choose_terms(terms, counts, max_terms, limit)
    if within is not None and (unread := [term for term in chosen if term not in records]):
        counts |= _estimate_dfs(db, bank, unread, within)
    return select(terms, max_terms, limit, counts, records, within)


def send(db: Connection, bank: str, terms: Sequence[str], max_terms: int, limit: int) -> Cursor:
    """Send the query of the terms' counts, and of the records of those that `stores.postings.choose_terms` chooses."""
    return db.execute(
        """SELECT term, total, CASE WHEN place <= %s AND running <= %s THEN (
               SELECT string_agg(data, ''::bytea ORDER BY first) FROM everthread.posting
               WHERE bank_id = %s AND posting.term = known.term) END
           FROM (SELECT wanted.term, total, row_number() OVER rarest AS place, sum(total) OVER rarest AS running
               FROM unnest(%s::text[]) WITH ORDINALITY AS wanted (term, ordinal), LATERAL (
                   SELECT before + count AS total FROM everthread.posting
                   WHERE bank_id = %s AND posting.term = wanted.term ORDER BY first DESC LIMIT 1) AS last
               WINDOW rarest AS (ORDER BY total, ordinal ROWS UNBOUNDED PRECEDING)) AS known""",
        (max_terms, limit, bank, list(dict.fromkeys(terms)), bank),
        binary=True,
    )


def parse(rows: Cursor) -> tuple[dict[str, int], dict[str, Records]]:
    """Return the counts of terms, and the records of those that were chosen."""
    found = rows.fetchall()
    counts = {term: total for term, total, _ in found}
    return counts, {term: np.frombuffer(data, POSTING_DTYPE) for term, _, data in found if data is not None}


def select(
    terms: Sequence[str],
    max_terms: int,
    limit: int,
    counts: Mapping[str, int],
    records: Mapping[str, Records],
    within: Seqs | None = None,
) -> dict[str, Postings]:
    """Return the postings of the chosen terms, as `stores.base.TermIndex.postings` does."""
    chosen, _ = choose_terms(terms, counts, max_terms, limit)
    selected = {term: select_records(records.get(term), counts[term], within) for term in chosen}
    return order_by_rarity(terms, counts, selected, max_terms)


def _estimate_dfs(db: Connection, bank: str, terms: Sequence[str], within: Seqs) -> dict[str, int]:
    """Estimate how many of these lines contain each term, without reading its records."""
    rows = db.execute(
        """SELECT term, firsts, counts FROM unnest(%s::text[]) AS term, LATERAL (
           SELECT array_agg(first ORDER BY first) AS firsts, array_agg(count ORDER BY first) AS counts
           FROM everthread.posting WHERE bank_id = %s AND posting.term = term.term) AS blocks""",
        (list(terms), bank),
        binary=True,
    )
    return {term: estimate_df(np.array(firsts), np.array(counts), within) for term, firsts, counts in rows}
