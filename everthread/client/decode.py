"""Converts JSON of the REST API to the dataclasses of `everthread.types`, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from everthread.bank.line_validation import clean_line
from everthread.errors import BadLine, BadQuery, ConfigError
from everthread.facts.types import Entity, Fact, Profile
from everthread.stores.conditions import condition_to_json
from everthread.stores.filters import check_filter
from everthread.transfer.types import AmbiguousDate, FileContents, FileConversation, FileSpeaker, ImportResult
from everthread.types import (
    Context,
    EndResult,
    Evidence,
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
    now,
)

Json = Mapping[str, Any]


def parse_time(text: str | None) -> datetime | None:
    """Parse a time in ISO format; None stays None."""
    return None if text is None else datetime.fromisoformat(text)


@contextmanager
def _everthread_response() -> Iterator[None]:
    """Raise ConfigError if a response can't be decoded, because another kind of server sent it."""
    try:
        yield
    except ConfigError:  # of a part of it, such as the line of a hit
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(
            f"the response is not that of an Everthread server of this version: {what}; check the URL"
        ) from error


@_everthread_response()
def items(data: Json) -> list[Any]:
    """Return the items of a list."""
    return list(data["items"])


@_everthread_response()
def line(data: Json) -> Line:
    """Decode a line, without the fields that exist only in JSON."""
    values = {item.name: data[item.name] for item in fields(Line)}
    return Line(**{**values, **{name: parse_time(data[name]) for name in ("said_at", "retracted_at")}})


def lines(data: list[Json]) -> tuple[Line, ...]:
    """Decode lines."""
    return tuple(map(line, data))


@_everthread_response()
def hit(data: Json) -> Hit:
    """Decode a hit."""
    source = found_unit(data["unit"]) if "unit" in data else line(data["line"])
    return Hit(source, data["score"], data["relevance"], data["signals"], lines(data["passage"]), data["bank"])


def found_unit(data: Json) -> FoundUnit:
    """Decode a unit that a query found."""
    unit_data = {name: value for name, value in data.items() if name not in ("session", "speaker")}
    return FoundUnit(unit(unit_data), data["session"], data["speaker"])


@_everthread_response()
def context(data: Json) -> Context:
    """Decode a context. The context of a reply doesn't list the hits that were cut."""
    sources: tuple[Line | FoundUnit, ...] = (*lines(data["lines"]), *map(found_unit, data["units"]))
    hits, cut = (tuple(map(hit, data.get(name, ()))) for name in ("hits", "cut"))
    others = tuple(map(context, data.get("others", ())))
    bank, complete = data.get("bank", ""), data.get("complete", True)
    facts = tuple(map(found_unit, data.get("facts", ())))
    return Context(data["text"], data["tokens"], sources, hits, cut, data["relevance"], bank, others, complete, facts)


@_everthread_response()
def evidence(data: Json) -> Evidence:
    """Decode the memories that a reply was given."""
    return Evidence(
        seq=data["seq"],
        relevance=data["relevance"],
        tokens=data["tokens"],
        hits=tuple(map(hit, data["hits"])),
        kept=lines(data["kept"]),
        corrections={int(seq): line(corrected) for seq, corrected in data["corrections"].items()},
        forgotten=data["forgotten"],
        others=data["others"],
        shared={bank: lines(items) for bank, items in data["shared"].items()},
        prompt=data["prompt"],
    )


@_everthread_response()
def session(data: Json) -> Session:
    """Decode a session, without the fields that exist only in lists of sessions."""
    values = {item.name: data[item.name] for item in fields(Session)}
    times = {name: parse_time(data[name]) for name in ("started_at", "last_at", "ended_at")}
    return Session(**{**values, **times})


@_everthread_response()
def unit(data: Json) -> Unit:
    """Decode a unit."""
    times = {name: parse_time(data[name]) for name in ("said_at", "valid_from", "valid_to", "retracted_at")}
    return Unit(**{**data, **times})


@_everthread_response()
def fact(data: Json) -> Fact:
    """Decode a fact."""
    values = {item.name: data[item.name] for item in fields(Fact)}
    times = {name: parse_time(data[name]) for name in ("said_at", "since", "until")}
    return Fact(**{**values, **times, **{name: tuple(data[name]) for name in ("seqs", "statements", "writers")}})


@_everthread_response()
def entity(data: Json) -> Entity:
    """Decode an entity."""
    times = {name: parse_time(data[name]) for name in ("first_at", "last_at")}
    relations = tuple((owner, relation) for owner, relation in data["relations"])
    lists = {name: tuple(data[name]) for name in ("aliases", "statements")}
    return Entity(**{**data, **times, **lists, "relations": relations})


@_everthread_response()
def profile(data: Json) -> Profile:
    """Decode an entity with its facts."""
    return Profile(entity(data["entity"]), {name: tuple(map(fact, each)) for name, each in data["facts"].items()})


@_everthread_response()
def stats(data: Json) -> Stats:
    """Decode the counts of a bank."""
    times = {name: parse_time(data[name]) for name in ("first_said_at", "last_said_at")}
    return Stats(**{**data, **times, "speakers": tuple(data["speakers"])})


