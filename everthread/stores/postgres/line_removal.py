"""Retracts and forgets lines on Postgres, with everything that depends on them.

Both remove postings, vectors, counts and pins of the lines, and queue new summaries. Retracting a line retracts the
units that derive from it; forgetting deletes them, the line, and the buffers, jobs and titles of sessions that have no
other lines, the person's names that no other line has, and takes the lines out of what is recorded of replies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from everthread.common.keys import SETTING_FORMER_NAMES, SETTING_PERSON_NAMES, SETTING_PINNED
from everthread.common.timestamps import from_micros, to_micros
from everthread.stores import name_setting, pin_setting
from everthread.stores.base import Scope, ScopeName
from everthread.stores.errors import nothing_to_forget_error
from everthread.stores.postgres import (
    bank_cache,
    postings,
    reanalysis,
    recall_records,
    token_codes,
    units,
    vector_index,
)
from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.arrays import SeqArray
from everthread.stores.postgres.connections import Connection, Cursor, set_local
from everthread.stores.postgres.schema import TABLES
from everthread.stores.postings import count_lines
from everthread.stores.shared_rows import select_missing_receipts
from everthread.types import Receipt, now

_IN_SCOPE = {
    "line": "seq = ANY(%s)",
    "session": "session = (SELECT number FROM everthread.session WHERE bank_id = line.bank_id AND session_id = %s)",
    "speaker": "speaker = ANY(SELECT number FROM everthread.speaker WHERE bank_id = line.bank_id AND name = %s)",
    "bank": "%s::text IS NULL",
}


@contextmanager
def update_summaries_and_pins(db: Connection, bank: str, seqs: Sequence[int]) -> Iterator[dict[int, int]]:
    """Wrap the removal of lines (ascending), and update the summaries and pins that depend on them afterwards.

    Summaries that are removed with the lines are queued again for the rest of their sessions, and the lines' pins are
    removed. The block may fill the yielded mapping, removed line -> line that corrects it; the new line inherits the
    pin.
    """
    corrections: dict[int, int] = {}
    summarized = units.sessions_with_summary(db, bank, seqs) if seqs else set()
    yield corrections
    if removed := summarized and summarized - units.sessions_with_summary(db, bank, seqs):
        units.queue_summaries(db, bank, removed, now())
    if seqs and (pinned := units.get_setting(db, bank, SETTING_PINNED)) is not None:
        units.put_setting(db, bank, SETTING_PINNED, pin_setting.remove_pins(pinned, seqs, corrections))


@contextmanager
def replace_lines(
    db: Connection, bank: str, seqs: Sequence[int], at: int
) -> Iterator[tuple[list[int], dict[int, int]]]:
    """Retract lines, except missing ones, and wrap the writing of their replacements.

    Yields the numbers of the retracted lines, and the mapping of `update_summaries_and_pins`.
    """
    retracted: list[int] = []
    if seqs:
        bank_rows.lock_bank(db, bank, at)
        wanted = SeqArray(np.array(seqs, np.int64))
        current = bank_rows.get_lines(db, bank, wanted, "line.retracted_at IS NULL")
        retracted = [line.seq for line in current]
    with update_summaries_and_pins(db, bank, retracted) as corrections:
        if retracted:
            retract(db, bank, retracted, at)
        yield retracted, corrections


def retract(db: Connection, bank: str, seqs: Sequence[int], at: int) -> None:
    """Retract lines (ascending) without updating summaries and pins; their text stays.

    No unit derives from a line without words, so those around it stay.
    """
    remove_from_indexes(db, bank, seqs)
    with db.pipeline():
        db.execute(
            """UPDATE everthread.bank SET retracted = retracted + (SELECT count(*) FROM everthread.line
               WHERE line.bank_id = %s AND seq = ANY(%s) AND text <> '') WHERE bank_id = %s""",
            (bank, seqs, bank),
        )
        lines = db.execute(
            """UPDATE everthread.line SET retracted_at = %s, gist = NULL WHERE bank_id = %s AND seq = ANY(%s)
               RETURNING seq, text <> ''""",
            (at, bank, seqs),
        )
    if with_words := sorted(seq for seq, has_words in lines if has_words):
        units.retract(db, bank, with_words, at)


def forget(db: Connection, bank: str, scope: Scope, name: ScopeName) -> tuple[list[int], Collection[str]]:
    """Delete the lines in scope and everything derived from them.

    Returns:
        The numbers of the lines, and the tables from which rows were deleted.

    Raises:
        NotFound: no line is in scope.
    """
    bank_rows.lock_existing(db, bank)
    rows = db.execute(
        f"SELECT seq, session, speaker FROM everthread.line WHERE bank_id = %s AND {_IN_SCOPE[scope]} ORDER BY seq",
        (bank, name),
    ).fetchall()
    seqs = [int(seq) for seq, _, _ in rows]
    if scope == "bank":
        vector_index.drop(db, bank, vector_index.indexed_models(db, bank))
        db.execute("DELETE FROM everthread.posting WHERE bank_id = %s", (bank,))
        db.execute("DELETE FROM everthread.bank WHERE bank_id = %s", (bank,))  # foreign keys delete the rest
        return seqs, TABLES
    if not seqs:
        raise nothing_to_forget_error(bank, scope, name)
    with update_summaries_and_pins(db, bank, seqs):
        return seqs, _delete_rows(db, bank, seqs, rows)


def _delete_rows(db: Connection, bank: str, seqs: Sequence[int], rows: Sequence[tuple[Any, ...]]) -> Collection[str]:
    remove_from_indexes(db, bank, seqs)
    unit_tables = units.forget(db, bank, seqs)
    with db.pipeline():
        db.execute(
            """UPDATE everthread.bank SET retracted = retracted - (SELECT count(retracted_at) FROM everthread.line
               WHERE line.bank_id = %s AND seq = ANY(%s) AND text <> '') WHERE bank_id = %s""",
            (bank, seqs, bank),
        )
        db.execute("DELETE FROM everthread.line WHERE bank_id = %s AND seq = ANY(%s)", (bank, seqs))
    recall_records.remove_lines(db, bank, seqs)
    with db.pipeline():
        sessions = _delete_empty(db, bank, "session", "session_id", {session for _, session, _ in rows})
        speakers = _delete_empty(db, bank, "speaker", "name", {speaker for _, _, speaker in rows})
    names = [session for (session,) in sessions]
    deletions = {"session": sessions, "speaker": speakers}
    for table in ("buffer", "work", "session_metadata"):
        deletions[table] = db.execute(
            f"DELETE FROM everthread.{table} WHERE bank_id = %s AND session_id = ANY(%s)", (bank, names)
        )
    _update_spans(db, bank, sorted({session for _, session, _ in rows}))
    also = [table for table, deletion in deletions.items() if deletion.rowcount]
    if _forget_names(db, bank):
        also.append("setting")
    return ["line", "posting", "vector", "token_code", *vector_index.bank_tables(db, bank), *unit_tables, *also]


def _forget_names(db: Connection, bank: str) -> bool:
    """Remove the person's names that no line has any more; return whether there were any."""
    were_any = False
    for setting in (SETTING_PERSON_NAMES, SETTING_FORMER_NAMES):
        names = units.get_setting(db, bank, setting)
        if names is None:
            continue
        rows = db.execute("SELECT name FROM everthread.speaker WHERE bank_id = %s AND role = 'user'", (bank,))
        kept = name_setting.keep_names(names, {name for (name,) in rows})
        if kept != names:
            units.put_setting(db, bank, setting, kept)
            were_any = True
    return were_any


