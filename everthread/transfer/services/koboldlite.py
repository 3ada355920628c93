"""Reads chats that KoboldAI Lite saved: `{"prompt": …, "actions": […], "savedsettings": {…}}`.

Prompt and actions are the pieces of one text, in which marks such as `{{[INPUT]}}` or, in its chat mode, names at the
beginning of lines say who speaks. A story has neither. Messages have no times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from everthread.errors import BadFile
from everthread.transfer.files import hash_parts
from everthread.transfer.services.conversation import (
    Conversation,
    Entry,
    Message,
    ReadOptions,
    build_all,
    count_beginning,
)
from everthread.transfer.services.cuts import cut_thoughts
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_list, get_record, get_text
from everthread.types import Role

Turn = tuple[Role, str, str]  # with the speaker and the text

PERSON, NAME = "user", "assistant"
_MARK = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(?:_END)?\]\}\}")
_INSTRUCT_MODE = 4
_SEPARATOR = "||$||"  # between the names of a group's characters


def recognises(export: Export) -> bool:
    """Return whether there is a chat of KoboldAI Lite."""
    return any(map(_is_chat, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the chats, one a file."""
    for file in filter(_is_chat, export.files):
        yield from build_all([(file.name, file.load())], build_chat)


def build_chat(value: object) -> Conversation:
    """Build the conversation of a chat.

    Raises:
        BadFile: it is a story, in which no speakers are marked.
    """
    record = get_record(value)
    settings = get_record(record, "savedsettings")
    person = get_text(settings, "chatname") or PERSON
    characters = [name for name in get_text(settings, "chatopponent").split(_SEPARATOR) if name]
    text = "".join(part for part in (record.get("prompt"), *get_list(record, "actions")) if isinstance(part, str))
    skipped = Counter[str]()
    text = text if _MARK.search(text) else _replace_tags(text, settings)
    if _MARK.search(text):
        turns = _split_at_marks(text, person, characters[0] if characters else NAME, skipped)
    else:
        turns = _split_at_names(text, person, characters)
    messages = list(_build_messages(turns, skipped))
    if not messages and text.strip():
        raise BadFile("it is a story, not a chat")
    title = ", ".join(characters) or None
    texts = [message.text for message in messages[: count_beginning(messages)]]
    name, namespace = (f"chat-{hash_parts(*beginning)[:16]}" for beginning in (texts, texts[:1]))
    return Conversation(name, messages, title, skipped=+skipped, owner=person, namespace=namespace)


def _is_chat(file: ExportFile) -> bool:
    head = get_record(file.head)
    return {"gamestarted", "prompt"} <= head.keys() and isinstance(head.get("actions"), list)


def _replace_tags(text: str, settings: Record) -> str:
    """Return a text in instruct mode with marks in place of the tags of the model, which older files have."""
    if settings.get("opmode") not in (_INSTRUCT_MODE, str(_INSTRUCT_MODE)):
        return text
    for name, mark in (("instruct_starttag", "INPUT"), ("instruct_endtag", "OUTPUT"), ("instruct_systag", "SYSTEM")):
        if tag := get_text(settings, name).replace("\\n", "\n").strip():
            text = text.replace(tag, f"{{{{[{mark}]}}}}")
    return text


def _split_at_marks(text: str, person: str, character: str, skipped: Counter[str]) -> Iterator[Turn]:
    """Yield the role, the speaker and the text of each turn. The text before the first mark is a greeting."""
    speakers: dict[str, tuple[Role, str]] = {"INPUT": ("user", person), "OUTPUT": ("assistant", character)}
    speaker: tuple[Role, str] | None = speakers["OUTPUT"]
    position = 0
    for mark in _MARK.finditer(text):
        if speaker:
            yield *speaker, text[position : mark.start()]
        elif text[position : mark.start()].strip():
            skipped["instructions"] += 1
        speaker, position = speakers.get(mark[1]), mark.end()
    if speaker:
        yield *speaker, text[position:]


def _split_at_names(text: str, person: str, characters: Sequence[str]) -> Iterator[Turn]:
    """Yield the role, the speaker and the text of each turn, which begins with a name at the beginning of a line."""
    pattern = re.compile(rf"^({'|'.join(map(re.escape, [person, *characters]))}):", re.MULTILINE)
    marks = list(pattern.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=False):
        said = text[mark.end() : following.start() if following else len(text)]
        yield "user" if mark[1] == person else "assistant", mark[1], said


def _build_messages(turns: Iterable[Turn], skipped: Counter[str]) -> Iterator[Message]:
    """Yield the messages of turns with words."""
    for role, speaker, said in turns:
        text, thoughts = (said, 0) if role == "user" else cut_thoughts(said)
        skipped["thoughts"] += thoughts
        if text := text.strip():
            yield Message(text, role, speaker)
