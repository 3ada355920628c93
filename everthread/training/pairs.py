"""Pairs of a question and the text that answers it: read from a file, and split into a training and a held-out part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from everthread.transfer.files import (
    file_error,
    parse_json,
    read_numbered_lines,
    require_object,
    require_text,
    shorten,
)

HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, a text that answers it, and texts that don't."""

    query: str
    text: str
    negatives: tuple[str, ...] = ()


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs from JSON Lines: {"query": …, "text": …}, with or without "negatives": […]. Skips blank lines.

    Raises:
        BadFile: the file can't be read, or a line is no pair.
    """
    return [_parse_pair(path, number, row) for number, row in read_numbered_lines(path) if row.strip()]


def _parse_pair(path: Path, number: int, row: str) -> Pair:
    place = f"line {number}"
    record = require_object(parse_json(row, path, number), path, place)
    query, text = (require_text(record, name, path, place).strip() for name in ("query", "text"))
    negatives = record.get("negatives", [])
    if not isinstance(negatives, list) or not all(isinstance(each, str) and each.strip() for each in negatives):
        remedy = 'write a list of texts that do not answer the query, such as ["Good morning!"]'
        raise file_error(path, place, f"invalid negatives {shorten(negatives)}", remedy)
    if not query or not text:
        raise file_error(path, place, "an empty query or text", "write both, or remove the line")
    return Pair(query, text, tuple(negatives))


def remove_duplicates(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs in order, each question with each text once."""
    return list({(pair.query, pair.text): pair for pair in pairs}.values())


def split_pairs(pairs: Sequence[Pair], held_out_share: float = HELD_OUT_SHARE) -> tuple[list[Pair], list[Pair]]:
    """Split pairs into those to train on and those held out.

    A pair's text decides by its digest, so that no text is in both parts, and that a pair stays in its part when other
    pairs are added.
    """
    parts: tuple[list[Pair], list[Pair]] = ([], [])
    for pair in pairs:
        parts[_is_held_out(pair.text, held_out_share)].append(pair)
    return parts


def _is_held_out(text: str, share: float) -> bool:
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) < share * 2**64