def _delete_empty(db: Connection, bank: str, table: str, name: str, numbers: set[int]) -> Cursor:
    """Delete the sessions or speakers among `numbers` that have no lines; return their names."""
    return db.execute(
        f"""DELETE FROM everthread.{table} WHERE bank_id = %s AND number = ANY(%s) AND NOT EXISTS (
            SELECT 1 FROM everthread.line WHERE line.bank_id = {table}.bank_id AND line.{table} = {table}.number)
            RETURNING {name}""",
        (bank, sorted(numbers)),
    )


def _update_spans(db: Connection, bank: str, sessions: Sequence[int]) -> None:
    """Update the first and last line of sessions to their remaining lines."""
    db.execute(
        """UPDATE everthread.session SET first_seq = here.first, last_seq = here.last, started_at = here.began,
           last_at = here.ended FROM (SELECT session, min(seq) AS first, max(seq) AS last, min(said_at) AS began,
           max(said_at) AS ended FROM everthread.line WHERE bank_id = %s AND session = ANY(%s) GROUP BY session) AS here
           WHERE bank_id = %s AND number = here.session""",
        (bank, sessions, bank),
    )


def put_receipt(db: Connection, receipt: Receipt, number: UUID) -> None:
    """Store a receipt."""
    _set_bank(db, receipt.bank)
    db.execute(
        """INSERT INTO everthread.receipt (bank_id, id, scope, seqs, lines, forgotten_at)
           VALUES (%s, %s, %s, %s, %s, %s)""",
        (receipt.bank, number, receipt.scope, json.dumps(receipt.seqs), receipt.lines, to_micros(receipt.forgotten_at)),
    )


