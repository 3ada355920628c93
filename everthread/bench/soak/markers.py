"""Markers: made-up words, each in one line only, by which a line is found in any text or file. Pure.

A marker has no vowels, so that no stemmer shortens it, and only letters, so that it can be a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Literal

LETTERS = "bcdfghjkmnprtwx"  # without those of the prefixes, so that no marker begins inside another
LENGTH = 10  # letters after the prefix; of a million markers, no two are expected to be equal
PREFIXES = {"person": "zq", "model": "zv"}
READ_BYTES = 1 << 24

_PATTERN = re.compile(rf"(?i)z[qv][{LETTERS}]{{{LENGTH}}}")
_BYTES_PATTERN = re.compile(_PATTERN.pattern.encode())

Author = Literal["person", "model"]


def make_marker(rng: Random, author: Author) -> str:
    """Return a new marker of a line by a person or by the model."""
    return PREFIXES[author] + "".join(rng.choices(LETTERS, k=LENGTH))


def find_markers(text: str) -> list[str]:
    """Return the markers in a text, in lower case and in order."""
    return [match[0].lower() for match in _PATTERN.finditer(text)]


def is_of_model(marker: str) -> bool:
    """Return whether the model made the marker."""
    return marker.startswith(PREFIXES["model"])


def find_in_files(folders: Iterable[Path]) -> dict[str, set[Path]]:
    """Return the files below the folders in whose bytes each marker is."""
    found: dict[str, set[Path]] = {}
    for folder in folders:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            for marker in _scan(path):
                found.setdefault(marker, set()).add(path)
    return found


def _scan(path: Path) -> Iterator[str]:
    """Yield the markers in the bytes of a file."""
    rest = b""
    with path.open("rb") as file:
        while part := file.read(READ_BYTES):
            part = rest + part
            yield from (match[0].decode().lower() for match in _BYTES_PATTERN.finditer(part))
            rest = part[-LENGTH - 1 :]  # shorter than a marker, so that none is found twice
