"""The column `elsewhere` of a bank's row: where the bank is, if not in this database.

It is null for a bank that is here. "to NAME MOVE" means that it was moved to the place NAME, by a move with this id;
the row is what is left of it. "from NAME MOVE" means that it is being moved from there: this copy becomes the bank once
that place refers to this one. Every transaction of a bank reads the column with its first answer, and a write again
when it has locked the row.
"""

from __future__ import annotations

from collections.abc import Sequence

from everthread.stores.errors import bank_moved_error
from everthread.stores.postgres import bank_cache
from everthread.stores.postgres.connections import Connection, Cursor, Database
from everthread.text.analyzer import ANALYZER_VERSION

_ARRIVING = "from %"
_ARRIVING_BY = "from % {}"  # by a move


def refer_to(place: str, move: str) -> str:
    """Write where a bank was moved."""
    return f"to {place} {move}"


def refer_from(place: str, move: str) -> str:
    """Write from where a bank is being moved."""
    return f"from {place} {move}"


def check_here(bank: str, location: str, elsewhere: str | None) -> None:
    """Raise BankMoved if a bank is elsewhere."""
    if elsewhere is not None:
        direction, place, move = elsewhere.split(" ")
        raise bank_moved_error(bank, location, place, move, is_arriving=direction == "from")


def _check_transaction(database: Database, bank: str, elsewhere: str | None) -> None:
    check_here(bank, database.display_url, elsewhere)


BANK_CHECK = "SELECT elsewhere FROM everthread.bank WHERE bank_id = %s", _check_transaction

_EMPTY = """analyser = %s, last_seq = 0, lines = 0, retracted = 0, terms = 0, head_terms = 0, sessions = 0,
    speakers = 0, models = 0, earlier_last = 0, earlier_analyser = 0, revision = %s"""


def empty(db: Connection, bank: str, tables: Sequence[str], elsewhere: str | None) -> None:
    """Delete the rows of a locked bank from tables, and empty its row, for which writers may wait.

    A row that is deleted and inserted again would not be found by a writer that has waited for it.
    """
    for table in tables:
        db.execute(f"DELETE FROM everthread.{table} WHERE bank_id = %s", (bank,))
    query = f"UPDATE everthread.bank SET {_EMPTY}, elsewhere = %s WHERE bank_id = %s"
    db.execute(query, (ANALYZER_VERSION, bank_cache.new_revision(), elsewhere, bank))


def lock_elsewhere(db: Connection, bank: str, at: int) -> bool:
    """Lock the row of a bank that is not here; create it if it is missing. Return False if the bank is here."""
    query = """INSERT INTO everthread.bank (bank_id, created_at, analyser, elsewhere) VALUES (%s, %s, %s, '')
        ON CONFLICT (bank_id) DO UPDATE SET created_at = excluded.created_at WHERE bank.elsewhere IS NOT NULL"""
    return db.execute(query, (bank, at, ANALYZER_VERSION)).rowcount == 1


def lock_arrival(db: Connection, bank: str, move: str) -> str | None:
    """Lock the copy of a move that has not become the bank; return from where it comes, or None without a copy."""
    query = (
        "UPDATE everthread.bank SET elsewhere = elsewhere WHERE bank_id = %s AND elsewhere LIKE %s RETURNING elsewhere"
    )
    row = db.execute(query, (bank, _ARRIVING_BY.format(move))).fetchone()
    return None if row is None else str(row[0])


def list_arrivals(db: Connection) -> Cursor:
    """Send the query of the copies that have not become banks: their ids, and from where they come."""
    query = "SELECT bank_id, split_part(elsewhere, ' ', 2) FROM everthread.bank WHERE elsewhere LIKE %s"
    return db.execute(query, (_ARRIVING,))


def refer(db: Connection, bank: str, place: str, at: int) -> None:
    """Write that a bank is in another place, unless it has a row here."""
    query = """INSERT INTO everthread.bank (bank_id, created_at, analyser, elsewhere) VALUES (%s, %s, %s, %s)
        ON CONFLICT DO NOTHING"""
    db.execute(query, (bank, at, ANALYZER_VERSION, refer_to(place, "")))


def set_elsewhere(db: Connection, bank: str, old: str | None, new: str | None) -> bool:
    """Change where a bank is, if it is as expected; return whether it was."""
    query = "UPDATE everthread.bank SET elsewhere = %s WHERE bank_id = %s AND elsewhere IS NOT DISTINCT FROM %s"
    return db.execute(query, (new, bank, old)).rowcount == 1
