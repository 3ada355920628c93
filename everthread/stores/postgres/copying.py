"""Reads what a copy of a bank needs and no query returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Protocol, TypeVar

import numpy as np
from pgvector import HalfVector

from everthread.stores.postgres.connections import Connection
from everthread.stores.postgres.vector_index import SELECT_MODEL
from everthread.types import Vectors

Key = TypeVar("Key")
Result = TypeVar("Result")


class Read(Protocol):
    """Calls a function in a read transaction, and returns its result."""

    def __call__(self, bank: str, call: Callable[[Connection], Result]) -> Result: ...


class PostgresCopyReader:
    """Implements `stores.copying.CopyReader`."""

    def __init__(self, bank: str, read: Read) -> None:
        self._bank, self._read = bank, read

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._read(self._bank, lambda db: db.execute(query, (self._bank, *values), binary=True).fetchall())

    def models(self) -> list[tuple[str, int]]:
        rows = self._rows("SELECT name, dim FROM everthread.model WHERE bank_id = %s ORDER BY number")
        return [(name, dim) for name, dim in rows]

    def vectors(self, model: str, dim: int, first: int, last: int) -> dict[int, Vectors]:
        query = f"""SELECT seq, data FROM everthread.vector WHERE bank_id = %s AND model = {SELECT_MODEL}
            AND seq BETWEEN %s AND %s ORDER BY seq, ordinal"""
        return _group_pieces((seq, data) for seq, data in self._rows(query, self._bank, model, dim, first, last))

    def unit_vectors(self, model: str, dim: int) -> dict[tuple[str, int], Vectors]:
        query = f"""SELECT kind, unit_id, data FROM everthread.unit_vector WHERE bank_id = %s AND model = {SELECT_MODEL}
            ORDER BY kind, unit_id, ordinal"""
        return _group_pieces(((kind, number), data) for kind, number, data in self._rows(query, self._bank, model, dim))

    def schemes(self) -> list[tuple[str, str]]:
        rows = self._rows("SELECT model, name FROM everthread.token_scheme WHERE bank_id = %s ORDER BY number")
        return [(model, scheme) for model, scheme in rows]

    def codes(self, model: str, scheme: str, first: int, last: int) -> dict[int, bytes]:
        query = """SELECT seq, data FROM everthread.token_code WHERE bank_id = %s AND scheme =
            (SELECT number FROM everthread.token_scheme WHERE bank_id = %s AND model = %s AND name = %s)
            AND seq BETWEEN %s AND %s ORDER BY seq"""
        return {seq: bytes(data) for seq, data in self._rows(query, self._bank, model, scheme, first, last)}

    def buffers(self) -> dict[str, list[tuple[int, int]]]:
        rows = self._rows("SELECT session_id, spans FROM everthread.buffer WHERE bank_id = %s ORDER BY session_id")
        return {session: [(first, last) for first, last in json.loads(spans)] for session, spans in rows}


def _group_pieces(rows: Iterable[tuple[Key, HalfVector]]) -> dict[Key, Vectors]:
    """Join the pieces of each line or unit, which are adjacent."""
    return {
        key: np.array([data.to_numpy() for _, data in pieces], np.float32)
        for key, pieces in groupby(rows, lambda row: row[0])
    }
