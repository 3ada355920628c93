"""Reads the rows of a file in CSV, with commas, semicolons or tabs between the fields."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import chain

from everthread.transfer.encodings import build_error, find_error
from everthread.transfer.files import file_error
from everthread.transfer.services.export import MAX_VALUE_BYTES, ExportFile

_DELIMITERS = ",;\t"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")

csv.field_size_limit(MAX_VALUE_BYTES)  # otherwise 128 KB


def read_rows(file: ExportFile) -> Iterator[Sequence[str]]:
    """Yield the rows of a file, the names of the columns first.

    Raises:
        BadFile: it is not UTF-8, or not CSV.
    """
    try:
        with file.open() as opened, TextIOWrapper(opened, "utf-8", errors="surrogateescape", newline="") as text:
            header = text.readline(MAX_VALUE_BYTES)
            delimiter = max(_DELIMITERS, key=header.count)
            rows = chain(csv.reader([header], delimiter=delimiter), csv.reader(text, delimiter=delimiter))
            for number, row in enumerate(rows, 1):
                _check_decoded(row, file, number)
                yield row
    except csv.Error as error:
        raise file_error(file.path, "", f"not CSV ({error})", "save it as CSV in UTF-8") from None


def read_records(file: ExportFile) -> Iterator[dict[str, str]]:
    """Yield each row after the first as its fields by the names of their columns. Raises as `read_rows`."""
    rows = read_rows(file)
    names = next(rows, ())
    for row in rows:
        yield dict(zip(names, row, strict=False))


def _check_decoded(row: Sequence[str], file: ExportFile, number: int) -> None:
    """Raise BadFile for a row with bytes that are not UTF-8."""
    content = " ".join(row)
    if _ESCAPED_BYTE.search(content) and (error := find_error(content.encode(errors="surrogateescape"))) is not None:
        raise build_error(file.path, f"row {number}", error)
