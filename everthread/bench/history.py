"""Measures the import of a history from another service: a synthetic export of ChatGPT or Telegram, imported twice.

One reply of ChatGPT in eight was regenerated. The import stores no vectors: a model takes far longer, and lines are
found by their words until it is done. Each import runs in a process of its own, whose memory is measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from everthread.bench import synthetic
from everthread.memory import Memory
from everthread.transfer.importing import check_file, import_lines
from everthread.types import NewLine

CONVERSATIONS_PER_FILE = 100  # as ChatGPT divides them
REGENERATED = 8  # one reply in so few was regenerated
BANK = "bench"

_CHILD = "import sys; from everthread.bench.history import import_once; import_once(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class ImportRun:
    """An import: the lines that it read and added, the seconds of its parts, and the most memory that it used."""

    lines: int
    added: int
    check_s: float
    store_s: float
    recall_s: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """The size of the export, unpacked, and the first and the second import of it."""

    conversations: int
    megabytes: float
    first: ImportRun
    again: ImportRun


def measure_import(service: str, conversations: int, messages: int, progress: Callable[[str], None]) -> HistoryResult:
    """Write an export, and import it twice into the same bank.

    Args:
        service: one of `SERVICES`.
        conversations: the number of conversations.
        messages: the number of messages of all of them.
        progress: called with a description of each step.
    """
    with tempfile.TemporaryDirectory(prefix="everthread-bench-") as folder:
        path = Path(folder, "export.zip")
        progress(f"writing {conversations:,} conversations")
        size = SERVICES[service](path, conversations, messages // conversations)
        runs: list[ImportRun] = []
        for name in ("first", "second"):
            progress(f"{name} import")
            command = [sys.executable, "-c", _CHILD, str(path), folder]
            runs.append(ImportRun(**json.loads(subprocess.run(command, check=True, capture_output=True).stdout)))
    return HistoryResult(conversations, size / 1e6, *runs)


def write_export(path: Path, conversations: int, messages: int) -> int:
    """Write a zip archive as ChatGPT does, and return its size unpacked, in bytes.

    Args:
        path: the archive.
        conversations: the number of conversations.
        messages: the number of messages of each.
    """
    size = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for first in range(0, conversations, CONVERSATIONS_PER_FILE):
            numbers = range(first, min(first + CONVERSATIONS_PER_FILE, conversations))
            text = json.dumps([_build_conversation(number, messages) for number in numbers])
            archive.writestr(f"conversations-{first // CONVERSATIONS_PER_FILE:03}.json", text)
            size += len(text)
    return size


def write_telegram_export(path: Path, conversations: int, messages: int) -> int:
    """Write the chats of an account as Telegram does; see `write_export`."""
    size = 0
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("result.json", "w", force_zip64=True) as file,
    ):
        for text in _format_account(conversations, messages):
            size += file.write(text.encode())
    return size


def _format_account(conversations: int, messages: int) -> Iterator[str]:
    """Yield the JSON of an account in parts."""
    yield '{"about": "", "chats": {"list": ['
    for number in range(conversations):
        chat = {"name": f"Chat {number}", "type": "private_group", "id": number + 1}
        yield f'{"," if number else ""}{json.dumps(chat)[:-1]}, "messages": ['
        for index, line in enumerate(_build_lines(number, messages)):
            yield f"{',' if index else ''}{json.dumps(_build_message(index, line))}"
        yield "]}"
    yield "]}}"


SERVICES = {"chatgpt": write_export, "telegram": write_telegram_export}


def import_once(path: str, folder: str) -> None:
    """Import an export into the bank of a folder, and print the `ImportRun` as JSON."""
    import resource

    begin = perf_counter()
    source = check_file(Path(path))
    checked = perf_counter()
    with Memory.open(BANK, store=folder, embedder="hash") as memory:
        result = import_lines(memory, source, embed=False)
        stored = perf_counter()
        memory.search("the")
        found = perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = {"check_s": checked - begin, "store_s": stored - checked, "recall_s": found - stored}
    print(json.dumps({"lines": result["read"], "added": result["added"], **times, "peak_mib": peak}))


def _build_lines(number: int, messages: int) -> Iterator[NewLine]:
    """Yield the lines of a conversation."""
    sessions = -(-messages // synthetic.SESSION_LINES)
    return islice((line for part in range(sessions) for line in synthetic.session(number * sessions + part)), messages)


def _build_message(index: int, line: NewLine) -> dict[str, Any]:
    """Build a message with the fields that Telegram writes."""
    seconds = str(int(line.said_at.timestamp())) if line.said_at else "0"
    sender = {"from": line.speaker, "from_id": f"user{line.role}"}
    words = {"text": line.text, "text_entities": [{"type": "plain", "text": line.text}]}
    return {"id": index, "type": "message", "date_unixtime": seconds, **sender, **words}


def _build_conversation(number: int, messages: int) -> dict[str, Any]:
    """Build a conversation in which the person and ChatGPT take turns."""
    lines = list(_build_lines(number, messages))
    nodes: dict[str, dict[str, Any]] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    shown = "root"
    for index, line in enumerate(lines):
        name = f"{number:08x}-0000-4000-8000-{index:012x}"
        nodes[name] = _build_node(name, shown, line, index % 2 == 0)
        if index % REGENERATED != 1:  # the next message follows this one; otherwise it is another reply
            shown = name
    first = lines[0].said_at
    return {
        "title": f"Talk {number}",
        "create_time": first.timestamp() if first else None,
        "mapping": nodes,
        "current_node": shown,
        "conversation_id": f"{number:08x}-1111-4111-8111-111111111111",
    }


def _build_node(name: str, parent: str, line: NewLine, is_person: bool) -> dict[str, Any]:
    """Build a node with the fields that ChatGPT writes."""
    message: dict[str, Any] = {
        "id": name,
        "author": {"role": "user" if is_person else "assistant", "name": None, "metadata": {}},
        "create_time": line.said_at.timestamp() if line.said_at else None,
        "update_time": None,
        "content": {"content_type": "text", "parts": [line.text]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {} if is_person else {"model_slug": "gpt-4o", "citations": [], "finish_details": {"type": "stop"}},
        "recipient": "all",
        "channel": None,
    }
    return {"id": name, "message": message, "parent": parent, "children": []}


def table(result: HistoryResult) -> str:
    """Format the figures as a table in Markdown."""
    rows = [
        f"{result.conversations:,} conversations, {result.megabytes:,.0f} MB unpacked",
        "",
        "| import | lines | new | check | store | peak memory |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, run in (("first", result.first), ("again", result.again)):
        times = f"{run.check_s:.1f} s | {run.store_s:.1f} s"
        rows.append(f"| {name} | {run.lines:,} | {run.added:,} | {times} | {run.peak_mib:,.0f} MiB |")
    return "\n".join(rows)
