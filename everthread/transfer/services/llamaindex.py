"""Reads the chat stores of LlamaIndex: `{"store": {key: [{"role": …, "blocks": […]}]}}`, without times and ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from everthread.errors import BadFile
from everthread.transfer.services.conversation import BrokenConversation, Conversation, Entry, Message, ReadOptions
from everthread.transfer.services.export import Export, ExportFile
from everthread.transfer.services.fields import Record, get_record, get_records, get_text

NAME, PERSON = "assistant", "user"  # of messages without a name
_KINDS = {
    "system": "instructions",
    "developer": "instructions",
    "tool": "results of tools",
    "function": "results of tools",
}


def recognises(export: Export) -> bool:
    """Return whether there is a chat store of LlamaIndex."""
    return any(map(_is_store, export.files))


def read(export: Export, options: ReadOptions) -> Iterator[Entry]:
    """Yield the conversations, one a key of the store."""
    for file in filter(_is_store, export.files):
        for key, rows in get_record(file.load(), "store").items():
            try:
                yield build_conversation(key, rows)
            except BadFile as error:
                yield BrokenConversation(key, str(error))


def build_conversation(key: str, rows: object) -> Conversation:
    """Build the conversation of a key.

    Raises:
        BadFile: it has no list of messages.
    """
    if not isinstance(rows, list):
        raise BadFile("it has no list of messages")
    skipped = Counter({"broken messages": sum(not isinstance(row, dict) for row in rows)})
    records: Sequence[Record] = [row for row in rows if isinstance(row, dict)]
    messages = [message for row in records if (message := _build_message(row, skipped)) is not None]
    return Conversation(key, messages, title=key, skipped=+skipped, owner=PERSON, assistant=NAME)


def _build_message(row: Record, skipped: Counter[str]) -> Message | None:
    """Return the message of an entry; None, and counted, if nothing was said."""
    role = get_text(row, "role")
    text = get_text(row, "content")
    texts = [text] if text else [get_text(block, "text") for block in get_records(row, "blocks")]
    text = "\n".join(filter(None, texts)).strip()
    kinds = [get_text(block, "block_type") for block in get_records(row, "blocks")]
    skipped["pictures"] += kinds.count("image")
    if role in _KINDS or not text:
        skipped[_KINDS.get(role, "messages without text")] += 1
        return None
    is_user = role == "user"
    name = get_text(get_record(row, "additional_kwargs"), "name")
    return Message(text, "user" if is_user else "assistant", name or (PERSON if is_user else NAME))


def _is_store(file: ExportFile) -> bool:
    beginnings = [rows[0] for rows in get_record(file.head, "store").values() if isinstance(rows, list) and rows]
    is_named = "store" in get_record(file.head) and get_record(file.head).get("class_name") == "SimpleChatStore"
    return is_named or any("role" in get_record(row) for row in beginnings)
