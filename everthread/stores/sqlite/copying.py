"""Copies the file of a bank while it is in use, and reads what a copy in another store needs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np

from everthread.errors import BankDamaged
from everthread.stores.sqlite import rows as bank_rows
from everthread.stores.sqlite.bank_file import BankFile, create_private
from everthread.stores.sqlite.file_errors import map_errors
from everthread.stores.sqlite.token_codes import SEQ_BITS, find_scheme
from everthread.types import Vectors

Key = TypeVar("Key")


def copy_file(file: BankFile, path: Path) -> None:
    """Copy a bank into a new file, as it is at one moment, and compare all rows. Writers need not wait.

    Raises:
        BankDamaged: the copy differs, or the bank can't be read.
        StoreUnavailable: the copy can't be written.
    """
    with file.read_transaction() as db:
        read = hash_rows(db)  # begins the snapshot, from which the copy is made as well
        with map_errors("", path):
            copy_database(db, path)
            with closing(sqlite3.connect(path)) as copy:
                copied = hash_rows(copy)
    if read != copied:
        raise BankDamaged(
            f"the copy of bank {file.bank!r} in {path} differs from it; check the disk, and back up again"
        )


def copy_database(db: sqlite3.Connection, path: Path) -> None:
    """Copy a database into a new file that only its owner can read."""
    create_private(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # the caller flushes the file
        db.backup(copy)


def hash_rows(db: sqlite3.Connection) -> str:
    """Return the SHA-256 of all rows of all tables."""
    digest = sha256()
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        digest.update(table.encode())
        for row in db.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):
            digest.update(repr(row).encode())
    return digest.hexdigest()


class SQLiteCopyReader:
    """Implements `stores.copying.CopyReader`."""

    def __init__(self, file: BankFile) -> None:
        self._file = file

    def models(self) -> list[tuple[str, int]]:
        with self._file.read_once() as db:
            return db.execute("SELECT name, dim FROM model ORDER BY number").fetchall()

    def vectors(self, model: str, dim: int, first: int, last: int) -> dict[int, Vectors]:
        with self._file.read_transaction() as db:
            number = bank_rows.find_model(db, model, dim)
            if number is None:
                return {}
            start, end = bank_rows.first_vector_id(number, np.array([first, last + 1])).tolist()
            rows = db.execute("SELECT id, data FROM vector WHERE id >= ? AND id < ? ORDER BY id", (start, end))
            return _group_pieces((((row_id >> 12) - (number << 32), data) for row_id, data in rows), dim)

    def unit_vectors(self, model: str, dim: int) -> dict[tuple[str, int], Vectors]:
        with self._file.read_transaction() as db:
            rows = db.execute(
                "SELECT kind, unit_id, data FROM unit_vector WHERE model = ? ORDER BY kind, unit_id, ordinal",
                (bank_rows.find_model(db, model, dim),),
            )
            return _group_pieces((((kind, number), data) for kind, number, data in rows), dim)

    def schemes(self) -> list[tuple[str, str]]:
        with self._file.read_once() as db:
            return db.execute("SELECT model, name FROM token_scheme ORDER BY number").fetchall()

    def codes(self, model: str, scheme: str, first: int, last: int) -> dict[int, bytes]:
        with self._file.read_transaction() as db:
            start = (find_scheme(db, model, scheme) or 0) << SEQ_BITS
            ids = "SELECT id - ?, data FROM token_code WHERE id BETWEEN ? AND ? ORDER BY id"
            return dict(db.execute(ids, (start, start + first, start + last)).fetchall())

    def buffers(self) -> dict[str, list[tuple[int, int]]]:
        with self._file.read_once() as db:
            rows = db.execute("SELECT session_id, spans FROM buffer ORDER BY session_id").fetchall()
        return {session: [(first, last) for first, last in json.loads(spans)] for session, spans in rows}


def _group_pieces(rows: Iterable[tuple[Key, bytes]], dim: int) -> dict[Key, Vectors]:
    """Join the pieces of each line or unit, which are adjacent."""
    grouped = {key: b"".join(data for _, data in pieces) for key, pieces in groupby(rows, lambda row: row[0])}
    return {key: np.frombuffer(data, np.float16).reshape(-1, dim).astype(np.float32) for key, data in grouped.items()}
