"""Reads damaged exports: whatever is wrong with a file, the reader returns lines that a bank can store, or an error.

Run it for as many files as you like, from the folder of the project:

    PYTHONPATH=.:tests python -m transfer.services.fuzz 20000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from everthread.bank.line_validation import clean_line
from everthread.errors import BadInput, ConfigError
from everthread.transfer.files import PLACEHOLDER_TIME
from everthread.transfer.importing import check_file
from transfer.services import companion_examples
from transfer.services.messenger_exports import BUILDERS, Files, save_files

MESSAGES = range(1, 7)
EXPORTS: dict[str, Files] = {name: build(MESSAGES) for name, build in BUILDERS.items()} | {
    f"{service}, {name}": {name: content}
    for service, files in companion_examples.FILES.items()
    for name, content in files
}
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
    """Return a file of JSON or JSON Lines in which up to three values are wrong."""
    rows = content.split(b"\n") if b"\n" in content else [content]
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(rows))
        if rows[at]:
            rows[at] = json.dumps(damage_value(json.loads(rows[at]), chance)).encode()
    return b"\n".join(rows)


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (damage_bytes, damage_json, damage_json, damage_json)


def read_damaged(path: Path, chance: random.Random) -> str:
    """Write a damaged export to a path, read it, and return its service and the name of the error, if there was one."""
    service = chance.choice(list(EXPORTS))
    files = dict(EXPORTS[service])
    name = chance.choice(list(files))
    files[name] = chance.choice(DAMAGES)(files[name], chance)
    save_files(path, files)
    if chance.random() < 0.05:
        path.write_bytes(damage_bytes(path.read_bytes(), chance))
    try:
        source = check_file(path, service.partition(",")[0] if chance.random() < 0.5 else None)
    except (BadInput, ConfigError) as error:
        return f"{service}: {type(error).__name__}"
    for line in source.read():
        clean_line(line, PLACEHOLDER_TIME)
        assert line.key
        assert line.session
        assert line.text.strip()
    return f"{service}: read"


def read_many(count: int, seed: int, folder: Path) -> Counter[str]:
    """Read damaged exports, and return how often each outcome occurred; a crash names its number."""
    outcomes = Counter[str]()
    for number in range(count):
        try:
            outcomes[read_damaged(folder / "export.zip", random.Random(f"{seed}.{number}"))] += 1
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
