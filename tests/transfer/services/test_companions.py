"""Tests that all exports of companions, front ends and frameworks pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from everthread.errors import BadFile
from everthread.memory import Memory
from everthread.transfer.importing import check_compatible, check_file, import_lines
from everthread.transfer.services.conversation import ReadOptions
from everthread.transfer.services.export import open_export
from everthread.transfer.services.lines import Findings, read_lines
from everthread.transfer.services.registry import find_services
from everthread.types import NewLine
from transfer.services.companion_examples import FILES, KOBOLD, SILLYTAVERN, TEXTGEN, plain, rows

CUT_STEP = 97  # bytes between the places at which a file is cut off
SAMPLES = [(service, name, content) for service, files in FILES.items() for name, content in files]
Parts = Callable[[Any], list[Any]]
MESSAGES: dict[str, Parts] = {  # the list of messages in the first example of each service, apart from rows
    "characterai": lambda value: value["turns"],
    "risuai": lambda value: value["data"]["message"],
    "gemini": lambda value: value,
    "langchain": lambda value: value,
    "llamaindex": lambda value: value["store"]["nora"],
    "letta": lambda value: value["agents"][0]["messages"],
}
UNTIMED = ("langchain", "llamaindex")  # services whose messages are known by those before them


def read_all(service: str, path: Path) -> list[NewLine]:
    return list(read_lines([path], [service], ReadOptions(), Findings()))


def save(folder: Path, name: str, content: bytes) -> Path:
    path = folder / Path(name).name
    path.write_bytes(content)
    return path


def parts_of(service: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield an export as it was before its last message, and one that begins after its first message."""
    if service in MESSAGES:
        for name, chosen in (("older", slice(None, -1)), ("later", slice(1, None))):
            value = json.loads(content)
            messages = MESSAGES[service](value)
            messages[:] = messages[chosen]
            yield name, json.dumps(value).encode()
    else:
        lines = content.splitlines(keepends=True)
        yield "older", b"".join(lines[:-1])
        yield "later", b"".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(("service", "name", "content"), SAMPLES)
def test_an_export_is_recognised_by_its_service_alone(service: str, name: str, content: bytes, tmp_path: Path) -> None:
    with open_export([save(tmp_path, name, content)]) as export:
        assert find_services(export) == [service]


@pytest.mark.parametrize(("service", "name", "content"), SAMPLES)
def test_lines_have_the_same_keys_in_every_copy(service: str, name: str, content: bytes, tmp_path: Path) -> None:
    keys = [line.key for line in read_all(service, save(tmp_path, name, content))]
    assert len(set(keys)) == len(keys)
    assert [line.key for line in read_all(service, save(tmp_path, f"copy of {Path(name).name}", content))] == keys


@pytest.mark.parametrize("service", [*MESSAGES, "sillytavern", "claudecode", "codex"])
def test_grown_and_overlapping_exports_share_their_lines(service: str, tmp_path: Path) -> None:
    name, content = FILES[service][0]
    full = {line.key for line in read_all(service, save(tmp_path, name, content))}
    for part, cut in parts_of(service, content):
        if part == "older" or service not in UNTIMED:
            assert {line.key for line in read_all(service, save(tmp_path, name, cut))} <= full


@pytest.mark.parametrize(("service", "name", "content"), SAMPLES)
def test_a_file_that_is_cut_off_is_an_error_or_a_clean_part(
    service: str, name: str, content: bytes, tmp_path: Path
) -> None:
    full = {line.text for line in read_all(service, save(tmp_path, name, content))}
    for length in range(0, len(content), CUT_STEP):
        found: set[str] = set()
        cut = save(tmp_path, name, content[:length])
        with suppress(BadFile):
            found.update(line.text for line in read_lines([cut], [service], ReadOptions(), Findings()))
        assert found <= full


def bring(memory: Memory, path: Path) -> int:
    source = check_file(path)
    check_compatible(memory, source)
    return int(import_lines(memory, source)["added"])


GROWING: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [  # service, file, first message, how the chat goes on
    (
        "koboldlite",
        "saved_story.json",
        {**KOBOLD, "prompt": "", "actions": ["{{[INPUT]}}Which door is red?"]},
        {"actions": KOBOLD["actions"]},
    ),
    (
        "koboldlite",
        "saved_story.json",
        {**KOBOLD, "prompt": "Aria: Hello Nora.", "actions": []},
        {"actions": ["\nNora: Which door is red?", "\nAria: The right one.\nNora: Thank you!"]},
    ),
    (
        "textgen",
        "chat.json",
        {**TEXTGEN, "metadata": {}, "internal": [["Which door is red?", ""]]},
        {"internal": TEXTGEN["internal"][1:]},
    ),
    ("textgen", "chat.json", {**TEXTGEN, "internal": TEXTGEN["internal"][:1]}, {"internal": TEXTGEN["internal"]}),
]


@pytest.mark.parametrize(("service", "name", "first", "rest"), GROWING)
def test_a_chat_that_was_imported_with_its_first_message_alone_has_no_line_twice(
    memory: Memory, tmp_path: Path, service: str, name: str, first: dict[str, Any], rest: dict[str, Any]
) -> None:
    assert bring(memory, save(tmp_path, name, plain(first))) == 1
    grown = save(tmp_path, name, plain({**first, **rest}))
    assert bring(memory, grown) == len(read_all(service, grown)) - 1
    assert bring(memory, grown) == 0


@pytest.mark.parametrize("service", ["koboldlite", "textgen"])
def test_chats_with_the_same_greeting_are_different_sessions(tmp_path: Path, service: str) -> None:
    name, content = FILES[service][0]
    other = save(tmp_path, name, content.replace(b"Which door", b"Which lamp"))
    sessions = {line.session for line in read_all(service, other)}
    assert sessions.isdisjoint(line.session for line in read_all(service, save(tmp_path, name, content)))


def test_chats_of_sillytavern_with_a_branch_are_stored_once(memory: Memory, tmp_path: Path) -> None:
    branch = [{**SILLYTAVERN[0], "chat_metadata": {"main_chat": "Aria - 1"}}, *SILLYTAVERN[1:4]]
    branch[3] = {**branch[3], "mes": "No.", "swipe_id": 0, "send_date": "2024-6-5 @14h 56m 20s 1ms"}
    turn = {"name": "Nora", "is_user": True, "mes": "Otherwise.", "send_date": "2025-11-04T10:00:00Z"}
    (tmp_path / "Aria - 1.jsonl").write_bytes(rows(*SILLYTAVERN))
    (tmp_path / "a branch.jsonl").write_bytes(rows(*branch, turn))
    assert [bring(memory, tmp_path) for _ in range(2)] == [7, 0]
    assert [line.text for line in memory.lines()] == [
        "Hello Nora, I am Aria.",
        "Is <think> a tag?",
        "It is.",
        "A hidden word.",
        "Otherwise.",
    ]
