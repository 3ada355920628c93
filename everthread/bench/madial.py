"""Loads MADial-Bench: a child's memories and the dialogues that should recall them, in English and Chinese.

The published files are JSON Lines in spite of their suffix. The module measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Literal

from everthread.bench.questions import AnnotatedConversation, ConversationBuilder, Question, read_list
from everthread.transfer.dates import parse_moment
from everthread.transfer.files import (
    JsonObject,
    file_error,
    parse_json,
    read_numbered_lines,
    require_object,
    require_text,
    shorten,
)
from everthread.types import NewLine

KS = (1, 5, 10, 20, 50)  # the published figures are at 5, 10 and 20
CHILDREN = {1: "Bart", 2: "Lisa"}  # the dataset's two people, by user-id
_SAID = re.compile(r"\s*<(?P<name>[^<>:]{1,20})>\s*[:：]\s*(?P<text>.*)", re.DOTALL)


def madial(path: Path, language: Literal["en", "zh"] = "en") -> list[AnnotatedConversation]:
    """Load one conversation for each child: its lines are the child's memories by date, its ids their numbers.

    The published candidate lists never mix the two children, so the banks don't either. The query is the dialogue
    before its first test turn, because later ones contain the memory; the gold is `relevant-id`. The English memories
    have no user-id: they belong to the user of the dialogues that they are relevant to, or else to the child that they
    name.

    Args:
        path: the folder of the two files, or the folder above.
        language: of the files.
    """
    memories = dict(_read_memories(_find_file(path, language, "memory")))
    dialogues = _find_file(path, language, "dialogue")
    records = [(_read_user(record, dialogues), record) for record in _read_records(dialogues)]
    owners = {
        str(id): user
        for user, record in records
        for id in read_list(record.get("relevant-id"), dialogues, "relevant-id")
    }
    users = sorted({user for user, _ in records})
    return [_build_child(user, language, memories, owners, records, dialogues) for user in users]


def build_query(record: JsonObject, path: Path) -> tuple[str, str]:
    """Return the dialogue before its first test turn, and the message of that turn, each message as "Name: text"."""
    spoken = [str(item) for item in read_list(record.get("dialogue"), path, "dialogue")]
    tests = [
        n for n in read_list(record.get("test-turn"), path, "test-turn") if isinstance(n, int) and 1 < n < len(spoken)
    ]
    if not tests:
        raise file_error(
            path, "", f'"test-turn" is {shorten(record.get("test-turn"))}', "it must number turns of the dialogue"
        )
    child = CHILDREN.get(_read_user(record, path), "User")
    messages = [_name_speaker(text, child if number % 2 else "Assistant") for number, text in enumerate(spoken)]
    return "\n".join(messages[1 : min(tests)]), messages[min(tests)]


def _name_speaker(text: str, default: str) -> str:
    """Convert <Bart>: "Hello" to Bart: Hello. A message without a name gets the default, because the two take turns."""
    match = _SAID.fullmatch(text)
    name, words = (match["name"], match["text"]) if match else (default, text)
    return f"{name}: {words.strip().strip('<>').strip(chr(34)).strip()}"


def _build_child(
    user: int,
    language: str,
    memories: dict[str, JsonObject],
    owners: dict[str, int],
    records: list[tuple[int, JsonObject]],
    path: Path,
) -> AnnotatedConversation:
    own_memories = {id: record for id, record in memories.items() if _find_owner(id, record, owners) == user}
    ordered = sorted(own_memories, key=lambda id: (str(own_memories[id].get("time")), int(id)))
    name = CHILDREN.get(user, f"User {user}")
    lines = tuple(_build_line(id, own_memories[id], name, language, path) for id in ordered)
    builder = ConversationBuilder(f"madial-{language}-{user}", lines, tuple(ordered))
    for asker, record in records:
        if asker == user:
            query, answer = build_query(record, path)
            relevant = {str(id) for id in read_list(record.get("relevant-id"), path, "relevant-id")}
            builder.unresolved += len(relevant.difference(own_memories))
            builder.add_question(
                Question(query, frozenset(relevant.intersection(own_memories)), "recall", None, answer)
            )
    return builder.build()


def _find_owner(id: str, record: JsonObject, owners: dict[str, int]) -> int | None:
    user = record.get("user-id", owners.get(id))
    if isinstance(user, int):
        return user
    return next((user for user, name in CHILDREN.items() if name in str(record.get("event"))), None)


def _build_line(id: str, record: JsonObject, name: str, language: str, path: Path) -> NewLine:
    """Return a memory as a line in its own session, because it is unrelated to its neighbours in time."""
    place = f"memory {id}"
    text, time = require_text(record, "event", path, place), require_text(record, "time", path, place)
    try:
        said_at = parse_moment(time, UTC)
    except ValueError:
        raise file_error(path, place, f'"time" is {shorten(time)}', "write it as 2024-05-01") from None
    return NewLine(text, name, "user", said_at, f"memory-{id}", key=f"madial:{language}:{id}")


def _read_memories(path: Path) -> Iterator[tuple[str, JsonObject]]:
    for record in _read_records(path):
        for id, memory in record.items():
            if not id.isdecimal():
                raise file_error(
                    path, "", f"{shorten(id)} is not a memory's number", "give the file as it was published"
                )
            yield id, require_object(memory, path, f"memory {id}")


def _read_records(path: Path) -> list[JsonObject]:
    return [
        require_object(parse_json(text, path, n), path, f"line {n}")
        for n, text in read_numbered_lines(path)
        if text.strip()
    ]


def _read_user(record: JsonObject, path: Path) -> int:
    user = record.get("user-id")
    if not isinstance(user, int):
        raise file_error(path, "", f'"user-id" is {shorten(user)}', "it must be a number")
    return user


def _find_file(path: Path, language: str, kind: str) -> Path:
    name = f"MADial-Bench-{language}-{kind}.json"
    folders = (path, path / language, path / "ch") if language == "zh" else (path, path / language)
    file = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if file is None:
        raise file_error(path, "", f"there is no {name} here", "give the dataset's folder")
    return file
