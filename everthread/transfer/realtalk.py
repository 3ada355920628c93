"""REALTALK's JSON: real chats between two people, one chat a file, or a folder of such files.

A message is {"clean_text" (or "text"), "speaker", "date_time", "dia_id", perhaps "img_url" and "blip_caption"}; dates
are "29.12.2023, 10:04:11", though LoCoMo's way is read too. The shape is LoCoMo's, and so are the pieces that read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from everthread.transfer.dates import parse_moment
from everthread.transfer.files import JsonObject, file_error, load_json, require_object, require_text, shorten
from everthread.transfer.locomo import LocomoTurn, check_lines, compute_turn_date, format_turn_text, read_turns
from everthread.types import NewLine


def read(path: Path, *, only: Collection[str] = ()) -> Iterator[NewLine]:
    """The messages of the chats named in only, or of all. Both friends have the role "user"; times are in UTC.

    Sessions are called "session_1" …; where several chats are read at once, "chat-name/session_1" …
    """
    found = find_chat_files(path, only)
    for file in found:
        yield from read_chat(load_chat(file), file.stem, file, prefix=f"{file.stem}/" if len(found) > 1 else "")


def find_chat_files(path: Path, only: Collection[str] = ()) -> list[Path]:
    """The chats' files: path itself, or the JSON files in it. A chat's id is its file's name without the ending."""
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not found:
        raise file_error(path, "", "no .json file in this folder", "give a chat or the folder of chats")
    if missing := set(only) - {file.stem for file in found}:
        choice = ", ".join(file.stem for file in found)
        raise file_error(path, "", f"there is no chat {shorten(min(missing))}", f"choose from {choice}")
    return [file for file in found if not only or file.stem in only]


def load_chat(path: Path) -> JsonObject:
    """One file's chat."""
    return require_object(load_json(path), path, "the chat")


def read_chat(record: JsonObject, name: str, path: Path, prefix: str = "") -> Iterator[NewLine]:
    """One chat's messages as lines. A message of neither words nor image is none."""
    return check_lines(_read_lines(record, name, path, prefix), path)


def _read_lines(record: JsonObject, name: str, path: Path, prefix: str) -> Iterator[NewLine]:
    for turn in read_turns(record, path, name):
        text = format_turn_text(turn, "clean_text" if "clean_text" in turn.record else "text", path)
        if text:
            dia_id = get_dia_id(turn, path)
            yield NewLine(
                text=text,
                speaker=require_text(turn.record, "speaker", path, turn.place),
                said_at=_parse_said_at(record, turn, path, name),
                session=f"{prefix}session_{turn.session}",
                metadata={"dia_id": dia_id},
                key=f"realtalk:{name}:{dia_id}",
            )


def get_dia_id(turn: LocomoTurn, path: Path) -> str:
    """The message's id; where it has none, the one that its place implies."""
    if turn.record.get("dia_id") is None:
        return f"D{turn.session}:{turn.index}"
    return require_text(turn.record, "dia_id", path, turn.place)


def _parse_said_at(record: JsonObject, turn: LocomoTurn, path: Path, name: str) -> datetime:
    if turn.record.get("date_time") is None:
        return compute_turn_date(record, turn, path, name)
    text = require_text(turn.record, "date_time", path, turn.place)
    try:
        return parse_moment(text, UTC)
    except ValueError:
        what = f'"date_time" is {shorten(text)}'
        raise file_error(path, turn.place, what, "write it as 29.12.2023, 10:04:11") from None
