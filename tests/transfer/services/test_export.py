from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from everthread.errors import BadFile
from everthread.transfer.formats import open_reader
from everthread.transfer.services.export import open_export
from transfer.services.chatgpt_export import save_zip


def read_all(*paths: Path) -> dict[str, str]:
    with open_export(paths) as export:
        return {file.name: file.read_text() for file in export.files}


def archive(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as inner:
        for name, text in files.items():
            inner.writestr(f"{name}.txt", text)
    return buffer.getvalue()


def test_files_folders_and_archives_are_one_export(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.txt").write_bytes(b"\xef\xbb\xbfA")
    (folder / "._a.txt").write_text("noise")
    save_zip(folder / "b.zip", {"c.txt": b"C", "__MACOSX/._c.txt": b"noise", "inner.zip": archive(d="D")})
    (tmp_path / "e.txt").write_text("E", encoding="utf-16")
    expected = {"e.txt": "E", "deep/a.txt": "A", "b.zip/c.txt": "C", "b.zip/inner.zip/d.txt": "D"}
    assert read_all(tmp_path / "e.txt", folder) == expected


def test_an_archive_in_an_archive_in_an_archive_stays_closed(tmp_path: Path) -> None:
    innermost = archive(a="A")
    middle = save_zip(tmp_path / "middle.zip", {"innermost.zip": innermost}).read_bytes()
    with open_export([save_zip(tmp_path / "outer.zip", {"middle.zip": middle})]) as export:
        assert [file.name for file in export.files] == ["middle.zip/innermost.zip"]


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_rejected(tmp_path: Path) -> None:
    bomb = save_zip(tmp_path / "bomb.zip", {"conversations.json": bytes(20_000_000)})
    with pytest.raises(BadFile, match=r"bomb\.zip: the archive has [\d,]+ bytes and unpacks to 20,000,000"):
        read_all(bomb)
    with pytest.raises(BadFile, match=r"outer\.zip, bomb\.zip: the archive has"):
        read_all(save_zip(tmp_path / "outer.zip", {"bomb.zip": bomb.read_bytes()}))


def test_archives_in_an_archive_are_few_and_small_together(tmp_path: Path) -> None:
    inner = save_zip(tmp_path / "inner.zip", {"a.json": bytes(2_500_000)}).read_bytes()
    outer = save_zip(tmp_path / "outer.zip", {f"{number}.zip": inner for number in range(6)})
    with pytest.raises(BadFile, match=r"outer\.zip, 3\.zip: the archive has [\d,]+ bytes and unpacks to 10,\d{3},"):
        read_all(outer)
    many = save_zip(tmp_path / "many.zip", {f"{number}.zip": archive() for number in range(201)})
    with pytest.raises(BadFile, match=r"contains more than 200 archives; unpack it, and import the folder"):
        read_all(many)


def test_a_row_or_a_file_that_would_fill_the_memory_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"b": "' + "b" * 100 + '"}\n')
    monkeypatch.setattr("everthread.transfer.services.export.MAX_VALUE_BYTES", 100)
    with open_export([tmp_path / "a.jsonl"]) as export:
        (file,) = export.files
        with pytest.raises(BadFile, match=r"a\.jsonl, line 2: more than 100 bytes in one value; divide or remove"):
            list(file.rows())
        with pytest.raises(BadFile, match=r"a\.jsonl: more than 100 bytes in one value"):
            file.load()


def test_damaged_and_encrypted_archives_are_rejected_by_name(tmp_path: Path) -> None:
    whole = save_zip(tmp_path / "whole.zip", {"a.txt": b"A" * 1000}).read_bytes()
    cut, changed, locked = (tmp_path / f"{name}.zip" for name in ("cut", "changed", "locked"))
    cut.write_bytes(whole[:-30])
    with pytest.raises(BadFile, match=r"cut\.zip: not a readable zip archive .*; download it again"):
        read_all(cut)
    with pytest.raises(BadFile) as raised:
        read_all(tmp_path)
    assert str(raised.value).count("cut.zip") == 1
    at = whole.index(b"a.txt") + len("a.txt") + 3
    changed.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
    with pytest.raises(BadFile, match=r"changed\.zip, a\.txt: this part of the archive can't be read"):
        read_all(changed)
    flags = whole.rindex(b"PK\x01\x02") + 8
    locked.write_bytes(whole[:flags] + b"\x01" + whole[flags + 1 :])
    with pytest.raises(BadFile, match=r"locked\.zip, a\.txt: this is encrypted; unpack it with its password"):
        read_all(locked)


@pytest.mark.parametrize("content", [bytes(range(256)), b" ", b"<html>Please log in</html>"])
@pytest.mark.parametrize("format", [None, "chatgpt"])
def test_a_file_that_only_its_name_makes_an_archive_is_reported_as_none(
    tmp_path: Path, content: bytes, format: str | None
) -> None:
    (path := tmp_path / "export.ZIP").write_bytes(content)
    words = r"export\.ZIP: not a readable zip archive .*; download it again, or give the files that were in it"
    with pytest.raises(BadFile, match=words):
        list(open_reader(path, format)())


@pytest.mark.parametrize("name", ["gone.zip", "gone.json", "gone"])
def test_a_missing_file_of_a_service_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadFile, match=r"can't be read \(No such file or directory\); check the path"):
        list(open_reader(tmp_path / name, "chatgpt")())


