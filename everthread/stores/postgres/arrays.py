"""Sends and reads arrays of numbers in Postgres's binary format, many times as fast as the driver converts lists.

An array is a header (dimensions, whether it has nulls, type, size, first index), then the length and the bytes of each
element.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

from everthread.types import Seqs

_BIGINT, _BIGINT_ARRAY = 20, 1016  # the numbers of these types
_HEADER = struct.Struct(">5i")  # of one dimension
_FIRST_SIZE = 12  # where the sizes begin

# A condition for rows whose number is in an array. The planner does not look into the array, which takes longer than
# the query for thousands of numbers, and looks each number up in the index, also in a bank much larger than others.
IS_IN = "= ANY((SELECT %s::bigint[])::bigint[])"

# A condition for rows whose number is greater. The planner expects few rows of a range whose beginning it doesn't see,
# and looks them up in the index. Of "> 10000" it would expect a third of the bank, or of the table, and read all of it.
IS_AFTER = f"BETWEEN (SELECT %s::bigint) + 1 AND {2**63 - 1}"


class SeqArray:
    """Numbers of lines as a parameter of the type bigint[]."""

    def __init__(self, seqs: Seqs) -> None:
        self.seqs = seqs


class _SeqArrayDumper(Dumper):
    format = Format.BINARY
    oid = _BIGINT_ARRAY

    def dump(self, obj: SeqArray) -> Buffer:
        elements = np.empty(len(obj.seqs), [("bytes", ">i4"), ("value", ">i8")])
        elements["bytes"], elements["value"] = 8, obj.seqs
        return _HEADER.pack(1, 0, _BIGINT, len(elements), 1) + elements.tobytes()


psycopg.adapters.register_dumper(SeqArray, _SeqArrayDumper)


def read_array(rows: psycopg.Cursor[Any], column: int, kind: str) -> npt.NDArray[Any]:
    """Return an array without nulls of the first row of a binary result; an empty one for NULL.

    Args:
        rows: the result, of one row.
        column: the number of the column, from 0.
        kind: the type of its elements: "i8" of bigint, "f4" of real.
    """
    raw = read_bytes(rows, column)
    dimensions = 0 if raw is None else struct.unpack_from(">i", raw)[0]
    if raw is None or not dimensions:
        return np.empty(0, kind)
    shape = struct.unpack_from(f">{2 * dimensions}i", raw, _FIRST_SIZE)[::2]
    elements = np.frombuffer(raw, [("bytes", ">i4"), ("value", f">{kind}")], offset=_FIRST_SIZE + 8 * dimensions)
    return elements["value"].astype(kind).reshape(shape)


def read_bytes(rows: psycopg.Cursor[Any], column: int) -> bytes | None:
    """Return a value of the first row of a binary result as it was sent; None for NULL."""
    rows.scroll(0)  # waits for the result, without converting its values
    assert rows.pgresult is not None
    return rows.pgresult.get_value(0, column)
