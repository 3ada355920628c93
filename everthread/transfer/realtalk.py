"""REALTALK's JSON: real chats between two people, one chat per file, or a folder of such files.

A message is {"clean_text" (or "text"), "speaker", "date_time", "dia_id", and maybe "img_url" and "blip_caption"}. Dates
are "29.12.2023, 10:04:11" or as in LoCoMo. The structure is LoCoMo's, whose functions read it.
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
    """Yield the messages of chats as lines. Both friends have the role "user"; times are in UTC.

    Sessions are named "session_1" …, or "chat-name/session_1" … if several chats are read.

    Args:
        path: a file, or a folder of files.
        only: names of the chats to read; empty for all.

    Raises:
        BadFile: a file is invalid, or there is no such chat.
    """
    files = find_chat_files(path, only)
    for file in files:
        yield from read_chat(load_chat(file), file.stem, file, prefix=f"{file.stem}/" if len(files) > 1 else "")


def find_chat_files(path: Path, only: Collection[str] = ()) -> list[Path]:
    """Return the files of the chats: the path itself, or the JSON files in the folder.

    A chat's name is the name of its file without the suffix.

    Args:
        path: a file, or a folder of files.
        only: names of the chats; empty for all.

    Raises:
        BadFile: there is no such chat.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise file_error(path, "", "no .json file in this folder", "give a chat or the folder of chats")
    if missing := set(only) - {file.stem for file in files}:
        choice = ", ".join(file.stem for file in files)
        raise file_error(path, "", f"there is no chat {shorten(min(missing))}", f"choose from {choice}")
    return [file for file in files if not only or file.stem in only]


def load_chat(path: Path) -> JsonObject:
    """Load the chat of one file."""
    return require_object(load_json(path), path, "the chat")


def read_chat(record: JsonObject, name: str, path: Path, prefix: str = "") -> Iterator[NewLine]:
    """Yield the messages of one chat as lines. A message without text and image is skipped."""
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
    """Return the message's id, or one made from its position if it has none."""
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
