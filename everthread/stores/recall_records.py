"""The record of what was recalled for a reply, and its update when lines or units are removed.

It is part of the reply's metadata and contains no text: numbers of lines, ids of units, and measurements.

    {"memories": 2, "relevance": 0.9, "tokens": 120, "forgotten": 1, "kept": [3], "others": {"bank": 2},
     "shared": {"bank": [[5, 1714983600000000], [6, …]]}, "prompt": {"sizes": [["instructions", 210], …], …}, "hits": [
        {"seq": 12, "passage": [11, 12, 13], "score": 2.1, "relevance": 0.7, "signals": {"cosine": 0.6}},
        {"kind": "summary", "id": 4, "written": 1714983600000000, "span": [1, 9], "score": …}]}

A chat without a model records it with the user's line. Then "kind" is what the answer says ("listed" if it is "known"
with lines instead of facts), and "answer" the number of
the quoted line, or null once that was forgotten. "more" is true if the answer has no room for some of the facts.

"memories" counts the passages as they were; hits whose passages overlap are one. "forgotten" counts the hits and kept
lines that were removed since. "shared" has the numbers of other banks' lines with their times, because a bank can be
created again, and "prompt" is written by `chat.prompt_record`. Metadata can be imported, so each value may be anything;
invalid parts are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

from everthread.common.keys import META_RECALLED
from everthread.stores.json_text import canonical_json
from everthread.stores.limits import MAX_SEQ
from everthread.types import JSONValue, Metadata

SURE_RELEVANCE = 0.3  # from here on a line that answers without a model is stated as a memory (docs/relevance.md)


def get_record(metadata: Metadata) -> Mapping[str, Any] | None:
    """Return the record in a line's metadata; None if it has none."""
    record = metadata.get(META_RECALLED)
    return record if isinstance(record, Mapping) else None


def list_hits(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the hits of a record."""
    yield from (hit for hit in _get_list(record, "hits") if isinstance(hit, Mapping))


def list_seqs(record: Mapping[str, Any], name: str) -> list[int]:
    """Return the line numbers that a record or a hit has under this name."""
    return [seq for seq in _get_list(record, name) if is_seq(seq)]


def list_shared(record: Mapping[str, Any]) -> dict[str, dict[int, int]]:
    """Return the lines of other banks: by bank and number, the microsecond at which each was said."""
    given = record.get("shared")
    shared = given if isinstance(given, Mapping) else {}
    return {
        bank: {seq: at for seq, at in _get_pairs(shared, bank) if is_seq(seq) and type(at) is int} for bank in shared
    }


def is_seq(value: object) -> TypeGuard[int]:
    """Return whether a value can be the number of a line or the id of a unit."""
    return type(value) is int and 0 < value <= MAX_SEQ


def has_answer(metadata: Metadata) -> bool:
    """Return whether a line answered a user's line without a model; it may have been forgotten since."""
    return "answer" in (get_record(metadata) or {})


def get_answer(metadata: Metadata) -> int | None:
    """Return the number of the line that answered a user's line without a model; None without one."""
    seq = (get_record(metadata) or {}).get("answer")
    return seq if is_seq(seq) else None


def is_answer_sure(metadata: Metadata) -> bool:
    """Return whether the line that answered a user's line without a model is relevant enough to be stated."""
    record, seq = get_record(metadata) or {}, get_answer(metadata)
    holding = (hit for hit in list_hits(record) if hit.get("seq") == seq or seq in list_seqs(hit, "passage"))
    return is_memory_sure(hit.get("relevance") for hit in holding)


def is_memory_sure(relevances: Iterable[object]) -> bool:
    """Return whether a memory may be stated without a doubt, by the relevance of each hit that holds it."""
    return any(isinstance(value, int | float) and value >= SURE_RELEVANCE for value in relevances)


def count_memories(metadata: Metadata) -> int | None:
    """Return how many memories a reply was given; None if that was not recorded."""
    if (record := get_record(metadata)) is None:
        return None
    count = record.get("memories")
    return count if type(count) is int and count >= 0 else len(list(list_hits(record)))


def get_prompt(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a record that describes the whole prompt; empty if that is not recorded."""
    prompt = record.get("prompt")
    return prompt if isinstance(prompt, Mapping) else {}


def get_prompt_sizes(record: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens of each part of the prompt, in its order; empty if they are not recorded."""
    pairs = _get_pairs(get_prompt(record), "sizes")
    return {name: size for name, size in pairs if isinstance(name, str) and type(size) is int and size >= 0}


def add_record(metadata: str, record: JSONValue) -> str:
    """Return a line's metadata (JSON) with the record of what was recalled for it."""
    return canonical_json({**json.loads(metadata), META_RECALLED: record})


def remove_lines(metadata: str, seqs: Collection[int]) -> str | None:
    """Remove lines, and the units that derive from them, from the record in a line's metadata (JSON).

    Returns:
        The new metadata; None if nothing has to be removed.
    """

    def is_removed(hit: Mapping[str, Any]) -> bool:
        seq, span = hit.get("seq"), list_seqs(hit, "span")
        return (is_seq(seq) and seq in seqs) or (len(span) == 2 and any(span[0] <= each <= span[1] for each in seqs))

    return _remove(metadata, is_removed, seqs)


def remove_units(metadata: str, kind: str, ids: Collection[int]) -> str | None:
    """Remove units from the record, as `remove_lines` does."""

    def is_removed(hit: Mapping[str, Any]) -> bool:
        return hit.get("kind") == kind and is_seq(number := hit.get("id")) and number in ids

    return _remove(metadata, is_removed, ())


def _remove(metadata: str, is_removed: Callable[[Mapping[str, Any]], bool], seqs: Collection[int]) -> str | None:
    values = json.loads(metadata)
    if not isinstance(values, dict) or (record := get_record(values)) is None:
        return None
    hits, kept = list(list_hits(record)), list_seqs(record, "kept")
    left = [_without_neighbours(hit, seqs) for hit in hits if not is_removed(hit)]
    still_kept = [seq for seq in kept if seq not in seqs]
    is_answer_removed = get_answer(values) in seqs
    if left == hits and still_kept == kept and not is_answer_removed:
        return None
    before = record.get("forgotten")
    forgotten = (before if type(before) is int else 0) + len(hits) - len(left) + len(kept) - len(still_kept)
    changed = {**record, "hits": left, "kept": still_kept, "forgotten": forgotten}
    if is_answer_removed:
        changed["answer"] = None
    return canonical_json({**values, META_RECALLED: {name: value for name, value in changed.items() if value != []}})


def _without_neighbours(hit: Mapping[str, Any], seqs: Collection[int]) -> Mapping[str, Any]:
    passage = list_seqs(hit, "passage")
    return {**hit, "passage": [seq for seq in passage if seq not in seqs]} if not set(passage).isdisjoint(seqs) else hit


def _get_pairs(record: Mapping[str, Any], name: str) -> list[list[Any]]:
    return [pair for pair in _get_list(record, name) if isinstance(pair, list) and len(pair) == 2]


def _get_list(record: Mapping[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    return value if isinstance(value, list) else []