def add_receipts(db: Connection, bank: str, receipts: Iterable[Receipt]) -> None:
    """Store the receipts of a bank that are missing."""
    for receipt in select_missing_receipts(receipts, read_receipts(db, bank)):
        put_receipt(db, receipt, uuid4())
    _set_bank(db, bank)


def has_receipt(db: Connection, bank: str, receipt: Receipt, number: UUID) -> bool:
    """Return whether the receipt with this number is stored."""
    _set_bank(db, receipt.bank)
    query = "SELECT 1 FROM everthread.receipt WHERE bank_id = %s AND id = %s"
    row = db.execute(query, (receipt.bank, number)).fetchone()
    _set_bank(db, bank)
    return row is not None


def read_receipts(db: Connection, bank: str) -> list[Receipt]:
    """Return the receipts of a bank, the earliest first."""
    digest = sha256(bank.encode()).hexdigest()
    _set_bank(db, digest)
    rows = db.execute(
        "SELECT scope, seqs, lines, forgotten_at FROM everthread.receipt WHERE bank_id = %s ORDER BY forgotten_at, id",
        (digest,),
    ).fetchall()
    _set_bank(db, bank)
    return [
        Receipt(digest, scope, tuple((first, last) for first, last in json.loads(seqs)), lines, from_micros(at))
        for scope, seqs, lines, at in rows
    ]


def _set_bank(db: Connection, bank: str) -> None:
    """Set the bank that row-level security admits; for receipts it is the hash of the bank's id."""
    set_local(db, "everthread.bank", bank)


def remove_from_indexes(db: Connection, bank: str, seqs: Sequence[int]) -> None:
    """Remove the postings, vectors, codes and counts of lines."""
    reanalysis.analyze(db, bank, seqs)
    rows = db.execute(
        """SELECT seq, session, text, metadata FROM everthread.line
           WHERE bank_id = %s AND seq = ANY(%s) AND gist IS NOT NULL ORDER BY seq""",
        (bank, list(seqs)),
    )
    counts = count_lines(rows)
    postings.remove(db, bank, counts.by_term)
    bank_rows.remove_vectors(db, bank, seqs)
    token_codes.remove(db, bank, seqs)
    with db.pipeline():
        for session, (lines, terms) in counts.by_session.items():
            db.execute(
                """UPDATE everthread.session SET lines = lines - %s, terms = terms - %s
                   WHERE bank_id = %s AND number = %s""",
                (lines, terms, bank, session),
            )
        db.execute(
            """UPDATE everthread.bank SET lines = lines - %s, terms = terms - %s, head_terms = head_terms - %s,
               revision = %s WHERE bank_id = %s""",
            (counts.lines, counts.terms, counts.head_terms, bank_cache.new_revision(), bank),
        )


def drop_models(db: Connection, bank: str, keep: str) -> int:
    """Delete the vectors and codes of every model except one; return the number of vectors of lines."""
    indexed = "SELECT number FROM everthread.model WHERE bank_id = %s AND name <> %s AND large"
    vector_index.drop(db, bank, [int(number) for (number,) in db.execute(indexed, (bank, keep))])
    deleted = db.execute(
        """DELETE FROM everthread.vector WHERE bank_id = %s AND model IN
           (SELECT number FROM everthread.model WHERE bank_id = %s AND name <> %s)""",
        (bank, bank, keep),
    ).rowcount
    db.execute("DELETE FROM everthread.model WHERE bank_id = %s AND name <> %s", (bank, keep))
    bank_cache.mark_revised(db, bank)
    token_codes.drop(db, bank, "model <> %s", keep)
    return int(deleted)
