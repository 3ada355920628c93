"""Writes lines into a bank's file, in the caller's transaction: their rows, columns, words, vectors and codes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from everthread.common.timestamps import to_micros, utc_offset_s
from everthread.stores.base import LINE_DTYPE, PreparedLine
from everthread.stores.json_text import canonical_json
from everthread.stores.postings import group_by_term
from everthread.stores.shared_rows import next_seq, pack_line, releases_key
from everthread.stores.sqlite import column_blocks, line_removal, postings, token_codes
from everthread.stores.sqlite import rows as bank_rows
from everthread.types import Line


def write(db: sqlite3.Connection, entries: Sequence[PreparedLine], model: str) -> tuple[list[Line], bool]:
    """Write the lines that are new.

    Args:
        db: a connection in a transaction.
        entries: the lines.
        model: the name of the embedder that made their vectors.

    Returns:
        The line of each entry, new or stored under its key, and whether any is new.

    Raises:
        BadLine: as in `stores.base.LineStore.append`.
    """
    keys = [entry.line.key for entry in entries if entry.line.key]
    known: dict[str, Line | int] = {**bank_rows.get_by_key(db, keys)} if keys else {}
    last = int(db.execute("SELECT last_seq FROM bank").fetchone()[0])
    written: list[tuple[int, PreparedLine]] = []
    packed: list[tuple[int, ...]] = []
    result: list[Line | int] = []  # a number is replaced by its line once all are written
    for entry in entries:
        key = entry.line.key
        existing = None if key is None else known.get(key)
        if isinstance(existing, int) or (existing is not None and not releases_key(existing, entry.line)):
            result.append(existing)
            continue
        if entry.follows and written:
            entry = replace(entry, line=replace(entry.line, parent=written[-1][0]))
        last = next_seq(entry, last)
        columns = _insert(db, last, entry, existing)
        if entry.line.text:
            packed.append(columns)
        written.append((last, entry))
        result.append(last)
        if key is not None:
            known[key] = last
    if written:
        db.execute("UPDATE bank SET last_seq = max(last_seq, ?)", (last,))
    if packed:
        column_blocks.put(db, column_blocks.LINE_COLUMNS_ID, np.array(packed, LINE_DTYPE))
        _index(db, [(seq, entry) for seq, entry in written if entry.line.text], model)
    retractions = {seq: to_micros(at) for seq, entry in written if (at := entry.line.retracted_at) is not None}
    if retractions:
        line_removal.retract_lines_only(db, retractions)
    lines = {line.seq: line for line in bank_rows.get_lines(db, [seq for seq, _ in written], "1")}
    resolved = [lines[item] if isinstance(item, int) else item for item in result]
    return resolved, bool(lines)


def _insert(db: sqlite3.Connection, seq: int, entry: PreparedLine, key_donor: Line | None) -> tuple[int, ...]:
    """Write the rows of one line, which may take the key of another; return its packed columns."""
    new = entry.line
    at = to_micros(entry.said_at)
    parent = bank_rows.resolve_parent(db, new.parent, is_copy=entry.seq is not None)
    session_name = new.session if new.session is not None else bank_rows.choose_session(db, at)
    terms = entry.terms
    session_number = db.execute(
        """INSERT INTO session (session_id, started_at, last_at, first_seq, last_seq, lines, terms)
           VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id) DO UPDATE SET
           started_at = min(started_at, excluded.started_at), last_at = max(last_at, excluded.last_at),
           last_seq = excluded.last_seq, lines = lines + excluded.lines, terms = terms + excluded.terms
           RETURNING number""",
        (session_name, at, at, seq, seq, bool(new.text), terms.length),
    ).fetchone()[0]
    speaker = bank_rows.get_or_create_speaker(db, new.speaker, new.role)
    offset_s = utc_offset_s(entry.said_at)
    if key_donor is not None:  # only now, because the line may answer it by its key
        db.execute("UPDATE line SET key = NULL WHERE seq = ?", (key_donor.seq,))
    db.execute(
        "INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
        (seq, session_number, parent, speaker, at, offset_s, new.key, canonical_json(new.metadata), new.text),
    )
    return pack_line(seq, at, offset_s, session_number, speaker, terms, entry.flags)


def _index(db: sqlite3.Connection, written: Sequence[tuple[int, PreparedLine]], model: str) -> None:
    """Write what lines are found by, and add them to the counts of the bank."""
    postings.add(db, group_by_term((seq, entry.terms) for seq, entry in written))
    vectors = {seq: entry.vectors for seq, entry in written if entry.vectors is not None}
    bank_rows.put_vectors(db, model, vectors, are_new=True)
    token_codes.put(db, model, {seq: entry.tokens for seq, entry in written if entry.tokens is not None})
    counts = [entry.terms for _, entry in written]
    db.execute(
        "UPDATE bank SET lines = lines + ?, terms = terms + ?, head_terms = head_terms + ?",
        (
            len(written),
            sum(count.length for count in counts),
            sum(count.head_length for count in counts),
        ),
    )
