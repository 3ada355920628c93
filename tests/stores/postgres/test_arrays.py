"""Arrays of numbers in Postgres's binary format."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from everthread.stores.postgres.arrays import IS_IN, SeqArray, read_array, read_bytes


@pytest.mark.parametrize("numbers", [[], [1], [1, 5, 2**40, -3]])
def test_numbers_are_sent_and_read_unchanged(database: str, numbers: list[int]) -> None:
    with psycopg.connect(database) as db:
        sent = SeqArray(np.array(numbers, np.int64))
        rows = db.execute("SELECT %s, %s::real[], %s::bytea", (sent, numbers, b"x"), binary=True)
        assert read_array(rows, 0, "i8").tolist() == numbers
        assert np.allclose(read_array(rows, 1, "f4"), numbers)
        assert read_bytes(rows, 2) == b"x"
        found = db.execute(f"SELECT n FROM generate_series(1, 6) AS n WHERE n {IS_IN}", (sent,)).fetchall()
        assert found == [(number,) for number in sorted(numbers) if 1 <= number <= 6]


def test_an_array_of_arrays_keeps_its_shape(database: str) -> None:
    with psycopg.connect(database) as db:
        rows = db.execute("SELECT ARRAY[ARRAY[1, 2, 3], ARRAY[4, 5, 6]]::bigint[], NULL::bigint[]", binary=True)
        assert read_array(rows, 0, "i8").tolist() == [[1, 2, 3], [4, 5, 6]]
        assert len(read_array(rows, 1, "i8")) == 0
