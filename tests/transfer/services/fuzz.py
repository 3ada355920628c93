"""Reads damaged exports: whatever is wrong with a file, the reader returns lines that a bank can store, or an error.

Run it for as many files as you like, from the folder of the project:

    PYTHONPATH=.:tests python -m transfer.services.fuzz 20000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from everthread.bank.line_validation import clean_line
from everthread.errors import BadInput, ConfigError
from everthread.memory import Memory
from everthread.testing import HashEmbedder
from everthread.transfer.files import PLACEHOLDER_TIME
from everthread.transfer.importing import CheckedFile, check_compatible, check_file, import_lines
from transfer.services.chat_exports import CHAT_EXPORTS
from transfer.services.chatgpt_export import conversation, node, root
from transfer.services.companion_examples import FILES, LINE_CHAT, plain, rows
from transfer.services.messenger_exports import BUILDERS, Files, save_files

MESSAGES = range(1, 7)
IMPORTED = 0.02  # of the exports that can be read, imported twice
CHATGPT = [root(), node("a", "root"), node("b", "a", "assistant"), node("c", "a", "assistant"), node("d", "c")]
CLAUDE = {
    "uuid": "1",
    "name": "Ferns",
    "chat_messages": [
        {"uuid": "2", "sender": "human", "text": "Hi", "content": [{"type": "text", "text": "Hi"}]},
        {"uuid": "3", "sender": "assistant", "text": "Yes.", "created_at": "2024-05-01T12:00:00Z", "attachments": []},
    ],
}
WHATSAPP = "[05/06/24, 18:05:22] Ann: Hi\n\u200e[05/06/24, 18:06:01] Bob: \u200eimage omitted\nMore.\n".encode()
MESSAGE = {"role": "user", "content": "Hi", "name": "Ann", "metadata": {"a": [1]}}
LINE = {"text": "Hi", "speaker": "Ann", "said_at": "2024-05-01T12:00:00Z", "session": "s", "seq": 1, "key": "k"}
EXPORTS: Mapping[str, Files] = {
    **{service: build(MESSAGES) for service, build in BUILDERS.items()},
    **{f"{service}, {name}": {name: content} for service, files in FILES.items() for name, content in files},
    "chatgpt": {
        "conversations-000.json": plain([conversation("ferns", CHATGPT, "d"), conversation("empty", [], None)])
    },
    "claude": {"conversations.json": plain([CLAUDE])},
    "whatsapp": {"_chat.txt": WHATSAPP},
    "line": {"[LINE] Chat with Ann.txt": LINE_CHAT},
    **CHAT_EXPORTS,
    "jsonl": {"talk.jsonl": rows(LINE, {**LINE, "seq": 2, "parent": 1, "key": "l", "retracted_at": LINE["said_at"]})},
    "messages": {
        "talk.json": plain({"messages": [MESSAGE, {**MESSAGE, "content": [{"type": "text", "text": "Yes"}]}]})
    },
    "transcript": {"talk.txt": b"[2024-05-01 12:00] Ann: Hi\nBob: Yes\n\n2 May 2024\nAnn: More\n"},
}
OTHER_FORMATS = ("jsonl", "messages", "transcript")  # which are not read from archives
WORDS = ["", " ", "Ann", "\0", "\ud800", "é", "Ã©", "\u200e", "<@U1|", "> a\n\n", "-1", "1e999", "9" * 400, "x" * 300]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e300,
    10**30,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"text": []},
    *WORDS,
]


def damage_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return a file in which a few bytes were cut out, inserted, repeated or changed."""
    start, length = chance.randrange(len(content) + 1), chance.choice((1, 2, 8, 64, 1000))
    middle = content[start : start + length]
    noise = chance.choice((b"", middle * 2, bytes(chance.randrange(256) for _ in middle), b'\0\xff{["', b"\n"))
    return content[:start] + noise + content[start + length :] if chance.random() < 0.9 else content[:start]


