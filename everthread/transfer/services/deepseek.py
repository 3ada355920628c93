"""DeepSeek's export: a zip archive with `conversations.json` and `user.json`.

Each conversation is a tree of nodes, like ChatGPT's, but the messages have fragments, whose type says who said them. In
older exports they have neither: a prompt and its answer follow each other.
The path to the latest message is current, because an export does not say which one DeepSeek shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from everthread.errors import BadFile
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.entries import drop_empty
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_record,
    get_records,
    get_text,
    parse_iso,
    require_record,
)
from everthread.transfer.services.trees import trace_path
from everthread.types import JSONValue

NAME = "DeepSeek"
PERSON = "user"
MARK = "inserted_at"  # a field of conversations that ChatGPT's do not have

_REQUEST, _RESPONSE = "REQUEST", "RESPONSE"
_KINDS = {"THINK": "thoughts", "SEARCH": "calls of tools"}
_CITATION = re.compile(r"\s?\[(?:citation|reference):\d+\]")
_EARLIEST = datetime.min.replace(tzinfo=UTC)  # of a message without a time


def recognises(export: Export) -> bool:
    """Return whether an export has conversations of DeepSeek."""
    return next(_find_files(export), None) is not None


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations of all files."""
    for file in _find_files(export):
        yield from build_all(file.list_values("conversation"), build_conversation)


def build_conversation(value: object) -> Conversation:
    """Build a conversation from its JSON.

    Raises:
        BadFile: it has no tree of messages, or no id.
    """
    record = require_record(value, "mapping")
    nodes = {name: get_record(node) for name, node in get_record(record, "mapping").items()}
    conversation_id = get_text(record, "id")
    if not conversation_id or not nodes:
        raise BadFile("it has no id" if nodes else "it has no messages")
    skipped = Counter[str]()
    parents = {name: get_text(node, "parent") or None for name, node in nodes.items()}
    shown = trace_path(parents, _find_latest(nodes))
    answers = _find_answers(nodes, parents)
    return Conversation(
        conversation_id,
        [
            _build_message(name, _list_fragments(node, name in answers), node, parents[name], name in shown, skipped)
            for name, node in nodes.items()
        ],
        get_text(record, "title") or None,
        parse_iso(record.get(MARK)),
        skipped=skipped,
        owner=PERSON,
        assistant=NAME,
    )


def _find_files(export: Export) -> Iterator[ExportFile]:
    for file in export.files:
        if any({"mapping", MARK} <= get_record(value).keys() for value in file.first_values):
            yield file


def _find_latest(nodes: Mapping[str, Record]) -> str:
    """Return the id of the latest node; of several of one time, that of the last one."""
    times = {name: parse_iso(get_record(node, "message").get(MARK)) or _EARLIEST for name, node in nodes.items()}
    return max(reversed(times), key=lambda name: times[name])


def _find_answers(nodes: Mapping[str, Record], parents: Mapping[str, str | None]) -> set[str]:
    """Return the ids of the nodes that follow a prompt, in an older export, which does not mark them as answers."""
    answers: set[str] = set()
    for name in nodes:  # each after the one that it follows
        parent = nodes.get(parents[name] or "", {})
        if get_record(parent, "message") and parents[name] not in answers:
            answers.add(name)
    return answers


def _list_fragments(node: Record, is_answer: bool) -> list[Record]:
    """Return the fragments of a message, also of one from an older export."""
    message = get_record(node, "message")
    if "fragments" in message or "content" not in message:
        return get_records(message, "fragments")
    thoughts = [{"type": "THINK"}] if get_text(message, "reasoning_content") else []
    return [*thoughts, {"type": _RESPONSE if is_answer else _REQUEST, "content": get_text(message, "content")}]


def _build_message(
    name: str, fragments: Sequence[Record], node: Record, parent: str | None, is_shown: bool, skipped: Counter[str]
) -> Message:
    """Build the message of a node; without text, and counted, if nothing was said."""
    message = get_record(node, "message")
    texts: dict[str, list[str]] = {_REQUEST: [], _RESPONSE: []}
    for fragment in fragments:
        if (kind := get_text(fragment, "type")) in texts:
            texts[kind].append(get_text(fragment, "content"))
        else:
            skipped[_KINDS.get(kind, "parts that are no text")] += 1
    is_user = bool(texts[_REQUEST])
    text = "\n\n".join(filter(None, texts[_REQUEST] or texts[_RESPONSE])).strip()
    if message and not text:
        skipped["messages without text"] += 1
    names: list[JSONValue] = [file for each in get_records(message, "files") if (file := get_text(each, "file_name"))]
    return Message(
        text if is_user else _CITATION.sub("", text),
        "user" if is_user else "assistant",
        PERSON if is_user else NAME,
        parse_iso(message.get(MARK)),
        name,
        parent,
        is_shown,
        drop_empty({"model": "" if is_user else get_text(message, "model"), "attachments": names}),
    )
