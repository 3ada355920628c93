"""Records which memories a reply was given, and reads them back as they were.

The record is in the reply's metadata (`stores.recall_records`), so it is stored in one transaction with the reply. It
has numbers instead of texts: the texts are read from the lines, of which none is ever overwritten.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from everthread.bank.line_versions import find_versions, get_recorded, read_recorded
from everthread.bank.settings import recall_from
from everthread.common.keys import META_CORRECTS, META_RECALLED
from everthread.common.timestamps import to_micros
from everthread.errors import BankDamaged, BankTooNew, NotFound
from everthread.stores import recall_records
from everthread.stores.base import Store
from everthread.types import Context, Evidence, FoundUnit, Hit, JSONValue, Line, Unit

DECIMALS = 4  # of a measurement; the page shows three


def build_metadata(
    context: Context,
    answer: Line | FoundUnit | None = None,
    prompt: JSONValue = None,
    kind: str | None = None,
    *,
    has_more: bool = False,
) -> dict[str, JSONValue]:
    """Build the metadata of a reply that was given this context.

    Args:
        context: the context.
        answer: the line that answers without a model; the metadata are then those of the user's line.
        prompt: the record of the whole prompt (`chat.prompt_record`).
        kind: what the answer says (`chat.offline_answer`).
        has_more: whether the answer has no room for some of the facts.
    """
    shown = {line.seq for hit in context.hits for line in hit.passage}
    optional: dict[str, JSONValue] = {
        "hits": [_record_hit(hit) for hit in context.hits if hit.seq > 0],
        "kept": [line.seq for line in context.lines if line.seq > 0 and line.seq not in shown],
        "answer": answer.seq if isinstance(answer, Line) and _is_own(context, answer) else None,
        "kind": kind,
        "more": has_more,
        "others": {other.bank: len(other.hits) for other in context.others if other.hits},
        "shared": {other.bank: _record_lines(other.lines) for other in context.others if other.lines},
        "prompt": prompt,
    }
    measured: dict[str, JSONValue] = {
        "memories": sum(count_passages(each.hits) for each in (context, *context.others)),
        "relevance": round(context.relevance, DECIMALS),
        "tokens": context.tokens,
    }
    return {META_RECALLED: {**measured, **{name: value for name, value in optional.items() if value}}}


def _record_lines(lines: Iterable[Line]) -> list[JSONValue]:
    """Return the numbers and times of another bank's lines. That bank can be forgotten, and created again."""
    return [[line.seq, to_micros(line.said_at)] for line in lines]


def count_passages(hits: Iterable[Hit]) -> int:
    """Count the passages of hits, of which those that share a line are one."""
    passages: list[set[Hashable]] = []
    for hit in hits:
        lines: set[Hashable] = {line.seq for line in hit.passage} or {(hit.kind, hit.seq)}
        if (known := next((passage for passage in passages if passage & lines), None)) is not None:
            known |= lines
        else:
            passages.append(lines)
    return len(passages)


def _is_own(context: Context, line: Line) -> bool:
    """Return whether a line, or an excerpt of one, is in a hit of the context's own bank.

    A line of another bank may have the same number.
    """
    return any(line == hit.source or line in hit.passage for hit in context.hits)


def _record_hit(hit: Hit) -> dict[str, JSONValue]:
    measured: dict[str, JSONValue] = {
        "score": round(float(hit.score), DECIMALS),
        "relevance": round(float(hit.relevance), DECIMALS),
        "signals": {name: round(float(value), DECIMALS) for name, value in hit.signals.items()},
        "passage": [line.seq for line in hit.passage],
    }
    if isinstance(hit.source, Line):
        return {"seq": hit.seq, **measured}
    unit = hit.unit
    span: JSONValue = [unit.first_seq, unit.last_seq]
    return {"kind": unit.kind, "id": unit.id, "written": to_micros(unit.valid_from), "span": span, **measured}


def read_evidence(store: Store, bank: str, seq: int) -> Evidence:
    """Return the memories that a reply was given, with the corrections of lines that were corrected since.

    Args:
        store: the store of the bank.
        bank: its id.
        seq: the number of the reply, current or retracted.

    Raises:
        NotFound: there is no such line, or nothing is recorded for it.
    """
    line = get_recorded(store, bank, seq)
    record = None if line is None else recall_records.get_record(line.metadata)
    if record is None:
        what = f"bank {bank!r} has no line {seq}" if line is None else f"no memories are recorded for line {seq}"
        raise NotFound(f"{what}; expected the number of a reply by this version of Everthread")
    return _Reader(store, bank, record).read(seq)


