from __future__ import annotations

from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.services.csv_rows import read_records, read_rows
from everthread.transfer.services.export import ExportFile, plain_file


def save_table(folder: Path, content: bytes) -> ExportFile:
    (path := folder / "table.csv").write_bytes(content)
    return plain_file(path.name, path)


@pytest.mark.parametrize("delimiter", [b",", b";", b"\t"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_rows_are_read_with_any_delimiter_and_end_of_line(tmp_path: Path, delimiter: bytes, end: bytes) -> None:
    rows = [[b"a", b"b"], [b"1", b'"2\r\n3"'], [b"4"]]
    file = save_table(tmp_path, end.join(delimiter.join(row) for row in rows))
    assert list(read_rows(file)) == [["a", "b"], ["1", "2\r\n3"], ["4"]]
    assert list(read_records(file)) == [{"a": "1", "b": "2\r\n3"}, {"a": "4"}]


def test_a_row_that_is_not_utf8_is_named_after_the_rows_before_it(tmp_path: Path) -> None:
    rows = read_rows(save_table(tmp_path, "a,b\n1,2\ncafé,3\n".encode("cp1252")))
    assert [next(rows), next(rows)] == [["a", "b"], ["1", "2"]]
    with pytest.raises(BadFile, match=r"table\.csv, row 3: the byte 0xe9 is not UTF-8, but may be cp1252 \(café"):
        next(rows)
