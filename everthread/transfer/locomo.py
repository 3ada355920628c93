"""LoCoMo's JSON: conversations of two friends over months, one sample or a list of samples.

The module reads turns and dates; `bench.datasets` reads the questions about them. REALTALK has the same structure, so
its reader uses the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from everthread.transfer.dates import parse_moment
from everthread.transfer.files import (
    JsonObject,
    check_line,
    file_error,
    load_json,
    require_object,
    require_text,
    shorten,
)
from everthread.types import NewLine

_SESSION = re.compile(r"session_(\d+)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")  # one spelling for each number, and none of thousands of digits


@dataclass(frozen=True, slots=True)
class LocomoTurn:
    """One turn of a session, as in the file.

    Attributes:
        session: the number of the session.
        index: the position in the session, from 1.
        record: the turn's JSON object.
        place: the place in the file, for messages.
    """

    session: int
    index: int
    record: JsonObject
    place: str


def read(path: Path, *, only: Collection[str] = ()) -> Iterator[NewLine]:
    """Yield the turns of samples as lines. Both friends have the role "user".

    A turn's time is the date of its session in UTC, plus one second per turn, which preserves their order. Sessions are
    named "session_1" …, or "conv-26/session_1" … if several samples are read.

    Args:
        path: the file.
        only: ids of the samples to read; empty for all.

    Raises:
        BadFile: the file is invalid, or has no such sample.
    """
    samples = read_samples(path, only)
    for name, sample in samples:
        yield from read_sample(sample, name, path, prefix=f"{name}/" if len(samples) > 1 else "")


def read_samples(path: Path, only: Collection[str] = ()) -> list[tuple[str, JsonObject]]:
    """Return ids and samples of a file, in the file's order; only those in `only` unless it is empty."""
    value = load_json(path)
    items = value if isinstance(value, list) else [value]
    named = [_identify_sample(item, path, f"sample {number}") for number, item in enumerate(items, 1)]
    known = {name for name, _ in named}
    if len(known) < len(named):
        raise file_error(path, "", "two samples share a sample_id", "give each sample a unique id")
    if missing := set(only) - known:
        raise file_error(
            path, "", f"there is no sample {shorten(min(missing))}", f"choose from {', '.join(sorted(known))}"
        )
    return [(name, sample) for name, sample in named if not only or name in only]


def read_sample(sample: JsonObject, name: str, path: Path, prefix: str = "") -> Iterator[NewLine]:
    """Yield the turns of one sample as lines."""
    return check_lines(_read_lines(sample, name, path, prefix), path)


def check_lines(lines: Iterator[NewLine], path: Path) -> Iterator[NewLine]:
    """Check that a bank can store each line, and that all keys differ: a second line with a key would be lost."""
    keys: set[str | None] = set()
    for line in lines:
        if line.key in keys:
            raise file_error(path, "", f"two turns have the key {line.key}", "give each turn a unique dia_id")
        keys.add(line.key)
        yield check_line(line, path, str(line.key))


def _read_lines(sample: JsonObject, name: str, path: Path, prefix: str) -> Iterator[NewLine]:
    conversation = require_object(sample.get("conversation"), path, f"{name}: conversation")
    for turn in read_turns(conversation, path, name):
        said_at = compute_turn_date(conversation, turn, path, name)
        dia_id = require_text(turn.record, "dia_id", path, turn.place)
        text = format_turn_text(turn, "text", path)
        if text:
            yield NewLine(
                text=text,
                speaker=require_text(turn.record, "speaker", path, turn.place),
                said_at=said_at,
                session=f"{prefix}session_{turn.session}",
                metadata={"dia_id": dia_id},
                key=f"locomo:{name}:{dia_id}",
            )


def read_turns(conversation: JsonObject, path: Path, name: str) -> Iterator[LocomoTurn]:
    """Yield the turns of session_1, session_2 … in order. A date without a session is ignored."""
    for number in sorted(_session_numbers(conversation, path, name)):
        place = f"{name}: session_{number}"
        session = conversation[f"session_{number}"]
        if not isinstance(session, list):
            raise file_error(path, place, f"{shorten(session)} is not a session", "it must be a list of turns")
        for index, record in enumerate(session, 1):
            yield LocomoTurn(number, index, require_object(record, path, f"{place}[{index}]"), f"{place}[{index}]")


def _session_numbers(conversation: JsonObject, path: Path, name: str) -> Iterator[int]:
    for field in conversation:
        if (match := _SESSION.fullmatch(field)) is None:
            continue
        if not _NUMBER.fullmatch(match[1]):
            raise file_error(path, name, f"invalid session {shorten(field)}", "number sessions session_1, session_2, …")
        yield int(match[1])


def parse_session_date(conversation: JsonObject, number: int, path: Path, name: str) -> datetime:
    """Parse the time at which a session began."""
    field = f"session_{number}_date_time"
    text = require_text(conversation, field, path, name)
    try:
        return parse_moment(text, UTC)
    except ValueError:
        raise file_error(
            path, f"{name}: {field}", f"{shorten(text)} is not a date", "write it as 1:56 pm on 8 May, 2023"
        ) from None


def compute_turn_date(conversation: JsonObject, turn: LocomoTurn, path: Path, name: str) -> datetime:
    """Return the session's date plus one second for each turn before.

    Raises:
        BadFile: the date is invalid, or the result is after the year 9999.
    """
    began = parse_session_date(conversation, turn.session, path, name)
    try:
        return began + timedelta(seconds=turn.index - 1)
    except OverflowError:
        what = f"the session begins too close to the year 10000 ({began:%Y-%m-%d %H:%M})"
        raise file_error(path, turn.place, what, "correct the year of the session") from None


def format_turn_text(turn: LocomoTurn, field: str, path: Path) -> str:
    """Format a turn's text and images as "text [image: caption]"; empty if it has neither."""
    record = turn.record
    text = require_text(record, field, path, turn.place) if record.get(field) is not None else ""
    caption = record.get("blip_caption")
    captions = [item for item in (caption if isinstance(caption, list) else [caption]) if item]
    shown_images = [f"[image: {item}]" for item in captions]
    if not captions and record.get("img_url") and not text.strip():
        shown_images = ["[image]"]
    return " ".join(part for part in (text.strip(), *shown_images) if part)


def _identify_sample(item: object, path: Path, place: str) -> tuple[str, JsonObject]:
    sample = require_object(item, path, place)
    return require_text(sample, "sample_id", path, place), sample
