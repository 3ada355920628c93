"""Tests that hold for the exports of all messengers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from everthread.errors import BadInput
from everthread.memory import Memory
from everthread.transfer.importing import check_compatible, check_file, import_lines
from transfer.services.messenger_exports import (
    ANN,
    BUILDERS,
    discord_export,
    said_at,
    save_files,
    speaker,
    text,
    to_json,
)

CUT_BYTES = 997  # between the lengths to which a file is cut


def import_numbers(memory: Memory, folder: Path, service: str, *exports: range) -> list[int]:
    """Import exports of messages with these numbers, one after the other; return how many lines each added."""
    added = []
    for numbers in exports:
        source = check_file(save_files(folder / f"{service}.zip", BUILDERS[service](numbers)))
        check_compatible(memory, source)
        added.append(import_lines(memory, source)["added"])
    return added


@pytest.mark.parametrize("service", BUILDERS)
def test_again_grown_and_overlapping_exports_add_only_new_messages(
    memory: Memory, tmp_path: Path, service: str
) -> None:
    exports = [range(3, 6), range(3, 6), range(3, 8), range(1, 5)]
    assert import_numbers(memory, tmp_path, service, *exports) == [3, 0, 2, 2]
    lines = sorted(memory.lines(), key=lambda line: line.said_at)
    assert [line.text for line in lines] == [text(number) for number in range(1, 8)]
    assert [line.said_at for line in lines] == [said_at(number) for number in range(1, 8)]
    assert len({line.session for line in lines}) == 1


@pytest.mark.parametrize("service", BUILDERS)
def test_two_overlapping_exports_are_one_import(tmp_path: Path, memory: Memory, service: str) -> None:
    paths = [save_files(tmp_path / f"{number}.zip", BUILDERS[service](range(number, number + 4))) for number in (1, 3)]
    assert import_lines(memory, check_file(paths))["added"] == 6


@pytest.mark.parametrize("service", BUILDERS)
def test_each_speaker_has_a_name(tmp_path: Path, service: str) -> None:
    path = save_files(tmp_path / "export.zip", BUILDERS[service](range(1, 4)))
    speakers = [line.speaker for line in check_file(path, me=ANN).read()]
    assert speakers == [speaker(number) for number in range(1, 4)]
    named = check_file(path, assistant=["Bob"]).read()
    assert [line.role for line in named] == ["user", "assistant", "user"]


@pytest.mark.parametrize("service", BUILDERS)
def test_a_cut_file_gives_an_error_or_whole_messages(tmp_path: Path, service: str) -> None:
    files = BUILDERS[service](range(1, 31))
    name, content = list(files.items())[-1]
    whole = {(line.text, line.said_at, line.role) for line in check_file(save_files(tmp_path / "a.zip", files)).read()}
    assert len(whole) == 30
    for size in range(0, len(content), CUT_BYTES):
        try:
            source = check_file(save_files(tmp_path / "cut.zip", {**files, name: content[:size]}))
        except BadInput:
            continue
        assert {(line.text, line.said_at, line.role) for line in source.read()} <= whole


def break_message(content: bytes) -> bytes:
    """Return a file in which the second message is broken: a number, a row that was cut, or a wrong length."""
    if content.startswith(b"SQLite"):
        return re.sub(rb".(?=Message 2)", b"\x8f", content, flags=re.DOTALL)
    if b"\n" in content:
        return b"".join(row[:20] + b"\n" if b"Message 2" in row else row for row in content.splitlines(keepends=True))
    value = json.loads(content)
    messages = value if isinstance(value, list) else value["messages"]
    messages[:] = [5 if "Message 2" in json.dumps(message) else message for message in messages]
    return to_json(value)


@pytest.mark.parametrize("service", BUILDERS)
def test_a_broken_message_is_named_and_the_others_are_read(tmp_path: Path, service: str) -> None:
    files = BUILDERS[service](range(1, 4))
    name, content = list(files.items())[-1]
    path = save_files(tmp_path / "export.zip", {**files, name: break_message(content)})
    source = check_file(path)
    assert {line.text for line in source.read()} == {text(1), text(3)}
    assert len(source.contents.broken) == 1
    with pytest.raises(BadInput, match=r"message [24]|row 7"):
        check_file(path, strict=True)


def test_an_export_of_which_nothing_can_be_read_is_an_error_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "Bob.json"
    path.write_bytes(to_json(discord_export([5])))
    complaint = (
        r"the file contains no messages .*; Bob, message 1 can't be read: expected an object, got 5; nothing was"
    )
    with pytest.raises(BadInput, match=complaint):
        check_file(path)