def damage_value(value: Any, chance: random.Random) -> Any:
    """Return JSON in which one value somewhere is another, missing, or repeated."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        return _damage_member(value, chance)
    if isinstance(value, list) and value and chance.random() < 0.9:
        copy, at = list(value), chance.randrange(len(value))
        copy[at : at + 1] = chance.choice(([], [copy[at]] * 2, [damage_value(copy[at], chance)]))
        return copy
    return chance.choice(VALUES)


def _damage_member(record: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    copy, name = dict(record), chance.choice(list(record))
    act = chance.random()
    if act < 0.1:
        del copy[name]
    elif act < 0.15:
        copy[chance.choice(list(record))] = copy[name]
    else:
        copy[name] = damage_value(copy[name], chance)
    return copy


def damage_json(content: bytes, chance: random.Random) -> bytes:
    """Return a file of JSON or JSON Lines in which up to three values are wrong; of text, one with other bytes."""
    texts = content.split(b"\n") if b"\n" in content else [content]
    if content[:1] not in (b"[", b"{") or content in (WHATSAPP, EXPORTS["transcript"]["talk.txt"]):
        return damage_bytes(content, chance)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(texts))
        if texts[at]:
            texts[at] = json.dumps(damage_value(json.loads(texts[at]), chance)).encode()
    return b"\n".join(texts)


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (damage_bytes, damage_json, damage_json, damage_json)


def save_damaged(folder: Path, service: str, chance: random.Random) -> Path:
    """Write a damaged export into a folder, as an archive or as files, and return its path."""
    files: Files = dict(EXPORTS[service])
    name = chance.choice(list(files))
    files[name] = chance.choice(DAMAGES)(files[name], chance)
    if service not in OTHER_FORMATS and chance.random() < 0.5:
        path = save_files(folder / "export.zip", files)
        if chance.random() < 0.1:
            path.write_bytes(damage_bytes(path.read_bytes(), chance))
        return path
    shutil.rmtree(folder / "export", ignore_errors=True)
    for name, content in files.items():
        path = folder / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path if len(files) == 1 else folder / "export"


def read_damaged(folder: Path, chance: random.Random) -> str:
    """Read a damaged export, and return its service and the name of the error, if there was one."""
    service = chance.choice(list(EXPORTS))
    path = save_damaged(folder, service, chance)
    try:
        source = check_file(path, service.partition(",")[0] if chance.random() < 0.5 else None)
    except (BadInput, ConfigError) as error:
        return f"{service}: {type(error).__name__}"
    for line in source.read():
        clean_line(line, PLACEHOLDER_TIME)
        assert line.text.strip() or line.metadata
    if chance.random() < IMPORTED:
        import_twice(folder, source)
    return f"{service}: read"


def import_twice(folder: Path, source: CheckedFile) -> None:
    """Import an export twice into an empty bank; the second time must add nothing."""
    shutil.rmtree(folder / "store", ignore_errors=True)
    with Memory.open("nora", store=folder / "store", embedder=HashEmbedder(8)) as memory:
        added = []
        for _ in range(2):
            check_compatible(memory, source)
            added.append(import_lines(memory, source)["added"])
    assert added[1] == 0


def read_many(count: int, seed: int, folder: Path) -> Counter[str]:
    """Read damaged exports, and return how often each outcome occurred; a crash names its number."""
    outcomes = Counter[str]()
    for number in range(count):
        try:
            outcomes[read_damaged(folder, random.Random(f"{seed}.{number}"))] += 1
        except Exception as error:
            error.add_note(f"file {number} of seed {seed}")
            raise
    return outcomes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=20_000, help="damaged files to read")
    parser.add_argument("--seed", type=int, default=1, help="another seed damages other places")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for outcome, times in sorted(read_many(options.count, options.seed, Path(temporary)).items()):
            print(f"{times:7,}  {outcome}")
