"""Converts JSON of the REST API to the dataclasses of `everthread.types`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from everthread.errors import BadInput, BadLine, BadQuery
from everthread.types import (
    Context,
    EndResult,
    Filter,
    FoundUnit,
    Hit,
    Line,
    NewLine,
    Receipt,
    Sampling,
    Session,
    Stats,
    Unit,
    Usage,
)

Json = Mapping[str, Any]


def parse_time(said: str | None) -> datetime | None:
    """Parse a time."""
    return None if said is None else datetime.fromisoformat(said)


def _at(said: str) -> datetime:
    return datetime.fromisoformat(said)


def line(told: Json) -> Line:
    """Decode a line."""
    return Line(**{**told, "said_at": _at(told["said_at"]), "retracted_at": parse_time(told["retracted_at"])})


def lines(told: list[Json]) -> tuple[Line, ...]:
    """Decode lines."""
    return tuple(map(line, told))


def hit(told: Json) -> Hit:
    """Decode a hit."""
    source = found_unit(told["unit"]) if "unit" in told else line(told["line"])
    score = told["score"], told["relevance"], told["signals"]
    return Hit(source, *score, lines(told["passage"]), told["bank"])


def found_unit(told: Json) -> FoundUnit:
    """Decode a unit that a query found."""
    own = {name: value for name, value in told.items() if name not in ("session", "speaker")}
    return FoundUnit(unit(own), told["session"], told["speaker"])


def context(told: Json) -> Context:
    """Decode a context; that of a reply doesn't list the hits that were cut."""
    found = {name: tuple(map(hit, told.get(name, ()))) for name in ("hits", "cut")}
    others = tuple(map(context, told.get("others", ())))
    sources: tuple[Line | FoundUnit, ...] = (*lines(told["lines"]), *map(found_unit, told["units"]))
    size, relevance = (told["text"], told["tokens"]), told["relevance"]
    return Context(*size, sources, found["hits"], found["cut"], relevance, told.get("bank", ""), others)


def session(told: Json) -> Session:
    """Decode a session, without the fields that only lists have."""
    began, last = _at(told["started_at"]), _at(told["last_at"])
    spans = told["first_seq"], told["last_seq"], told["lines"]
    return Session(told["id"], began, last, *spans, parse_time(told["ended_at"]))


def unit(told: Json) -> Unit:
    """Decode a unit; retracted ones are never sent."""
    times = {name: parse_time(told[name]) for name in ("said_at", "valid_from", "valid_to")}
    return Unit(**{**told, **times})


def stats(told: Json) -> Stats:
    """Decode the counts of a bank."""
    times = {name: parse_time(told[name]) for name in ("first_said_at", "last_said_at")}
    return Stats(**{**told, **times, "speakers": tuple(told["speakers"])})


def receipt(told: Json) -> Receipt:
    """Decode a receipt."""
    spans = tuple((first, last) for first, last in told["seqs"])
    return Receipt(told["bank"], told["scope"], spans, told["lines"], _at(told["forgotten_at"]))


def ending(told: Json) -> EndResult:
    """Decode the result of ending a conversation."""
    proof = receipt(told["receipt"]) if told["receipt"] else None
    return EndResult(told["session"], told["remembered"], told["question"], proof)


def usage(told: Json) -> Usage:
    """Decode counts of tokens."""
    return Usage(**told)


# --------------------------------------------------------------------- what is sent


def encode_line(new: object) -> dict[str, Any]:
    """Encode a line to store.

    Raises:
        BadLine: if it isn't a NewLine, or was retracted elsewhere.
    """
    if not isinstance(new, NewLine):
        raise BadLine(f"a line must be a NewLine, got {type(new).__name__}: {str(new)[:40]!r}")
    if new.retracted_at is not None:
        raise BadLine("a line that was retracted elsewhere can't be sent; keep it, then retract it")
    told = {"text": new.text, "speaker": new.speaker, "role": new.role, "metadata": dict(new.metadata)}
    named = {"said_at": encode_time(new.said_at, BadLine), "session": new.session, "parent": new.parent, "key": new.key}
    return {**told, **{name: value for name, value in named.items() if value is not None}}


def encode_time(at: datetime | None, error: type[BadInput] = BadQuery) -> str | None:
    """Encode a time.

    Args:
        at: a time with an offset, or None.
        error: what to raise.

    Raises:
        BadQuery: or `error`, for another value.
    """
    if at is None:
        return None
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise error(f"invalid time: got {at!r}, expected a datetime with an offset; try datetime.now(UTC)")
    return at.isoformat()


def encode_filter(given: Filter | None) -> dict[str, Any] | None:
    """Encode a filter."""
    if given is None:
        return None
    told: dict[str, Any] = {}
    for name in ("session", "speaker", "role", "kind", "category"):
        if (value := getattr(given, name)) is not None:
            told[name] = list(value) if isinstance(value, tuple) else value
    times = {"since": encode_time(given.since), "until": encode_time(given.until)}
    return {**told, **{name: at for name, at in times.items() if at is not None}, "metadata": dict(given.metadata)}


def encode_list_filter(given: Filter | None) -> dict[str, Any]:
    """Encode a filter of a list of lines.

    Raises:
        BadQuery: if it filters by anything but session, speaker, role and time.
    """
    if given is not None and (given.kind is not None or given.category is not None or given.metadata):
        raise BadQuery(
            "lines can be listed by session, speaker, role and time; kind, category and metadata are for recall"
        )
    told = encode_filter(given) or {}
    told.pop("metadata", None)
    return told


def encode_options(sampling: Sampling | None, **more: object) -> dict[str, Any]:
    """Encode the options of a reply; None leaves an option to the server."""
    names = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens")
    told = {name: getattr(sampling, name) for name in names} if sampling else {}
    return {name: value for name, value in {**told, **more}.items() if value is not None}
