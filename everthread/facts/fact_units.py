"""Statements as units of kind `fact`, which banks store.

Units of that kind without an attribute are sentences that a language model or another memory wrote.
"""

from __future__ import annotations

from everthread.common.keys import META_UNDATED
from everthread.facts.partial_dates import is_moment
from everthread.facts.sentences import describe_statement
from everthread.facts.types import WRITERS, Statement, Writer
from everthread.types import JSONValue, NewUnit, Unit

FACT = "fact"  # the kind of the units


def build_unit(statement: Statement, language: str) -> NewUnit:
    """Build the unit of a statement, with a sentence in a language as its text.

    A statement that has an id takes the place of the one with this id.
    """
    seqs = statement.seqs or (0,)
    fields: dict[str, JSONValue] = {
        "subject": statement.subject or None,
        "attribute": statement.attribute or None,
        "value": statement.value,
        "ends": statement.ends or None,
        "moment": statement.moment,
        "event": statement.is_event or None,
        "writer": statement.writer,
        "confidence": None if statement.confidence == 1 else statement.confidence,
        "lines": list(statement.seqs),
        "of": statement.id or None,
        "position": None if statement.position == seqs[-1] else statement.position,
        META_UNDATED: statement.is_undated or None,
    }
    return NewUnit(
        kind=FACT,
        text=describe_statement(statement, language),
        first_seq=seqs[0],
        last_seq=seqs[-1],
        said_at=statement.said_at,
        metadata={name: value for name, value in fields.items() if value is not None},
        sources=statement.seqs,
    )


def parse_unit(unit: Unit) -> Statement:
    """Return what a unit states. One without an attribute states its sentence."""
    data = unit.metadata
    attribute, value, moment = (data.get(name) for name in ("attribute", "value", "moment"))
    position, first_id = data.get("position"), data.get("of")
    is_sentence = not attribute
    return Statement(
        subject="" if is_sentence else str(data.get("subject", "")),
        attribute=str(attribute or ""),
        value=value if isinstance(value, str) else unit.text,
        seqs=_parse_seqs(unit),
        said_at=unit.said_at,
        ends=data.get("ends") is True,
        moment=moment if isinstance(moment, str) and is_moment(moment) else None,
        is_event=data.get("event") is True,
        writer=_parse_writer(data.get("writer")),
        confidence=_parse_confidence(data.get("confidence")),
        is_undated=unit.is_undated,
        position=position if type(position) is int else unit.last_seq,
        id=first_id if type(first_id) is int else unit.id,
    )


def _parse_seqs(unit: Unit) -> tuple[int, ...]:
    lines = unit.metadata.get("lines")
    if isinstance(lines, list) and all(type(seq) is int and unit.first_seq <= seq <= unit.last_seq for seq in lines):
        return tuple(lines)
    return tuple(sorted({unit.first_seq, unit.last_seq} - {0}))


def _parse_writer(value: JSONValue) -> Writer:
    return next((writer for writer in WRITERS if writer == value), "model")


def _parse_confidence(value: JSONValue) -> float:
    return float(value) if isinstance(value, int | float) else 1.0
