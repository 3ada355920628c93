"""Rewrites the evidence of replies (`stores.recall_records`) for another bank, where their lines have other numbers.

In a file, lines are identified by their keys, so a record that was read has keys in place of numbers, until its lines
are stored. Lines that are not in the file count as forgotten, and so do units, which are never in it.
The lines of other banks are left out, because the name of a bank may mean another one elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

from everthread.common.keys import META_RECALLED
from everthread.stores import recall_records
from everthread.stores.arrays import to_ranges
from everthread.types import JSONValue, Metadata

MAX_WINDOW_LINES = 10_000  # of a prompt; a file may name any number, of which the first are read


def to_keys(metadata: Metadata, keys: Mapping[int, str]) -> Metadata:
    """Return the metadata of a line of a file, with the keys of the file's lines in the evidence.

    Args:
        metadata: the metadata.
        keys: the key of each line so far, by the file's number.
    """
    if META_RECALLED not in metadata:
        return metadata
    rest = {name: value for name, value in metadata.items() if name != META_RECALLED}
    if (record := recall_records.get_record(metadata)) is None:
        return rest
    prompt = recall_records.get_prompt(record)
    spans = (span for span in _as_list(prompt.get("window")) if _is_span(span))
    seqs = chain.from_iterable(range(first, last + 1) for first, last in spans)
    window = list(dict.fromkeys(islice(seqs, MAX_WINDOW_LINES)))
    return {**rest, META_RECALLED: _rename({**record, "prompt": {**prompt, "window": window}}, keys)}


def to_seqs(record: Mapping[str, Any], seqs: Mapping[str, int]) -> JSONValue:
    """Return a record of `to_keys` with the numbers of lines in place of their keys.

    Args:
        record: the record.
        seqs: the number of each stored line, by key.
    """
    renamed: dict[str, Any] = _rename(record, seqs)
    if "prompt" in renamed and (window := renamed["prompt"].get("window")):
        renamed["prompt"]["window"] = [[*span] for span in to_ranges(sorted(window))]
    return renamed


def list_keys(record: Mapping[str, Any]) -> set[str]:
    """Return the keys of all lines that a record of `to_keys` names."""
    hits, prompt = [*recall_records.list_hits(record)], recall_records.get_prompt(record)
    named = [
        record.get("answer"),
        *_as_list(record.get("kept")),
        *(hit.get("seq") for hit in hits),
        *chain.from_iterable(_as_list(hit.get("passage")) for hit in hits),
        *chain.from_iterable(_as_list(prompt.get(name)) for name in ("window", "pinned")),
    ]
    return {key for key in named if isinstance(key, str)}


def _rename(record: Mapping[str, Any], names: Mapping[Any, Any]) -> dict[str, Any]:
    """Replace the names of lines in a record; hits and kept lines without a new one count as forgotten."""
    hits, kept = [*recall_records.list_hits(record)], _as_list(record.get("kept"))
    left = [_rename_hit(hit, names) for hit in hits if _hashable(hit.get("seq")) in names]
    still_kept = _find(kept, names)
    before = record.get("forgotten")
    prompt = recall_records.get_prompt(record)
    parts: dict[str, Any] = {
        **_select(record, ("memories", "relevance", "tokens", "kind", "more", "others")),
        "hits": left,
        "kept": still_kept,
        "forgotten": (before if type(before) is int else 0) + len(hits) - len(left) + len(kept) - len(still_kept),
        "prompt": {
            **_select(prompt, ("sizes", "cut")),
            **{name: found for name in ("window", "pinned") if (found := _find(prompt.get(name), names))},
        },
    }
    renamed = {name: value for name, value in parts.items() if value not in ([], {}, 0)}
    if "answer" in record:
        renamed["answer"] = names.get(_hashable(record["answer"]))
    return renamed


def _rename_hit(hit: Mapping[str, Any], names: Mapping[Any, Any]) -> dict[str, Any]:
    measured = _select(hit, ("score", "relevance", "signals"))
    return {**measured, "seq": names[hit["seq"]], "passage": _find(hit.get("passage"), names)}


def _find(values: object, names: Mapping[Any, Any]) -> list[Any]:
    return [names[value] for value in map(_hashable, _as_list(values)) if value in names]


def _hashable(value: object) -> int | str | None:
    return value if type(value) in (int, str) else None  # type: ignore[return-value]


def _as_list(values: object) -> list[Any]:
    return values if isinstance(values, list) else []


def _select(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _is_span(span: object) -> bool:
    return isinstance(span, list) and len(span) == 2 and all(map(recall_records.is_seq, span))
