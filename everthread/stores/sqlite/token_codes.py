"""SQLite's rows of the codes of lines' content words, one row a line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence

from everthread.stores.sqlite.filters import LIVE
from everthread.types import LineTokens, Role, Seqs

SEQ_BITS = 32  # of a row's id; the bits above are the number of the scheme


def put(db: sqlite3.Connection, model: str, by_seq: Mapping[int, LineTokens]) -> None:
    """Store the codes of lines, all of one scheme, in place of earlier ones; delete those of the model's other schemes.

    Args:
        db: a connection in a transaction.
        model: the name of the embedder.
        by_seq: seq -> codes.
    """
    if not by_seq:
        return
    scheme = next(iter(by_seq.values())).scheme
    number = find_scheme(db, model, scheme)
    if number is None:
        drop(db, "model = ?", model)
        row = db.execute("INSERT INTO token_scheme (model, name) VALUES (?, ?) RETURNING number", (model, scheme))
        number = int(row.fetchone()[0])
    rows = (((number << SEQ_BITS) + seq, tokens.codes.tobytes()) for seq, tokens in sorted(by_seq.items()))
    db.executemany("INSERT OR REPLACE INTO token_code VALUES (?, ?)", rows)


def find_scheme(db: sqlite3.Connection, model: str, scheme: str) -> int | None:
    """Return the number of a scheme; None if the bank has no codes of it."""
    row = db.execute("SELECT number FROM token_scheme WHERE model = ? AND name = ?", (model, scheme)).fetchone()
    return int(row[0]) if row else None


def read_with_texts(db: sqlite3.Connection, model: str, scheme: str, seqs: Seqs) -> list[tuple[int, str, bytes | None]]:
    """Return seqs, texts and codes of those of these lines that are neither retracted nor wordless."""
    rows = db.execute(
        f"""SELECT seq, text, data FROM json_each(?) CROSS JOIN line ON seq = value LEFT JOIN token_code
            ON token_code.id = ((SELECT number FROM token_scheme WHERE model = ? AND name = ?) << {SEQ_BITS}) + seq
            WHERE {LIVE}""",
        (json.dumps(seqs.tolist()), model, scheme),
    )
    return rows.fetchall()


def find_missing(
    db: sqlite3.Connection, model: str, scheme: str, limit: int, after: int, roles: Collection[Role]
) -> list[int]:
    """Return the seqs of lines of these roles after the number `after` that have no codes, ascending."""
    first = (find_scheme(db, model, scheme) or 0) << SEQ_BITS
    rows = db.execute(
        f"""SELECT seq FROM line WHERE {LIVE} AND seq > ?
            AND speaker IN (SELECT number FROM speaker WHERE role IN (SELECT value FROM json_each(?)))
            AND NOT EXISTS (SELECT 1 FROM token_code WHERE id = ? + seq) ORDER BY seq LIMIT ?""",
        (after, json.dumps(list(roles)), first, limit),
    )
    return [int(seq) for (seq,) in rows]


def remove(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    """Remove the codes of lines."""
    numbers = [number for (number,) in db.execute("SELECT number FROM token_scheme")]
    ids = [((number << SEQ_BITS) + seq,) for number in numbers for seq in seqs]
    db.executemany("DELETE FROM token_code WHERE id = ?", ids)


def drop(db: sqlite3.Connection, condition: str, model: str) -> None:
    """Remove the codes of models that meet an SQL condition on `model`."""
    for (number,) in db.execute(f"SELECT number FROM token_scheme WHERE {condition}", (model,)).fetchall():
        ids = number << SEQ_BITS, (number + 1 << SEQ_BITS) - 1
        db.execute("DELETE FROM token_code WHERE id BETWEEN ? AND ?", ids)
        db.execute("DELETE FROM token_scheme WHERE number = ?", (number,))


def find_orphans(db: sqlite3.Connection, live: Sequence[int]) -> Iterator[str]:
    """Describe codes without a line."""
    lines = set(live)
    ids = [row_id for (row_id,) in db.execute("SELECT id FROM token_code")]
    orphans = sum(row_id & (1 << SEQ_BITS) - 1 not in lines for row_id in ids)
    if orphans:
        yield f"codes of words without a line: {orphans}; export the lines into a new bank"
