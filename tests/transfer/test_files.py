from __future__ import annotations

import gzip
import os
import zipfile
from io import BytesIO, TextIOWrapper
from pathlib import Path
from threading import Thread

import pytest

from everthread.errors import BadFile
from everthread.transfer.files import load_json, parse_json, read_numbered_lines, read_text, shorten, spool_input
from everthread.transfer.formats import open_reader


def write_file(folder: Path, data: bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(data)
    return path


def test_lines_are_numbered_from_one_and_lose_only_their_ends(tmp_path: Path) -> None:
    path = write_file(tmp_path, "\ufeffone\r\n two\u2028still two \n\nfour".encode())
    assert list(read_numbered_lines(path)) == [(1, "one"), (2, " two\u2028still two "), (3, ""), (4, "four")]


def test_a_byte_order_mark_is_removed(tmp_path: Path) -> None:
    assert read_text(write_file(tmp_path, b"\xef\xbb\xbf{}")) == "{}"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_in_utf16_is_read_by_its_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    path = write_file(tmp_path, "\ufeff旅\r\n🌸\n".encode(encoding))
    assert (read_text(path), list(read_numbered_lines(path))) == ("旅\r\n🌸\n", [(1, "旅"), (2, "🌸")])


def test_a_file_that_only_begins_like_utf16_is_reported(tmp_path: Path) -> None:
    path = write_file(tmp_path, b"\xff\xfe\x00\xd8")
    for read in (lambda: list(read_numbered_lines(path)), lambda: [read_text(path)]):
        with pytest.raises(BadFile, match=r"it begins like UTF-16, but is not .*save the file as UTF-8"):
            read()


def test_bytes_that_are_not_utf8_are_named_by_line_and_offset(tmp_path: Path) -> None:
    path = write_file(tmp_path, b"good\nalso good\nbad \xff here\n")
    for read in (lambda: list(read_numbered_lines(path)), lambda: [read_text(path)]):
        with pytest.raises(
            BadFile, match=r"file\.json, line 3, byte 19: the byte 0xff is not UTF-8; save the file as UTF-8"
        ):
            read()


def test_a_missing_file_and_a_folder_are_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(BadFile, match=r"can't be read .*check the path"):
            list(read_numbered_lines(path))
        with pytest.raises(BadFile, match=r"can't be read .*check the path"):
            load_json(path)


def test_broken_json_is_named_by_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"line 2, column 9: not JSON"):
        load_json(write_file(tmp_path, b'{"a": 1,\n "b": 2 3}'))


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_an_empty_file_is_reported_as_empty(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadFile, match=r": empty; give a file"):
        load_json(write_file(tmp_path, data))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN}', '{"a": Infinity}', "9" * 5000])
def test_json_that_no_store_can_hold_is_rejected(text: str) -> None:
    with pytest.raises(BadFile, match=r"f, line 7: unusable JSON"):
        parse_json(text, Path("f"), 7)


def create_pipe(folder: Path, data: bytes) -> Path:
    """Create a pipe to which the content is written when a reader opens it."""
    path = folder / "pipe.json"
    os.mkfifo(path)
    Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


def test_a_pipe_can_be_read_repeatedly_and_its_copy_is_deleted(tmp_path: Path) -> None:
    with spool_input(create_pipe(tmp_path, b"[1]")) as path:
        assert (load_json(path), load_json(path), path.name) == ([1], [1], "pipe.json")
    assert not path.exists()


def test_standard_input_can_be_read_repeatedly_and_its_copy_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"[1]")))
    with spool_input(Path("-")) as path:
        assert (load_json(path), load_json(path), path.name) == ([1], [1], "stdin")
    assert not path.exists()


def test_an_error_in_standard_input_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"[1,")))
    with pytest.raises(BadFile, match=r"^standard input, line 1, column 4: not JSON"), spool_input(Path("-")) as copy:
        load_json(copy)


def test_an_error_in_a_pipe_names_the_pipe(tmp_path: Path) -> None:
    path = create_pipe(tmp_path, b"[1,")
    with pytest.raises(BadFile, match=rf"^{path}, line 1, column 4: not JSON"), spool_input(path) as copy:
        load_json(copy)


def test_a_regular_or_missing_file_is_not_copied(tmp_path: Path) -> None:
    for original in (write_file(tmp_path, b"{}"), tmp_path, tmp_path / "none"):
        with spool_input(original) as path:
            assert path is original


def test_a_long_invalid_value_is_shortened() -> None:
    assert shorten("x") == "'x'"
    assert len(shorten("x" * 1000)) == 60


@pytest.mark.parametrize("text", ['[{"role": "user", "content": "Do fe', '[{"role": "user"}, ', '{"messages": [1'])
def test_json_that_is_cut_off_is_to_be_downloaded_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(text)
    with pytest.raises(BadFile, match=r"not JSON \(.*\); the file is cut off: download or export it again"):
        load_json(path)


def test_an_archive_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "chat.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", "[01.01.24, 10:00:00] Ann: Hi!\n")
    with pytest.raises(BadFile, match=r"chat\.zip: this is a zip archive, not text; unpack it and import the file in"):
        list(open_reader(path, "jsonl")())
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(BadFile, match="this is a zip archive"):
        read_text(path)
    compressed = tmp_path / "chat.txt.gz"
    compressed.write_bytes(gzip.compress(b"Ann: Hi!\n"))
    (tmp_path / "chat.rar").write_bytes(b"Rar!\x1a\x07\x01\x00")
    with pytest.raises(BadFile, match="this is a RAR archive"):
        read_text(tmp_path / "chat.rar")
    with pytest.raises(BadFile, match="this is a gzip archive"):
        read_text(compressed)
