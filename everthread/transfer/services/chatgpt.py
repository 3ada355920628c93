"""ChatGPT's export: a zip archive with `conversations-000.json` and so on, until early 2026 `conversations.json`.

Each conversation is a tree of nodes. The path from `current_node` up to the root is what ChatGPT shows; the other
messages were edited or regenerated away. Messages of spoken conversations are transcripts among the parts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from everthread.errors import BadFile
from everthread.transfer.services import deepseek
from everthread.transfer.services.conversation import Conversation, Entry, Message, ReadOptions, build_all
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import (
    Record,
    get_list,
    get_record,
    get_records,
    get_text,
    parse_epoch,
    require_record,
)
from everthread.transfer.services.trees import trace_path
from everthread.types import JSONValue

NAME = "ChatGPT"
PERSON = "user"

_MARK = re.compile("\ue200(?P<kind>[^\ue200-\ue202]*)(?:\ue202(?P<content>[^\ue200\ue201]*))?\ue201")
_LABELLED = ("url", "link_title")  # kinds of marks whose first part is shown, and not only leads to a source
_NAMED = "entity"  # the kind of a mark whose content is a JSON list of a kind and the name that is shown
_LEFT_OVER = re.compile("[\ue200-\ue202]")
_OLD_CITATION = re.compile(  # "【12†source】" until 2025, and ":contentReference[oaicite:0]{index=0}"
    r"\s?(?:【\d{1,4}(?::\d{1,4})?†[^【】\n]{0,200}】|:contentReference\[oaicite:\d{1,4}\]\{index=\d{1,4}\})"
)
_KINDS = {  # of content that is not said, with the plural under which it is counted
    "user_editable_context": "custom instructions",
    "model_editable_context": "custom instructions",
    "thoughts": "thoughts",
    "reasoning_recap": "thoughts",
    "code": "calls of tools",
    "execution_output": "results of tools",
    "tether_browsing_display": "results of tools",
    "tether_browsing_code": "calls of tools",
    "tether_quote": "results of tools",
    "system_error": "errors",
}
_POINTERS = {"image_asset_pointer": "pictures"}  # parts that are counted; sounds have their transcript


def recognises(export: Export) -> bool:
    """Return whether an export has conversations of ChatGPT."""
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
    conversation_id = get_text(record, "conversation_id", "id")
    if not conversation_id or not nodes:
        raise BadFile("it has no id" if nodes else "it has no messages")
    skipped = Counter[str]()
    shown = _trace_shown(nodes, record.get("current_node"))
    messages = [_build_message(name, node, name in shown, skipped) for name, node in nodes.items()]
    metadata: dict[str, JSONValue] = {}
    if gpt := get_text(record, "gizmo_id"):
        metadata["gpt"] = gpt
    return Conversation(
        conversation_id,
        messages,
        get_text(record, "title") or None,
        parse_epoch(record.get("create_time")),
        metadata,
        skipped,
        owner=PERSON,
        assistant=NAME,
        excluded="conversations that ChatGPT was asked not to remember" if record.get("is_do_not_remember") else "",
    )


def _find_files(export: Export) -> Iterator[ExportFile]:
    for file in export.files:
        if any(_is_conversation(get_record(value)) for value in file.first_values):
            yield file


def _is_conversation(record: Record) -> bool:
    """Return whether an object is a conversation of ChatGPT. Of a broken one the tree may be missing."""
    if deepseek.MARK in record:
        return False
    return "mapping" in record or {"conversation_id", "current_node"} <= record.keys()


def _trace_shown(nodes: dict[str, Record], current: object) -> set[str]:
    """Return the ids of the nodes from the current one up to the root; of all nodes if no current one is named."""
    if not isinstance(current, str) or current not in nodes:
        return set(nodes)
    return trace_path({name: get_text(node, "parent") or None for name, node in nodes.items()}, current)


def _build_message(name: str, node: Record, is_shown: bool, skipped: Counter[str]) -> Message:
    """Build the message of a node; without text, and counted, if nothing was said."""
    message = get_record(node, "message")
    parent = node.get("parent")
    author = get_record(message, "author")
    role = get_text(author, "role")
    text, kind = "", _find_reason(message, role)
    if not kind:
        text = _read_text(message, skipped)
        text = text if role == "user" else _OLD_CITATION.sub("", text).strip()
        kind = "" if text else "messages without text"
    if kind and message:
        skipped[kind] += 1
    is_user = role == "user"
    return Message(
        text,
        "user" if is_user else "assistant",
        PERSON if is_user else NAME,
        parse_epoch(message.get("create_time")),
        name,
        parent if isinstance(parent, str) else None,
        is_shown,
        _read_metadata(message),
    )


def _find_reason(message: Record, role: str) -> str:
    """Return the kind of a message that was not said, in the plural; "" for one that was."""
    metadata, content = get_record(message, "metadata"), get_record(message, "content")
    kind = get_text(content, "content_type")
    if role == "system":
        return "instructions"
    if role == "tool":
        return "results of tools"
    if kind in _KINDS:
        return _KINDS[kind]
    if metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0:
        return "hidden messages"
    if role == "assistant" and get_text(message, "recipient") not in ("", "all"):
        return "calls of tools"
    if role not in ("user", "assistant") or kind not in ("text", "multimodal_text"):
        return "messages of unknown kinds" if message else ""
    return ""


def _read_text(message: Record, skipped: Counter[str]) -> str:
    """Return what was said: the texts and transcripts among the parts; of marks, the words that ChatGPT shows."""
    texts: list[str] = []
    for part in get_list(get_record(message, "content"), "parts"):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = get_text(part, "content_type")
            if kind in _POINTERS:
                skipped[_POINTERS[kind]] += 1
            texts.append(get_text(part, "text") if kind == "audio_transcription" else "")
    text = "".join(texts)
    return _LEFT_OVER.sub("", _MARK.sub(_show_mark, text)).strip() if "\ue200" in text else text.strip()


def _show_mark(mark: re.Match[str]) -> str:
    """Return the words that ChatGPT shows in place of a mark: the name of an entity, or the words of a link."""
    content = mark["content"] or ""
    if mark["kind"] in _LABELLED:
        return content.partition("\ue202")[0]
    if mark["kind"] != _NAMED:
        return ""  # sources, pictures and such
    try:
        names = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return names[1] if isinstance(names, list) and len(names) > 1 and isinstance(names[1], str) else ""


def _read_metadata(message: Record) -> dict[str, JSONValue]:
    """Return the names of attachments, and the model that answered."""
    metadata = get_record(message, "metadata")
    found: dict[str, JSONValue] = {}
    if model := get_text(metadata, "model_slug"):
        found["model"] = model
    if names := [name for file in get_records(metadata, "attachments") if (name := get_text(file, "name"))]:
        found["attachments"] = names
    return found
