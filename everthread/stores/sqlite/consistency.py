"""Compares the tables of a bank's file with one another."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from everthread.stores.base import LINE_DTYPE
from everthread.stores.postings import POSTING_DTYPE
from everthread.stores.shared_rows import describe_miscounts, pack_line
from everthread.stores.sqlite import column_blocks, postings, token_codes
from everthread.stores.sqlite.rows import vector_ids
from everthread.text.analyzer import TermCounts, count_terms, remove_quotes_json


def find_contradictions(db: sqlite3.Connection) -> list[str]:
    """Describe contradictions between the tables of a bank whose pages are sound."""
    lines, retracted, terms, last, earlier = db.execute(
        "SELECT lines, retracted, terms, last_seq, earlier_last FROM bank"
    ).fetchone()
    packed = column_blocks.read_all(db, column_blocks.LINE_COLUMNS_ID, LINE_DTYPE)
    # An earlier analyser can't be asked again, so that its counts are taken as they are.
    earlier_counts = {row[0]: TermCounts({}, *row[5:7]) for row in packed[packed["seq"] <= earlier].tolist()}
    live_columns: list[tuple[int, ...]] = []  # packed columns of live lines, without the flags
    retracted_count = total = records = highest = 0
    for seq, text, metadata, retracted_at, said_at, offset_s, session, speaker in db.execute(
        "SELECT seq, text, metadata, retracted_at, said_at, said_offset, session, speaker FROM line ORDER BY seq"
    ):
        highest = seq
        if not isinstance(json.loads(metadata), dict):
            return [f"line {seq} has metadata that are not an object; export the lines into a new bank"]
        if not text:
            continue
        if retracted_at is None:
            counts = earlier_counts.get(seq) or count_terms(remove_quotes_json(text, metadata))
            live_columns.append(pack_line(seq, said_at, offset_s, session, speaker, counts, 0)[:-1])
            total, records = total + counts.length, records + len(counts.terms)
        else:
            retracted_count += 1
    live = [seq for seq, *_ in live_columns]
    recorded = db.execute("SELECT total(count), total(length(data)) FROM posting").fetchone()
    in_sessions = db.execute("SELECT total(lines), total(terms) FROM session").fetchone()
    records += postings.count_records(db, earlier)
    problems = describe_miscounts(
        (
            ("lines", lines, len(live)),
            ("retracted lines", retracted, retracted_count),
            ("terms", terms, total),
            ("word records", int(recorded[0]), records),
            ("bytes of word records", int(recorded[1]), records * POSTING_DTYPE.itemsize),
            ("lines in sessions", int(in_sessions[0]), len(live)),
            ("terms in sessions", int(in_sessions[1]), total),
        )
    )
    if [row[:-1] for row in packed.tolist()] != live_columns:
        problems.append(f"packed lines: {len(packed)} do not match the {len(live)} lines of the bank")
    problems += [*_find_wrong_postings(db, live), *_find_wrong_vectors(db, live), *token_codes.find_orphans(db, live)]
    return problems + ([f"the last seq is {last}, but line {highest} exists"] if highest > last else [])


def _find_wrong_postings(db: sqlite3.Connection, live: Sequence[int]) -> Iterator[str]:
    is_live = np.zeros(max(live, default=0) + 1, bool)  # by seq
    is_live[live] = True
    for term, data in db.execute("SELECT term, data FROM posting"):
        seqs = np.frombuffer(data, POSTING_DTYPE)["seq"]
        if (
            not len(seqs)
            or seqs.max() >= len(is_live)
            or not is_live[seqs].all()
            or (np.diff(seqs.astype(np.int64)) <= 0).any()
        ):
            yield f"records of the word {term!r} do not match the lines; export the lines into a new bank"
            return


def _find_wrong_vectors(db: sqlite3.Connection, live: Sequence[int]) -> Iterator[str]:
    for number, name, dim, counted in db.execute("SELECT number, name, dim, lines FROM model").fetchall():
        codes = column_blocks.read_all(db, number, column_blocks.code_dtype(dim))["seq"].astype(np.int64)
        has = [row[0] for row in db.execute("SELECT id FROM vector WHERE id >> 44 = ? ORDER BY id", (number,))]
        if not np.array_equal(vector_ids(number, codes), has):
            yield f"codes of {name}: {len(codes)} do not match the {len(has)} vectors; export the lines into a new bank"
        cut = "SELECT count(*) FROM vector WHERE id >> 44 = ? AND (typeof(data) <> 'blob' OR length(data) <> ?)"
        if cut_off := db.execute(cut, (number, 2 * dim)).fetchone()[0]:
            yield f"truncated vectors of {name}: {cut_off}; export the lines into a new bank"
        if orphans := len(np.setdiff1d(codes, live)):
            yield f"vectors without a line: {orphans} of {name}"
        if counted != len(np.unique(codes)):
            yield f"lines with a vector of {name}: {counted} recorded, {len(np.unique(codes))} found"