@pytest.mark.parametrize(
    ("name", "text", "head"),
    [
        ("a.json", '[{"a": [1, 2]}, 2, 3, 4]', [{"a": [1, 2]}, 2, 3]),
        ("a.json", '{"a": {"b": [{"c": [1, 2], "d": 3}, {"c": 4}]}}', {"a": {"b": [{"c": [1], "d": 3}]}}),
        ("a.json", '{"a": [1, [2]], "b": {"c": [[4, 5], 6]}, "e": 7}', {"a": [1], "b": {"c": [[4, 5]]}, "e": 7}),
        ("a.json", ' {"a": 1, "b": [{"c": 2}, {"c"', {"a": 1, "b": [{"c": 2}]}),
        ("a.jsonl", '{"a": 1}', {"a": 1}),
        ("a.txt", '{"a": 1}\n{"b": 2}\n', {"a": 1}),
        ("a.txt", "Ann: [1] Hi!", None),
        ("a.png", '{"a": 1}', None),
        ("a.json", "[" * 100_000, None),
        ("a.json", "", None),
    ],
)  # fmt: skip
def test_the_head_of_a_file_shows_its_shape(tmp_path: Path, name: str, text: str, head: object) -> None:
    (tmp_path / name).write_text(text)
    with open_export([tmp_path / name]) as export:
        assert export.files[0].head == head


def test_a_broken_row_is_an_error_of_that_row_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n{"a": \n\n{"a": "\xff"}\n{"a": 2}\n')
    with open_export([tmp_path / "a.jsonl"]) as export:
        rows = dict(export.files[0].rows())
    assert [rows["line 1"], rows["line 5"]] == [{"a": 1}, {"a": 2}]
    assert str(rows["line 2"]).startswith("a.jsonl, line 2, column 1: not JSON")
    assert str(rows["line 4"]).startswith("a.jsonl, line 4: not UTF-8")


def test_elements_before_the_end_of_a_cut_file_are_read_and_then_the_file_is_named(tmp_path: Path) -> None:
    text = json.dumps({"chats": {"list": [{"a": 1}, {"a": 2}]}})
    with open_export([save_zip(tmp_path / "a.zip", {"result.json": text[:-8].encode()})]) as export:
        items = export.files[0].items("chats.list")
        assert next(items) == {"a": 1}
        with pytest.raises(BadFile, match=r"a\.zip, result\.json: not JSON \(Unterminated string at character 31\)"):
            list(items)


def test_the_members_of_an_object_are_read_with_the_elements_of_some_lists(tmp_path: Path) -> None:
    value = {"a": [1, 2], "b": {"list": [3, 4], "c": [5]}, "d": {"list": [6]}, "e": {"list": None}}
    (tmp_path / "a.json").write_text(json.dumps(value))
    with open_export([tmp_path / "a.json"]) as export:
        members = list(export.files[0].members("a", "b.list", "e.list"))
    pairs = [("a", 1), ("a", 2), ("b.list", 3), ("b.list", 4), ("b.c", [5]), ("d", {"list": [6]}), ("e.list", None)]
    assert members == pairs
    (tmp_path / "a.json").write_text('{"a": [1], "b"')
    with open_export([tmp_path / "a.json"]) as export, pytest.raises(BadFile, match=r"a\.json: not JSON"):
        list(export.files[0].members("a"))


@pytest.mark.parametrize("end", range(40, 160, 3))
def test_an_account_that_is_cut_within_a_chat_is_an_error_of_the_file(tmp_path: Path, end: int) -> None:
    message = {"id": "1", "messagetype": "Text", "content": "Which door is red?", "from": "ann"}
    account = {"userId": "live:a", "exportDate": "2025", "conversations": [{"id": "c", "MessageList": [message] * 2}]}
    (tmp_path / "messages.json").write_text(json.dumps(account)[:-end], encoding="utf-8")
    with open_export([tmp_path / "messages.json"]) as export:
        chats = export.files[0].nested(("conversations",), "MessageList")
        with pytest.raises(BadFile, match="not JSON"):
            sum(1 for _, messages in chats for _ in messages)
