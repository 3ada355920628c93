"""Postgres's rows of the codes of lines' content words, one row a line."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from everthread.stores.postgres import rows as bank_rows
from everthread.stores.postgres.arrays import IS_IN, SeqArray
from everthread.stores.postgres.bulk_insert import insert
from everthread.stores.postgres.connections import Connection
from everthread.types import Line, LineTokens, Role, Seqs

_SELECT_SCHEME = "(SELECT number FROM everthread.token_scheme WHERE bank_id = %s AND model = %s AND name = %s)"


def get_or_create_scheme(db: Connection, bank: str, model: str, tokens: Mapping[int, LineTokens]) -> int:
    """Return the number of the scheme of these codes; a new one deletes the codes of the model's other schemes.

    The caller has locked the bank.
    """
    scheme = next(iter(tokens.values())).scheme
    row = db.execute(f"SELECT {_SELECT_SCHEME}", (bank, model, scheme)).fetchone()
    assert row is not None
    if row[0] is not None:
        return int(row[0])
    drop(db, bank, "model = %s", model)
    query = "SELECT coalesce(max(number), 0) + 1 FROM everthread.token_scheme WHERE bank_id = %s"
    row = db.execute(query, (bank,)).fetchone()
    assert row is not None
    db.execute(
        "INSERT INTO everthread.token_scheme (bank_id, number, model, name) VALUES (%s, %s, %s, %s)",
        (bank, row[0], model, scheme),
    )
    return int(row[0])


def put(db: Connection, bank: str, scheme: int, tokens: Mapping[int, LineTokens]) -> None:
    """Store the codes of lines that have none.

    Args:
        db: a connection in a transaction.
        bank: the bank.
        scheme: the number of their scheme.
        tokens: seq -> codes.
    """
    rows = [(scheme, seq, codes.codes.tobytes()) for seq, codes in sorted(tokens.items())]
    insert(db, bank, "token_code (bank_id, scheme, seq, data)", ("int", "bigint", "bytea"), rows)


def read_with_texts(
    db: Connection, bank: str, model: str, scheme: str, seqs: Seqs
) -> list[tuple[int, str, bytes | None]]:
    """Return seqs, texts and codes of those of these lines (ascending) that are neither retracted nor wordless."""
    # A lookup for each line, because the join of both tables takes six times as long. Its bank is not line.bank_id, so
    # that Citus sees that all rows are on one worker.
    codes = f"""SELECT data FROM everthread.token_code AS code
        WHERE code.bank_id = %s AND code.scheme = {_SELECT_SCHEME} AND code.seq = line.seq"""
    query = f"""SELECT seq, text, ({codes}) FROM everthread.line WHERE bank_id = %s AND gist IS NOT NULL
        AND seq {IS_IN}"""
    values = (bank, bank, model, scheme, bank, SeqArray(seqs))
    return db.execute(query, values, binary=True).fetchall()


def lines_without(
    db: Connection, bank: str, model: str, scheme: str, limit: int, after: int, roles: Collection[Role]
) -> list[Line]:
    """Return lines of these roles after the number `after` that have no codes, ascending by seq."""
    condition = f"""line.gist IS NOT NULL AND line.seq > %s AND speaker.role = ANY(%s) AND NOT EXISTS (
        SELECT 1 FROM everthread.token_code WHERE token_code.bank_id = line.bank_id AND token_code.seq = line.seq
        AND token_code.scheme = {_SELECT_SCHEME})"""
    values = (after, list(roles), bank, model, scheme)
    return bank_rows.read_lines(db, bank, condition, values, f"LIMIT {limit:d}")


def remove(db: Connection, bank: str, seqs: Sequence[int]) -> None:
    """Remove the codes of lines."""
    db.execute("DELETE FROM everthread.token_code WHERE bank_id = %s AND seq = ANY(%s)", (bank, list(seqs)))


def drop(db: Connection, bank: str, condition: str, model: str) -> None:
    """Remove the codes of models that meet an SQL condition on `model`."""
    chosen = f"SELECT number FROM everthread.token_scheme WHERE bank_id = %s AND {condition}"
    db.execute(
        f"DELETE FROM everthread.token_code WHERE bank_id = %s AND scheme IN ({chosen})",
        (bank, bank, model),
    )
    db.execute(f"DELETE FROM everthread.token_scheme WHERE bank_id = %s AND {condition}", (bank, model))