class _Reader:
    """Reads the lines and units of one record."""

    def __init__(self, store: Store, bank: str, record: Mapping[str, Any]) -> None:
        self._store, self._bank, self._record = store, bank, record
        named = set(recall_records.list_seqs(record, "kept"))
        for hit in recall_records.list_hits(record):
            named.update(recall_records.list_seqs(hit, "passage"), recall_records.list_seqs(hit, "span")[-1:])
            named.update(seq for seq in (hit.get("seq"),) if recall_records.is_seq(seq))
        self._lines = {line.seq: line for line in read_recorded(store, bank, named)}

    def read(self, seq: int) -> Evidence:
        record = self._record
        hits = tuple(filter(None, map(self._read_hit, recall_records.list_hits(record))))
        kept = self._select(recall_records.list_seqs(record, "kept"))
        given = record.get("others")
        others = given.items() if isinstance(given, Mapping) else ()
        counts = {str(name): count for name, count in others if type(count) is int and count > 0}
        shown = chain(kept, *(hit.passage for hit in hits), (hit.line for hit in hits if isinstance(hit.source, Line)))
        return Evidence(
            seq=seq,
            relevance=_read_number(record.get("relevance")),
            tokens=int(_read_number(record.get("tokens"))),
            hits=hits,
            kept=kept,
            corrections=self._find_corrections({line.seq for line in shown if line.retracted_at is not None}),
            forgotten=max(0, int(_read_number(record.get("forgotten")))),
            others=counts,
            shared=self._read_shared(counts),
            prompt=recall_records.get_prompt_sizes(record),
        )

    def _read_shared(self, banks: Iterable[str]) -> dict[str, tuple[Line, ...]]:
        """Read the lines of the other banks that are still shared with this one, except banks that can't be read."""
        allowed = set(recall_from(self._store.settings(self._bank))).intersection(banks)
        recorded = recall_records.list_shared(self._record)
        shared: dict[str, tuple[Line, ...]] = {}
        for bank in sorted(allowed.intersection(recorded)):
            if self._store.exists(bank):
                with suppress(BankDamaged, BankTooNew):
                    lines = read_recorded(self._store, bank, recorded[bank])
                    shared[bank] = tuple(line for line in lines if to_micros(line.said_at) == recorded[bank][line.seq])
        return shared

    def _select(self, seqs: Collection[int]) -> tuple[Line, ...]:
        return tuple(self._lines[seq] for seq in seqs if seq in self._lines)

    def _read_hit(self, hit: Mapping[str, Any]) -> Hit | None:
        """Return a hit of the record; None if it was forgotten."""
        source = self._lines.get(hit["seq"]) if recall_records.is_seq(hit.get("seq")) else self._read_unit(hit)
        if source is None:
            return None
        given = hit.get("signals")
        signals = (
            {str(name): _read_number(value) for name, value in given.items()} if isinstance(given, Mapping) else {}
        )
        passage = self._select(recall_records.list_seqs(hit, "passage"))
        return Hit(source, _read_number(hit.get("score")), _read_number(hit.get("relevance")), signals, passage)

    def _read_unit(self, hit: Mapping[str, Any]) -> FoundUnit | None:
        """Return the unit of a hit. Another unit may have its id by now, but it was written at another time."""
        kind, number = hit.get("kind"), hit.get("id")
        if not isinstance(kind, str) or not recall_records.is_seq(number):
            return None
        units = self._store.units(self._bank, (kind,), ids=[number], include_retracted=True)
        unit = next((unit for unit in units if to_micros(unit.valid_from) == hit.get("written")), None)
        return None if unit is None else FoundUnit(unit, self._session_of(unit), unit.kind)

    def _session_of(self, unit: Unit) -> str:
        last = self._lines.get(unit.last_seq)
        return "" if last is None else last.session

    def _find_corrections(self, seqs: Collection[int]) -> dict[int, Line]:
        """Find the current versions of retracted lines, by the numbers of those that were corrected."""
        corrections: dict[int, Line] = {}
        for seq in sorted(seqs):
            versions = self._store.get(self._bank, find_versions(self._store, self._bank, [seq]))
            if current := [line for line in versions if META_CORRECTS in line.metadata]:
                corrections[seq] = current[-1]
        return corrections


def _read_number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > sys.float_info.max:
        return 0.0  # JSON's integers have no limit
    return float(value)