@_everthread_response()
def receipt(data: Json) -> Receipt:
    """Decode a receipt."""
    spans = tuple((first, last) for first, last in data["seqs"])
    at = datetime.fromisoformat(data["forgotten_at"])
    backups, cleared = tuple(data.get("backups", ())), data.get("cleared_backups", 0)  # added after 0.1.0
    return Receipt(data["bank"], data["scope"], spans, data["lines"], at, backups, cleared)


@_everthread_response()
def file_contents(data: Json) -> FileContents:
    """Decode the contents of a file."""
    conversations = (FileConversation(**{**each, **_parse_span(each)}) for each in data["conversations"])
    speakers = (FileSpeaker(**each) for each in data["speakers"])
    lists = {"services": tuple(data["services"]), "conversations": tuple(conversations), "speakers": tuple(speakers)}
    return FileContents(**{**data, **_parse_span(data), **lists, **_parse_ambiguous_dates(data)})


@_everthread_response()
def import_result(data: Json) -> ImportResult:
    """Decode the result of an import."""
    return ImportResult(**{**data, **_parse_ambiguous_dates(data), "seqs": _list_seqs(data.get("seqs", ()))})


def _list_seqs(spans: Iterable[Any]) -> tuple[int, ...]:
    return tuple(seq for first, last in spans for seq in range(first, last + 1))


def _parse_ambiguous_dates(data: Json) -> dict[str, Any]:
    dates = data.get("ambiguous_dates", {}).items()  # added after 0.1.0
    return {"ambiguous_dates": {chat: AmbiguousDate(**{**each, **_parse_days(each)}) for chat, each in dates}}


def _parse_days(data: Json) -> dict[str, date]:
    return {name: date.fromisoformat(data[name]) for name in ("day", "other_day")}


def _parse_span(data: Json) -> dict[str, datetime | None]:
    return {name: parse_time(data[name]) for name in ("first_at", "last_at")}


@_everthread_response()
def end_result(data: Json) -> EndResult:
    """Decode the result of ending a conversation."""
    forgotten = receipt(data["receipt"]) if data["receipt"] else None
    return EndResult(data["session"], data["remembered"], data["question"], forgotten)


def usage(data: Json) -> Usage:
    """Decode counts of tokens."""
    return Usage(**data)


# -------------------------------------------------------------------- encoding


def encode_line(new: NewLine) -> dict[str, Any]:
    """Encode a line to store.

    Raises:
        BadLine: the line is invalid, or was retracted elsewhere.
    """
    clean_line(new, now())  # JSON could not represent some invalid values
    if new.retracted_at is not None:
        raise BadLine("a line that was retracted elsewhere can't be sent; store it, then retract it")
    data = {"text": new.text, "speaker": new.speaker, "role": new.role, "metadata": dict(new.metadata)}
    optional = {"said_at": encode_time(new.said_at), "session": new.session, "parent": new.parent, "key": new.key}
    optional["undated"] = new.undated or None
    return {**data, **{name: value for name, value in optional.items() if value is not None}}


def encode_time(time: datetime | None) -> str | None:
    """Encode a time. Raises BadQuery unless it is a time with an offset, or None."""
    if time is None:
        return None
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise BadQuery(f"invalid time: got {time!r}, expected a datetime with an offset; try datetime.now(UTC)")
    return time.isoformat()


def encode_filter(where: Filter | None) -> dict[str, Any] | None:
    """Encode a filter. Raises BadQuery."""
    if where is None:
        return None
    check_filter(where)
    data: dict[str, Any] = {}
    for name in ("session", "speaker", "role", "kind", "category"):
        if (value := getattr(where, name)) is not None:
            data[name] = list(value) if isinstance(value, tuple) else value
    if where.key_prefix is not None:
        data["key_prefix"] = where.key_prefix
    if where.condition is not None:
        data["condition"] = condition_to_json(where.condition)
    times = {"since": encode_time(where.since), "until": encode_time(where.until)}
    return {
        **data,
        **{name: time for name, time in times.items() if time is not None},
        "metadata": dict(where.metadata),
    }


def encode_list_filter(where: Filter | None) -> dict[str, Any]:
    """Encode a filter of a list of lines.

    Raises:
        BadQuery: the filter is by kind, category or equal metadata, or its condition is invalid.
    """
    if where is not None and (where.kind is not None or where.category is not None or where.metadata):
        raise BadQuery(
            "lines can be listed by session, speaker, role, time, condition and key_prefix; kind, category and "
            "metadata are for recall; write Comparison('metadata.NAME', '==', value)"
        )
    data = encode_filter(where) or {}
    data.pop("metadata", None)
    if "condition" in data:
        data["condition"] = json.dumps(data["condition"], ensure_ascii=False, separators=(",", ":"))
    return data


def encode_options(sampling: Sampling | None, **options: object) -> dict[str, Any]:
    """Encode the options of a reply; None leaves an option to the server."""
    names = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens")
    data = {name: getattr(sampling, name) for name in names} if sampling else {}
    return {name: value for name, value in {**data, **options}.items() if value is not None}
